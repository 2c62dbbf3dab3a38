"""Titles that a model makes after the first answer: part `titles`."""

import asyncio
from typing import Any

import pytest

from agui.contrib.titles import after_run
from agui.contrib.titles.after_run import MAX_TITLE_CHARS, clean_title
from agui.contrib.titles.make import MAX_CHARS, MAX_TOKENS, FirstExchange
from agui.testing import ScriptedModel, say
from tests.conftest import Client, script
from tests.mounting import mounted
from tests.test_threads import send

pytestmark = pytest.mark.database

MODEL = "python:tests.test_titles.titles"
titles: ScriptedModel


@pytest.fixture
def making(settings: Any) -> Any:
    """Let a scripted model make titles, which says these texts."""

    def begin(*texts: Any, **more: Any) -> ScriptedModel:
        global titles
        titles = ScriptedModel([say(text) if isinstance(text, str) else text for text in texts])
        settings.AGUI = {"TITLES": {"ENABLED": True, "MODEL": MODEL, **more}}
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


async def test_without_one_of_its_own_it_is_made_by_the_model_that_answers(client: Client, settings: Any):
    settings.AGUI = {"TITLES": {"ENABLED": True}}
    model = RealModel([say("Apples are red."), say("Apples in autumn")])
    with mounted(model=model):
        await client.run("Tell me of apples")
        assert await titled(client) == "Apples in autumn"
    assert len(model.requests) == 2


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
    making("unused", MAKER="tests.test_titles.never")
    with script(say("Fine.")):
        events = await client.run("Hello")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert after_run._tasks
    await after_run.stop_all()
    assert await titled(client) == "Hello"


async def never(exchange: FirstExchange) -> str:
    await asyncio.Event().wait()
    raise AssertionError


async def test_a_title_of_the_user_stays(client: Client, making):
    making("Made", MAKER="tests.test_titles.slow")
    renamed.clear()
    with script(say("Fine.")):
        await client.run("Hello")
        await send(client, "PATCH", "threads/t1/", {"title": "Mine"})
        renamed.set()
    assert await titled(client) == "Mine"


renamed = asyncio.Event()


async def slow(exchange: FirstExchange) -> str:
    await renamed.wait()
    return "Made"


@pytest.mark.parametrize("titles", [{"ENABLED": False, "MODEL": MODEL}, {"ENABLED": True}])
async def test_no_title_if_it_is_off_or_from_a_model_of_tests(client: Client, settings, titles):
    settings.AGUI = {"TITLES": titles}
    with script(say("Fine.")) as model:
        await client.run("Hello")
        assert await titled(client) == "Hello"
    assert len(model.requests) == 1


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
