"""Texts become frames at once, past the stages and past pydantic-ai: nothing of what is said may change by that."""

import asyncio
import json
import random
from contextlib import aclosing
from types import SimpleNamespace

import pytest
from ag_ui.core import TextMessageContentEvent
from daily import by_day
from pydantic_ai._special_tokens import break_special_tokens
from pydantic_ai.messages import PartDeltaEvent, TextPartDelta, ThinkingPartDelta

from agui.contrib.fast import deltas
from agui.contrib.fast.apps import FastConfig
from agui.contrib.fast.deltas import ReadPast
from agui.contrib.spending.apps import SpendingConfig
from agui.events.adapter import EventStream
from agui.events.frames import to_data
from agui.events.join_deltas import join_deltas
from agui.protocol.types import EventType
from agui.testing import ScriptedModel, call, say
from agui.tools.registry import ToolRegistry
from tests import test_stream_deltas
from tests.conftest import Client, body_of, played_by, run_input, script
from tests.test_stream_deltas import ANSWERS, END, TEXT, Censoring, Listening, Wrapping, play, slow_model, text, told

__all__ = ["slow_model"]


@pytest.fixture
def at_once(monkeypatch) -> list[str]:
    """The texts that were written without passing pydantic-ai."""
    written = []
    write = ReadPast._write

    def noted(self):
        texts, before = list(self._texts), len(self._events)
        write(self)
        if len(self._events) == before:
            written.extend(one.delta.content_delta for one in texts)

    monkeypatch.setattr(ReadPast, "_write", noted)
    return written


@pytest.mark.parametrize("answers", by_day(ANSWERS.values()), ids=ANSWERS)
async def test_a_run_says_the_same_in_whatever_way(client: Client, settings, monkeypatch, at_once, request, answers):
    quick = await play(client, answers, "quick")
    assert not at_once
    request.getfixturevalue("slow_model")
    assert await play(client, answers, "past pydantic-ai") == quick
    assert "".join(at_once)
    monkeypatch.setattr(ReadPast, "_may_skip", lambda *_: False)
    assert await play(client, answers, "through pydantic-ai") == quick
    settings.AGUI = {"DELTA_WINDOW_SECONDS": 0}
    assert await play(client, answers, "not joined") == quick
    monkeypatch.setattr(FastConfig, "wrap_events", lambda self, run, events: events)
    assert await play(client, answers, "translated") == quick


async def test_deltas_of_a_text_are_written_as_the_same_bytes(client: Client, settings, intercept):
    settings.AGUI = {"DELTA_WINDOW_SECONDS": 0}
    translated = []
    intercept(EventStream, "handle_text_delta", before=lambda _, delta: translated.append(delta.content_delta))
    with script([say("One, two, three.", chunks=8), say("\x7fé\ud83d\n", chunks=4)]):
        chunks = await body_of(await client.post(run_input("Hi")))
    frames = [line.removeprefix(b"data: ") for line in chunks.split(b"\n") if line.startswith(b"data: ")]
    pieces = [frame for frame in frames if json.loads(frame)["type"] == EventType.TEXT_MESSAGE_CONTENT.value]
    assert [to_data(TextMessageContentEvent.model_validate(json.loads(frame))) for frame in pieces] == pieces
    assert len(pieces) == 12
    assert translated == ["\ud83d"]


@pytest.mark.parametrize("seed", by_day(range(200), 4))
async def test_texts_keep_their_order_however_long_pydantic_ai_takes(monkeypatch, seed):
    """Two texts, thoughts and other events, with pauses between them and on their way."""
    monkeypatch.setattr(deltas, "PASS_SECONDS", 0.0005)
    chance = random.Random(seed)  # noqa: S311
    sent = [text(f"{number} ") for number in range(3)]
    for number in range(3, 63):
        thought = PartDeltaEvent(index=2, delta=ThinkingPartDelta(content_delta=f"{number} "))
        sent.append(chance.choice([*[text(f"{number} ")] * 9, text(f"{number} ", 1), thought, END]))
    received = []

    async def pause():
        for _ in range(chance.choice([0, 0, 1, 2, 3, 30])):
            await asyncio.sleep(0)

    async def source():
        for event in sent:
            yield event
            await pause()

    def add(event):
        assert isinstance(event.delta, TextPartDelta)
        assert event.index == writer.arrived.index
        received.append(event)
        return True

    writer = SimpleNamespace(arrived=None, add=add)
    async with aclosing(join_deltas(source(), ReadPast(1e-6, writer))) as events, asyncio.timeout(60):
        async for event in events:
            await pause()
            received.append(event)
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                writer.arrived = event

    def pieces(events):
        for event in events:
            if isinstance(event, PartDeltaEvent):
                for piece in event.delta.content_delta.split():
                    yield event.index, piece
            else:
                yield event

    assert list(pieces(received)) == list(pieces(sent))


@pytest.mark.usefixtures("slow_model")
async def test_only_the_first_delta_of_a_text_passes_pydantic_ai(client: Client, at_once):
    with script([say(TEXT, chunks=24), call("echo", text="hey")], [say(TEXT, chunks=24)]):
        events = await client.run("Hi")
    assert told(events) == 2 * TEXT
    assert "".join(at_once) == 2 * TEXT[3:]


@pytest.mark.usefixtures("slow_model")
@pytest.mark.parametrize("capability", [Listening, Censoring, Wrapping])
async def test_a_capability_that_may_want_every_delta_gets_it(client: Client, mount, at_once, capability):
    mount(ToolRegistry(), [say(TEXT, chunks=24)], capabilities=[capability()])
    await client.run("Hi")
    assert not at_once


@pytest.mark.usefixtures("slow_model")
async def test_a_part_that_wraps_the_events_gets_every_delta(client: Client, monkeypatch, at_once):
    heard = []

    async def listen(self, run, events):
        async for event in events:
            if isinstance(event, PartDeltaEvent):
                heard.append(event.delta.content_delta)
            yield event

    monkeypatch.setattr(SpendingConfig, "wrap_events", listen)
    with script([say(TEXT, chunks=24)]):
        assert told(await client.run("Hi")) == TEXT
    assert "".join(heard) == TEXT[1:]
    assert not at_once


@pytest.mark.usefixtures("slow_model")
async def test_a_model_whose_tokens_pydantic_ai_restores_is_read_through_it(client: Client, at_once, monkeypatch):
    """Else a client would see the joiners that pydantic-ai has put into them."""
    monkeypatch.setattr(test_stream_deltas, "TURNS", 1000)  # pydantic-ai holds back what may be a token.
    model = ScriptedModel([[say(TEXT + break_special_tokens("<|im_start|>") + TEXT, chunks=99)]])
    model._profile = {"may_tokenize_special_tokens_in_content": True}
    with played_by(model):
        assert told(await client.run("Hi")) == TEXT + "<|im_start|>" + TEXT
    assert not at_once
