"""Every kind of stream passes the strict checks, and the strict checks have teeth.

Those of transcripts pass them, too, in the protocol's newest version.
"""

from typing import Any

import pytest
from daily import by_day

from agui.testing import call, fail, say, think
from tests.conftest import Client, body_of, run_input, script
from tests.wire import WireError, check_stream, read_stream

PAINT = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]


ODD_IDS = ["", " ", "\x00", "x" * 999]
SCRIPTS: dict[str, list[Any]] = {
    "text": [say("Hello there", chunks=3)],
    "empty text": [say(""), say("Then this")],
    "reasoning": [[think("Hm, hm", chunks=2), say("42")]],
    "reasoning between calls": [[think("Hm"), call("echo", text="a")], [think("And"), call("whoami")], say("Done")],
    "text around a call": [[say("I look"), call("echo", text="a"), say("Found it")], say("Done")],
    "several calls": [[call("echo", text="a"), call("whoami"), call("ping")], say("Done")],
    "a call without arguments": [call("ping", _json=""), say("Done")],
    "broken arguments": [call("echo", _json='{"text": '), say("Done")],
    "wrong arguments": [call("echo", text=5), say("Done")],
    "unknown tool": [call("nothing"), say("Done")],
    "failing tool": [call("broken"), say("Done")],
    "failing among others": [[call("echo", text="a"), call("broken"), call("whoami")], say("Done")],
    "failing model in its text": [[say("I sta"), fail(RuntimeError("down"))]],
    "failing model in its thoughts": [[think("Hm"), fail(RuntimeError("down"))]],
    "failing model in its call": [[call("echo", _json='{"te'), fail(RuntimeError("down"))]],
    "failing model after a call": [call("echo", text="a"), fail(RuntimeError("down"))],
    "approval": [[say("Shall I?"), call("wipe", what="disk")]],
    "approval from within": [call("ask")],
    "approvals": [[call("wipe", what="a"), call("wipe", what="b"), call("echo", text="c")]],
    "frontend and server": [[call("paint"), call("echo", text="a")]],
    "frontend, server and approval": [[call("paint"), call("note", text="a"), call("wipe"), call("broken")]],
    "a question": [[say("Wait."), call("book")]],
    "questions and approvals": [[call("book"), call("wipe"), call("delegate"), call("choose_day"), call("paint")]],
    "an approval of no form": [call("ask_oddly"), say("Done")],
    "a state that is gone": [call("note", text="a"), call("forget"), call("note", text="b"), say("Done")],
    "the same step and activity of two tools": [
        [call("work", events=[{"step": "Search"}, {"activity": {"by": n}, "id": "a"}]) for n in range(3)],
        say("Done"),
    ],
    "activities of odd ids": [
        [call("work", events=[{"activity": {}, "id": odd}, {"activity": {"n": 1}, "id": odd}]) for odd in ODD_IDS],
        say("Done"),
    ],
    "an activity with the id of a call": [call("work", _id="c1", events=[{"activity": {}, "id": "c1"}]), say("Done")],
    "odd characters": [[think("\x00\u2028"), say("\ud83d\ude00\r\n\r\n\x00data: x\n\n")]],
}


@pytest.mark.parametrize("name", by_day(SCRIPTS, 4))
async def test_every_kind_of_stream_passes(client: Client, name: str):
    for version in ("1.0", "0.9", None):
        body = run_input("Go", tools=PAINT, thread=f"t {version}", protocolVersion=version)
        with script(*SCRIPTS[name]):
            response = await client.post(body)
            assert response.status_code == 200, response.content
            check_stream(read_stream(await body_of(response)), body)


# --- The checks themselves

IDS = {"threadId": "t", "runId": "r"}
START = {"type": "RUN_STARTED", **IDS, "protocolVersion": "1.0"}
END = {"type": "RUN_FINISHED", **IDS, "outcome": {"type": "success"}}
TEXT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m1", "delta": "Hi"}
DELTA = {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/text", "value": "milk"}]}


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([END], "before the start"),
        ([START], "No end"),
        ([START, TEXT, END], "not open"),
        ([START, DELTA, END], "unknown state"),
        ([{**START, "name": "x"}, END], "no field"),
        ([START, {**END, "outcome": {"type": "cancelled"}}], "older client"),
    ],
)
def test_a_broken_stream_is_rejected(events: list[dict[str, Any]], reason: str):
    with pytest.raises(WireError, match=reason):
        check_stream(events, {**IDS, "protocolVersion": None})


def test_bytes_are_read_past_comments_and_as_a_strict_parser_does():
    assert read_stream(b"id: a\ndata: {}\n\n: ping\n\nid: b\ndata: []\n\n") == [{}, []]
    for raw in (b"id: a\r\ndata: {}\n\n", b"id: a\ndata: {}", b"data: {}\n\n", b'id: a\ndata: {"a": NaN}\n\n'):
        with pytest.raises(WireError):
            read_stream(raw)
