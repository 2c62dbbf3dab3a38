"""The audit trail as a capability of the agent.

It notes why calls fail, and records the calls of runs that no endpoint serves.
"""

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
from agui.tools.secret_arguments import Path
from agui.tools.timer import ToolCallTimer

# An annotation of an answer: the paths of secret arguments, by tool call id.
SECRETS_KEY = "secret_arguments"


@dataclass
class AuditTrail(AbstractCapability[Any]):
    """Audits `build_agent(...).run()`.

    The endpoint records its own runs. It replaces this capability with one with its timer.
    """

    id: str | None = "agui-audit"
    logger: AuditLogger | None = None
    """Where events are recorded; None is AGUI["AUDIT_LOGGER"]."""
    timer: ToolCallTimer | None = None
    is_recording: bool = False

    async def for_run(self, ctx: RunContext[Any]) -> "AuditTrail":
        if self.timer is not None:
            return self
        thread_id = ctx.conversation_id or ""
        timer = ToolCallTimer(ctx.deps, thread_id=thread_id, run_id=ctx.run_id or "")
        logger = resolve_audit_logger(self.logger)
        return replace(self, logger=logger, timer=timer, is_recording=True)

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
        if self.timer and self.logger:
            ended = self.timer.stop(event.part)
            if ended:
                await record_event(self.logger, ended)

    async def wrap_run(
        self, ctx: RunContext[Any], *, handler: WrapRunHandler
    ) -> AgentRunResult[Any]:
        waiting: set[str] = set()
        try:
            result = await handler()
            if isinstance(result.output, DeferredToolRequests):
                for call in [*result.output.approvals, *result.output.calls]:
                    waiting.add(call.tool_call_id)
            return result
        finally:
            if self.is_recording and self.timer and self.logger:
                for abandoned in self.timer.abandon(waiting):
                    await record_event(self.logger, abandoned)


def note_secrets(messages: Iterable[ModelMessage], timer: ToolCallTimer) -> None:
    """Annotate each answer with the places of secret arguments, so that readers can hide them."""
    for message in messages:
        secrets: dict[str, list[Path]] = {}
        for part in message.parts:
            if isinstance(part, BaseToolCallPart):
                paths = timer.secrets(part.tool_name)
                if paths:
                    secrets[part.tool_call_id] = paths
        if secrets:
            annotate(message, **{SECRETS_KEY: secrets})
