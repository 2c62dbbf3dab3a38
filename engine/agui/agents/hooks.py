"""The engine's hooks around a run's requests to its model, and around its tool calls."""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import (
    AbstractCapability,
    WrapRunHandler,
    WrapToolExecuteHandler,
    on_event,
)
from pydantic_ai.messages import (
    AgentStreamEvent,
    BinaryContent,
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelRequest,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset
from pydantic_graph import End

from agui import parts
from agui.agents.page_context import add_to_last_prompt
from agui.agents.provider_model import ProviderModel, wrap_members
from agui.tools.audit import AuditLogger, record_event, resolve_audit_logger
from agui.tools.call import call_foreign
from agui.tools.definitions import Asked, check_approval, describe_call
from agui.tools.results import call_in_bounds
from agui.tools.search import defer_many
from agui.tools.timer import ToolCallTimer
from agui.tools.toolset import AsksAnew

ToolCall = Callable[[], Awaitable[Any]]


@dataclass(kw_only=True)
class ServedRun:
    """The data that a run of an endpoint gives to its hooks."""

    timer: ToolCallTimer
    join_deltas: Callable[[Model], Model]
    """Wraps the run's model."""
    fence: Callable[[ToolCall], Awaitable[Any]]
    """Calls a tool, unless the run is no longer this process's."""
    page_context: str
    """The page's own context, for the model."""
    run: Any
    """The ActiveRun (runs/record.py), for parts that act before each request."""
    model: Any
    """The model that answers: the one that was asked last, and until then the one to begin with.

    A capability or `agent.override(model=...)` may choose another model than the client has.
    """
    kept: dict[str, Any] = field(default_factory=dict)
    """What parts keep of the run, by the part's label."""
    asked: dict[str, Asked] = field(default_factory=dict)
    """The question about each tool call, by the call's id."""
    asks_anew: bool = False
    """Whether the user has changed what a tool had asked about in its own words."""
    agent_run_id: str | None = None
    """pydantic-ai's id of the run; None before the agent runs."""

    def wrap(self, model: Model) -> Model:
        """Wrap the run's model, or one model of its chain."""
        for part in parts.installed():
            model = part.wrap_model(model, self)
        return ProviderModel(model, self.keeps_file)

    def keeps_file(self, file: BinaryContent, earlier: BinaryContent | None) -> bool:
        """Whether a part keeps a file that the model has made."""
        return any(part.keeps_file(self, file, earlier) for part in parts.installed())

    def file_id(self, file: BinaryContent) -> str:
        """Return the id under which a part has kept a file of the run; '' if none has."""
        for part in parts.installed():
            file_id = part.file_id(self, file)
            if file_id:
                return file_id
        return ""


serving: ContextVar[ServedRun | None] = ContextVar("agui_serving", default=None)
"""The run of an endpoint that this task works for."""


@dataclass(kw_only=True)
class Hooks(AbstractCapability[Any]):
    """The engine's hooks.

    pydantic-ai asks every capability before each step and for each event, so one has all of them.
    It puts an agent's capabilities together anew for each run that changes one, so a run of an
    endpoint changes none: its hooks find it in `serving`. Any other run, as that of
    `build_agent(...).run()`, gets hooks of its own, with a timer, which only audit its tool calls.
    """

    id: str | None = "agui"
    logger: AuditLogger | None = None
    """The audit logger of runs that no endpoint serves; None is AGUI["AUDIT_LOGGER"]."""
    timer: ToolCallTimer | None = None
    """The timer of a run that no endpoint serves."""

    async def for_run(self, ctx: RunContext[Any]) -> "Hooks":
        served = serving.get()
        # An agent that a tool runs is in the context of the tool's run, but has an id of its own.
        if served and served.agent_run_id in (None, ctx.run_id):
            served.agent_run_id = ctx.run_id
            return self
        thread_id = ctx.conversation_id or ""
        timer = ToolCallTimer(ctx.deps, thread_id=thread_id, run_id=ctx.run_id or "")
        return replace(self, logger=resolve_audit_logger(self.logger), timer=timer)

    @property
    def served(self) -> ServedRun | None:
        """The run of an endpoint that these hooks work for; None if no endpoint serves it."""
        return None if self.timer else serving.get()

    def get_wrapper_model(self, model: Model) -> Model:
        served = self.served
        if served is None:
            return model
        served.model = model
        return served.join_deltas(wrap_members(model, served.wrap))

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        served = self.served
        if served and served.asks_anew:
            return AsksAnew(toolset)
        return None

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        served = self.served
        if served and served.page_context:
            messages = add_to_last_prompt(served.page_context, request_context.messages)
            request_context.messages = messages
        return request_context

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        if Agent.is_model_request_node(node):
            await self._ask_parts(ctx, node.request)
        return node

    async def after_node_run(self, ctx: RunContext[Any], *, node: Any, result: Any) -> Any:
        # A message that is read at a pause would take the place of the answers that it waits for.
        if isinstance(result, End) and not isinstance(result.data.output, DeferredToolRequests):
            await self._ask_parts(ctx, None)
        return result

    async def _ask_parts(self, ctx: RunContext[Any], request: ModelRequest | None) -> None:
        served = self.served
        if served and served.run:
            for part in parts.implementing("before_request"):
                await part.before_request(served.run, ctx, request)

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        timer = self._timer()
        if timer:
            for definition in tool_defs:
                timer.add_schema(definition.name, definition.parameters_json_schema)
        return defer_many(tool_defs)

    async def after_tool_validate(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        served = self.served
        if served:
            answered = ctx.tool_call_metadata or {}
            asked = served.asked[call.tool_call_id] = describe_call(call, tool_def, args, answered)
            if ctx.tool_call_approved:
                check_approval(tool_def, asked, answered)
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
        served, timer = self.served, self._timer()

        async def execute() -> Any:
            try:
                if served is None:
                    return await handler(args)
                return await call_foreign(tool_def, lambda: handler(args))
            except Exception as error:
                if timer:
                    timer.add_cause(call.tool_call_id, error)
                raise

        if served is None:
            return await execute()
        return await served.fence(lambda: call_in_bounds(execute))

    def _timer(self) -> ToolCallTimer | None:
        served = self.served
        return served.timer if served else self.timer

    # An endpoint's stages audit the calls of its runs (events/stages.py). The hooks audit others.

    def listens_to(self, event: AgentStreamEvent) -> bool:
        return self.timer is not None and super().listens_to(event)

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
