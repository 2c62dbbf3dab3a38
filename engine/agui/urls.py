"""The routes of one agent: all its endpoints under one prefix, with one policy."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage
from django.urls import URLPattern, URLResolver, include, path
from django.urls.resolvers import RoutePattern
from django.utils.functional import cached_property
from django.utils.module_loading import import_string

from agui import parts
from agui.lazy_import import LazyImport
from agui.namespaces import FIRST_AGENT, NAMESPACE

if TYPE_CHECKING:
    from agui.agents.skills import SkillRegistry
    from agui.http import endpoints
    from agui.http.endpoints import Endpoints
    from agui.http.views import DjangoAGUIView
    from agui.tools.registry import ToolRegistry
else:
    endpoints = LazyImport("agui.http.endpoints")

# The longer routes come first, because the id of a thread may have slashes and end like a route.
ROUTES = {
    "run": "",
    "tools": "tools/",
    "skills": "skills/",
    "capabilities": "capabilities/",
    "threads": "threads/",
    "thread-events": "threads/<path:thread_id>/events/",
    "thread-cancel": "threads/<path:thread_id>/cancel/",
    "thread-fork": "threads/<path:thread_id>/fork/",
    "thread": "threads/<path:thread_id>/",
}


def get_urls(
    view: "DjangoAGUIView | str",
    prefix: str = "agent/",
    *,
    namespace: str = FIRST_AGENT,
    tools: "ToolRegistry | None" = None,
    skills: "SkillRegistry | None" = None,
) -> list[URLPattern | URLResolver]:
    """Mount an agent. Its routes have names in its namespace: `reverse("agui:run")`.

    Each further agent of a project needs a prefix and a namespace of its own, and finds only
    threads, files and runs that belong to this namespace. So a namespace must never change. Raises
    ValueError for one that is no word of at most 50 characters.

    Routes answer with and without the last slash. If `view` is a dotted path, the first request
    imports it, so commands that only read the routes don't wait for the agent. `tools` and `skills`
    are those that a page lists; by default all of the view.
    """
    if not NAMESPACE.fullmatch(namespace):
        raise ValueError(
            f"get_urls(namespace={namespace!r}): give a word of lower-case letters, digits and _, "
            "of at most 50 characters."
        )
    routes: dict[str, str] = {}
    for part in parts.installed():
        for name, (route, _) in part.routes().items():
            routes[name] = route
    routes |= ROUTES

    @cache
    def make() -> "Endpoints":
        agent_view = import_string(view) if isinstance(view, str) else view
        return endpoints.make_endpoints(agent_view.in_namespace(namespace), tools, skills)

    if not isinstance(view, str):
        make()  # This raises a mistake now, and not at the first request.
    named: list[EndpointPattern] = []
    without_slash: list[EndpointPattern] = []
    for name, route in routes.items():
        named.append(EndpointPattern(route, make, name))
        # Django would redirect here, and a redirect loses the body of a POST.
        bare_route = f"{prefix}{route}".rstrip("/")
        without_slash.append(EndpointPattern(bare_route, make, name, has_name=False))
    return [path(prefix, include((named, FIRST_AGENT), namespace)), *without_slash]


class EndpointPattern(URLPattern):
    """The route of an endpoint, which is made on first use."""

    def __init__(
        self, route: str, make: "Callable[[], Endpoints]", endpoint: str, *, has_name: bool = True
    ) -> None:
        name = endpoint if has_name else None
        self._endpoint = lambda: make()[endpoint]
        super().__init__(RoutePattern(route, name=name, is_endpoint=True), make, None, name)

    @property
    def callback(self) -> Any:
        return self._endpoint()

    @callback.setter
    def callback(self, view: Any) -> None:
        """Ignore what Django's constructor sets: `callback` is the endpoint."""

    @cached_property
    def lookup_str(self) -> str:
        """Return what Django compares with a view's path. Endpoints are found by name only."""
        return f"{__name__}.{type(self).__name__}"

    def check(self) -> list[CheckMessage]:
        """Check the route only: Django's check would make the endpoint."""
        return self.pattern.check()
