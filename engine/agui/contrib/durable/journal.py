"""The journal of a run's tool calls: a worker that takes over the run doesn't repeat them.

The database commits what a synchronous tool writes together with the record of its result, so it
happens once. The work of a coroutine, and work outside the database, happens again if the worker
dies before the record: `ctx.tool_call_id` is then the same, so that others can recognise it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Annotated, Any

from django.db import IntegrityError, router, transaction
from pydantic import Discriminator, Tag, TypeAdapter
from pydantic_ai import ModelRetry, RunContext, ToolDenied, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelResponse, ToolCallPart

from agui.blocking.executor import in_database
from agui.contrib.durable.models import ToolOutcome
from agui.deps import AgentDeps
from agui.errors import RunFailed
from agui.events.progress import dump_state
from agui.models import Run
from agui.runs.drafts import checkpoints
from agui.runs.processes import process_name
from agui.stores import codec
from agui.tools.call import check_result
from agui.tools.registry import call_wrapper
from agui.tools.results import bounded

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun

KINDS = {ToolReturn: "tool-return", ToolFailed: "tool-failed", ModelRetry: "model-retry"}


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return str(value["kind"])
    return KINDS[type(value)]


OUTCOME: TypeAdapter[Any] = TypeAdapter(
    Annotated[
        Annotated[ToolReturn[Any], Tag("tool-return")]
        | Annotated[ToolFailed, Tag("tool-failed")]
        | Annotated[ModelRetry, Tag("model-retry")],
        Discriminator(_kind),
    ]
)
STATE: TypeAdapter[dict[str, Any]] = TypeAdapter(dict[str, Any])


@dataclass
class Journal(AbstractCapability[AgentDeps]):
    """Records the outcome of each tool call, and answers a call that has one from its record."""

    run: "ActiveRun"
    _recorded: set[str] = field(default_factory=set)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        handler: Callable[..., Any],
        **kwargs: Any,
    ) -> Any:
        call_id = call.tool_call_id
        await self._save_answer()
        record = await in_database(self._find, call_id)
        if record is not None:
            return self._restore(record)
        token = call_wrapper.set(partial(self._call_and_record, call_id))
        try:
            outcome = await handler(kwargs["args"])
        except (ToolFailed, ModelRetry) as error:
            kept = await self._keep(call_id, error)
            if kept is error:
                raise
            return kept
        finally:
            call_wrapper.reset(token)
        if call_id in self._recorded or isinstance(outcome, ToolDenied):
            return outcome
        return await self._keep(call_id, outcome)

    async def _keep(self, call_id: str, outcome: Any) -> Any:
        """Record an outcome. Return the one that counts.

        A worker that seemed dead may have recorded its own first.
        """
        try:
            await in_database(self._record, call_id, outcome)
        except IntegrityError:
            record = await in_database(self._find, call_id)
            if record is None:
                raise
            return self._restore(record)
        return outcome

    async def _save_answer(self) -> None:
        """Save the answer that calls tools, before any of them begins.

        Raises RunFailed if another worker has the run.
        """
        messages = reversed(self.run.unfinished.captured)
        answer = next(message for message in messages if isinstance(message, ModelResponse))
        calls = {call.tool_call_id for call in answer.tool_calls}
        async with checkpoints.writing:
            if calls <= self.run.asked:
                return
            rows = Run.objects.filter(
                pk=self.run.log.key, process=process_name(), status=Run.Status.RUNNING
            )
            self.run.asked |= calls
            columns = self.run.columns()
            if not await in_database(lambda: rows.update(**columns)):
                raise RunFailed("conversation_changed")

    def _call_and_record(self, call_id: str, call: Callable[[], Any]) -> Any:
        try:
            with transaction.atomic(using=router.db_for_write(ToolOutcome)):
                result = call()
                if isawaitable(result) or isinstance(result, ToolDenied):
                    return result
                check_result(result)
                result = bounded(result)
                self._record(call_id, result)
        except IntegrityError:
            record = self._find(call_id)
            if record is None:
                raise
            self._recorded.add(call_id)
            return self._restore(record)
        self._recorded.add(call_id)
        return result

    def _record(self, call_id: str, outcome: Any) -> None:
        if not isinstance(outcome, ToolReturn | ToolFailed | ModelRetry):
            outcome = ToolReturn(return_value=outcome)
        ToolOutcome.objects.create(
            run_id=self.run.log.key,
            tool_call_id=call_id,
            outcome=codec.dump(OUTCOME, outcome),
            state=codec.dump(STATE, {"state": dump_state(self.run.setup.deps, None)}),
        )

    def _find(self, call_id: str) -> ToolOutcome | None:
        return ToolOutcome.objects.filter(run__pk=self.run.log.key, tool_call_id=call_id).first()

    def _restore(self, record: ToolOutcome) -> Any:
        """Restore the shared state, and return or raise the outcome."""
        deps = self.run.setup.deps
        state = codec.load(STATE, record.state)["state"]
        if state is not None:
            if hasattr(deps.state, "model_validate"):
                state = type(deps.state).model_validate(state)
            deps.state = state
        outcome = codec.load(OUTCOME, record.outcome)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
