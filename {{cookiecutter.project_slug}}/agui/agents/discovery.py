"""What an agent is made of, imported when the agent is first needed: most commands of `manage.py` need none."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.urls import URLResolver, get_resolver
from django.utils.module_loading import autodiscover_modules

from agui import conf
from agui.later import Later

views = Later("agui.http.views")


@cache
def discover() -> None:
    """Import what the settings name, the tools and skills of all applications, every endpoint, and some libraries.

    All of it takes long enough to hold up a server that is at work, so a server calls this when it starts.
    Raises ImproperlyConfigured if a setting names what can't be used.
    """
    conf.load()
    autodiscover_modules("tools", "skills")
    import_module("agui.http.endpoints")
    if conf.get().telemetry:
        import_module("agui.contrib.observe.otel")
    if conf.get().mcp_config:
        import_module("agui.contrib.mcp.toolset")
    if conf.get().mcp_endpoint:
        import_module("agui.contrib.mcp.endpoint")
    if conf.get().run_executor == "dbos" and find_spec("dbos"):
        import_module("agui.contrib.durable.orders")


def import_agents() -> list[Any]:
    """Import every agent that the routes name, and what it needs: so its mistakes are told by the caller.

    Returns the views of all routes.
    """
    discover()
    return list(_views(get_resolver().url_patterns))


def build_agents() -> None:
    """Build every agent that the routes name. Raises what is wrong with one."""
    for view in import_agents():
        if isinstance(view, views.DjangoAGUIView):
            _ = view.agent


def _views(patterns: Iterable[Any]) -> Iterator[Any]:
    """Yield the view of each route. A route of get_urls() imports its agent to tell its view."""
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _views(pattern.url_patterns)
        else:
            yield pattern.callback
