"""Many tools: the model searches for one."""

import json

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import FunctionToolset

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, ToolSpec, conf
from agui.testing import Part, call, say
from tests.conftest import Client, decision, results_of, run_input

SEARCH = "search_tools"


def registry_of(count: int, **options) -> ToolRegistry:
    """Tools `number_0` to `number_{count - 1}`."""
    registry = ToolRegistry()
    for number in range(count):
        registry.add(lambda: "done", name=f"number_{number}", description=f"Do thing {number}.", **options)
    return registry


def search(words: str) -> Part:
    return call(SEARCH, queries=[words])


def page_tools(*names: str) -> list[dict]:
    parameters = {"type": "object", "properties": {}}
    return [{"name": name, "description": f"Do {name}.", "parameters": parameters} for name in names]


async def test_few_tools_are_all_shown(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 3}
    model = mount(registry_of(3), say("Hi."))
    await client.run("Go")
    assert list(model.requests[0].tools) == ["number_0", "number_1", "number_2"]


async def test_the_default_is_forty(client: Client, mount):
    model = mount(registry_of(40), say("Hi."))
    await client.run("Go")
    assert len(model.requests[0].tools) == 40
    model = mount(registry_of(41), say("Hi."))
    await client.run("Go")
    assert list(model.requests[0].tools) == [SEARCH]


async def test_many_are_searched_for(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 3}
    model = mount(registry_of(4), search("thing 2"), call("number_2", _id="c1"), say("Done."))
    events = await client.run("Go")
    assert events[-1]["outcome"] == {"type": "success"}
    assert list(model.requests[0].tools) == [SEARCH]
    assert "number_2" in model.requests[1].tools
    assert results_of(model.requests[2])["c1"].content == "done"


async def test_what_was_found_is_known_in_the_next_turn(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 3}
    model = mount(registry_of(4), search("thing 2"), say("Found."), call("number_2", _id="c1"), say("Done."))
    await client.run("Look")
    await client.run("Use it")
    assert "number_2" in model.requests[2].tools
    assert results_of(model.requests[3])["c1"].content == "done"


async def test_one_may_be_shown_from_the_start_and_one_never(client: Client, mount):
    registry = registry_of(2)
    registry.add(lambda: "done", name="rare", description="Do something rare.", defer_loading=True)
    model = mount(registry, say("Hi."))
    await client.run("Go")
    assert list(model.requests[0].tools) == ["number_0", "number_1", SEARCH]

    registry = registry_of(50)
    registry.add(lambda: "done", name="frequent", description="Do it often.", defer_loading=False)
    model = mount(registry, say("Hi."))
    await client.run("Go")
    assert list(model.requests[0].tools) == ["frequent", SEARCH]


async def test_tools_of_all_toolsets_count_and_those_of_the_page(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 3}
    more: FunctionToolset = FunctionToolset(id="more")
    more.add_function(lambda: "done", name="more", description="Do more.")
    model = mount(registry_of(2), say("Hi."), search("paint"), call("paint", _id="p1"), say("Blue."), toolsets=[more])
    await client.run("Go")
    assert list(model.requests[0].tools) == ["number_0", "number_1", "more"]
    # One more, of the page: it is found and left to the page as ever.
    tools = page_tools("paint")
    events = await client.run("Paint", tools=tools)
    assert list(model.requests[1].tools) == [SEARCH]
    assert events[-1]["outcome"]["pendingToolCallIds"] == ["p1"]
    painted = {"id": "r1", "role": "tool", "toolCallId": "p1", "content": "blue"}
    await client.run(messages=[painted], tools=tools)
    assert results_of(model.requests[3])["p1"].content == "blue"


async def test_what_the_user_may_not_use_does_not_count_and_is_not_found(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 3}
    registry = registry_of(3)
    registry.add(lambda: "done", name="hidden", description="Do it hidden.", permission="users.view_user")
    model = mount(registry, say("Hi."))
    await client.run("Go")
    assert list(model.requests[0].tools) == ["number_0", "number_1", "number_2"]

    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 2}
    model = mount(registry, search("hidden thing"), say("Hi."))
    await client.run("Go")
    assert "hidden" not in json.dumps([part.content for part in results_of(model.requests[1]).values()])


async def test_a_found_tool_still_waits_for_approval(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 1}
    registry = registry_of(2)
    wiped = []
    registry.add(lambda: wiped.append(1), name="wipe", description="Wipe the disk.", destructive=True)
    mount(registry, search("disk"), call("wipe", _id="c1"), say("Done."))
    events = await client.run("Go")
    assert [one["toolCallId"] for one in events[-1]["outcome"]["interrupts"]] == ["c1"]
    assert wiped == []
    await client.run(resume=[decision("c1")])
    assert wiped == [1]


async def test_none_shows_all(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    model = mount(registry_of(100), say("Hi."))
    await client.run("Go")
    assert len(model.requests[0].tools) == 100


# --- The name of the search


def named_like_the_search(registry: ToolRegistry, **options) -> None:
    registry.add(lambda: "mine", name=SEARCH, description="Search my own.", **options)


def test_the_name_is_refused_at_registration():
    with pytest.raises(
        ValueError, match=r"'search_tools': .*rename yours, or set AGUI\[\"SEARCH_TOOLS_ABOVE\"\] = None"
    ):
        named_like_the_search(ToolRegistry())


async def test_the_name_is_free_where_nothing_is_searched(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    registry = registry_of(50)
    named_like_the_search(registry)
    model = mount(registry, call(SEARCH, _id="c1"), say("Done."))
    await client.run("Go")
    assert results_of(model.requests[1])["c1"].content == "mine"


@pytest.mark.parametrize("first", ["search", "deferred"])
def test_the_name_and_a_deferred_tool_exclude_each_other(settings, first):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    registry = ToolRegistry()
    specs = [
        ToolSpec(name=SEARCH, fn=lambda: "", description="Search my own."),
        ToolSpec(name="rare", fn=lambda: "", description="Rare.", defer_loading=True),
    ]
    if first == "deferred":
        specs.reverse()
    registry.register(specs[0])
    with pytest.raises(ValueError, match="rename yours, or leave out defer_loading=True"):
        registry.register(specs[1])


def test_a_toolset_with_the_name_is_refused_at_start_up(settings):
    toolset: FunctionToolset = FunctionToolset(id="more")
    toolset.add_function(lambda: "", name=SEARCH, description="Search.")
    config = AgentConfig(model="demo", toolsets=[toolset])
    with pytest.raises(ImproperlyConfigured, match=r"rename yours, or set AGUI\[\"SEARCH_TOOLS_ABOVE\"\] = None"):
        DjangoAGUIView(ToolRegistry(), config)
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    DjangoAGUIView(ToolRegistry(), config)


async def test_a_client_can_not_bring_it(client: Client, mount, settings):
    mount(registry_of(1), say("never"))
    assert (await client.run("Go", tools=page_tools(SEARCH)))[-1]["code"] == "tool_name_conflict"
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    mount(registry_of(1), say("Hi."))
    assert (await client.post(run_input("Go", tools=page_tools(SEARCH)))).status_code == 200


@pytest.mark.parametrize("value", [0, -1, "40", True])
def test_the_setting_is_a_number_of_tools(settings, value):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": value}
    with pytest.raises(ImproperlyConfigured, match="SEARCH_TOOLS_ABOVE"):
        conf.get()
