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


@pytest.mark.parametrize(
    ("settings_of_search", "count", "are_shown"),
    [
        ({"SEARCH_TOOLS_ABOVE": 3}, 3, True),
        ({"SEARCH_TOOLS_ABOVE": 3}, 4, False),
        ({}, 40, True),
        ({}, 41, False),
        ({"SEARCH_TOOLS_ABOVE": None}, 100, True),
    ],
)
async def test_many_are_searched_for(client: Client, mount, settings, settings_of_search, count, are_shown):
    settings.AGUI = settings_of_search
    model = mount(registry_of(count), say("Hi."))
    await client.run("Go")
    all_names = [f"number_{number}" for number in range(count)]
    assert list(model.requests[0].tools) == (all_names if are_shown else [SEARCH])


async def test_what_was_found_can_be_called_now_and_in_the_next_turn(client: Client, mount, settings):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": 3}
    calls = [call("number_2", _id="c1"), say("Done."), call("number_2", _id="c2"), say("Again.")]
    model = mount(registry_of(4), search("thing 2"), *calls)
    assert (await client.run("Look"))[-1]["outcome"] == {"type": "success"}
    await client.run("Use it again")
    assert list(model.requests[0].tools) == [SEARCH]
    assert "number_2" in model.requests[1].tools
    assert "number_2" in model.requests[3].tools
    told = results_of(model.requests[4])
    assert (told["c1"].content, told["c2"].content) == ("done", "done")


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


# --- The name of the search


def named_like_the_search(registry: ToolRegistry, **options) -> None:
    registry.add(lambda: "mine", name=SEARCH, description="Search my own.", **options)


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


async def test_the_name_is_refused_where_something_may_be_searched(client: Client, mount, settings):
    toolset: FunctionToolset = FunctionToolset(id="more")
    toolset.add_function(lambda: "", name=SEARCH, description="Search.")
    config = AgentConfig(model="demo", toolsets=[toolset])
    cure = r"rename yours, or set AGUI\[\"SEARCH_TOOLS_ABOVE\"\] = None"
    with pytest.raises(ImproperlyConfigured, match=cure):
        DjangoAGUIView(ToolRegistry(), config)
    registry = registry_of(50)
    with pytest.raises(ValueError, match=f"'search_tools': .*{cure}"):
        named_like_the_search(registry)

    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    DjangoAGUIView(ToolRegistry(), config)
    named_like_the_search(registry)
    model = mount(registry, call(SEARCH, _id="c1"), say("Done."))
    await client.run("Go")
    assert results_of(model.requests[1])["c1"].content == "mine"


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
