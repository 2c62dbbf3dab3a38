"""What the project's own tests ask of it: where its agents are, and whether the demo model can use their tools.

    for address, view in agents().items():
        chat = demo_chat(ada, address)
        for tool in view.registry:
            answer = await chat.send(example_of(tool))

assistant/tests/test_contract.py is written with it.
"""

from collections.abc import Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver

from agui.agents.demo import arguments
from agui.agents.demo.model import build_demo_model
from agui.http.views import AgentView, DjangoAGUIView
from agui.testing import Chat
from agui.tools.call import build_tool
from agui.tools.registry import ToolBinding


def routes() -> dict[str, Any]:
    """Map each route of the project to its view: "/agent/threads/<path:thread_id>/" has its parameters still in it."""
    return dict(_walk(get_resolver().url_patterns, "/"))


def agent_routes() -> dict[str, AgentView]:
    """Map the routes that belong to agents to their views: the endpoints, and those of threads, tools and so on."""
    return {route: view for route, view in routes().items() if isinstance(view, AgentView)}


def agents() -> dict[str, DjangoAGUIView]:
    """Map the address of each agent's endpoint to its view."""
    found = {route: view for route, view in routes().items() if isinstance(view, DjangoAGUIView)}
    # Each agent answers without the slash, too.
    return {route: view for route, view in found.items() if route.endswith("/")}


def _walk(patterns: list[Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback


def demo_chat(user: Any, address: str = "/agent/") -> Chat:
    """Sit a user down in front of an agent that the demo model plays, without its pauses."""
    return Chat(user, model=build_demo_model(pace_seconds=0), url=address)


def example_of(tool: ToolBinding) -> str:
    """Write a message that makes the demo model call a tool, with arguments that are made up from its schema."""
    return arguments.example_of(build_tool(tool).tool_def)
