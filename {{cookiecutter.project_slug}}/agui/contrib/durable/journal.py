"""What a run's tools have done, so that a worker that goes on with the run does not do it again.

What a synchronous tool writes to the database is committed together with the note of its result: it
happens once. A coroutine's, and what is done elsewhere, happens again if the worker dies before it
is noted: `ctx.tool_call_id` is then the same, for others to know it by.
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
from agui.tools.registry import noting
from agui.tools.results import bounded

if TYPE_CHECKING:
    from agui.runs.record import ActiveRun

KINDS = {ToolReturn: "tool-return", ToolFailed: "tool-failed", ModelRetry: "model-retry"}


def _kind(value: Any) -> str:
    return value["kind"] if isinstance(value, dict) else KINDS[type(value)]


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
    """Stands between a run and its tools."""

    run: "ActiveRun"
    _noted: set[str] = field(default_factory=set)

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        handler: Callable[..., Any],
        **kwargs: Any,
    ) -> Any:
        call_id = call.tool_call_id
        await self._write_down()
        if (found := await in_database(self._find, call_id)) is not None:
            return self._restore(found)
        token = noting.set(partial(self._call_and_note, call_id))
        try:
            outcome = await handler(kwargs["args"])
        except (ToolFailed, ModelRetry) as error:
            kept = await self._keep(call_id, error)
            if kept is error:
                raise
            return kept
        finally:
            noting.reset(token)
        if call_id in self._noted or isinstance(outcome, ToolDenied):
            return outcome
        return await self._keep(call_id, outcome)

    async def _keep(self, call_id: str, outcome: Any) -> Any:
        """Note an outcome; the one that counts: a worker that was taken for dead may have noted its own meanwhile."""
        try:
            await in_database(self._note, call_id, outcome)
        except IntegrityError:
            if (found := await in_database(self._find, call_id)) is None:
                raise
            return self._restore(found)
        return outcome

    async def _write_down(self) -> None:
        """Write down the answer that asks for tools, before any of them begins.

        Raises RunFailed when another worker goes on with the run.
        """
        answer = next(
            one for one in reversed(self.run.unfinished.captured) if isinstance(one, ModelResponse)
        )
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

    def _call_and_note(self, call_id: str, call: Callable[[], Any]) -> Any:
        try:
            with transaction.atomic(using=router.db_for_write(ToolOutcome)):
                result = call()
                if isawaitable(result) or isinstance(result, ToolDenied):
                    return result
                check_result(result)
                result = bounded(result)
                self._note(call_id, result)
        except IntegrityError:
            if (found := self._find(call_id)) is None:
                raise
            result = found
        self._noted.add(call_id)
        return self._restore(result) if isinstance(result, ToolOutcome) else result

    def _note(self, call_id: str, outcome: Any) -> None:
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

    def _restore(self, found: ToolOutcome) -> Any:
        deps = self.run.setup.deps
        if (state := codec.load(STATE, found.state)["state"]) is not None:
            deps.state = (
                type(deps.state).model_validate(state)
                if hasattr(deps.state, "model_validate")
                else state
            )
        outcome = codec.load(OUTCOME, found.outcome)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome
