"""<prefix>mcp/apps/: the frame of another server's app, and what the app asks for through the page.

GET ?server=...&uri=ui://... is the frame. POST {"server", "method", "params"} is a request of the
app, and {"answer": {"id", "approved"}} beside them what the user has said to the server's question.
"""

from typing import TYPE_CHECKING, Any, Self

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotModified,
    JsonResponse,
)
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agui import conf
from agui.actor import Actor
from agui.agents.endpoint import Endpoint
from agui.blocking.executor import run_in_thread
from agui.contrib.mcp.page import is_person
from agui.contrib.mcp.servers import shows_apps
from agui.errors import BadRequest, Forbidden, NotFound, UnsupportedMediaType
from agui.http.bodies import parsed, read_body
from agui.http.views import AgentView, DjangoAGUIView
from agui.lazy_import import LazyImport
from agui.protocol.strict_json import parse_json
from agui.runs.shutdown import shutdown

if TYPE_CHECKING:
    from agui.contrib.mcp import app_gate
else:
    # This module needs the library, which is an extra.
    app_gate = LazyImport("agui.contrib.mcp.app_gate")

MAX_NAME_CHARS = 200
HEADERS = {
    "X-Frame-Options": "SAMEORIGIN",
    "X-Content-Type-Options": "nosniff",
    "X-DNS-Prefetch-Control": "off",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "private, no-cache",
}


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    id: str = Field(max_length=100)
    approved: bool


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    server: str = Field(max_length=MAX_NAME_CHARS)
    method: str
    params: dict[str, Any] = {}
    answer: _Answer | None = None


class AppView(AgentView):
    """The apps of the MCP servers that an agent uses."""

    methods = frozenset({"GET", "POST"})
    runs_agents = True

    def __init__(self, endpoint: Endpoint, **access: Any) -> None:
        super().__init__(**access)
        self.endpoint = endpoint

    @classmethod
    def mounted(cls, view: DjangoAGUIView) -> Self:
        return cls(view.endpoint, **view.access)

    def max_body_bytes(self) -> int:
        return conf.get().max_body_bytes

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if not shows_apps():
            raise NotFound("This agent shows no apps.")
        # A token is no person, and would say yes to its own questions.
        if not await is_person(request):
            raise Forbidden("Apps are for people, in a browser in which they are signed in.")
        if request.method == "POST":
            return await self._answer(request, actor)
        return await self._frame(request, actor)

    async def _frame(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        if request.headers.get("Sec-Fetch-Dest", "iframe") != "iframe":
            # As a page of its own, it would look like one of the site.
            raise NotFound(app_gate.NO_APP)
        name = request.GET.get("server", "")[:MAX_NAME_CHARS]
        document = await self._host(request, actor, name).document(request.GET.get("uri", ""))
        tag = f'"{document.digest}"'
        response: HttpResponse = HttpResponseNotModified()
        if request.headers.get("If-None-Match") != tag:
            response = HttpResponse(document.html)
        response["Content-Security-Policy"] = document.policy
        response["ETag"] = tag
        for header, value in HEADERS.items():
            response[header] = value
        return response

    async def _answer(self, request: HttpRequest, actor: Actor) -> HttpResponse:
        shutdown.refuse_runs()
        if request.content_type != "application/json":
            raise UnsupportedMediaType
        body = await parsed(parse_json, read_body(request, conf.get().max_body_bytes))
        try:
            wish = _Request.model_validate(body)
        except ValidationError as error:
            raise BadRequest(f"The request has {error.error_count()} mistakes.") from None
        host = self._host(request, actor, wish.server)
        answer = (wish.answer.id, wish.answer.approved) if wish.answer else None
        answered = await host.answer(wish.method, wish.params, answer)
        return await run_in_thread(JsonResponse, answered, pool="reading")

    def _host(self, request: HttpRequest, actor: Actor, name: str) -> "app_gate.AppHost":
        caller = app_gate.caller_of(actor, request, name)
        return app_gate.AppHost.find(self.endpoint, caller, name)
