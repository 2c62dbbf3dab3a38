"""Every endpoint of one agent under one prefix, with one policy for all of them."""

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage
from django.urls import URLPattern, URLResolver, include, path
from django.urls.resolvers import RoutePattern
from django.utils.functional import cached_property
from django.utils.module_loading import import_string

from agui import parts
from agui.later import Later

if TYPE_CHECKING:
    from agui.agents.skills import SkillRegistry
    from agui.http import endpoints
    from agui.http.endpoints import Endpoints
    from agui.http.views import DjangoAGUIView
    from agui.tools.registry import ToolRegistry
else:
    endpoints = Later("agui.http.endpoints")

# The longer routes first: a thread's id may itself hold slashes, and even end like one of these.
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
    tools: "ToolRegistry | None" = None,
    skills: "SkillRegistry | None" = None,
) -> list[URLPattern | URLResolver]:
    """Mount the agent: names are in the namespace "agui", routes answer with and without the last
    slash.

    `view` may be a dotted path: then it is imported at the first request, and commands that only
    look at the routes don't wait for the agent. `tools` and `skills` are what a page is told of; by
    default all that the view has.
    """
    routes = {
        name: route for part in parts.installed() for name, (route, _) in part.routes().items()
    }
    routes |= ROUTES

    @cache
    def make() -> "Endpoints":
        return endpoints.make_endpoints(
            import_string(view) if isinstance(view, str) else view, tools, skills
        )

    if not isinstance(view, str):
        make()  # A mistake is told now
    # A redirect would lose a POST's body.
    bare = [
        EndpointPattern(f"{prefix}{route}".rstrip("/"), make, name, has_name=False)
        for name, route in routes.items()
    ]
    named = [EndpointPattern(route, make, name) for name, route in routes.items()]
    return [path(prefix, include((named, "agui"))), *bare]


class EndpointPattern(URLPattern):
    """The route of an endpoint, which is made when it is first asked for."""

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
        """What Django compares with a view's dotted path. An endpoint is found by its name alone."""
        return f"{__name__}.{type(self).__name__}"

    def check(self) -> list[CheckMessage]:
        """Check the route alone. Django would look at the endpoint, too."""
        return self.pattern.check()
