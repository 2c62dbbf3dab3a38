"""Remote agents as tools, which an agent of the project asks over HTTP, and the programs of agui/manual/client.md."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

import agui.contrib.client
from agui import AgentConfig, DjangoAGUIView, ToolRegistry, conf, get_urls
from agui.contrib.client import AGUIError, AGUIModel, AGUIModelSettings
from agui.models import Run
from agui.testing import ScriptedModel, call, event_types, fail, say
from tests import pages, urls
from tests.conftest import Client, results_of
from tests.mounting import serve_urls
from tests.serving import site_that_says


@asynccontextmanager
async def boss_of(client: Client, settings: Any, *answers: Any, task: str = "Echo it") -> AsyncIterator[ScriptedModel]:
    """An agent at /boss/ that has one task for a remote one, which has these answers."""
    async with site_that_says(client.user, *answers) as remote:
        helper = {"URL": remote.url, "HEADERS": remote.headers, "DESCRIPTION": "Knows echoes."}
        settings.AGUI = {**settings.AGUI, "CLIENT": {"REMOTE_AGENTS": {"helper": helper}}}
        llm = ScriptedModel([call("helper", task=task, _id="c1"), say("So be it.")])
        boss = DjangoAGUIView(ToolRegistry(), AgentConfig(model=llm))
        serve_urls(settings, [*get_urls(boss, "boss/"), *urls.urlpatterns])
        client.prefix = "/boss/"
        yield llm


def subagents(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [event for event in events if event["type"].startswith("SUBAGENT")]


async def test_a_task_is_left_to_a_remote_agent(client: Client, settings: Any):
    async with boss_of(client, settings, call("echo", text="ä"), say("It says ä.")) as llm:
        events = await client.run("Please")
    started, finished = subagents(events)
    assert started["name"] == "helper"
    assert started["parentToolCallId"] == "c1"
    assert (finished["type"], finished["outcome"]) == ("SUBAGENT_FINISHED", {"type": "success"})
    assert started["subagentRunId"] == finished["subagentRunId"]
    told = event_types(events)
    assert told.index("TOOL_CALL_END") < told.index("SUBAGENT_STARTED") < told.index("TOOL_CALL_RESULT")
    assert results_of(llm.requests[1])["c1"].content == "It says ä."
    assert "Knows echoes." in (llm.requests[0].tools["helper"].description or "")


async def test_what_a_remote_agent_uses_is_counted(client: Client, settings: Any):
    settings.AGUI = {**settings.AGUI, "INCLUDE_USAGE": True}
    async with boss_of(client, settings, say("A long answer, of many words.")):
        await client.run("Please")
    used = {run.thread_id == "t1": run.usage async for run in Run.objects.all()}
    assert used[True]["output_tokens"] > used[False]["output_tokens"] > 0
    assert used[True]["requests"] == 3


@pytest.mark.parametrize("answer", [fail(ValueError("secret")), call("wipe")])
async def test_a_remote_agent_that_fails_or_asks_fails_the_tool_alone(client: Client, settings: Any, answer: Any):
    async with boss_of(client, settings, answer) as llm:
        events = await client.run("Please")
    assert [event["type"] for event in subagents(events)] == ["SUBAGENT_STARTED", "SUBAGENT_ERROR"]
    assert subagents(events)[1]["code"] in ("internal_error", "interrupt")
    assert results_of(llm.requests[1])["c1"].content == "The agent 'helper' could not do it."
    assert event_types(events)[-1] == "RUN_FINISHED"


async def test_a_client_before_1_0_is_told_of_the_tool_alone(client: Client, settings: Any):
    async with boss_of(client, settings, say("It says ä.")):
        events = await client.run("Please", protocolVersion="0.1")
    assert subagents(events) == []
    assert "TOOL_CALL_RESULT" in event_types(events)


async def test_a_tool_of_the_same_name_wins(client: Client, settings: Any):
    async with boss_of(client, settings) as llm:
        registry = ToolRegistry()
        registry.add(lambda: "mine", name="helper", description="Mine.")
        view = DjangoAGUIView(registry, AgentConfig(model=llm))
        [tools] = [toolset for toolset in view.agent.toolsets if "helper" in getattr(toolset, "tools", {})]
        assert tools.tools["helper"].description == "Mine."


FINE = {"URL": "https://a.example/", "DESCRIPTION": "x"}


@pytest.mark.parametrize(
    ("agents", "key"),
    [
        ({"a b": FINE}, "REMOTE_AGENTS"),
        ({"a": {**FINE, "URL": "ftp://a.example/"}}, "URL"),
        ({"a": {**FINE, "HEADERS": "Bearer secret"}}, "HEADERS"),
        ({"a": {**FINE, "TOKEN": "secret"}}, "TOKEN"),
        ({"a": {"URL": "https://a.example/"}}, "DESCRIPTION"),
    ],
)
def test_a_wrong_setting_is_named_and_not_repeated(agents: Any, key: str):
    with pytest.raises(ImproperlyConfigured, match=key) as caught:
        conf.load({"CLIENT": {"REMOTE_AGENTS": agents}})
    assert "secret" not in str(caught.value)


# --- The manual: its programs run, and the tests that docs/dotnet-client.md names exist

TESTS = Path(__file__).resolve().parent
program = partial(pages.example, "client.md")


def test_each_test_that_the_likeness_names_exists():
    named = re.findall(r"`(test_\w+)`", (TESTS.parents[1] / "docs/dotnet-client.md").read_text())
    written = "".join(path.read_text() for path in TESTS.glob("test_client_*.py"))
    assert len(named) > 20
    assert [name for name in named if f"def {name}(" not in written] == []


def test_each_setting_and_error_is_on_the_page():
    tables = "".join(pages.section("client.md", heading) for heading in ("As a model", "Errors"))
    cells = re.findall(r"^\|([^|]*)\|", tables, re.M)
    told = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    errors = {name for name in agui.contrib.client.__all__ if name.endswith("Error")} - {AGUIError.__name__}
    own = {name for name in AGUIModelSettings.__annotations__ if name.startswith("agui_")}
    assert told - {"AGUIModelSettings"} == errors | own


async def test_the_first_program_keeps_its_thread(user: Any, monkeypatch: pytest.MonkeyPatch, capsys: Any):
    answers = [call("location"), say("You are in Paris."), say("It rains.")]
    async with site_that_says(user, *answers) as site:
        monkeypatch.setenv("AGENT_URL", site.url)
        monkeypatch.setenv("AGENT_TOKEN", site.headers["Authorization"].removeprefix("Bearer "))
        await program("As a model")["main"]()
        assert len(await site.client.threads()) == 1
    assert capsys.readouterr().out == "You are in Paris.\nIt rains.\n"


@pytest.mark.parametrize(("typed", "effects"), [("y", ["disk"]), ("n", [])])
async def test_the_second_program_asks(user: Any, monkeypatch: pytest.MonkeyPatch, typed: str, effects: list[str]):
    answers = {"Really wipe it? {'what': 'disk'} [y/n] ": typed, "Which day? ": "2026-12-24"}
    monkeypatch.setattr("builtins.input", answers.pop)
    async with site_that_says(user, [call("wipe", what="disk"), call("choose_day")], say("Done.")) as site:
        model = AGUIModel(site.url, headers=site.headers)
        assert await program("Approvals and questions")["ask"](model, "Wipe it") == "Done."
    assert answers == {}
    assert urls.effects == effects


async def test_the_third_program_prints_while_it_reads(user: Any, capsys: Any):
    async with site_that_says(user, say("Hello there.", 3)) as site:
        await program("As events")["say"](site.client, "t1", "Hi")
    assert capsys.readouterr().out == "Hello there."
