"""Tools that ask a client for what this project never asks for: sampling, roots and logs are deprecated.

Others ask with keys and words of the suite's own.
"""

import base64
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from agui import clock
from agui.contrib.mcp.forms import request_on_stream
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.server import ToolServer
from mcp import MCPError, types

PNG = base64.b64encode(b"\x89PNG").decode()
Params = types.CallToolRequestParams
Result = types.CallToolResult | types.InputRequiredResult
Raw = Callable[[Any, Any], Awaitable[Any]]


def form(message: str, field: str, kind: str = "string") -> types.ElicitRequest:
    """Ask for one field."""
    schema = {"type": "object", "properties": {field: {"type": kind}}, "required": [field]}
    return types.ElicitRequest(params=types.ElicitRequestFormParams(message=message, requested_schema=schema))


def sampling(text: str) -> types.CreateMessageRequest:
    content = types.TextContent(type="text", text=text)
    messages = [types.SamplingMessage(role="user", content=content)]
    return types.CreateMessageRequest(params=types.CreateMessageRequestParams(messages=messages, max_tokens=100))


NAME = form("What is your name?", "name")


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def asked(state: Any = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(
        input_requests=requests, request_state=None if state is None else json.dumps(state)
    )


def asking(told: Callable[[Any], str], state: Any = None, **requests: Any) -> Raw:
    """Make a tool that asks once, and tells of the answers."""

    async def ask(ctx: Any, params: Params) -> Result:
        answers = params.input_responses or {}
        if requests.keys() <= answers.keys() and (state is None or params.request_state):
            return said(told(answers))
        return asked(state, **requests)

    return ask


def name_in(answers: Any) -> str:
    return f"Hello, {answers['user_name'].content['name']}!"


async def multi_round(ctx: Any, params: Params) -> Result:
    state = json.loads(params.request_state or "{}")
    answers: Any = params.input_responses
    if not state:
        return asked({"round": 1}, step1=form("Step 1: What is your name?", "name"))
    if state["round"] == 1:
        name = answers["step1"].content["name"]
        return asked({"round": 2, "name": name}, step2=form("Step 2: What is your favorite color?", "color"))
    return said(f"{state['name']} likes {answers['step2'].content['color']}")


async def capabilities(ctx: Any, params: Params) -> Result:
    declared = ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if declared.sampling is not None:
        requests["greeting"] = sampling("Generate a greeting")
    if declared.elicitation is not None:
        requests["user_name"] = NAME
    return asked(**requests)


async def missing_capability(ctx: Any, params: Params) -> Result:
    if ctx.session.client_capabilities.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", needed)
    return said("Success")


async def streaming_elicitation(ctx: Any, params: Params) -> Result:
    if ctx.meta and "progress_token" in ctx.meta:
        await ctx.session.send_progress_notification(ctx.meta["progress_token"], 1, related_request_id=ctx.request_id)
    return asked(user_name=NAME)


async def logging(ctx: Any, params: Params) -> Result:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
    return said("logged")


asks_with_state = asking(lambda answers: "state-ok", {"kind": "state"}, confirm=form("Please confirm", "ok", "boolean"))
TOOLS: dict[str, Raw] = {
    "test_input_required_result_elicitation": asking(name_in, user_name=NAME),
    "test_input_required_result_sampling": asking(
        lambda answers: f"It is {answers['capital_question'].content.text}",
        capital_question=sampling("What is the capital of France?"),
    ),
    "test_input_required_result_list_roots": asking(
        lambda answers: f"Roots: {[str(root.uri) for root in answers['client_roots'].roots]}",
        client_roots=types.ListRootsRequest(),
    ),
    "test_input_required_result_request_state": asks_with_state,
    "test_input_required_result_tampered_state": asks_with_state,
    "test_input_required_result_multiple_inputs": asking(
        name_in,
        {"kind": "inputs"},
        user_name=NAME,
        greeting=sampling("Generate a greeting"),
        client_roots=types.ListRootsRequest(),
    ),
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_capabilities": capabilities,
    "test_missing_capability": missing_capability,
    "test_streaming_elicitation": streaming_elicitation,
    "test_logging_tool": logging,
    "test_tool_with_logging": logging,
}


async def on_stream(caller: Any, params: Params, method: str, asked_for: dict[str, Any]) -> Result:
    """Ask a client of 2025, and say what it has answered."""
    about = {"caller": caller.key, "tool_name": params.name, "expires_at": clock.now() + timedelta(minutes=1)}
    question = await ClientQuestion.objects.acreate(call="", kind="raw", form={}, **about)
    result = await request_on_stream(caller, question, {"method": method, "params": asked_for})
    return said(json.dumps(result))


def ask_model_on_stream(caller: Any, params: Params) -> Awaitable[Result]:
    text = (params.arguments or {})["prompt"]
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return on_stream(caller, params, "sampling/createMessage", {"messages": messages, "maxTokens": 100})


def ask_user_on_stream(caller: Any, params: Params) -> Awaitable[Result]:
    message = (params.arguments or {}).get("message", "Please fill this in")
    schema = {"type": "object", "properties": FORMS[params.name], "required": []}
    return on_stream(caller, params, "elicitation/create", {"message": message, "requestedSchema": schema})


OPTIONS = ["option1", "option2", "option3"]
TITLED = [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]
FORMS: dict[str, dict[str, Any]] = {
    "test_elicitation": {"response": {"type": "string"}},
    "test_elicitation_sep1034_defaults": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
    "test_elicitation_sep1330_enums": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}
ON_STREAM: dict[str, Raw] = {"test_sampling": ask_model_on_stream, **dict.fromkeys(FORMS, ask_user_on_stream)}


def prompt(*contents: Any) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content) for content in contents])


async def required_prompt(ctx: Any, params: Any) -> Any:
    answers = params.input_responses
    if not answers:
        return asked(user_context=form("What context should the prompt use?", "context"))
    text = f"Prompt with context: {answers['user_context'].content['context']}"
    return prompt(types.TextContent(type="text", text=text))


async def prompt_with_resource(ctx: Any, params: Any) -> Any:
    text = types.TextResourceContents(uri=params.arguments["resourceUri"], mime_type="text/plain", text="Embedded.")
    return prompt(types.EmbeddedResource(type="resource", resource=text))


async def prompt_with_image(ctx: Any, params: Any) -> Any:
    return prompt(types.ImageContent(type="image", data=PNG, mime_type="image/png"))


PROMPTS: dict[str, Raw] = {
    "test_input_required_result_prompt": required_prompt,
    "test_prompt_with_embedded_resource": prompt_with_resource,
    "test_prompt_with_image": prompt_with_image,
}


async def accept(ctx: Any, params: Any) -> types.EmptyResult:
    return types.EmptyResult()


class RawServer(ToolServer):
    """The project's server, with raw tools and prompts beside its own."""

    def build(self, caller: Any) -> Any:
        server = super().build(caller)

        def own(method: str) -> Raw:
            return server.get_request_handler(method).handler

        list_tools, call_tool = own("tools/list"), own("tools/call")
        list_prompts, get_prompt = own("prompts/list"), own("prompts/get")

        async def tools(ctx: Any, params: Any) -> Any:
            listed = await list_tools(ctx, params)
            schema = {"type": "object", "properties": {}}
            raw = [types.Tool(name=name, description=name, input_schema=schema) for name in [*TOOLS, *ON_STREAM]]
            return listed.model_copy(update={"tools": [*listed.tools, *raw]})

        async def call(ctx: Any, params: Any) -> Any:
            if params.name in ON_STREAM:
                return await ON_STREAM[params.name](caller, params)
            return await TOOLS.get(params.name, call_tool)(ctx, params)

        async def prompts(ctx: Any, params: Any) -> Any:
            listed = await list_prompts(ctx, params)
            raw = [types.Prompt(name=name, description=name) for name in PROMPTS]
            return listed.model_copy(update={"prompts": [*listed.prompts, *raw]})

        async def get(ctx: Any, params: Any) -> Any:
            return await PROMPTS.get(params.name, get_prompt)(ctx, params)

        for method, params_type, handler in (
            ("tools/list", types.PaginatedRequestParams, tools),
            ("tools/call", types.CallToolRequestParams, call),
            ("prompts/list", types.PaginatedRequestParams, prompts),
            ("prompts/get", types.GetPromptRequestParams, get),
            ("logging/setLevel", types.SetLevelRequestParams, accept),
            ("resources/subscribe", types.SubscribeRequestParams, accept),
            ("resources/unsubscribe", types.UnsubscribeRequestParams, accept),
        ):
            server.add_request_handler(method, params_type, handler)
        return server
