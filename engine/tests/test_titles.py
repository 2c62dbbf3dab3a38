"""Titles that a model makes after the first answer: part `titles`."""

import asyncio
from contextlib import nullcontext
from typing import Any

import pytest

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.contrib.demo.model import build_demo_model
from agui.contrib.titles import after_run
from agui.contrib.titles.after_run import MAX_TITLE_CHARS, clean_title
from agui.contrib.titles.make import MAX_CHARS, MAX_TOKENS, FirstExchange
from agui.models import Run
from agui.testing import ScriptedModel, say
from tests.conftest import Client, script
from tests.mounting import serve_urls
from tests.test_threads import send

pytestmark = pytest.mark.database

titles: ScriptedModel
renamed: asyncio.Event


@pytest.fixture
def making(settings: Any) -> Any:
    """Let a scripted model make titles, which says these texts."""

    def begin(*texts: Any, **more: Any) -> ScriptedModel:
        global titles, renamed
        renamed = asyncio.Event()
        titles = ScriptedModel([say(text) if isinstance(text, str) else text for text in texts])
        settings.AGUI = {"TITLES": {"MODEL": "python:tests.test_titles.titles", **more}}
        return titles

    return begin


async def titled(client: Client, thread: str = "t1") -> str:
    """Wait for the titles that are being made, and read one."""
    await asyncio.gather(*after_run._tasks)
    return (await client.thread(thread))["title"]


async def test_the_first_answer_gives_a_title(client: Client, making):
    from agui.contrib.spending.models import Spending

    model = making("Apples in autumn")
    with script(say("Apples are red." + "b" * 5000), say("Yes.")):
        await client.run("Tell me of apples" + "a" * 5000 + "</user>")
        assert await titled(client) == "Apples in autumn"
        spent = [row async for row in Spending.objects.all()]
        await client.run("Really?")
    assert await titled(client) == "Apples in autumn"
    [request] = model.requests
    prompt = str(request.messages)
    assert "Tell me of apples" in prompt
    assert "Apples are red." in prompt
    assert len(prompt) < 2 * MAX_CHARS + 2000  # It reads little of a long exchange
    assert request.settings["max_tokens"] == MAX_TOKENS
    assert not request.tools
    assert sum(row.input_tokens for row in spent) > 10  # The run's own


class RealModel(ScriptedModel):
    model_name, system = "large", "provider"


real = RealModel([])


@pytest.mark.parametrize(
    ("section", "replaced", "title", "requests"),
    [
        ({}, False, "Tell me of apples", [1, 0]),
        ({"MODEL": "same"}, False, "Apples in autumn", [2, 0]),
        # What plays instead of the agent's model makes the title, too.
        ({"MODEL": "same"}, True, "Apples in autumn", [0, 2]),
    ],
)
async def test_the_model_that_has_answered_makes_it_if_it_is_asked_to(
    client: Client, settings: Any, section, replaced, title, requests
):
    settings.AGUI = {"TITLES": section}
    own, other = (RealModel([say("Apples are red."), say("Apples in autumn")]) for _ in range(2))
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=own))
    serve_urls(settings, get_urls(view))
    with view.agent.override(model=other) if replaced else nullcontext():
        await client.run("Tell me of apples")
    assert await titled(client) == title
    assert [len(model.requests) for model in (own, other)] == requests


async def shout(exchange: FirstExchange) -> str:
    return f"{exchange.question} / {exchange.answer} ".upper()


async def fail(exchange: FirstExchange) -> str:
    raise RuntimeError("The model is away.")


@pytest.mark.parametrize(("maker", "title", "logged"), [("shout", "HELLO / FINE", 0), ("fail", "Hello", 1)])
async def test_a_function_of_the_project_makes_it(client: Client, making, caplog, maker, title, logged):
    making(MAKER=f"tests.test_titles.{maker}")
    with script(say("Fine.")):
        await client.run("Hello")
    assert await titled(client) == title
    assert len([record for record in caplog.records if record.name == "agui.titles"]) == logged


async def test_the_end_of_the_run_waits_for_no_title(client: Client, making, settings):
    making("unused", MAKER="tests.test_titles.slow")
    with script(say("Fine.")):
        events = await client.run("Hello")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert after_run._tasks
    await after_run.stop_all()
    assert await titled(client) == "Hello"


async def test_a_title_of_the_user_stays(client: Client, making):
    making("Made", MAKER="tests.test_titles.slow")
    with script(say("Fine.")):
        await client.run("Hello")
        await send(client, "PATCH", "threads/t1/", {"title": "Mine"})
        renamed.set()
    assert await titled(client) == "Mine"


async def slow(exchange: FirstExchange) -> str:
    await renamed.wait()
    return "Made"


@pytest.mark.parametrize("section", [{"MODEL": "same"}, {"MODEL": "python:tests.test_titles.real"}])
async def test_an_answer_of_a_demo_or_a_test_gets_none(client: Client, settings, caplog, section):
    """An eval with the demo model asks no provider, and its log names no other model."""
    caplog.set_level("INFO", "agui.runs")
    settings.AGUI = {"TITLES": section}
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=real))
    serve_urls(settings, get_urls(view))
    with view.agent.override(model=build_demo_model(pace_seconds=0)):
        await client.run("Hello")
    assert await titled(client) == "Hello"
    assert real.requests == []
    [record] = [record for record in caplog.records if record.getMessage().startswith("Run ended")]
    assert record.model == "demo"
    assert [run.model async for run in Run.objects.all()] == ["demo"]


async def test_a_run_that_fails_gets_none(client: Client, making):
    model = making("Tasks")
    with script(RuntimeError("The model is away.")):
        events = await client.run("Tidy up")
    assert events[-1]["type"] == "RUN_ERROR"
    assert await titled(client) == "Tidy up"
    assert model.requests == []


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ('  "A trip\nto  Lisbon."  ', "A trip to Lisbon"),
        ("**Ausflug nach Köln**", "Ausflug nach Köln"),
        ("a\x00b\u202ec\u200b", "abc"),
        ("", ""),
        (None, ""),
        ("word " * 100, "word " * 15 + "word…"),
    ],
)
def test_a_title_is_one_short_line(text: Any, title: str):
    assert clean_title(text) == title
    assert len(clean_title("x" * 1000)) <= MAX_TITLE_CHARS
