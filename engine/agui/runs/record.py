"""One active run, and what is kept of it: while it is active, and however it ends."""

import logging
from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.db import router, transaction
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.usage import RunUsage
from pydantic_core import to_jsonable_python

from agui import clock, conf, parts, statements
from agui.agents.endpoint import Endpoint
from agui.agents.hooks import Hooks, ServedRun
from agui.agents.llm import name_of
from agui.agents.model_failures import reason_of_cut
from agui.agents.page_context import describe_page
from agui.blocking.executor import in_database
from agui.deps import AgentDeps
from agui.errors import RunFailed
from agui.events.join_deltas import joining
from agui.events.progress import dump_state
from agui.events.run_state import RunState
from agui.models import Run
from agui.part_values import Addition, EndedRun
from agui.protocol.files import without_bytes
from agui.protocol.types import BaseEvent, CustomEvent, EventType, RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs.fence import Fence
from agui.runs.new_messages import added, without_open_calls
from agui.runs.processes import process_name
from agui.runs.usage import add_broken_off, count_unpriced
from agui.stores import codec
from agui.stores.annotations import annotate
from agui.stores.codec import same_json
from agui.stores.tree import prompt_id
from agui.tools.secret_calls import annotate_secrets
from agui.turns.turn import Turn

logger = logging.getLogger("agui.runs")

# The events with which a model begins an answer.
FIRST_EVENTS = (EventType.TEXT_MESSAGE_START, EventType.REASONING_START, EventType.TOOL_CALL_START)
# The status of a run that was stopped, by the reason.
ENDINGS = {
    None: Run.Status.CANCELLED,
    "timeout": Run.Status.TIMED_OUT,
    "interrupted": Run.Status.INTERRUPTED,
}


@dataclass(kw_only=True)
class ActiveRun(RunState):
    """A run, from its start to its end."""

    endpoint: Endpoint
    path: str
    """The path at which the endpoint is mounted."""
    log: RunLog
    run_input: RunAgentInput
    turn: Turn
    stored: list[ModelMessage]
    """The conversation before the run, as it was loaded."""
    usage_before: RunUsage
    state_before: Any
    earlier: list[ModelMessage] = field(default_factory=list)
    """The messages that processes which died have added, if workers execute the run."""
    asked: set[str] = field(default_factory=set)
    """The tool calls that a draft keeps without a result: a worker that goes on makes them."""
    journal: AbstractCapability[AgentDeps] | None = None
    """Records what the run's tools have done, if workers execute it."""
    join_to_log: Callable[[AsyncGenerator[BaseEvent]], AsyncGenerator[BaseEvent]] | None = None
    """A stage that joins the run's events to those of a process that died."""
    usage: RunUsage = field(default_factory=RunUsage)
    size: int = 0
    """Bytes of all frames."""
    drafted: tuple[int, int] = (0, 0)
    """The size, and how many tools had ended, when the last draft was made."""
    status: Run.Status = Run.Status.FAILED
    first_event_ms: int | None = None
    is_recorded: bool = False
    started: float = field(default_factory=clock.monotonic)

    def __post_init__(self) -> None:
        self.served = ServedRun(
            timer=self.calls.timer,
            join_deltas=partial(joining, seconds=conf.get().delta_window_seconds),
            fence=Fence(self.log.key).call,
            page_context=describe_page(self.setup.deps.context),
            asks_anew=self.turn.asks_anew,
            run=self,
            model=self.endpoint.model_for(self.run_input.forwarded_props),
        )
        self.file_id = self.served.file_id

    def stop(self, code: str) -> None:
        """End the run for a reason of the server: a key of RUN_ERRORS."""
        if not self.outcome.failure and not self.is_recorded:
            self.outcome.failure = code
            self.log.token.cancel()

    def record_event(self, kind: EventType) -> None:
        """Record how long the model took to begin its first answer."""
        if self.first_event_ms is None and kind in FIRST_EVENTS:
            self.first_event_ms = self.milliseconds()

    def milliseconds(self) -> int:
        return round((clock.monotonic() - self.started) * 1000)

    def capabilities(self) -> list[AbstractCapability[AgentDeps]]:
        """List the capabilities that only this run has, beside those of its agent."""
        before: list[AbstractCapability[AgentDeps]] = [self.journal] if self.journal else []
        after: list[AbstractCapability[AgentDeps]] = []
        for part in parts.installed():
            after += part.capabilities(self)
        # The hooks stand between them, and an agent of the project may have none of its own.
        if before or after or conf.get().agent_factory:
            return [*before, Hooks(), *after]
        return []

    def draft(self) -> dict[str, Any] | None:
        """Make the columns of a new draft; None if nothing is new since the last one."""
        reached = (self.size, self.unfinished.results)
        if reached == self.drafted or not self.turn.store.keeps_threads:
            return None
        self.drafted = reached
        return self.columns()

    def columns(self, request: ModelRequest | None = None) -> dict[str, Any]:
        """Make the columns of the run's row that keep what it has added so far.

        `request` is one that pydantic-ai is about to add.
        """
        new = [*self.earlier, *self._to_keep(self._partial(self.asked, request))]
        return {"draft": codec.dump_messages(new), "usage": to_jsonable_python(self.usage)}

    async def save(self, new: list[ModelMessage], status: Run.Status) -> None:
        """Append what the run has added to the stored conversation, and record how it ended."""
        conversation = self.turn.conversation
        conversation.messages = [*self.stored, *self.earlier, *self._to_keep(new)]
        conversation.usage = self.usage_before + self.usage
        conversation.deferred_tool_requests = self.outcome.requests
        try:
            await self.turn.store.save_with(
                conversation, lambda _: self._record_end(status), scope=self.log.scope
            )
        except ConversationConflict:
            raise RunFailed("conversation_changed") from None
        self.status = status
        self.is_recorded = True

    async def save_partial(self) -> None:
        """Store what a run has added that failed or was stopped."""
        self.status = ENDINGS.get(self.outcome.failure, Run.Status.FAILED)
        add_broken_off(self.usage, self.unfinished.captured, self._earlier_runs())
        if self.outcome.failure == "conversation_changed":
            return
        self.outcome.requests = None
        try:
            await self.save(self._partial(), self.status)
        except RunFailed:
            logger.info("Not saving run %s: its thread has changed since", self.log.key)
        except Exception:
            logger.exception("Saving the messages of run %s failed", self.log.key)

    async def record(self) -> None:
        """Record how the run ended, unless `save` has done so."""
        if self.is_recorded:
            return
        try:
            await in_database(self._record_end, self.status)
        except ConversationConflict:
            logger.info("Not recording run %s: another process has taken it over", self.log.key)
        except Exception:
            logger.exception("Recording the end of run %s failed", self.log.key)

    async def additions(self, output: Any, response: ModelResponse) -> list[BaseEvent]:
        """Make events for what an answer lacks, and for what parts add to it.

        They are stored with the answer's message.
        """
        message_id = self.text_id
        additions = []
        # An answer of images alone is a blank line.
        has_words = message_id and isinstance(output, str) and output.strip()
        answer = output if has_words else ""
        reason = reason_of_cut(response)
        if answer and reason:
            additions.append(Addition("answer_cut", "reason", reason))
        for part in parts.installed():
            additions += await part.add_to_answer(self, answer)
        events: list[BaseEvent] = []
        for addition in additions:
            if message_id:
                self.ids.extend(message_id, {"metadata": {addition.name: addition.value}})
            value = {"messageId": message_id, addition.field: addition.value}
            events.append(CustomEvent(name=addition.name, value=value))
        return events

    def _record_end(self, status: Run.Status) -> None:
        failure, cause = self.outcome.failure or "", self.outcome.cause
        if status in (Run.Status.FINISHED, Run.Status.PAUSED):
            failure = cause = ""
        messages = self.messages()
        with transaction.atomic(using=router.db_for_write(Run), savepoint=False):
            columns = {
                "status": status,
                "model": self.model,
                "code": failure,
                "cause": cause,
                "usage": to_jsonable_python(self.usage),
                "cost": self.usage.cost,
                "unpriced": count_unpriced(self.usage, messages),
                "first_event_ms": self.first_event_ms,
                "duration_ms": self.milliseconds(),
                "draft": None,
            }
            has_row = statements.update(Run, columns, **self.own_row())
            if not has_row and (self.journal or Run.objects.filter(pk=self.log.key).exists()):
                # Another process took this one for dead, and has ended the run or goes on with it.
                raise ConversationConflict(self.log.thread_id)
            # If there is no row, the thread was deleted, and maybe its owner. Parts keep nothing
            # about a user who was deleted.
            if not has_row and not self._has_owner():
                return
            ended = EndedRun(
                key=self.log.key,
                scope=self.log.scope,
                owner_id=self.setup.deps.user.pk,
                thread_id=self.log.thread_id,
                model=self.model,
                status=status,
                usage=self.usage,
                messages=messages,
                delivered=[*filter(prompt_id, self.earlier), *self.delivered],
                is_deleted=not has_row,
            )
            for part in parts.installed():
                part.run_ended(ended)

    def _has_owner(self) -> bool:
        pk = self.setup.deps.user.pk
        return pk is None or get_user_model()._default_manager.filter(pk=pk).exists()

    def hold(self) -> bool:
        """Lock the row until the transaction ends; False if it was deleted or is another's."""
        return bool(statements.update(Run, {"process": process_name()}, **self.own_row()))

    def own_row(self) -> dict[str, Any]:
        """Select the run's row while the run belongs to this process and has not ended."""
        return {"pk": self.log.key, "process": process_name(), "status": Run.Status.RUNNING}

    @property
    def model(self) -> str:
        """The name of the model that answers."""
        return name_of(self.served.model)

    def messages(self) -> list[ModelMessage]:
        """List all messages of the run, also those that the thread does not keep."""
        before = {*self._earlier_runs(), None}
        own = [message for message in self.unfinished.captured if message.run_id not in before]
        return [*self.earlier, *self.delivered.complete(own)]

    def _earlier_runs(self) -> set[str | None]:
        return {message.run_id for message in self.turn.history}

    def _partial(
        self, asked: Collection[str] = (), request: ModelRequest | None = None
    ) -> list[ModelMessage]:
        """List what the run has added up to now."""
        captured, rest = list(self.unfinished.captured), self.unfinished.messages()
        if request is not None:
            captured, rest = [*captured, replace(request, run_id=self.served.agent_run_id)], []
        captured = self.delivered.restore(captured)
        new = [*added(self.turn.history, captured, self.delivered), *rest]
        new += self.delivered.missing(new)
        return without_open_calls(new, self.calls.started.union(asked))

    def _to_keep(self, new: list[ModelMessage]) -> list[ModelMessage]:
        """Annotate new messages for the store, and remove what it does not keep."""
        kept = self.delivered.restore(new)
        own = without_bytes(self.delivered.others(kept), self.file_id)
        self.ids.stamp(own)
        self.setup.view.annotate_activities(own)
        annotate_secrets(own, self.calls.timer)
        new = self.delivered.among(own, kept)
        state = dump_state(self.setup.deps, self.state_before)
        if new and (self.turn.state.fades or not same_json(state, self.turn.state.stored)):
            annotate(new[-1], state=state)
        if new:
            for part in parts.installed():
                part.annotate_answer(self, new)
        return new
