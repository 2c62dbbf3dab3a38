"""What an agent is made of, imported when the agent is first needed: most commands of `manage.py` need none."""

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from django.urls import get_resolver
from django.utils.module_loading import autodiscover_modules

from agui import conf


@cache
def discover() -> None:
    """Import what the settings name, the tools and skills of all applications, every endpoint, and some libraries.

    All of it takes long enough to hold up a server that is at work, so a server calls this when it starts.
    Raises ImproperlyConfigured if a setting names what can't be used.
    """
    conf.load()
    autodiscover_modules("tools", "skills")
    import_module("agui.endpoints")
    if conf.get().telemetry:
        import_module("agui.otel")
    if conf.get().mcp_config:
        import_module("agui.mcp.toolset")
    if conf.get().mcp_endpoint:
        import_module("agui.mcp.endpoint")
    if conf.get().run_executor == "dbos" and find_spec("dbos"):
        import_module("agui.durable.orders")


def import_agents() -> None:
    """Import every agent that the routes name, and what it needs: so its mistakes are told by the caller."""
    discover()
    # To build this table, Django asks each route for its view, and get_urls() then imports the agent.
    _ = get_resolver().reverse_dict
