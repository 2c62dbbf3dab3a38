"""Every agent that the routes name, imported and built before the first request."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.urls import URLResolver, get_resolver

from agui.agents.discovery import discover
from agui.http.views import DjangoAGUIView


def import_agents() -> list[Any]:
    """Import every agent that the routes name, with all that it needs.

    A mistake in one is raised here. Returns the views of all routes.
    """
    discover()
    return list(_views(get_resolver().url_patterns))


def build_agents() -> None:
    """Build every agent that the routes name. Raises what building one raises."""
    for view in import_agents():
        if isinstance(view, DjangoAGUIView):
            _ = view.agent


def models_of_agents() -> list[tuple[str, Any]]:
    """Find the model of every agent that the routes name, or why it has none."""
    models: dict[int, tuple[str, Any]] = {}  # Several routes lead to one agent.
    for view in import_agents():
        if isinstance(view, DjangoAGUIView):
            name = view.endpoint.config.name
            try:
                models[id(view.endpoint)] = name, view.agent.model
            except ImproperlyConfigured as error:
                models[id(view.endpoint)] = name, error
    return list(models.values())


def _views(patterns: Iterable[Any]) -> Iterator[Any]:
    """Yield the view of each route. Reading a route of get_urls() imports its agent."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _views(pattern.url_patterns)
        else:
            yield pattern.callback
