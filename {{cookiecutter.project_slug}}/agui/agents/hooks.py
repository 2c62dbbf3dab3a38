"""What the engine does around a run's requests to its model, and around its tool calls."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
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
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition

from agui.agents.model_files import ReadableFiles
from agui.agents.page_context import add_to_last_prompt
from agui.tools.audit import AuditLogger, record_event, resolve_audit_logger
from agui.tools.definitions import Asked, check_approval, describe_call
from agui.tools.results import call_in_bounds
from agui.tools.search import defer_many
from agui.tools.timer import ToolCallTimer

ToolCall = Callable[[], Awaitable[Any]]


@dataclass(kw_only=True)
class ServedRun:
    """What a run of an endpoint has for its hooks."""

    join_deltas: Callable[[Model], Model]
    """Wraps the run's model."""
    fence: Callable[[ToolCall], Awaitable[Any]]
    """Calls a tool, unless the run is no longer this process's."""
    page_context: str
    """What the page says about itself, for the model."""
    files: ReadableFiles = field(default_factory=ReadableFiles)
    """Decides which files the model gets."""
    asked: dict[str, Asked] = field(default_factory=dict)
    """What the user is told about each tool call, by the call's id."""


@dataclass(kw_only=True)
class Hooks(AbstractCapability[Any]):
    """The engine's hooks.

    pydantic-ai asks every capability before each step and for each event, so one has all of them.
    A run of an endpoint brings its own, which take the place of the agent's. The agent's audit
    `build_agent(...).run()`.
    """

    id: str | None = "agui"
    served: ServedRun | None = None
    """None if no endpoint serves the run."""
    timer: ToolCallTimer | None = None
    logger: AuditLogger | None = None
    """Where events of runs are recorded that no endpoint serves; None is AGUI["AUDIT_LOGGER"]."""

    async def for_run(self, ctx: RunContext[Any]) -> "Hooks":
        if self.timer is not None:
            return self
        thread_id = ctx.conversation_id or ""
        timer = ToolCallTimer(ctx.deps, thread_id=thread_id, run_id=ctx.run_id or "")
        return replace(self, logger=resolve_audit_logger(self.logger), timer=timer)

    def get_wrapper_model(self, model: Model) -> Model:
        if self.served is None:
            return model
        return self.served.join_deltas(self.served.files.model(model))

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if self.served and self.served.page_context:
            messages = add_to_last_prompt(self.served.page_context, request_context.messages)
            request_context.messages = messages
        return request_context

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        if self.timer:
            for definition in tool_defs:
                self.timer.learn(definition.name, definition.parameters_json_schema)
        return defer_many(tool_defs)

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        if self.served:
            asked = self.served.asked[call.tool_call_id] = describe_call(call, tool_def, args)
            if ctx.tool_call_approved:
                check_approval(tool_def, asked, ctx.tool_call_metadata or {})
        return args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        async def execute() -> Any:
            try:
                return await handler(args)
            except Exception as error:
                if self.timer:
                    self.timer.blame(call.tool_call_id, error)
                raise

        if self.served is None:
            return await execute()
        return await self.served.fence(lambda: call_in_bounds(execute))

    def listens_to(self, event: AgentStreamEvent) -> bool:
        return self.logger is not None and super().listens_to(event)

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
            if self.timer and self.logger:
                for abandoned in self.timer.abandon(waiting):
                    await record_event(self.logger, abandoned)
