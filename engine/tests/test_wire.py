"""Every kind of stream passes the strict checks, and the strict checks have teeth."""

from copy import deepcopy
from typing import Any

import pytest
from daily import by_day

from agui.testing import call, event_types, fail, say, think
from tests.conftest import Client, run_input, script
from tests.urls import ODD
from tests.wire import WireError, check_stream, read_stream

PAINT = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]


ODD_IDS = ["", " ", "\x00", "x" * 999]
RAW: list[dict[str, Any]] = [
    {"raw": "RunStartedEvent", "thread_id": "x", "run_id": "x"},
    {"raw": "RunFinishedEvent", "thread_id": "x", "run_id": "x"},
    {"raw": "RunErrorEvent", "message": "m"},
    {"raw": "TextMessageStartEvent", "message_id": "m"},
    {"raw": "TextMessageContentEvent", "message_id": "n", "delta": "x"},
    {"raw": "TextMessageEndEvent", "message_id": "n"},
    {"raw": "TextMessageChunkEvent", "delta": "x"},
    {"raw": "ToolCallStartEvent", "tool_call_id": "c", "tool_call_name": "x"},
    {"raw": "ToolCallArgsEvent", "tool_call_id": "d", "delta": "x"},
    {"raw": "ToolCallResultEvent", "message_id": "r", "tool_call_id": "d", "content": "x"},
    *[{"raw": "StepStartedEvent", "step_name": "s"}] * 2,
    {"raw": "StepFinishedEvent", "step_name": "t"},
    {"raw": "StateDeltaEvent", "delta": [{"op": "remove", "path": "/nothing"}]},
    {"raw": "StateSnapshotEvent", "snapshot": None},
    {"raw": "MessagesSnapshotEvent", "messages": []},
    {"raw": "ActivityDeltaEvent", "message_id": "a", "activity_type": "t", "patch": []},
    {"raw": "ReasoningStartEvent", "message_id": "r"},
    {"raw": "ReasoningMessageContentEvent", "message_id": "r", "delta": ""},
    {"raw": "CustomEvent", "name": "", "value": None},
]
SCRIPTS: dict[str, list[Any]] = {
    "text": [say("Hello there", chunks=3)],
    "empty text": [say(""), say("Then this")],
    "reasoning": [[think("Hm, hm", chunks=2), say("42")]],
    "reasoning twice": [[think("Hm"), think("Oh"), say("42")]],
    "reasoning between calls": [[think("Hm"), call("echo", text="a")], [think("And"), call("whoami")], say("Done")],
    "text around a call": [[say("I look"), call("echo", text="a"), say("Found it")], say("Done")],
    "several calls": [[call("echo", text="a"), call("whoami"), call("ping")], say("Done")],
    "the same call again": [call("echo", text="a"), call("echo", text="a"), say("Done")],
    "a call without arguments": [call("ping", _json=""), say("Done")],
    "broken arguments": [call("echo", _json='{"text": '), say("Done")],
    "wrong arguments": [call("echo", text=5), say("Done")],
    "unknown tool": [call("nothing"), say("Done")],
    "failing tool": [call("broken"), say("Done")],
    "failing among others": [[call("echo", text="a"), call("broken"), call("whoami")], say("Done")],
    "failing model": [fail(RuntimeError("down"))],
    "failing model in its text": [[say("I sta"), fail(RuntimeError("down"))]],
    "failing model in its thoughts": [[think("Hm"), fail(RuntimeError("down"))]],
    "failing model in its call": [[call("echo", _json='{"te'), fail(RuntimeError("down"))]],
    "failing model after a call": [call("echo", text="a"), fail(RuntimeError("down"))],
    "state": [call("note", text="milk"), call("note", text="eggs"), say("Noted")],
    "state twice at once": [[call("note", text="milk"), call("note", text="eggs")], say("Noted")],
    "state of no form": [call("clear"), say("Cleared")],
    "approval": [[say("Shall I?"), call("wipe", what="disk")]],
    "approval from within": [call("ask")],
    "approvals": [[call("wipe", what="a"), call("wipe", what="b"), call("echo", text="c")]],
    "frontend tool": [call("paint")],
    "frontend tools": [[call("paint"), call("paint")]],
    "frontend and server": [[call("paint"), call("echo", text="a")]],
    "frontend, server and approval": [[call("paint"), call("note", text="a"), call("wipe"), call("broken")]],
    "a question": [[say("Wait."), call("book")]],
    "questions and approvals": [[call("book"), call("wipe"), call("delegate"), call("choose_day"), call("paint")]],
    "an approval of no form": [call("ask_oddly"), say("Done")],
    "a state that is gone": [call("note", text="a"), call("forget"), call("note", text="b"), say("Done")],
    **{f"a state of {odd}": [call("clear", to=odd), call("recall"), say("Done")] for odd in ODD},
    "steps and activities": [
        call("work", events=[{"step": "Search"}, {"activity": {"done": 0}}, {"note": "a"}, {"activity": {"done": 1}}]),
        say("Done"),
    ],
    "the same step and activity of two tools": [
        [call("work", events=[{"step": "Search"}, {"activity": {"by": n}, "id": "a"}]) for n in range(3)],
        say("Done"),
    ],
    "activities of odd ids": [
        [call("work", events=[{"activity": {}, "id": odd}, {"activity": {"n": 1}, "id": odd}]) for odd in ODD_IDS],
        say("Done"),
    ],
    "an activity with the id of a call": [call("work", _id="c1", events=[{"activity": {}, "id": "c1"}]), say("Done")],
    **{f"an event of {odd}": [call("work", events=[{"odd": odd}]), say("Done")] for odd in ODD},
    "events that break the order": [call("work", events=RAW), say("Done")],
    "odd characters": [[think("\x00\u2028"), say("\ud83d\ude00\r\n\r\n\x00data: x\n\n")]],
}


@pytest.mark.parametrize("name", by_day(SCRIPTS, 4))
async def test_every_kind_of_stream_passes(client: Client, name: str):
    for version in ("1.0", "0.9", None):
        body = run_input("Go", tools=PAINT, thread=f"t {version}", protocolVersion=version)
        with script(*SCRIPTS[name]):
            response = await client.post(body)
            assert response.status_code == 200, response.content
            check_stream(read_stream(b"".join([chunk async for chunk in response])), body)


BODY = {"threadId": "t", "runId": "r", "protocolVersion": "1.0", "tools": PAINT}


def good() -> list[dict[str, Any]]:
    """A stream with something of everything; the mutations below know the places of its events."""
    parent, activity = {"parentMessageId": "m1"}, {"messageId": "a1", "activityType": "plan"}
    interrupt = {"id": "i", "reason": "tool_call", "toolCallId": "c2", "expiresAt": "2030-01-01T00:00:00+00:00"}
    return [
        {"type": "RUN_STARTED", "threadId": "t", "runId": "r", "protocolVersion": "1.0"},
        {"type": "STATE_SNAPSHOT", "snapshot": {"text": ""}},
        {"type": "REASONING_START", "messageId": "s1"},
        {"type": "REASONING_MESSAGE_START", "messageId": "s1", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "s1", "delta": "Hm"},
        {"type": "REASONING_MESSAGE_END", "messageId": "s1"},
        {"type": "REASONING_END", "messageId": "s1"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m1", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hello"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m1"},
        {"type": "TOOL_CALL_START", "toolCallId": "c1", "toolCallName": "note", **parent},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c1", "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": "c1"},
        {"type": "STEP_STARTED", "stepName": "search"},
        {"type": "ACTIVITY_SNAPSHOT", **activity, "content": {"done": 0}},
        {"type": "ACTIVITY_DELTA", **activity, "patch": [{"op": "replace", "path": "/done", "value": 1}]},
        {"type": "CUSTOM", "name": "progress", "value": None},
        {"type": "STEP_FINISHED", "stepName": "search"},
        {"type": "TOOL_CALL_RESULT", "messageId": "m2", "toolCallId": "c1", "content": "noted", "role": "tool"},
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/text", "value": "milk"}]},
        {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "wipe", **parent},
        {"type": "TOOL_CALL_END", "toolCallId": "c2"},
        {
            "type": "RUN_FINISHED",
            "threadId": "t",
            "runId": "r",
            "outcome": {"type": "interrupt", "interrupts": [interrupt]},
        },
    ]


def at(stream: list[dict[str, Any]], kind: str) -> int:
    return event_types(stream).index(kind)


def without(kind: str) -> Any:
    return lambda stream: stream.pop(at(stream, kind))


def twice(kind: str) -> Any:
    return lambda stream: stream.insert(at(stream, kind), deepcopy(stream[at(stream, kind)]))


def changed(kind: str, **fields: Any) -> Any:
    return lambda stream: stream[at(stream, kind)].update(fields)


def cut(kind: str, name: str) -> Any:
    return lambda stream: stream[at(stream, kind)].pop(name)


def swapped(kind: str, other: str) -> Any:
    def swap(stream: list[dict[str, Any]]) -> None:
        one, two = at(stream, kind), at(stream, other)
        stream[one], stream[two] = stream[two], stream[one]

    return swap


def added(before: str, kind: str, **fields: Any) -> Any:
    return lambda stream: stream.insert(at(stream, before), {"type": kind, **fields})


SUCCESS = {"type": "success"}
PENDING = {**SUCCESS, "pendingToolCallIds": ["c2"]}
OTHER_CALL = {"toolCallId": "c9", "toolCallName": "x", "parentMessageId": "m1"}
MUTATIONS = {
    "no start": (without("RUN_STARTED"), "before the start"),
    "two starts": (twice("RUN_STARTED"), "second start"),
    "no version": (cut("RUN_STARTED", "protocolVersion"), "protocol version"),
    "another thread": (changed("RUN_FINISHED", threadId="x"), "another threadId"),
    "no end": (without("RUN_FINISHED"), "No end"),
    "two ends": (twice("RUN_FINISHED"), "after the end"),
    "an error before the end": (added("RUN_FINISHED", "RUN_ERROR", message="m", code="c"), "after the end"),
    "an error without a code": (added("RUN_FINISHED", "RUN_ERROR", message="m"), "code"),
    "text left open": (without("TEXT_MESSAGE_END"), "still open"),
    "text never opened": (without("TEXT_MESSAGE_START"), "not open"),
    "text without a role": (cut("TEXT_MESSAGE_START", "role"), "no role"),
    "text with the id of reasoning": (changed("TEXT_MESSAGE_START", messageId="s1"), "id of another message"),
    "an empty delta": (changed("TEXT_MESSAGE_CONTENT", delta=""), "empty delta"),
    "empty thoughts": (changed("REASONING_MESSAGE_CONTENT", delta=""), "empty delta"),
    "empty arguments": (changed("TOOL_CALL_ARGS", delta=""), "empty delta"),
    "reasoning left open": (without("REASONING_MESSAGE_END"), "still open"),
    "a reasoning span left open": (without("REASONING_END"), "still open"),
    "reasoning outside of a span": (without("REASONING_START"), "outside of its span"),
    "a call left open": (without("TOOL_CALL_END"), "still open"),
    "two calls open": (added("TOOL_CALL_END", "TOOL_CALL_START", **OTHER_CALL), "while another one is open"),
    "a call announced twice": (twice("TOOL_CALL_START"), "another one is open"),
    "arguments of another call": (changed("TOOL_CALL_ARGS", toolCallId="c2"), "not open"),
    "a parent that is no message": (changed("TOOL_CALL_START", parentMessageId="s1"), "parent"),
    "no parent": (cut("TOOL_CALL_START", "parentMessageId"), "parent"),
    "a result of no call": (changed("TOOL_CALL_RESULT", toolCallId="x"), "no known call"),
    "a result with the id of the text": (changed("TOOL_CALL_RESULT", messageId="m1"), "id of another message"),
    "a result twice": (twice("TOOL_CALL_RESULT"), "second result"),
    "a result before the end of the call": (swapped("TOOL_CALL_RESULT", "TOOL_CALL_END"), "still open"),
    "no result": (without("TOOL_CALL_RESULT"), "nobody answers"),
    "a success that leaves a call": (changed("RUN_FINISHED", outcome=SUCCESS), "left open"),
    "a call pending that nobody can answer": (changed("RUN_FINISHED", outcome=PENDING), "nobody answers"),
    "an interrupt of no call": (
        changed("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": [{"id": "i", "reason": "r"}]}),
        "nobody answers",
    ),
    "no interrupts": (changed("RUN_FINISHED", outcome={"type": "interrupt", "interrupts": []}), "interrupts"),
    "a delta without a snapshot": (without("STATE_SNAPSHOT"), "unknown state"),
    "a delta that does not apply": (changed("STATE_SNAPSHOT", snapshot={}), "does not apply"),
    "a delta of no path": (changed("STATE_DELTA", delta=[{"op": "remove", "path": "text"}]), "path"),
    "a delta of no operation": (changed("STATE_DELTA", delta=[{"op": "merge", "path": "/text"}]), "merge"),
    "an empty patch": (changed("STATE_DELTA", delta=[]), "empty patch"),
    "a change of no activity": (without("ACTIVITY_SNAPSHOT"), "unknown activity"),
    "a change of another activity": (changed("ACTIVITY_DELTA", activityType="x"), "unknown activity"),
    "an activity with the id of a message": (changed("ACTIVITY_SNAPSHOT", messageId="m1"), "id of another"),
    "a step left open": (without("STEP_FINISHED"), "still open"),
    "a step opened twice": (twice("STEP_STARTED"), "already open"),
    "a step that was not begun": (without("STEP_STARTED"), "not open"),
    "an unknown event": (added("RUN_FINISHED", "THINKING_START"), "THINKING_START"),
    "a chunk": (added("RUN_FINISHED", "TEXT_MESSAGE_CHUNK", messageId="m9", delta="x"), "today"),
    "an unknown field": (changed("TEXT_MESSAGE_START", threadId="t"), "no field"),
    "a field in snake case": (added("RUN_FINISHED", "TEXT_MESSAGE_END", message_id="m1"), "no field"),
    "an unknown field in the outcome": (changed("RUN_FINISHED", outcome={**PENDING, "why": 1}), "no field"),
    "null": (changed("TEXT_MESSAGE_START", name=None), "null"),
    "a null timestamp": (changed("RUN_STARTED", timestamp=None), "null"),
    "a float timestamp": (changed("RUN_STARTED", timestamp=1.5), "timestamp"),
    "a number for a text": (changed("TEXT_MESSAGE_CONTENT", delta=5), "delta"),
    "reasoning without a role": (cut("REASONING_MESSAGE_START", "role"), "absent"),
    "no type": (cut("CUSTOM", "type"), "type"),
}


def test_the_good_stream_is_good():
    stream = check_stream(good(), BODY)
    assert stream.states[-1] == {"text": "milk"}
    assert stream.activities["a1"] == ("plan", {"done": 1})


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_broken_stream_is_rejected(name: str):
    mutate, reason = MUTATIONS[name]
    stream = good()
    mutate(stream)
    with pytest.raises(WireError, match=reason):
        check_stream(stream, BODY)


@pytest.mark.parametrize("outcome", [{"type": "cancelled"}, {**SUCCESS, "pendingToolCallIds": ["c1"]}])
def test_a_form_of_1_0_is_rejected_for_an_older_client(outcome: dict[str, Any]):
    start, *_, end = good()
    calls = [event for event in good() if event.get("toolCallId") == "c1" and event["type"] != "TOOL_CALL_RESULT"]
    calls[0]["toolCallName"] = "paint"
    text = [event for event in good() if event.get("messageId") == "m1"]
    stream = [start, *text, *calls, {**end, "outcome": outcome}]
    for new in ("1.0", "2.7", "abc"):
        check_stream(stream, {**BODY, "protocolVersion": new})
    for old in (None, "0.9"):
        with pytest.raises(WireError, match="older client"):
            check_stream(stream, {**BODY, "protocolVersion": old})


def frames(*lines: str) -> bytes:
    return "".join(f"{line}\n\n" for line in lines).encode()


def test_bytes_are_read_past_comments():
    assert read_stream(frames("id: a\ndata: {}", ": ping", "id: b\ndata: []")) == [{}, []]


@pytest.mark.parametrize(
    "raw",
    [
        frames("id: a\r\ndata: {}"),
        frames("id: a\ndata: {}").rstrip(),
        frames("id: a\ndata:{}"),
        frames("id: a\ndata: {\ndata: }"),
        frames("id: a\nevent: x\ndata: {}"),
        frames("data: {}"),
        frames("id: a\ndata: {}", "id: a\ndata: {}"),
        frames('id: a\ndata: {"a": NaN}'),
        frames('id: a\ndata: {"a": 1, "a": 2}'),
        frames("id: a\ndata: {"),
        b'id: a\ndata: "x"\xff\n\n',
    ],
)
def test_bytes_that_a_strict_parser_would_not_read_are_rejected(raw: bytes):
    with pytest.raises((WireError, UnicodeDecodeError)):
        read_stream(raw)
