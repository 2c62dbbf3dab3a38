"""POST <prefix>mcp/: the project's tools for MCP clients, if AGUI["MCP"]["ENDPOINT"] is on."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from django.http import HttpRequest, HttpResponse

from agui import conf
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.contrib.mcp.conf import McpSettings
from agui.errors import NotFound
from agui.http.bodies import read_body
from agui.http.views import AgentView, DjangoAGUIView
from agui.protocol.run_input import parse_json
from agui.runs.shutdown import shutdown

if TYPE_CHECKING:
    from agui.contrib.mcp.server import ToolServer


class McpView(AgentView):
    """The tools of an agent's registry, for MCP clients."""

    methods = frozenset({"POST"})
    runs_agents = True

    def __init__(self, endpoint: Endpoint, **access: Any) -> None:
        super().__init__(**access)
        self.endpoint = endpoint

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(view.endpoint, **view.access)

    @cached_property
    def server(self) -> "ToolServer":
        # The library of this module is an extra.
        from agui.contrib.mcp.server import ToolServer

        return ToolServer(self.endpoint)

    def max_body_bytes(self) -> int:
        if not conf.part(McpSettings).endpoint:
            return super().max_body_bytes()
        return conf.get().max_body_bytes

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        if not conf.part(McpSettings).endpoint:
            raise NotFound("This agent has no MCP endpoint.")
        shutdown.refuse_runs()
        body = read_body(request, conf.get().max_body_bytes)
        parse_json(body)
        return await self.server.answer(request, actor, body)
