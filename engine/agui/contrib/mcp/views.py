"""POST <prefix>mcp/: this project for MCP clients, if AGUI["MCP"]["ENDPOINT"] is on."""

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.utils.http import is_same_domain
from django.utils.module_loading import import_string

from agui import conf
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.contrib.mcp.conf import McpSettings
from agui.errors import Forbidden, NotFound
from agui.http.bodies import read_body
from agui.http.views import AgentView, DjangoAGUIView
from agui.protocol.run_input import parse_json
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

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if not conf.part(McpSettings).endpoint:
            raise NotFound("This agent has no MCP endpoint.")
        check_origin(request)
        shutdown.refuse_runs()
        body = read_body(request, conf.get().max_body_bytes)
        message = parse_json(body)
        self.check_message(request, message)
        return await self.server.answer(request, actor, body, message)

    def check_message(self, request: HttpRequest, message: Any) -> None:
        """Refuse what the client's credential does not allow. Raises Forbidden."""


def check_origin(request: HttpRequest) -> None:
    """Raise Forbidden for the page of another site: its name may point at this machine."""
    origin = request.headers.get("Origin")
    if origin is None:
        return
    # `get_host` refuses a host that is not in ALLOWED_HOSTS.
    if origin == f"{request.scheme}://{request.get_host()}":
        return
    if any(_is_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS):
        return
    raise Forbidden("This origin is not allowed: add it to CSRF_TRUSTED_ORIGINS.")


def _is_trusted(origin: str, trusted: str) -> bool:
    if "*" not in trusted:
        return origin == trusted
    given, allowed = urlsplit(origin), urlsplit(trusted)
    return given.scheme == allowed.scheme and is_same_domain(
        given.netloc, allowed.netloc.lstrip("*")
    )
