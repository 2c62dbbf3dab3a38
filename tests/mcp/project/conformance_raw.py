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


def said(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def asked(state: Any = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(
        input_requests=requests, request_state=None if state is None else json.dumps(state)
    )


def filled(params: Any, key: str) -> dict[str, Any] | None:
    """What a form of this key has got; None if it has none."""
    answer = (params.input_responses or {}).get(key)
    return answer.content if isinstance(answer, types.ElicitResult) else None


def asking(key: str, request: Any, told: Callable[[Any], str]) -> Raw:
    """Make a tool that asks once, and tells of the answer."""

    async def ask(ctx: Any, params: Params) -> Result:
        answer = (params.input_responses or {}).get(key)
        return asked(**{key: request}) if answer is None else said(told(answer))

    return ask


async def request_state(ctx: Any, params: Params) -> Result:
    if params.request_state and filled(params, "confirm"):
        return said("state-ok")
    return asked({"kind": "state"}, confirm=form("Please confirm", "ok", "boolean"))


async def multiple_inputs(ctx: Any, params: Params) -> Result:
    answers = params.input_responses or {}
    if params.request_state and {"user_name", "greeting", "client_roots"} <= answers.keys():
        return said(f"Hello, {(filled(params, 'user_name') or {})['name']}!")
    return asked(
        {"kind": "inputs"},
        user_name=form("What is your name?", "name"),
        greeting=sampling("Generate a greeting"),
        client_roots=types.ListRootsRequest(),
    )


async def multi_round(ctx: Any, params: Params) -> Result:
    state = json.loads(params.request_state or "{}")
    if not state:
        return asked({"round": 1}, step1=form("Step 1: What is your name?", "name"))
    if state["round"] == 1:
        name = (filled(params, "step1") or {})["name"]
        return asked({"round": 2, "name": name}, step2=form("Step 2: What is your favorite color?", "color"))
    return said(f"{state['name']} likes {(filled(params, 'step2') or {})['color']}")


async def capabilities(ctx: Any, params: Params) -> Result:
    declared = ctx.session.client_capabilities
    requests: dict[str, Any] = {}
    if declared.sampling is not None:
        requests["greeting"] = sampling("Generate a greeting")
    if declared.elicitation is not None:
        requests["user_name"] = form("What is your name?", "name")
    return asked(**requests)


async def missing_capability(ctx: Any, params: Params) -> Result:
    if ctx.session.client_capabilities.sampling is None:
        needed = {"requiredCapabilities": {"sampling": {}}}
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "Sampling is needed.", needed)
    return said("Success")


async def streaming_elicitation(ctx: Any, params: Params) -> Result:
    if ctx.meta and "progress_token" in ctx.meta:
        await ctx.session.send_progress_notification(ctx.meta["progress_token"], 1, related_request_id=ctx.request_id)
    return asked(user_name=form("What is your name?", "name"))


async def logging_tool(ctx: Any, params: Params) -> Result:
    await ctx.session.send_log_message("info", "at work", related_request_id=ctx.request_id)
    return said("logged")


async def tool_with_logging(ctx: Any, params: Params) -> Result:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await ctx.session.send_log_message("info", words, related_request_id=ctx.request_id)
    return said("logged")


TOOLS: dict[str, Raw] = {
    "test_input_required_result_elicitation": asking(
        "user_name", form("What is your name?", "name"), lambda answer: f"Hello, {answer.content['name']}!"
    ),
    "test_input_required_result_sampling": asking(
        "capital_question", sampling("What is the capital of France?"), lambda answer: f"It is {answer.content.text}"
    ),
    "test_input_required_result_list_roots": asking(
        "client_roots", types.ListRootsRequest(), lambda answer: f"Roots: {[str(root.uri) for root in answer.roots]}"
    ),
    "test_input_required_result_request_state": request_state,
    "test_input_required_result_tampered_state": request_state,
    "test_input_required_result_multiple_inputs": multiple_inputs,
    "test_input_required_result_multi_round": multi_round,
    "test_input_required_result_capabilities": capabilities,
    "test_missing_capability": missing_capability,
    "test_streaming_elicitation": streaming_elicitation,
    "test_logging_tool": logging_tool,
    "test_tool_with_logging": tool_with_logging,
}


async def on_stream(caller: Any, params: Params, method: str, asked_for: dict[str, Any]) -> Result:
    """Ask a client of 2025, and say what it has answered."""
    question = ClientQuestion(
        caller=caller.key,
        call="",
        tool_name=params.name,
        kind="raw",
        form={},
        expires_at=clock.now() + timedelta(minutes=1),
    )
    await question.asave(force_insert=True)
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


async def required_prompt(ctx: Any, params: Any) -> Any:
    answer = filled(params, "user_context")
    if answer is None:
        return asked(user_context=form("What context should the prompt use?", "context"))
    return prompt(types.TextContent(type="text", text=f"Prompt with context: {answer['context']}"))


async def prompt_with_resource(ctx: Any, params: Any) -> Any:
    contents = types.TextResourceContents(
        uri=(params.arguments or {})["resourceUri"], mime_type="text/plain", text="Embedded resource content."
    )
    return prompt(
        types.EmbeddedResource(type="resource", resource=contents), types.TextContent(type="text", text="Process it.")
    )


async def prompt_with_image(ctx: Any, params: Any) -> Any:
    image = types.ImageContent(type="image", data=PNG, mime_type="image/png")
    return prompt(image, types.TextContent(type="text", text="Analyze it."))


def prompt(*contents: Any) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content) for content in contents])


PROMPTS: dict[str, tuple[Raw, list[str]]] = {
    "test_input_required_result_prompt": (required_prompt, []),
    "test_prompt_with_embedded_resource": (prompt_with_resource, ["resourceUri"]),
    "test_prompt_with_image": (prompt_with_image, []),
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
            raw = []
            for name, (_, arguments) in PROMPTS.items():
                needed = [types.PromptArgument(name=argument, required=True) for argument in arguments]
                raw.append(types.Prompt(name=name, description=name, arguments=needed))
            return listed.model_copy(update={"prompts": [*listed.prompts, *raw]})

        async def get(ctx: Any, params: Any) -> Any:
            handler, _ = PROMPTS.get(params.name, (get_prompt, []))
            return await handler(ctx, params)

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
