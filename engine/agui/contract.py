"""The routes and agents of a project, for its tests (contract_tests.py)."""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from agui.http.views import AgentView, DjangoAGUIView


def routes() -> dict[str, Any]:
    """Map each route of the project to its view.

    A route still has its parameters: "/agent/threads/<path:thread_id>/".
    """
    return dict(_walk(get_resolver().url_patterns, "/"))


def agent_routes() -> dict[str, AgentView]:
    """Map each route of an agent to its view: the run, threads, tools and so on."""
    views: dict[str, AgentView] = {}
    for route, view in routes().items():
        if isinstance(view, AgentView):
            views[route] = view
    return views


def agents() -> dict[str, DjangoAGUIView]:
    """Map the address of each agent, which ends with a slash, to its view."""
    views: dict[str, DjangoAGUIView] = {}
    for route, view in agent_routes().items():
        # An agent answers without the slash, too.
        if isinstance(view, DjangoAGUIView) and route.endswith("/"):
            views[route] = view
    return views


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback
