"""The tools of a real djangorestframework-mcp-server, through the endpoint."""

import asyncio
import json
import sys
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.cache import cache
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import FunctionToolset, Tool

from agui import ToolRegistry, conf, tool
from agui.testing import ScriptedModel, call, say, wait
from agui.tools.call import TIMED_OUT
from tests.conftest import Client, results_of

pytest.importorskip("rest_framework_mcp")

from agui.contrib.drf_mcp.toolset import DrfMcpToolset
from tests import drf_server, urls
from tests.mounting import mounted


@pytest.fixture(autouse=True)
def bridge(settings):
    use(settings, "server")
    for kept in ("at", "lists", "listing", "hanging", "let_go"):
        getattr(drf_server, kept).clear()
    cache.clear()


def use(settings, server: str) -> None:
    settings.AGUI = {"DRF_MCP": {"SERVER": f"tests.drf_server.{server}"}}


class Asked:
    """A user who lets the model call tools."""

    def __init__(self, client: Client, mount: Any) -> None:
        self.client = client
        self.registry = ToolRegistry()
        self.script = partial(mount, self.registry)

    async def run(self, *calls: Any) -> list[Any]:
        """The results of these calls, one after the other, as the model is told them."""
        model = self.script(*calls, say("Done."))
        events = await self.client.run("Go")
        assert events[-1]["outcome"] == {"type": "success"}
        return list(results_of(model.requests[-1]).values())

    async def catalog(self) -> dict[str, Any]:
        return {entry["name"]: entry for entry in json.loads((await self.client.get("tools/")).content)}


@pytest.fixture
def asked(client: Client, mount: Any) -> Asked:
    return Asked(client, mount)


# --- What the model is shown


async def test_the_model_reads_what_the_server_lists_once_a_run(client: Client, asked: Asked):
    model = asked.script(call("who"), call("who"), say("Done."), say("Hi."))
    await client.run("Go")
    assert drf_server.lists["main"] == 1
    tools = model.requests[0].tools
    assert tools["groups_create"].description == "Do groups.create."
    schema = tools["groups_create"].parameters_json_schema
    assert schema["properties"] == {"name": {"type": "string"}}
    assert (schema["required"], schema["additionalProperties"]) == (["name"], False)
    assert set(tools["groups_list"].parameters_json_schema["properties"]) == {"page", "limit"}
    await client.run("Again")
    assert drf_server.lists["main"] == 2


async def test_a_list_that_fails_leaves_the_run_without_them(client: Client, asked: Asked, caplog):
    drf_server.listing["main"] = RuntimeError("postgres://user:hunter2@db")
    asked.registry.add(lambda: "mine", name="mine", description="Mine.")
    model = asked.script(say("Hi."))
    events = await client.run("Go")
    assert events[-1]["outcome"] == {"type": "success"}
    assert list(model.requests[0].tools) == ["mine"]
    assert "hunter2" in caplog.records[0].exc_text
    assert (await client.get("tools/")).status_code == 200


async def test_nobody_is_shown_what_is_listed_for_others(client: Client, other_client: Client, asked: Asked, settings):
    use(settings, "personal")
    model = asked.script(say("Hi."), say("Hi."))
    run = asyncio.create_task(client.run("Go"))
    try:
        assert await asyncio.to_thread(drf_server.hanging.wait, 60)
        await other_client.run("Go", thread="t2")
    finally:
        drf_server.let_go.set()
    await run
    told = [request.tools["greet"].description for request in model.requests]
    assert told == [f"Greet {user}." for user in (other_client.user.get_username(), "ada")]


# --- How a tool is called


async def test_a_tool_is_called_as_the_user_on_a_thread_of_ours(asked: Asked):
    [made] = await asked.run(call("groups_create", name="staff"))
    assert (made.outcome, made.content["name"]) == ("success", "staff")
    assert await Group.objects.filter(pk=made.content["id"], name="staff").aexists()
    assert urls.effects == ["create by ada"]
    assert drf_server.at["thread"].startswith("agui-tools")
    assert drf_server.at["connection"].connection is None


async def test_a_picture_reaches_the_model_and_a_refusal_is_no_warning(asked: Asked, caplog):
    picture, *refused = await asked.run(*map(call, ("draw", "sold_out", "forbidden")))
    assert (picture.content.data, picture.content.media_type) == (drf_server.PIXEL, "image/png")
    assert [part.outcome for part in refused] == ["failed", "denied"]
    assert [record for record in caplog.records if record.levelname != "INFO"] == []


async def test_users_at_the_same_time_are_kept_apart(client: Client, other_client: Client, asked: Asked):
    first, second = asyncio.Event(), asyncio.Event()
    who = call("who", _id="c1")
    model = asked.script([wait(second, first), who], [wait(first, second), who], say("Done."), say("Done."))
    await asyncio.gather(client.run("Go", thread="a"), other_client.run("Go", thread="b"))
    told = [results_of(request)["c1"].content["who"] for request in model.requests[2:]]
    assert sorted(told) == ["ada", "bob"]


# --- What goes wrong


@pytest.mark.parametrize(("name", "lost"), [("for_some", "permission"), ("who", "account")])
async def test_a_right_counts_as_it_is_at_the_call(user, asked: Asked, name, lost):
    @tool(asked.registry)
    def take_away() -> str:
        """Take the user's right away in the middle of the run."""
        if lost == "permission":
            type(user).objects.get(pk=user.pk).user_permissions.clear()
        else:
            type(user).objects.filter(pk=user.pk).update(is_active=False)
        return "gone"

    await user.user_permissions.aadd(await Permission.objects.aget(codename="view_group"))
    parts = await asked.run(call(name, _id="c1"), call("take_away"), call(name, _id="c2"))
    assert [part.outcome for part in parts] == ["success", "success", "denied"]
    assert urls.effects == ["who by ada"]


async def test_a_tool_that_is_gone_fails_its_call(asked: Asked, monkeypatch):
    @tool(asked.registry)
    def remove() -> str:
        """Take a tool off the server in the middle of the run."""
        monkeypatch.delitem(drf_server.server.tools._bindings, "who")
        return "removed"

    _, gone = await asked.run(call("remove"), call("who"))
    assert gone.outcome == "failed"


async def test_a_call_too_many_says_when_to_come_back(asked: Asked):
    first, second = await asked.run(call("seldom", _id="c1"), call("seldom", _id="c2"))
    assert (first.outcome, second.outcome) == ("success", "failed")
    assert "called again in" in second.content


async def test_a_slow_tool_is_called_once(asked: Asked, settings, caplog, clock):
    use(settings, "slow")
    try:
        ending = asyncio.create_task(asked.run(call("hang")))
        assert await asyncio.to_thread(drf_server.hanging.wait, 60)
        clock.advance(60)
        [late] = await ending
        assert (late.outcome, late.content) == ("failed", TIMED_OUT)
    finally:
        drf_server.let_go.set()
    assert urls.effects == ["hang by ada"]


# --- Names and labels


async def test_a_bridge_of_the_config_is_in_the_catalog_and_other_toolsets_win(asked: Asked, settings):
    settings.AGUI = {}
    taken = FunctionToolset([Tool(lambda: "mine", name="who", description="Mine.")])
    bridge = DrfMcpToolset(drf_server.server, taken={"who", "broken"})
    with mounted(model="demo", toolsets=[taken, bridge]):
        assert (await asked.catalog()).keys() >= {"groups_create"}
        assert (await asked.catalog())["who"]["description"] == "Mine."
    use(settings, "server")
    with mounted(model="demo", toolsets=[taken]):
        assert (await asked.catalog())["who"]["description"] == "Mine."
    # A bridge of the config wins over that of the settings.
    model = ScriptedModel([call("who", _id="c1"), say("Done.")])
    with mounted(model=model, toolsets=[DrfMcpToolset(drf_server.server, taken={"broken"})]):
        assert (await asked.client.run("Go"))[-1]["type"] == "RUN_FINISHED"
    assert results_of(model.requests[1])["c1"].content == {"who": "ada"}


async def test_the_registry_wins_on_a_name(asked: Asked):
    asked.registry.add(lambda: "mine", name="groups_create", description="Mine.")
    # Also where the user may not see its tool.
    asked.registry.add(lambda: "mine", name="who", description="Mine.", permission="auth.view_group")
    mine, hidden = await asked.run(call("groups_create"), call("who"))
    assert (mine.outcome, mine.content) == ("success", "mine")
    assert hidden.outcome == "retried"
    entries = await asked.catalog()
    assert entries["groups_create"]["description"] == "Mine."
    assert "who" not in entries
    assert urls.effects == []


# --- The setting


def test_the_setting_names_a_server(settings):
    for name, message in (("nothing", "can't be imported"), ("hang", "is a function: name an MCPServer, the object")):
        use(settings, name)
        with pytest.raises(ImproperlyConfigured, match=message):
            conf.load()


def test_the_library_is_named_where_it_is_missing(settings, monkeypatch):
    monkeypatch.setitem(sys.modules, "rest_framework_mcp", None)
    with pytest.raises(ImproperlyConfigured, match=r"agui-django\[drf_mcp\]"):
        conf.load()
