"""POST <prefix>mcp/: this project for MCP clients, if AGUI["MCP"]["ENDPOINT"] is on."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from django.http import HttpRequest, HttpResponseBase
from django.utils.module_loading import import_string

from agui import conf
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.origins import check_origin, is_allowed, is_preflight, let_read, preflight
from agui.errors import NotFound
from agui.http.bodies import parsed, read_body
from agui.http.views import AgentView, DjangoAGUIView
from agui.protocol.strict_json import parse_json
from agui.runs.shutdown import shutdown

if TYPE_CHECKING:
    from agui.contrib.mcp.server import ToolServer


class McpView(AgentView):
    """An agent's tools, skills and resources, for MCP clients."""

    methods = frozenset({"POST"})
    runs_agents = True
    server_path = "agui.contrib.mcp.server.ToolServer"
    """The server's class. Its module needs the library, which is an extra."""

    def __init__(self, endpoint: Endpoint, **access: Any) -> None:
        super().__init__(**access)
        self.endpoint = endpoint

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(view.endpoint, **view.access)

    @cached_property
    def server(self) -> "ToolServer":
        server: ToolServer = import_string(self.server_path)(self.endpoint)
        return server

    def max_body_bytes(self) -> int:
        if not conf.part(McpSettings).endpoint:
            return super().max_body_bytes()
        return conf.get().max_body_bytes

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        response = await super().__call__(request, **kwargs)
        origin = request.headers.get("Origin")
        if origin is not None and is_allowed(request):
            let_read(response, origin)
        return response

    async def _check_and_respond(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        # A browser asks without the token that the page will send.
        if is_preflight(request) and conf.part(McpSettings).endpoint:
            check_origin(request)
            return preflight("POST")
        return await super()._check_and_respond(request, **kwargs)

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if not conf.part(McpSettings).endpoint:
            raise NotFound("This agent has no MCP endpoint.")
        check_origin(request)
        shutdown.refuse_runs()
        body = read_body(request, conf.get().max_body_bytes)
        message = await parsed(parse_json, body)
        self.check_message(request, message)
        return await self.server.answer(request, actor, body, message)

    def check_message(self, request: HttpRequest, message: Any) -> None:
        """Refuse what the client's credential does not allow. Raises Forbidden."""
