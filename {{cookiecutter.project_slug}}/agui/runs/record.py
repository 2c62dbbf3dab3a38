"""One run on its way, and what is kept of it: while it is at work, and however it ends."""

import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.auth import get_user_model
from django.db import router, transaction
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.usage import RunUsage
from pydantic_core import to_jsonable_python

from agui import conf, parts
from agui.agents.endpoint import Endpoint
from agui.agents.model_files import EVENT as FILES_LEFT_OUT
from agui.agents.model_files import UNREAD, SendReadableFiles
from agui.agents.page_context import page_context
from agui.blocking.executor import in_database
from agui.deps import AgentDeps
from agui.errors import RunFailed
from agui.events.join_deltas import JoinDeltas
from agui.events.progress import dump_state
from agui.events.run_state import RunState
from agui.models import Run
from agui.parts import Addition, EndedRun
from agui.protocol.files import without_bytes, without_drawings
from agui.protocol.types import BaseEvent, CustomEvent, EventType, RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs.fence import Fence
from agui.runs.processes import process_name
from agui.runs.usage import add_broken_off, count_unpriced
from agui.stores import codec
from agui.stores.annotations import annotate, answered
from agui.stores.codec import same_json
from agui.tools.audit_trail import AuditTrail, note_secrets
from agui.tools.definitions import HoldApprovals
from agui.tools.results import BoundResults
from agui.turns.turn import Turn

logger = logging.getLogger("agui.runs")

# What a model begins an answer with.
FIRST_EVENTS = (EventType.TEXT_MESSAGE_START, EventType.REASONING_START, EventType.TOOL_CALL_START)
# How a run ended that was stopped, by the reason.
ENDINGS = {
    None: Run.Status.CANCELLED,
    "timeout": Run.Status.TIMED_OUT,
    "interrupted": Run.Status.INTERRUPTED,
}


@dataclass(kw_only=True)
class ActiveRun(RunState):
    """One run on its way."""

    endpoint: Endpoint
    log: RunLog
    run_input: RunAgentInput
    turn: Turn
    stored: list[ModelMessage]
    """The conversation before the run, as it was loaded."""
    usage_before: RunUsage
    state_before: Any
    earlier: list[ModelMessage] = field(default_factory=list)
    """What processes that died have added to it, if workers execute it."""
    asked: set[str] = field(default_factory=set)
    """The tool calls that a draft keeps although they have no result: whoever goes on with the run makes them."""
    journal: AbstractCapability[AgentDeps] | None = None
    """Notes what its tools have done, if workers execute it."""
    approvals: HoldApprovals = field(default_factory=HoldApprovals)
    """Asks again before a tool that has changed since it was approved."""
    go_on: Callable[[AsyncGenerator[BaseEvent]], AsyncGenerator[BaseEvent]] | None = None
    """A stage that joins its events to those of the process that died."""
    files: SendReadableFiles = field(default_factory=SendReadableFiles)
    """Which files its model is sent."""
    usage: RunUsage = field(default_factory=RunUsage)
    size: int = 0
    """Bytes of all frames."""
    drafted: tuple[int, int] = (0, 0)
    """Its size, and how many tools had ended, when it was last written down."""
    status: Run.Status = Run.Status.FAILED
    first_event_ms: int | None = None
    is_recorded: bool = False
    started: float = field(default_factory=time.monotonic)

    def stop(self, code: str) -> None:
        """End the run for a reason of ours: a key of RUN_ERRORS."""
        if not self.outcome.failure and not self.is_recorded:
            self.outcome.failure = code
            self.log.token.cancel()

    def note_event(self, kind: EventType) -> None:
        """Note how long the model took to say something."""
        if self.first_event_ms is None and kind in FIRST_EVENTS:
            self.first_event_ms = self.milliseconds()

    def milliseconds(self) -> int:
        return round((time.monotonic() - self.started) * 1000)

    def capabilities(self) -> list[AbstractCapability[AgentDeps]]:
        """What only this run has."""
        context = self.setup.deps.context
        return [
            JoinDeltas(conf.get().delta_window_seconds),
            *([page_context(context)] if context else ()),
            self.files,
            self.approvals,
            *([self.journal] if self.journal else ()),
            Fence(self.log.key),
            BoundResults(),
            AuditTrail(timer=self.calls.timer),
            *(capability for part in parts.installed() for capability in part.capabilities(self)),
        ]

    def draft(self) -> dict[str, Any] | None:
        """Take down what the run has added so far, as columns of its row; None when nothing is new."""
        reached = (self.size, self.unfinished.results)
        if reached == self.drafted or not self.turn.store.keeps_threads:
            return None
        self.drafted = reached
        return self.columns()

    def columns(self) -> dict[str, Any]:
        new = [*self.earlier, *self._to_keep(self._partial(self.asked))]
        return {"draft": codec.dump_messages(new), "usage": to_jsonable_python(self.usage)}

    async def save(self, new: list[ModelMessage], status: Run.Status) -> None:
        """Append what the run has added to the stored conversation, and note how the run ended."""
        conversation = self.turn.conversation
        conversation.messages = [*self.stored, *self.earlier, *self._to_keep(new)]
        conversation.usage = self.usage_before + self.usage
        conversation.deferred_tool_requests = self.outcome.requests
        try:
            await self.turn.store.save_with(
                conversation, lambda _: self._note(status), scope=self.log.scope
            )
        except ConversationConflict:
            raise RunFailed("conversation_changed") from None
        self.status, self.is_recorded = status, True

    async def save_partial(self) -> None:
        """Keep what there is of a run that failed or was stopped."""
        self.status = ENDINGS.get(self.outcome.failure, Run.Status.FAILED)
        add_broken_off(self.usage, self.unfinished.captured, self._before())
        if self.outcome.failure == "conversation_changed":
            return
        self.outcome.requests = None
        try:
            await self.save(self._partial(), self.status)
        except RunFailed:
            logger.info(
                "Thread %s was changed or deleted during run %s", self.log.thread_id, self.log.key
            )
        except Exception:
            logger.exception("What run %s had reached could not be stored", self.log.key)

    async def record(self) -> None:
        """Note how the run ended, unless that was done with its last messages."""
        if self.is_recorded:
            return
        try:
            await in_database(self._note, self.status)
        except ConversationConflict:
            logger.info("Run %s was taken up by another process", self.log.key)
        except Exception:
            logger.exception("The end of run %s could not be recorded", self.log.key)

    async def additions(self, output: Any) -> list[BaseEvent]:
        """Tell which files the model could not read, and what parts add to an answer. Note both with its message."""
        message_id, files = self.text.last, list(self.files.left_out.values())
        found = [Addition(FILES_LEFT_OUT, "files", files)] if files else []
        if message_id and isinstance(output, str):
            for part in parts.installed():
                found += await part.add_to_answer(self, output)
        told: list[BaseEvent] = []
        for addition in found:
            if message_id:
                self.ids.extend(message_id, {"metadata": {addition.name: addition.value}})
            value = {"messageId": message_id, addition.field: addition.value}
            told.append(CustomEvent(name=addition.name, value=value))
        return told

    def _note(self, status: Run.Status) -> None:
        # Without a row the thread was deleted, and the run with it.
        row = Run.objects.filter(pk=self.log.key)
        messages = self.messages()
        with transaction.atomic(using=router.db_for_write(Run), savepoint=False):
            is_noted = row.filter(process=process_name(), status=Run.Status.RUNNING).update(
                status=status,
                code=""
                if status in (Run.Status.FINISHED, Run.Status.PAUSED)
                else self.outcome.failure or "",
                cause=""
                if status in (Run.Status.FINISHED, Run.Status.PAUSED)
                else self.outcome.cause,
                usage=to_jsonable_python(self.usage),
                cost=self.usage.cost,
                unpriced=count_unpriced(self.usage, messages),
                first_event_ms=self.first_event_ms,
                duration_ms=self.milliseconds(),
                draft=None,
            )
            if not is_noted and (self.journal or row.exists()):
                # This process was taken for dead: another one has ended the run, or goes on with
                # it.
                raise ConversationConflict(self.log.thread_id)
            owner = self.setup.deps.user.pk
            if (
                not is_noted
                and owner is not None
                and not get_user_model()._default_manager.filter(pk=owner).exists()
            ):
                return  # Nothing is kept of a user who is gone
            ended = EndedRun(
                key=self.log.key,
                scope=self.log.scope,
                owner_id=owner,
                thread_id=self.log.thread_id,
                model=self.model,
                status=status,
                usage=self.usage,
                messages=messages,
                is_deleted=not is_noted,
            )
            for part in parts.installed():
                part.run_ended(ended)

    def hold(self) -> bool:
        """Lock its row until the present transaction ends. False for a run that was deleted or is another process's."""
        row = Run.objects.filter(pk=self.log.key, process=process_name(), status=Run.Status.RUNNING)
        return bool(row.update(process=process_name()))

    @property
    def model(self) -> str:
        """The name of the model that was asked for."""
        return self.endpoint.model_name(self.run_input.forwarded_props)

    def messages(self) -> list[ModelMessage]:
        """All messages of the run, those that it does not keep included."""
        before = {*self._before(), None}
        return [
            *self.earlier,
            *(one for one in self.unfinished.captured if one.run_id not in before),
        ]

    def _before(self) -> set[str | None]:
        return {message.run_id for message in self.turn.history}

    def _partial(self, asked: Collection[str] = ()) -> list[ModelMessage]:
        """What the run has added, as of now."""
        unfinished = self.unfinished
        new = [*added(self.turn.history, unfinished.captured), *unfinished.messages()]
        return without_open_calls(new, self.calls.started.union(asked))

    def _to_keep(self, new: list[ModelMessage]) -> list[ModelMessage]:
        """Note with the messages what they can't hold, and take out what is not to be kept."""
        new = without_bytes(new)
        self.ids.stamp(new)
        self.setup.page.annotate_activities(new)
        note_secrets(new, self.calls.timer)
        state = dump_state(self.setup.deps, self.state_before)
        if new and (self.turn.state.fades or not same_json(state, self.turn.state.stored)):
            annotate(new[-1], state=state)
        if new and self.files.left_out:
            annotate(new[-1], **{UNREAD: list(self.files.left_out)})
        return without_drawings(new)


def added(history: list[ModelMessage], captured: list[ModelMessage]) -> list[ModelMessage]:
    """What the run has added. Not by position: requests that follow on each other are merged, old messages left out."""
    before = {message.run_id for message in history}
    done = answered(history)
    new: list[ModelMessage] = []
    for message in captured:
        if message.run_id is None or message.run_id in before:
            continue
        if isinstance(message, ModelResponse):
            new.append(message)
        else:
            results = [p for p in message.parts if isinstance(p, ToolReturnPart)]
            if fresh := [part for part in results if new or part.tool_call_id not in done]:
                new.append(replace(message, parts=fresh))
    return new


def without_open_calls(messages: list[ModelMessage], started: set[str]) -> list[ModelMessage]:
    """Drop tool calls that never ran, half-streamed ones too. Of those that were begun, the model is told."""
    ran = started | answered(messages)
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            parts = [
                part
                for part in message.parts
                if not isinstance(part, ToolCallPart) or part.tool_call_id in ran
            ]
            message = replace(message, parts=parts)
        if message.parts:
            kept.append(message)
    return kept
