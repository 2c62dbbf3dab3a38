"""The catalog: what people read about the tools."""

import json

import pytest
from pydantic_ai import ApprovalRequired, CallDeferred, FunctionToolset, Tool
from pydantic_ai.models.test import TestModel

from agui import (
    AgentConfig,
    DjangoAGUIView,
    SkillRegistry,
    SkillsView,
    ToolCategory,
    ToolRegistry,
    ToolsView,
    build_tool_catalog,
    get_urls,
)
from agui.http.views import CapabilitiesView
from agui.testing import call
from tests.mounting import serve_urls


def test_catalog_has_what_a_card_shows():
    registry = ToolRegistry()
    told = {"confirm": "Sure?", "summary": "Tidy up", "category": ToolCategory.UI_WRITE}
    registry.add(archive, destructive=True, **told)
    for name in ("get-URL", "__x__", "_"):
        registry.add(lambda: None, name=name, description="Do it.")
    about = {"destructive": True, "confirm": "Sure?", "category": "ui_write"}
    assert build_tool_catalog(registry) == [
        {"name": "archive", "summary": "Tidy up", "description": "Archive a year.", **about},
        # Keys that say nothing are absent, and a summary is the name if there is none.
        {"name": "get-URL", "summary": "Get URL", "description": "Do it."},
        {"name": "__x__", "summary": "X", "description": "Do it."},
        {"name": "_", "summary": "_", "description": "Do it."},
    ]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("route", ["tools/", "skills/", "capabilities/", "threads/"])
async def test_nobody_on_the_way_keeps_what_a_user_may(client, route):
    response = await client.http.get(f"/agent/{route}")
    assert (response.status_code, response["Cache-Control"]) == (200, "no-store")


# --- What a view is made of


def small_registry() -> ToolRegistry:
    registry = ToolRegistry()
    registry.add(lambda: None, name="count", description="Count.")
    registry.add(lambda: None, name="purge", description="Purge.", permission="auth.delete_user")
    return registry


async def names_of(client, path: str = "tools/") -> list[str]:
    return [entry["name"] for entry in json.loads((await client.get(path)).content)]


async def test_a_view_of_a_registry_lists_what_the_user_may(client, settings):
    skills = SkillRegistry()
    skills.add("hello", "Say hello")
    registry = small_registry()
    view = DjangoAGUIView(registry, AgentConfig(model=TestModel()))
    routes = get_urls(view, tools=registry, skills=skills)
    serve_urls(settings, routes)
    assert await names_of(client, "skills/") == ["hello"]
    assert await names_of(client) == ["count"]
    registry.add(lambda: None, name="later", description="Do it later.")
    assert await names_of(client) == ["count", "later"]
    selection = [binding for binding in registry if binding.spec.name != "count"]
    assert [entry["name"] for entry in build_tool_catalog(selection)] == ["purge", "later"]


@pytest.mark.parametrize("made", [ToolsView, SkillsView, CapabilitiesView, DjangoAGUIView])
@pytest.mark.parametrize("given", [None, [], "assistant.agent.view", AgentConfig(model=TestModel())])
def test_a_view_of_anything_else_is_refused_with_the_cure(made, given):
    with pytest.raises(TypeError, match=r"give (the|a) "):
        made(given)


# --- Tools of the config's toolsets


def archive(year: int) -> str:
    """Archive a year."""
    return f"Archived {year}."


def ask(year: int) -> str:
    """Ask from within."""
    raise ApprovalRequired


def choose(year: int) -> str:
    """Leave it to the user."""
    raise CallDeferred


def only_for_bob(ctx, definition):
    return definition if ctx.deps.user.get_username() == "bob" else None


class Broken(FunctionToolset):
    async def get_tools(self, ctx):
        raise OSError("Nobody is there.")


TIDY = {"x-summary": "Tidy up", "x-destructive": True, "x-confirm": "Sure?"}


async def test_tools_of_toolsets_are_listed_with_labels(client, mount, caplog):
    asking = Tool(archive, name="archive_year", requires_approval=True)
    tools = [asking, Tool(archive, name="tidy", metadata=TIDY), Tool(archive, name="hidden", prepare=only_for_bob)]
    mount(small_registry(), toolsets=[FunctionToolset(tools), FunctionToolset([archive]).prefixed("my"), Broken()])
    about = {"description": "Archive a year."}
    assert json.loads((await client.get("tools/")).content) == [
        {"name": "count", "summary": "Count", "description": "Count."},
        {"name": "archive_year", "summary": "Archive year", **about},
        {"name": "tidy", "summary": "Tidy up", "destructive": True, "confirm": "Sure?", **about},
        {"name": "my_archive", "summary": "My archive", **about},
    ]
    assert "Leaving out the tools of" in caplog.text
    told = json.loads((await client.get("capabilities/")).content)
    assert [tool["name"] for tool in told["tools"]["items"]] == ["count", "archive_year", "tidy", "my_archive"]
    assert told["tools"]["items"][1]["parameters"]["required"] == ["year"]
    assert told["humanInTheLoop"]["approvals"] is True


@pytest.mark.parametrize(
    ("tool", "message", "told"),
    [
        (Tool(archive, requires_approval=True), 'Run "Archive"?', {"x-summary": "Archive"}),
        (Tool(archive, requires_approval=True, metadata=TIDY), "Sure?", TIDY),
        (Tool(ask, metadata={"x-summary": "Ask it"}), 'Run "Ask it"?', {"x-summary": "Ask it"}),
        (Tool(choose, metadata={"x-summary": "Choose it"}), "Choose it", {"x-summary": "Choose it"}),
    ],
)
async def test_an_interrupt_of_a_toolset_has_its_tools_words(client, mount, tool, message, told):
    mount(ToolRegistry(), call(tool.name, year=1999), toolsets=[FunctionToolset([tool])])
    (interrupt,) = (await client.run("Archive"))[-1]["outcome"]["interrupts"]
    assert message in interrupt["message"]
    keys = interrupt["metadata"].keys() - {"toolName", "kind", "arguments", "input"}
    assert {key: interrupt["metadata"][key] for key in keys} == told
