"""A remote AG-UI agent as a pydantic-ai model, for an agent with its own tools and output types."""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import anyio
from ag_ui.core import BaseEvent, Context, RunAgentInput, Tool
from pydantic_ai import RunContext
from pydantic_ai import messages as m
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agui.contrib.client.interrupts import CAN_ASK, is_question
from agui.contrib.client.outgoing import (
    PROVIDER,
    last_response,
    to_messages,
    to_resume,
)
from agui.contrib.client.request_state import RequestState, answered_calls, earlier_calls
from agui.contrib.client.response import AGUIStreamedResponse
from agui.contrib.client.transport import AGUIClient

PROTOCOL_VERSION = "1.0"


class AGUIModelSettings(ModelSettings, total=False):
    """Settings of a run: data to send besides the conversation."""

    agui_thread_id: str
    """The thread on the server; without it, the id of pydantic-ai's conversation."""
    agui_state: Any
    """The shared state; without it, the one that the last answer left: `remote_state(messages)`."""
    agui_context: Mapping[str, str]
    """Facts about the place where the agent is asked, by description."""
    agui_forwarded_props: Any
    agui_on_event: Callable[[BaseEvent], object]
    """Called with each event: activities, steps, custom and raw events are in no answer."""


class AGUIModel(Model):
    """A model whose answers come from the AG-UI endpoint at `url`.

        model = AGUIModel("https://example.com/agent/", headers={"Authorization": "Bearer ..."})
        agent = Agent(model, tools=[...])

    The agent's own tools are declared to the server and executed here. The server's tools come as
    native tool calls and returns. Instructions are sent as a system message, which a server may
    ignore: this one does by default. Errors are AGUIErrors: AGUIRunError has the `code` of
    RUN_ERROR. `options` are those of AGUIClient.
    """

    # The remote agent gets the addresses of files: nothing is downloaded here.
    hands_on_addresses = True

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        settings: ModelSettings | None = None,
        **options: Any,
    ) -> None:
        super().__init__(settings=settings)
        self.client = AGUIClient(url, headers=headers, **options)

    @property
    def model_name(self) -> str:
        return self.client.name

    @property
    def system(self) -> str:
        return PROVIDER

    @property
    def base_url(self) -> str:
        return self.client.name

    async def request(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> m.ModelResponse:
        async with self.request_stream(
            messages, model_settings, model_request_parameters
        ) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        tools = [tool for tool in parameters.declared_function_tools if not is_question(tool)]
        tools += parameters.output_tools
        options: dict[str, Any] = dict(settings or {})
        run_input = build_run_input(messages, options, tools, parameters)
        request = RequestState(
            thread_id=run_input.thread_id,
            run_id=run_input.run_id,
            own_tools={tool.name for tool in tools},
            answered=answered_calls(messages),
            calls=earlier_calls(messages),
            state=run_input.state,
            may_ask=CAN_ASK in options,
        )
        events = self.client.run(run_input)
        on_event = options.get("agui_on_event")
        stream = AGUIStreamedResponse(parameters, self.client, events, request, on_event)
        try:
            await stream.open()
            yield stream
        finally:
            with anyio.CancelScope(shield=True):
                await stream.close_stream()


def build_run_input(
    messages: list[m.ModelMessage],
    settings: dict[str, Any],
    tools: list[ToolDefinition],
    parameters: ModelRequestParameters,
) -> RunAgentInput:
    """Build the body of a request."""
    thread_id = settings.get("agui_thread_id") or messages[-1].conversation_id or str(uuid4())
    instructions = m.InstructionPart.join(parameters.instruction_parts or []) or ""
    state = settings["agui_state"] if "agui_state" in settings else remote_state(messages)
    context = []
    for description, value in settings.get("agui_context", {}).items():
        context.append(Context(description=description, value=value))
    return RunAgentInput(
        protocol_version=PROTOCOL_VERSION,
        thread_id=thread_id,
        run_id=str(uuid4()),
        messages=to_messages(messages, thread_id, instructions),
        tools=[_declare(tool) for tool in tools],
        state=state,
        context=context,
        forwarded_props=settings.get("agui_forwarded_props", {}),
        resume=to_resume(messages) or None,
    )


def _declare(tool: ToolDefinition) -> Tool:
    return Tool(
        name=tool.name,
        description=tool.description or "",
        parameters=tool.parameters_json_schema,
    )


def remote_state(messages: list[m.ModelMessage]) -> Any:
    """Return the shared state after the last answer of a remote agent; {} before the first."""
    response = last_response(messages)
    if response is None or response.provider_name != PROVIDER:
        return {}
    return (response.provider_details or {}).get("state", {})
