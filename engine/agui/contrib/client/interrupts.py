"""The interrupts of a remote agent, as pydantic-ai's deferred tools."""

from dataclasses import dataclass
from typing import Any, cast

from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agui.contrib.client.outgoing import interrupt_of, last_response

ANYTHING = SchemaValidator(core_schema.any_schema())
# The setting of a request whose agent can put an interrupt to a user.
CAN_ASK = "agui_can_ask"
MADE_HERE = {"agui": "interrupt"}


@dataclass
class AGUIInterrupts(AbstractCapability[Any]):
    """Turns interrupts of an AGUIModel into DeferredToolRequests, and their results into `resume`.

        agent = Agent(
            AGUIModel(url),
            output_type=[str, DeferredToolRequests],
            capabilities=[AGUIInterrupts()],
        )

    Approvals are in `approvals`, under the names of the server's tools, and questions in `calls`;
    `interrupt_of(call)` returns the interrupt itself. ToolApproved(override_args=...) edits the
    arguments, and ToolDenied(message) denies with a reason.
    """

    def get_model_settings(self) -> ModelSettings:
        settings: Any = {CAN_ASK: True}
        return cast(ModelSettings, settings)

    def get_toolset(self) -> AbstractToolset[Any]:
        return _Asked()

    async def after_model_request(
        self,
        ctx: RunContext[Any],
        *,
        request_context: ModelRequestContext,
        response: m.ModelResponse,
    ) -> m.ModelResponse:
        # The step's tools were collected before the response named the server's tools.
        if ctx.tool_manager and ctx.tool_manager.tools is not None:
            ctx.tool_manager.tools.update(_tools_of(response, _Asked()))
        return response


def is_question(tool: ToolDefinition) -> bool:
    """Return whether a tool only stands for an interrupt."""
    return tool.metadata == MADE_HERE


class _Asked(AbstractToolset[Any]):
    """The tools that the last response asks about."""

    @property
    def id(self) -> str:
        return "agui-interrupts"

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        response = last_response(ctx.messages)
        return _tools_of(response, self) if response else {}

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> dict[str, Any]:
        # The server executes the tool. The model sends this result as the answer to its interrupt.
        return {"args": tool_args}


def _tools_of(
    response: m.ModelResponse, toolset: AbstractToolset[Any]
) -> dict[str, ToolsetTool[Any]]:
    tools = {}
    for part in response.parts:
        interrupt = interrupt_of(part)
        if not isinstance(part, m.ToolCallPart) or interrupt is None:
            continue
        is_approval = interrupt["reason"] == "tool_call"
        definition = ToolDefinition(
            name=part.tool_name,
            kind="unapproved" if is_approval else "external",
            metadata=MADE_HERE,
        )
        tools[part.tool_name] = ToolsetTool(
            toolset=toolset, tool_def=definition, max_retries=0, args_validator=ANYTHING
        )
    return tools
