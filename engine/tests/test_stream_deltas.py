"""Deltas that come fast are joined: nothing of what is said may change by that."""

import asyncio
import re
from collections import defaultdict
from contextlib import aclosing
from itertools import count

import pytest
from daily import by_day
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability, on_event
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.wrapper import WrapperModel

from agui.events import join_deltas as deltas
from agui.events.join_deltas import ReadAhead, join_deltas
from agui.models import Run
from agui.runs.drafts import checkpoints
from agui.runs.live import live
from agui.stores import codec
from agui.testing import call, fail, read_frames, say, think, wait
from agui.testing.script import _ScriptedStream as ScriptedStream
from agui.tools.registry import ToolRegistry
from tests.conftest import Client, played_by, run_input, script

FOREVER = 3600
END = m.PartEndEvent(index=0, part=m.TextPart("all"))


def text(content: str, index: int = 0) -> m.PartDeltaEvent:
    return m.PartDeltaEvent(index=index, delta=m.TextPartDelta(content))


async def source(*steps):
    """Yields these events, sets these, and raises these errors."""
    for step in steps:
        if isinstance(step, asyncio.Event):
            step.set()
        elif isinstance(step, Exception):
            raise step
        else:
            yield step


async def arriving(queue):
    while True:
        yield await queue.get()


async def test_the_library_has_what_is_built_on():
    assert deltas.can_join, "StreamedResponse has changed: find its events anew in agui/events/join_deltas.py"


async def test_what_comes_at_once_is_joined_and_only_what_belongs_together():
    start = m.PartStartEvent(index=0, part=m.TextPart("0"))
    signed = m.PartDeltaEvent(index=1, delta=m.ThinkingPartDelta(content_delta="c", signature_delta="s"))
    named = m.PartDeltaEvent(index=2, delta=m.ToolCallPartDelta(tool_name_delta="t", args_delta="{", tool_call_id="1"))
    arguments = [m.PartDeltaEvent(index=2, delta=m.ToolCallPartDelta(args_delta=one, tool_call_id="1")) for one in "ab"]
    thoughts = [m.PartDeltaEvent(index=1, delta=m.ThinkingPartDelta(content_delta=one)) for one in "ab"]
    told = [start, text("1"), text("2"), text("x", 3), *thoughts, signed, thoughts[0], named, *arguments, END]
    events = [event async for event in join_deltas(source(*told), ReadAhead(FOREVER))]
    assert [one.delta for one in events[1:-1]] == [
        m.TextPartDelta("12"),
        m.TextPartDelta("x"),
        m.ThinkingPartDelta(content_delta="ab"),
        signed.delta,
        m.ThinkingPartDelta(content_delta="a"),
        named.delta,
        *(one.delta for one in arguments),
    ]
    assert [events[0], events[-1]] == [start, END]


async def test_the_first_delta_and_the_end_of_a_part_are_not_held():
    arrived = asyncio.Queue()
    async with aclosing(join_deltas(arriving(arrived), ReadAhead(FOREVER))) as events, asyncio.timeout(60):
        arrived.put_nowait(text("1"))
        assert await anext(events) == text("1")
        waiting = asyncio.ensure_future(anext(events))
        for piece in "23":
            arrived.put_nowait(text(piece))
            for _ in range(5):
                await asyncio.sleep(0)
        assert not waiting.done()
        arrived.put_nowait(END)
        assert [await waiting, await anext(events)] == [text("23"), END]


async def test_a_delta_after_a_pause_is_not_held_and_a_held_one_comes_by_itself():
    arrived = asyncio.Queue()
    async with aclosing(join_deltas(arriving(arrived), ReadAhead(0.02))) as events, asyncio.timeout(60):
        for number in range(3):
            arrived.put_nowait(text(str(number)))
            assert await anext(events) == text(str(number))


async def test_a_model_goes_on_from_an_end_only_when_that_has_been_passed_on():
    reached = asyncio.Event()
    async with aclosing(join_deltas(source(END, reached), ReadAhead(FOREVER))) as events:
        await anext(events)
        for _ in range(5):
            await asyncio.sleep(0)
        assert not reached.is_set()
        assert [event async for event in events] == []
    assert reached.is_set()


async def test_a_model_that_never_waits_is_read_no_further_than_it_is_passed_on():
    made = count()

    async def endless():
        for _ in made:
            yield text("x")

    async with aclosing(join_deltas(endless(), ReadAhead(FOREVER))) as events:
        taken = [len((await anext(events)).delta.content_delta) for _ in range(3)]
        assert next(made) <= sum(taken) + deltas.MOST_EVENTS
    assert max(taken) == deltas.MOST_EVENTS


async def test_what_came_before_an_error_is_passed_on():
    broken = source(*map(text, "123"), ModelHTTPError(500, "m"))
    events = join_deltas(broken, ReadAhead(FOREVER))
    assert await anext(events) == text("123")
    with pytest.raises(ModelHTTPError):
        await anext(events)


async def test_a_stream_that_is_left_closes_its_source():
    closed = asyncio.Event()

    async def hanging():
        try:
            yield text("1")
            await asyncio.Event().wait()
        finally:
            closed.set()

    async with aclosing(join_deltas(hanging(), ReadAhead(FOREVER))) as events:
        await anext(events)
    assert closed.is_set()


ANSWERS = {
    "text": [[say("Some words, and more. ", chunks=9)]],
    "thoughts, texts": [[think("Hm. Well.", chunks=4), say("One, two", chunks=3), think("Oh", 2), say("three", 5)]],
    "a tool": [[say("Let me see. ", chunks=4), call("echo", text="hey", _chunks=5)], [say("It said hey.", chunks=6)]],
    "half characters": [[say("a\ud83d\ude00b\ud83d", chunks=4), say('\x00\u2028"\\/</é', chunks=7)]],
    "an error": [[say("Well, the answer", chunks=5), fail(ModelHTTPError(500, "m"))]],
    "an approval": [[say("I wipe. ", chunks=3), call("wipe", _id="w1")]],
}


async def play(client: Client, answers: list, thread: str) -> tuple[list[dict], list[dict]]:
    """The events of a run and the messages of its thread, without what is new each time."""
    with script(*answers):
        events = await client.run("Hi", thread=thread)
    names: dict[str, str] = defaultdict(lambda: f"id {len(names)}")
    known = {"messageId", "toolCallId", "id"}
    new = {"parentMessageId", "runId", "threadId", "timestamp", "createdAt", "metadata", "outcome"}

    def plain(value):
        if isinstance(value, dict):
            return {key: names[one] if key in known else plain(one) for key, one in value.items() if key not in new}
        if isinstance(value, str):
            # Two halves of a character are a character, as they are for a browser.
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        return [plain(one) for one in value] if isinstance(value, list) else value

    told: list[dict] = []
    for event in events:
        last = told[-1] if told else {}
        if "delta" in event and all(last.get(key) == event.get(key) for key in ("type", "messageId", "toolCallId")):
            last["delta"] += event["delta"]
        else:
            told.append(dict(event))
    return plain(told), plain((await client.thread(thread))["messages"])


def count_of_text_frames() -> int:
    return sum(b"TEXT_MESSAGE_CONTENT" in frame for log in live.logs._active.values() for frame in log.frames)


def has_text(event) -> bool:
    match event:
        case m.PartStartEvent(part=m.TextPart(content=content)):
            return bool(content)
        case m.PartDeltaEvent(delta=m.TextPartDelta(content_delta=content)):
            return bool(content)
    return False


# How many turns of the loop a delta's frame may take. pydantic-ai holds some deltas back: those never have one.
TURNS = 100_000


@pytest.fixture
def slow_model(monkeypatch, settings) -> None:
    """Let a run handle each delta before the next one comes: what has a text is in the log then."""
    settings.AGUI = {"DELTA_WINDOW_SECONDS": 1e-6}
    stream = ScriptedStream._get_event_iterator

    async def slowly(self):
        async for event in stream(self):
            before = count_of_text_frames()
            yield event
            # Other events have no frame of their own.
            for turn in range(TURNS if has_text(event) else 100):
                await asyncio.sleep(0)
                if turn >= 100 and count_of_text_frames() != before:
                    break

    monkeypatch.setattr(ScriptedStream, "_get_event_iterator", slowly)


@pytest.mark.parametrize("answers", by_day(ANSWERS.values()), ids=ANSWERS)
async def test_a_run_says_the_same_joined_or_not(client: Client, settings, request, answers):
    quick = await play(client, answers, "quick")
    request.getfixturevalue("slow_model")
    assert await play(client, answers, "slow") == quick
    settings.AGUI = {"DELTA_WINDOW_SECONDS": 0}
    assert await play(client, answers, "not joined") == quick


TEXT = "One, two, three, four, five, six, seven, eight."


def told(events: list[dict]) -> str:
    return "".join(one["delta"] for one in events if one["type"] == "TEXT_MESSAGE_CONTENT")


class Listening(AbstractCapability):
    def __init__(self) -> None:
        self.heard = ""

    @on_event(m.PartDeltaEvent)
    async def hear(self, ctx, event: m.PartDeltaEvent) -> None:
        self.heard += event.delta.content_delta


class Censoring(AbstractCapability):
    async def wrap_run_event_stream(self, ctx, *, stream):
        async for event in stream:
            is_bad = isinstance(event, m.PartDeltaEvent) and event.delta.content_delta in "two"
            yield text("*") if is_bad else event


class Wrapping(AbstractCapability):
    """It needs to have the model's events read through its own."""

    def get_wrapper_model(self, model):
        return type("Whispering", (WrapperModel,), {})(model)


@pytest.mark.parametrize(
    ("capability", "chunks", "expected"),
    [(Listening(), 24, TEXT), (Censoring(), len(TEXT), "O" + re.sub("[two]", "*", TEXT[1:])), (Wrapping(), 24, TEXT)],
)
async def test_a_capability_gets_every_delta(client: Client, mount, slow_model, capability, chunks, expected):
    mount(ToolRegistry(), [say(TEXT, chunks=chunks)], capabilities=[capability])
    assert told(await client.run("Hi")) == expected
    if isinstance(capability, Listening):
        assert capability.heard == TEXT[1:]


async def test_a_draft_and_a_stopped_run_keep_what_was_told(client: Client, slow_model):
    events: list[dict] = []
    with script([say(TEXT, chunks=24), wait(asyncio.Event())]):
        response = await client.post(run_input("Hi"))
        async with asyncio.timeout(60), aclosing(read_frames(response)) as frames:
            while told(events) != TEXT:
                events.append((await anext(frames)).event)
            [log] = live.tasks.values()
            await checkpoints.write()
            [draft] = codec.load_messages((await Run.objects.aget()).draft)
            log.stop()
            events += [frame.event async for frame in frames]
    assert draft.parts == [m.TextPart(TEXT)]
    assert told(events) == TEXT
    assert (await client.thread())["messages"][-1]["content"] == TEXT


async def test_a_text_without_an_end_reaches_the_limit_of_tokens(client: Client, settings):
    async def endless(messages, info):
        while True:
            yield "word "
            await asyncio.sleep(0)

    settings.AGUI = {"LIMITS": {"OUTPUT_TOKENS": 5000}}
    async with asyncio.timeout(60):
        with played_by(FunctionModel(stream_function=endless)):
            events = await client.run("Hi")
    assert events[-1]["code"] == "usage_limit"
