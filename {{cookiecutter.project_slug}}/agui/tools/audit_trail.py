"""The audit trail as a capability of the agent: why calls failed, and all calls of a run that no endpoint serves."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import DeferredToolRequests, RunContext
from pydantic_ai.capabilities import (
    AbstractCapability,
    WrapRunHandler,
    WrapToolExecuteHandler,
    on_event,
)
from pydantic_ai.messages import (
    AgentStreamEvent,
    BaseToolCallPart,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ToolCallPart,
)
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition

from agui.stores.annotations import annotate
from agui.tools.audit import AuditLogger, record_event, resolve_audit_logger
from agui.tools.timer import ToolCallTimer

# In what is noted with an answer: paths of secret arguments, by tool call id.
SECRETS_KEY = "secret_arguments"


@dataclass
class AuditTrail(AbstractCapability[Any]):
    """Audits `build_agent(...).run()`. The endpoint records its own runs, and puts one with its timer in the place."""

    id: str | None = "agui-audit"
    logger: AuditLogger | None = None
    """Where events go; None is where AGUI["AUDIT_LOGGER"] says."""
    timer: ToolCallTimer | None = None
    is_recording: bool = False

    async def for_run(self, ctx: RunContext[Any]) -> "AuditTrail":
        if self.timer is not None:
            return self
        timer = ToolCallTimer(
            ctx.deps, thread_id=ctx.conversation_id or "", run_id=ctx.run_id or ""
        )
        return replace(
            self, logger=resolve_audit_logger(self.logger), timer=timer, is_recording=True
        )

    def listens_to(self, event: AgentStreamEvent) -> bool:
        return self.is_recording and super().listens_to(event)

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        if self.timer:
            for definition in tool_defs:
                self.timer.learn(definition.name, definition.parameters_json_schema)
        return tool_defs

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        try:
            return await handler(args)
        except Exception as error:
            if self.timer:
                self.timer.blame(call.tool_call_id, error)
            raise

    @on_event(FunctionToolCallEvent)
    async def start(self, ctx: RunContext[Any], event: FunctionToolCallEvent) -> None:
        if self.timer:
            self.timer.start(event.part)

    @on_event(FunctionToolResultEvent)
    async def stop(self, ctx: RunContext[Any], event: FunctionToolResultEvent) -> None:
        if self.timer and self.logger and (ended := self.timer.stop(event.part)):
            await record_event(self.logger, ended)

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        waiting: Iterable[ToolCallPart] = ()
        try:
            result = await handler()
            if isinstance(result.output, DeferredToolRequests):
                waiting = [*result.output.approvals, *result.output.calls]
            return result
        finally:
            if self.is_recording and self.timer and self.logger:
                for left in self.timer.abandon(waiting={call.tool_call_id for call in waiting}):
                    await record_event(self.logger, left)


def note_secrets(messages: Iterable[ModelMessage], timer: ToolCallTimer) -> None:
    """Note with each answer where the arguments of its calls are secret, for those who read it later."""
    for message in messages:
        calls = [part for part in message.parts if isinstance(part, BaseToolCallPart)]
        if secrets := {
            part.tool_call_id: paths
            for part in calls
            if (paths := timer.secrets.get(part.tool_name))
        }:
            annotate(message, **{SECRETS_KEY: secrets})
