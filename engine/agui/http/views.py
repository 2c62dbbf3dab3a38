"""The endpoints of one agent."""

import logging
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from copy import copy
from typing import Any, ClassVar, Self

from asgiref.sync import markcoroutinefunction
from django.core.handlers.wsgi import WSGIRequest
from django.db import connections, transaction
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from pydantic_ai import Agent

from agui import conf, parts
from agui.actor import Actor
from agui.agents.config import AgentConfig
from agui.agents.discovery import discover
from agui.agents.endpoint import Endpoint
from agui.agents.skills import SkillRegistry
from agui.blocking.executor import owner, release_connections
from agui.deps import AgentDeps
from agui.errors import HttpError, MethodNotAllowed, NeedsAsgi, RunFailed, Unavailable, refusal_of
from agui.events.frames import refusal
from agui.http.auth import GetUser, authenticate, enforce_csrf
from agui.http.bodies import MAX_OBJECT_BYTES, read_run_input
from agui.http.catalogs import (
    all_permitted_tools,
    build_capabilities,
    build_tool_catalog,
    permitted_tools,
)
from agui.http.sse import sse_response
from agui.http.throttle import throttle
from agui.log_fields import run_fields
from agui.namespaces import FIRST_AGENT, owner_of
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs import start
from agui.runs.live import Follower, live
from agui.runs.shutdown import shutdown
from agui.stores.base import open_store
from agui.tools.registry import ToolRegistry
from agui.tools.search import check_toolsets

logger = logging.getLogger("agui.views")


class AgentView:
    """One endpoint: checks the user, the method and the site, then calls `respond`."""

    methods: ClassVar[frozenset[str]] = frozenset({"GET"})
    runs_agents: ClassVar[bool] = False
    is_public: ClassVar[bool] = False
    # Django's middleware skips these views: `authenticate` and `enforce_csrf` know API tokens, too.
    csrf_exempt, login_required = True, False

    def __init__(
        self,
        *,
        get_user: GetUser | None = None,
        require_authenticated: bool = True,
        namespace: str = FIRST_AGENT,
    ) -> None:
        self.get_user = get_user
        self.require_authenticated = require_authenticated
        self.namespace = namespace
        # Middleware of other projects reads the name that each function has.
        self.__name__ = self.__qualname__ = type(self).__name__
        markcoroutinefunction(self)
        for database in connections:
            # Django refuses asynchronous views with ATOMIC_REQUESTS, unless they are exempt.
            transaction.non_atomic_requests(database)(self)

    @classmethod
    def mounted(cls, view: "DjangoAGUIView") -> Self:
        """Make this endpoint for an agent, with the policy of the agent's own view."""
        return cls(**view.access)

    @property
    def access(self) -> dict[str, Any]:
        """The users whom the endpoint lets in, and the agent whose data it reads and writes."""
        return {
            "get_user": self.get_user,
            "require_authenticated": self.require_authenticated,
            "namespace": self.namespace,
        }

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        shutdown.await_signal()
        try:
            return await self._check_and_respond(request, **kwargs)
        except Exception as error:
            refusal = refusal_of(error)
            if not isinstance(error, HttpError) and (refusal is None or refusal.status >= 500):
                logger.exception("%s %s failed", request.method, request.path)
            return (refusal or HttpError()).response()

    async def _check_and_respond(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        discover()
        actor = await authenticate(
            request,
            self.get_user,
            required=self.require_authenticated,
            namespace=self.namespace,
        )
        owner.set(owner_of(actor.scope))
        self.check_method(request)
        self.check_length(request)
        if self.runs_agents:
            refuse_wsgi(request)
        await enforce_csrf(request)
        response = await self.respond(request, actor, **kwargs)
        if request.method == "HEAD" and isinstance(response, StreamingHttpResponse):
            response.streaming_content = _empty_stream()  # The server would not read the real one.
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    def check_method(self, request: HttpRequest) -> None:
        methods = set(self.methods)
        if "GET" in methods:
            methods.add("HEAD")
        if request.method not in methods:
            raise MethodNotAllowed(headers={"Allow": ", ".join(sorted(methods))})

    def max_body_bytes(self) -> int:
        """The largest body that is read: the server refuses a larger one while it arrives."""
        return MAX_OBJECT_BYTES

    def check_length(self, request: HttpRequest) -> None:
        """Refuse a body by its Content-Length, before anything reads it."""

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        raise NotImplementedError


def refuse_wsgi(request: HttpRequest) -> None:
    """Raise NeedsAsgi under WSGI, where the event loop ends with the request, before its run."""
    if isinstance(request, WSGIRequest):
        logger.error(
            "%s %s: this is a WSGI server, which can't run agents. Serve ASGI_APPLICATION with an "
            "ASGI server (daphne config.asgi:application); for `runserver` put 'daphne' first in "
            "INSTALLED_APPS.",
            request.method,
            request.path,
        )
        raise NeedsAsgi


async def _empty_stream() -> AsyncGenerator[bytes]:
    return
    yield


class DjangoAGUIView(AgentView):
    """The agent's endpoint: POST a RunAgentInput, read its events (https://docs.ag-ui.com)."""

    methods = frozenset({"POST"})
    runs_agents = True

    def __init__(
        self,
        registry: ToolRegistry,
        config: AgentConfig | None = None,
        *,
        skills: SkillRegistry | None = None,
        get_user: GetUser | None = None,
        require_authenticated: bool = True,
    ) -> None:
        super().__init__(get_user=get_user, require_authenticated=require_authenticated)
        if not isinstance(registry, ToolRegistry):
            raise TypeError(
                f"DjangoAGUIView({registry!r}): give the ToolRegistry of the agent's tools."
            )
        config = config or AgentConfig()
        if skills is None:
            skills = SkillRegistry()
        check_toolsets(config.toolsets)
        self.endpoint = Endpoint(registry, config, skills)

    def max_body_bytes(self) -> int:
        return conf.get().max_body_bytes

    def in_namespace(self, namespace: str) -> Self:
        """Return this view, for requests to the agent that is mounted in this namespace."""
        if namespace == self.namespace:
            return self
        view = copy(self)
        view.namespace = namespace
        return view

    @property
    def registry(self) -> ToolRegistry:
        return self.endpoint.registry

    @property
    def agent(self) -> Agent[AgentDeps, Any]:
        return self.endpoint.agent

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        shutdown.refuse_runs()
        await throttle(request, actor)
        run_input, fingerprint = await read_run_input(request)
        follower = Follower(actor.scope)
        with ExitStack() as unless_followed:
            unless_followed.callback(follower.close)
            log, is_new = await start.reserve(actor.scope, run_input.thread_id, fingerprint)
            follower.read(log, started_run=is_new)
            if is_new:
                self.start(request, actor, run_input, log, request.path_info)
            # The stream may last long, and must not hold the request's connection all the time.
            await release_connections()
            try:
                await log.started()
            except RunFailed as failure:
                return sse_response(refusal(run_input, failure))
            if parts.executor():
                # Another process executes the run: read the copy of its log.
                copy = await live.logs.find(actor.scope, run_input.thread_id)
                if copy is None:
                    raise Unavailable(headers={"Retry-After": "1"})
                follower.read(copy, started_run=is_new)
            unless_followed.pop_all()
        return sse_response(follower)

    def start(
        self, request: HttpRequest, actor: Actor, run_input: RunAgentInput, log: RunLog, path: str
    ) -> None:
        """Start a run that has taken its thread. `path` is that of this endpoint."""
        entering = parts.implementing("request_context")
        contexts = (part.request_context(request.headers) for part in entering)
        with run_fields(log, actor.user), parts.entered(contexts):
            store = open_store(request, actor.scope)
            start.start(log, self.endpoint, actor, run_input, store, path)


class ToolsView(AgentView):
    """The tools that this user may use, for labels in a page.

    `source` is an agent's view, for all its tools, or a registry.
    """

    def __init__(self, source: DjangoAGUIView | ToolRegistry, **access: Any) -> None:
        super().__init__(**access)
        if not isinstance(source, DjangoAGUIView | ToolRegistry):
            raise TypeError(f"ToolsView({source!r}): give the DjangoAGUIView, or a ToolRegistry.")
        self.source = source

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        if isinstance(self.source, ToolRegistry):
            tools = await permitted_tools(self.source, actor)
        else:
            tools = await all_permitted_tools(self.source.endpoint, actor)
        return JsonResponse(build_tool_catalog(tools), safe=False)


class SkillsView(AgentView):
    """The prompts that a page offers."""

    def __init__(self, skills: SkillRegistry, **access: Any) -> None:
        super().__init__(**access)
        if not isinstance(skills, SkillRegistry):
            raise TypeError(
                f"SkillsView({skills!r}): give a SkillRegistry, as the `skills` of a "
                "DjangoAGUIView."
            )
        self.skills = skills

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        return JsonResponse(self.skills.payload(), safe=False)


class CapabilitiesView(AgentView):
    """The capabilities of this agent, as AG-UI's AgentCapabilities."""

    def __init__(self, view: DjangoAGUIView, **access: Any) -> None:
        super().__init__(**access)
        if not isinstance(view, DjangoAGUIView):
            raise TypeError(f"CapabilitiesView({view!r}): give the DjangoAGUIView.")
        self.endpoint = view.endpoint

    async def respond(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponse:
        tools = await all_permitted_tools(self.endpoint, actor)
        return JsonResponse(build_capabilities(self.endpoint.config, tools))
