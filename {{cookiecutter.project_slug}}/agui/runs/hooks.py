"""What the engine does around a run's requests to its model, and around its tool calls."""

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, WrapToolExecuteHandler
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from agui import conf
from agui.agents.model_files import ReadableFiles
from agui.agents.page_context import add_to_last_prompt
from agui.deps import AgentDeps
from agui.events.join_deltas import joining
from agui.runs.fence import Fence
from agui.tools.definitions import Asked, check_approval, describe_call
from agui.tools.results import call_in_bounds


@dataclass(kw_only=True)
class RunHooks(AbstractCapability[AgentDeps]):
    """The hooks of one run.

    pydantic-ai asks every capability before each step and for each event, so one has all of them.
    """

    fence: Fence
    page_context: str = ""
    """What the page says about itself, for the model."""
    files: ReadableFiles = field(default_factory=ReadableFiles)
    """Decides which files the model gets."""
    asked: dict[str, Asked] = field(default_factory=dict)
    """What the user is told about each tool call, by the call's id."""

    def get_wrapper_model(self, model: Model) -> Model:
        return joining(self.files.model(model), conf.get().delta_window_seconds)

    async def before_model_request(
        self, ctx: RunContext[AgentDeps], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if self.page_context:
            messages = add_to_last_prompt(self.page_context, request_context.messages)
            request_context.messages = messages
        return request_context

    async def after_tool_validate(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
    ) -> dict[str, Any]:
        asked = self.asked[call.tool_call_id] = describe_call(call, tool_def, args)
        if ctx.tool_call_approved:
            check_approval(tool_def, asked, ctx.tool_call_metadata or {})
        return args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        return await self.fence.call(lambda: call_in_bounds(lambda: handler(args)))
