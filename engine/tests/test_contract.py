"""What the contract tests of a project ask: its routes, its agents, and the demo model with each of their tools."""

from typing import Any
from uuid import UUID

from django.urls import include, path

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.contract import agent_routes, agents, routes
from agui.contrib.demo.testing import demo_chat, example_of
from tests import urls
from tests.mounting import serve_urls

other = DjangoAGUIView(ToolRegistry(), AgentConfig(name="other"))


def page(request: Any) -> None:
    """A view of the project's own."""


def test_agents_are_found_wherever_they_are_mounted_and_routes_keep_their_parameters(settings: Any):
    team = [path("page/<int:number>/", page), *get_urls(other, prefix="other/")]
    serve_urls(settings, [path("", page), *get_urls(urls.view), path("team/", include(team))])
    assert agents() == {"/agent/": urls.view, "/team/other/": other}
    found = routes()
    assert (found["/"], found["/team/page/<int:number>/"]) == (page, page)
    assert set(agent_routes()) == set(found) - {"/", "/team/page/<int:number>/"}
    assert {"/agent", "/agent/threads/<path:thread_id>/", "/team/other/tools/"} <= set(agent_routes())


async def test_the_demo_model_calls_a_tool_as_its_example_says(user: Any, mount: Any):
    registry = ToolRegistry()

    @tool(registry)
    def book(day: str, seats: int, ticket: UUID | None = None) -> str:
        """Book seats."""
        return f"{seats} on {day}"

    mount(registry)
    answer = await demo_chat(user).send(example_of(registry.get("book")))
    assert [use.result for use in answer.calls] == ["1 on ..."]
