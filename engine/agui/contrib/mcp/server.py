"""This project as an MCP server: streamable HTTP for clients of 2025 and of 2026, on one route.

Nothing is kept between two requests but the questions that are open (forms.py), so any process can
answer any of them.
"""

from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.lowlevel import Server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS

from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.contrib.mcp import asking, cards, handshake, status
from agui.contrib.mcp.call import Ended, Refused, Reply, Request, Unknown, Waiting
from agui.contrib.mcp.caller import TASKS, Caller
from agui.contrib.mcp.describe import describe_tool, output_schema, page_of
from agui.contrib.mcp.exchange import Exchange
from agui.contrib.mcp.forms import receive, state_boundary
from agui.contrib.mcp.gate import Gate, Tool
from agui.contrib.mcp.links import link_mode
from agui.contrib.mcp.progress import Progress
from agui.contrib.mcp.prompts import Prompts
from agui.contrib.mcp.reading import Resources, completion
from agui.contrib.mcp.results import call_result
from agui.contrib.mcp.tasks import TaskParams, Tasks, UpdateParams
from agui.tools.schema import prettify

TTL_MS = 60_000
"""How long a client may keep a list. Permissions may change meanwhile: each call checks them."""
LISTS = (
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "server/discover",
)
VERSION_HEADER = "MCP-Protocol-Version"


class ToolServer:
    """An agent's tools, skills and resources, for MCP clients."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    @cached_property
    def gate(self) -> Gate:
        return Gate(self.endpoint, self.endpoint.registry)

    @cached_property
    def tasks(self) -> Tasks:
        return Tasks(self.gate, self._result_of)

    @cached_property
    def prompts(self) -> Prompts:
        return Prompts(self.endpoint.skills)

    @cached_property
    def resources(self) -> Resources:
        return Resources(self.endpoint)

    async def answer(
        self, request: HttpRequest, actor: Actor, body: bytes, message: Any
    ) -> HttpResponseBase:
        """Answer one request of a client, which acts as this user. `message` is its body, read."""
        caller, method = Caller(actor, request), None
        if isinstance(message, dict):
            method = message.get("method")
        version = request.headers.get(VERSION_HEADER)
        is_of_2025 = version is None or version in HANDSHAKE_PROTOCOL_VERSIONS
        if is_of_2025 and method != "initialize":
            told = handshake.read(request.headers.get(handshake.SESSION_HEADER), actor)
            caller = replace(caller, client=told.client, fills_forms=told.fills_forms)
            if is_answer(message):
                await receive(caller, message)
        streams = _may_stream(request, message)
        if is_of_2025:
            # A stream is one from its start there, so it has to be worth it.
            streams = streams and (caller.fills_forms or _wants_progress(message))
        exchange = Exchange(request, body, streams=streams)
        if streams and is_of_2025:
            caller = replace(caller, stream=exchange)
        response = await exchange.respond(self.build(caller))
        if method == "initialize" and response.status_code == 200:
            session_id = handshake.begin(actor, message)
            if session_id:
                response[handshake.SESSION_HEADER] = session_id
        return response

    def build(self, caller: Caller) -> Server[Any]:
        """Build the official server for one request."""
        config = self.endpoint.config
        hints: Any = dict.fromkeys(LISTS, CacheHint(TTL_MS, "private"))
        server = Server[Any](
            config.name,
            version=import_module("agui").__version__,
            title=prettify(config.name),
            website_url=caller.request.build_absolute_uri("/"),
            instructions=config.description,
            cache_hints=hints | {"resources/read": CacheHint(0, "private")},
            get_tool_input_schema=self._input_schema,
            on_list_tools=partial(self._list_tools, caller),
            on_call_tool=partial(self._call_tool, caller),
            on_list_prompts=self.prompts.list_prompts,
            on_get_prompt=self.prompts.get_prompt,
            on_list_resources=partial(self._list_resources, caller),
            on_list_resource_templates=partial(self._list_templates, caller),
            on_read_resource=partial(self._read_resource, caller),
            on_completion=partial(self._complete, caller),
        )
        server.extensions[TASKS] = {}
        server.add_request_handler("tasks/get", TaskParams, partial(self.tasks.get, caller))
        server.add_request_handler("tasks/update", UpdateParams, partial(self.tasks.update, caller))
        server.add_request_handler("tasks/cancel", TaskParams, partial(self.tasks.cancel, caller))
        server.middleware.append(state_boundary(caller, config.name))
        return server

    def _input_schema(self, name: str) -> dict[str, Any] | None:
        registry = self.endpoint.registry
        return registry.get(name).input_schema if name in registry else None

    async def _list_tools(self, caller: Caller, ctx: Any, params: Any) -> types.ListToolsResult:
        caller = caller.declaring(ctx.session)
        tools = await self.gate.tools(caller)
        page, cursor = page_of(list(tools.values()), params and params.cursor)
        described = [self._describe(caller, tool) for tool in page]
        if cursor is None and self._has_status(tools, caller):
            described.append(status.TOOL)
        return types.ListToolsResult(tools=described, next_cursor=cursor)

    def _describe(self, caller: Caller, tool: Tool) -> types.Tool:
        binding = self.endpoint.registry.get(tool.tool_def.name)
        may_wait = asking.may_wait(caller, tool.tool_def, binding.spec.destructive)
        return describe_tool(binding, tool, may_wait=may_wait)

    def _has_status(self, tools: dict[str, Tool], caller: Caller) -> bool:
        """Whether a call of this user may have to wait: any tool with a `ctx` can ask."""
        registry = self.endpoint.registry
        if status.NAME in registry or not asking.can_approve(caller, destructive=True):
            return False
        return any(
            tool.tool_def.kind == "unapproved" or registry.get(name).parsed.takes_ctx
            for name, tool in tools.items()
        )

    async def _call_tool(
        self, caller: Caller, ctx: Any, params: types.CallToolRequestParams
    ) -> Any:
        caller = caller.declaring(ctx.session)
        request = Request(
            caller,
            params.name,
            params.arguments or {},
            params,
            _progress(ctx),
            link_mode(caller, ctx.session),
        )
        try:
            if params.name == status.NAME and status.NAME not in self.endpoint.registry:
                return await status.answer(caller, request.arguments, self.gate.may_know)
            if caller.takes_tasks:
                return await self.tasks.call(request)
            return self._result_of(request, await self.gate.call(request))
        except Unknown as error:
            raise error.as_error() from None
        except Refused as refusal:
            return call_result(str(refusal), is_error=True)

    def _result_of(
        self, request: Request, reply: Reply
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Convert the reply to a call to the result that its client gets."""
        if isinstance(reply, Waiting):
            return reply.words
        if not isinstance(reply, Ended):
            return reply
        binding = self.endpoint.registry.get(request.name)
        is_error = reply.outcome != "success"
        result = call_result(reply.content, is_error=is_error, schema=output_schema(binding))
        result.meta = cards.meta_of_result(binding, reply.card, request.caller)
        return result

    async def _shows_cards(self, caller: Caller) -> bool:
        """Whether this user may call a tool that shows a card."""
        if not any(map(cards.shows_card, self.endpoint.registry)):
            return False
        tools = await self.gate.tools(caller)
        return any(cards.shows_card(self.endpoint.registry.get(name)) for name in tools)

    async def _list_resources(self, caller: Caller, _: Any, params: Any) -> Any:
        listed = await self.resources.list_resources(caller, params)
        if listed.next_cursor is None and await self._shows_cards(caller):
            listed.resources.append(cards.resource())
        return listed

    async def _list_templates(self, caller: Caller, _: Any, params: Any) -> Any:
        return await self.resources.list_templates(caller, params)

    async def _read_resource(self, caller: Caller, ctx: Any, params: Any) -> Any:
        if params.uri == cards.URI and await self._shows_cards(caller):
            return types.ReadResourceResult(contents=[cards.contents()])
        return await self.resources.read(caller, ctx, params)

    async def _complete(
        self, caller: Caller, _: Any, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        reference = params.ref
        if isinstance(reference, types.PromptReference):
            self.prompts.find(reference.name)
            # A skill's words may be filled with anything.
            return types.CompleteResult(completion=completion((), params.argument.value))
        found = await self.resources.complete(caller, reference.uri, params.argument)
        return types.CompleteResult(completion=found)


def is_answer(message: Any) -> bool:
    """Whether a body answers a request of ours, which went to the client on a stream."""
    return isinstance(message, dict) and "method" not in message and "id" in message


def _may_stream(request: HttpRequest, message: Any) -> bool:
    if not isinstance(message, dict) or message.get("method") != "tools/call":
        return False
    return "text/event-stream" in request.headers.get("Accept", "")


def _wants_progress(message: dict[str, Any]) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and "progressToken" in meta


def _progress(ctx: Any) -> Progress | None:
    """Return what tells the client of progress, if it wants to know."""
    token = (ctx.meta or {}).get("progress_token")
    if token is None:
        return None

    async def report(progress: float, total: float | None, message: str | None) -> None:
        await ctx.session.send_progress_notification(
            token, progress, total, message, related_request_id=str(ctx.request_id)
        )

    return Progress(report)
