"""Functions for a project's own tests: its agents, and the demo model with their tools.

    for address, view in agents().items():
        chat = demo_chat(ada, address)
        for tool in view.registry:
            answer = await chat.send(example_of(tool))

assistant/tests/test_contract.py uses these functions.
"""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from agui.agents.demo import schemas
from agui.agents.demo.model import build_demo_model
from agui.http.views import AgentView, DjangoAGUIView
from agui.testing import Chat
from agui.tools.call import build_tool
from agui.tools.registry import ToolBinding


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


def demo_chat(user: Any, address: str = "/agent/") -> Chat:
    """Start a chat of a user with an agent whose model is the demo model, without its pauses."""
    model = build_demo_model(pace_seconds=0)
    return Chat(user, model=model, url=address)


def example_of(tool: ToolBinding) -> str:
    """Write a message that makes the demo model call a tool, with arguments for its schema."""
    definition = build_tool(tool).tool_def
    return schemas.example_of(definition)
