"""The client's way to a server: the project's own endpoint over HTTP."""

import asyncio
import json
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import pytest
from ag_ui.core import BaseEvent, RunAgentInput, UserMessage

from agui.contrib.client import (
    AGUIClient,
    AGUIConnectionError,
    AGUIError,
    AGUIProtocolError,
    AGUIStatusError,
    transport,
)
from agui.testing import call, say, think
from tests.serving import CUT, Answers, serving, site_that_says


def asking(text: str = "Hi", **fields: Any) -> RunAgentInput:
    messages = [UserMessage(id=str(uuid4()), content=text)]
    return RunAgentInput(
        **{"thread_id": "t1", "run_id": str(uuid4()), "protocol_version": "1.0", "messages": messages, **fields}
    )


async def read(client: AGUIClient, run_input: RunAgentInput) -> list[BaseEvent]:
    async with aclosing(client.run(run_input)) as events:
        return [event async for event in events]


async def test_a_run_arrives_as_typed_events_and_is_followed_from_its_beginning(user: Any):
    async with site_that_says(user, [think("Hm."), call("echo", text="a")], say("Done.")) as site:
        events = await read(site.client, asking())
        rows, thread = await site.client.threads(), await site.client.thread("t1")
        async with aclosing(site.client.follow("t1")) as following:
            assert [event async for event in following] == events
    assert [event.type.value for event in events][-4:] == TYPES[1:]
    assert [row["thread_id"] for row in rows] == ["t1"]
    assert thread["messages"][-1]["content"] == "Done."


async def test_a_server_that_offers_less_is_borne():
    """A thread whose runs are gone, and no way to cancel."""
    async with serving(Answers((204, {}), (404, {}), (405, {}))) as url:
        client = AGUIClient(url, retries=0)
        async with aclosing(client.follow("t1")) as events:
            assert [event async for event in events] == []
        assert [await client.cancel("t1") for _ in (1, 2)] == [False, False]


async def test_messages_are_sent_while_a_run_is_active(user: Any):
    async with site_that_says(user, say("Done."), say("Two.")) as site:
        assert (await site.client.capabilities())["custom"]["queue"]["modes"] == ["queue", "steer"]
        await read(site.client, asking())
        message = {"id": "m?&1", "role": "user", "content": "And?"}
        assert (await site.client.queue("POST", "t1", {"message": message}))["message_id"] == "m?&1"
        async with aclosing(site.client.follow("t1")) as events:
            assert [event.type.value async for event in events][-1] == "RUN_FINISHED"
        assert (await site.client.queue("GET", "t1"))["messages"] == []
        with pytest.raises(AGUIStatusError) as refused:
            await site.client.queue("DELETE", "t1", {"message_id": "m?&1"})
    assert (refused.value.status, refused.value.code) == (409, "already_read")


@pytest.mark.parametrize(
    ("url", "route", "address"),
    [
        ("http://h/agent", "threads/", "http://h/agent/threads/"),
        ("http://h/agent/?key=1", "threads/?q=a", "http://h/agent/threads/?q=a&key=1"),
    ],
)
def test_a_query_of_the_endpoint_goes_along(url: str, route: str, address: str):
    assert AGUIClient(url).address(route) == address


# --- Bytes


def frames(*events: dict[str, Any]) -> bytes:
    return "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()


def started(**fields: Any) -> dict[str, Any]:
    return {"type": "RUN_STARTED", "threadId": "t1", "runId": "r1", **fields}


def finished(**fields: Any) -> dict[str, Any]:
    return started(**{"type": "RUN_FINISHED", **fields})


def text() -> list[dict[str, Any]]:
    fields = [("START", {"role": "assistant"}), ("CONTENT", {"delta": "Hi"}), ("END", {})]
    return [{"type": f"TEXT_MESSAGE_{step}", "messageId": "m1", **more} for step, more in fields]


async def read_bytes(*chunks: bytes) -> list[str]:
    async with serving(Answers((200, {}, *chunks))) as url:
        return [event.type.value for event in await read(AGUIClient(url, retries=0), asking())]


WHOLE = frames(started(), *text(), finished())
TYPES = ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED"]


@pytest.mark.parametrize(
    "raw",
    {
        "as it should be": WHOLE,
        "comments": b": ping\n\n" + WHOLE.replace(b"\n\n", b"\n\n: ping\n\n"),
        "CRLF": WHOLE.replace(b"\n", b"\r\n"),
        "CR": WHOLE.replace(b"\n", b"\r") + b"\n",
        "no space": WHOLE.replace(b"data: ", b"data:"),
        "other fields": WHOLE.replace(b"data: ", b"event: message\nretry: 10\nid: x\ndata: "),
        "data in several lines": WHOLE.replace(b", ", b",\ndata: "),
        "blank lines": b"\n\n\n" + WHOLE.replace(b"\n\n", b"\n\n\n\n"),
        "unknown events": frames(started(), {"type": "NEW"}, *text(), {"type": "THINKING_START"}, finished()),
        "unknown fields": WHOLE.replace(b'"delta"', b'"later": {"a": null}, "delta"'),
        "an unknown outcome": frames(started(), *text(), finished(outcome={"type": "paused"})),
        "null for what is absent": frames(started(parentRunId=None), *text(), finished(outcome=None, result=None)),
    }.items(),
    ids=lambda item: item[0],
)
@pytest.mark.parametrize("at_once", [True, False])
async def test_odd_framing_is_read(raw: tuple[str, bytes], at_once: bool):
    chunks = [raw[1]] if at_once else [raw[1][index : index + 1] for index in range(len(raw[1]))]
    assert await read_bytes(*chunks) == TYPES


async def test_chunks_are_what_they_stand_for():
    chunks = [
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": "Hm"},
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hi"},
        {"type": "TEXT_MESSAGE_CHUNK", "delta": "!"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "echo", "delta": "{"},
        {"type": "TOOL_CALL_CHUNK", "delta": "}"},
    ]
    assert await read_bytes(frames(started(), *chunks, finished())) == [
        "RUN_STARTED",
        *(f"REASONING_MESSAGE_{step}" for step in ("START", "CONTENT", "END")),
        *(f"TEXT_MESSAGE_{step}" for step in ("START", "CONTENT", "CONTENT", "END")),
        *(f"TOOL_CALL_{step}" for step in ("START", "ARGS", "ARGS", "END")),
        "RUN_FINISHED",
    ]


TOOL = {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "echo"}
STEP = {"type": "STEP_STARTED", "stepName": "s"}
ERROR = {"type": "RUN_ERROR", "message": "x"}
BROKEN: dict[str, tuple[bytes, str]] = {
    "no start": (frames(*text()), "TEXT_MESSAGE_START came before RUN_STARTED"),
    "two starts": (frames(started(), started()), "RUN_STARTED came twice"),
    "text that nobody began": (frames(started(), text()[1]), "TEXT_MESSAGE_CONTENT came for 'm1', which is not open"),
    "text begun twice": (frames(started(), text()[0], text()[0]), "TEXT_MESSAGE_START came for 'm1', which is open"),
    "text left open": (frames(started(), text()[0], finished()), "while TEXT_MESSAGE 'm1' was open"),
    "a call left open": (frames(started(), TOOL, finished()), "while TOOL_CALL 'c1' was open"),
    "a call of another name": (frames(started(), TOOL, {**TOOL, "toolCallName": "x"}), "which is open"),
    "a step left open": (frames(started(), STEP, finished()), "while STEP 's' was open"),
    "a step that nobody began": (frames(started(), {**STEP, "type": "STEP_FINISHED"}), "which is not open"),
    "something after the end": (frames(started(), finished(), *text()), "came after the end"),
    "an end after an error": (frames(started(), ERROR, finished()), "RUN_FINISHED came after the end"),
    "a field of another type": (frames({**started(), "threadId": 1}), "RUN_STARTED: .*threadId"),
    "no JSON": (b"data: {\n\n", "not JSON"),
    "JSON without end": (b"data: " + b"[" * 100_000 + b"\n\n", "not JSON"),
    "no object": (b"data: []\n\n", "no type"),
    "a chunk of nothing": (frames(started(), {"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}), "no id"),
}


@pytest.mark.parametrize(("raw", "reason"), BROKEN.values(), ids=BROKEN)
async def test_a_broken_stream_is_an_error_that_says_why(raw: bytes, reason: str):
    with pytest.raises(AGUIProtocolError, match=reason):
        await read_bytes(raw)


@pytest.mark.parametrize("raw", [frames(started(), *text()), WHOLE[:-1], b"", b": ping\n\n"])
async def test_a_stream_that_ends_before_the_run_is_an_error(raw: bytes):
    with pytest.raises(AGUIConnectionError, match="ended its stream before the run") as caught:
        await read_bytes(raw)
    assert caught.value.code == "incomplete_stream"


@pytest.mark.parametrize("url", ["agent", "ftp://127.0.0.1/", "http://127.0.0.1:1/"])
async def test_an_address_of_nothing_is_an_error(url: str):
    with pytest.raises(AGUIConnectionError):
        await read(AGUIClient(url), asking())


async def test_a_key_in_the_address_is_in_no_error():
    async with serving(Answers((401, {}), (200, {}, frames(*text())), (200, {}), (200, {}, b"<html>"))) as url:
        client = AGUIClient(f"{url}/agent/?key=secret", retries=0)
        errors = []
        for ask in [lambda: read(client, asking())] * 3 + [client.threads]:
            with pytest.raises(AGUIError) as caught:
                await ask()
            errors.append(caught.value)
    assert [*map(type, errors)] == [AGUIStatusError, AGUIProtocolError, AGUIConnectionError, AGUIProtocolError]
    assert not any("secret" in f"{error} {error!r} {error.model_name}" for error in errors)


# --- Connections


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "FIRST_WAIT_SECONDS", 0.001)


@pytest.mark.parametrize(
    "first",
    [(503, {"retry-after": "0"}, b"busy"), (429, {}), (502, {}), (200, {}, CUT), (200, {}), (200, {}, b": ping\n\n")],
)
async def test_a_request_is_sent_again_before_the_first_event(first: Any):
    server = Answers(first, first, (200, {}, WHOLE))
    async with serving(server) as url:
        assert len(await read(AGUIClient(url), asking())) == 5
    assert len({request["body"] for request in server.requests}) == 1
    assert len(server.requests) == 3


async def test_silence_is_an_error_and_nothing_is_asked_twice(clock):
    server = Answers((200, {}, asyncio.Event()), (200, {}, WHOLE))
    async with serving(server) as url:
        reading = asyncio.create_task(read(AGUIClient(url, timeout_seconds=3600), asking()))
        while not reading.done():
            await asyncio.sleep(0.01)
            if server.requests:  # Sent, and not answered
                clock.advance(3600)
        with pytest.raises(AGUIConnectionError, match="silent") as caught:
            await reading
    assert (caught.value.code, len(server.requests)) == ("timeout", 1)


def with_ids(raw: bytes) -> list[bytes]:
    found = [frame for frame in raw.split(b"\n\n") if frame]
    return [b"id: run:%d\n%b\n\n" % (number, frame) for number, frame in enumerate(found, 1)]


@pytest.mark.parametrize("end", [CUT, b": the end\n\n", b'id: run:4\ndata: {"type": "TEXT_MES'])
async def test_a_lost_stream_is_taken_up_where_it_was_left(end: Any):
    sent = with_ids(WHOLE)
    server = Answers((200, {}, *sent[:3], end), (503, {}), (200, {}, *sent[3:4], end), (200, {}, *sent[4:]))
    async with serving(server) as url:
        client = AGUIClient(f"{url}/agent/?key=1", headers={"Authorization": "Bearer x"})
        assert [event.type.value for event in await read(client, asking(thread_id="a/b"))] == TYPES
    asked = [(one["method"], one["path"], one["headers"].get("last-event-id")) for one in server.requests]
    events = "/agent/threads/a/b/events/"
    assert asked == [("POST", "/agent/", None), *(("GET", events, f"run:{number}") for number in (3, 3, 4))]
    assert {request["headers"]["authorization"] for request in server.requests} == {"Bearer x"}


LOST = (200, {}, *with_ids(WHOLE)[:3], CUT)


@pytest.mark.parametrize(
    ("error", "words", "count", "answers"),
    [
        (AGUIConnectionError, "text/event-stream", 1, [(200, {"content-type": "text/html"}, b"<html>")]),
        (AGUIConnectionError, "DecodingError", 1, [(200, {"content-encoding": "gzip"}, b"<html>")]),
        (AGUIConnectionError, None, 1, [(200, {}, frames(started()), CUT)]),
        (AGUIStatusError, "Try later", 3, [(503, {}, b'{"error": "unavailable", "message": "Try later."}')] * 5),
        *((AGUIStatusError, f"{status}: No.", 1, [(status, {}, b"No.")]) for status in (400, 401, 404, 409, 422, 500)),
        *((AGUIError, None, 2, [LOST, (status, {})]) for status in (204, 404, 405)),
    ],
)
async def test_a_request_is_not_sent_again_where_that_does_not_help(error: Any, words: Any, count: int, answers: Any):
    server = Answers(*answers, (200, {}, WHOLE))
    async with serving(server) as url:
        with pytest.raises(error, match=words):
            await read(AGUIClient(url), asking())
    assert len(server.requests) == count
