"""An independent validator finds nothing to say about any kind of stream, nor about the live endpoint."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from servers import Client, LiveProject, run_input
from test_clients import scripted_project  # noqa: F401
from tests.wire import Stream, check_stream, read_stream

pytestmark = pytest.mark.servers

PAINT = {"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}
TALK: list[Any] = [{"say": "Done.", "chunks": 2}]


class Recorder:
    """A client that keeps what it received on a thread, byte for byte: a result may be that of an earlier run."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.body = run_input("", protocolVersion="1.0", tools=[PAINT])
        self.calls: set[str] = set()
        self.resumed = False
        self.raw = b""

    def ask(self, *answers: list[Any], **changes: Any) -> Stream:
        """Let the model answer with these."""
        text = f"script: {json.dumps([*answers, TALK])}"
        return self.send(messages=[{"id": "u", "role": "user", "content": text}], **changes)

    def send(self, **changes: Any) -> Stream:
        with self.client.open("POST", "/agent/", self.body | changes) as response:
            assert response.status == 200, response.read()
            raw = response.read()
        self.raw += raw
        stream = check_stream(read_stream(raw), self.body | changes, calls=self.calls)
        self.resumed |= bool(stream.results.keys() - stream.calls.keys())
        self.calls |= stream.calls.keys()
        return stream

    def resume(self, paused: Stream, **answer: Any) -> Stream:
        resume = [{"interruptId": interrupt["id"], **answer} for interrupt in paused.interrupts]
        return self.send(messages=[], resume=resume)


def play(*answers: list[Any], **changes: Any) -> Callable[[Recorder], object]:
    return lambda recorder: recorder.ask(*answers, **changes)


def resumed(call: dict[str, Any], **answer: Any) -> Callable[[Recorder], object]:
    return lambda recorder: recorder.resume(recorder.ask([call]), **answer)


def painted(recorder: Recorder) -> None:
    (call_id,) = recorder.ask([{"call": "paint"}]).calls
    recorder.send(messages=[{"id": "r", "role": "tool", "toolCallId": call_id, "content": "blue"}])


def cancelled(recorder: Recorder) -> None:
    thread = recorder.body["threadId"]
    messages = [{"id": "u", "role": "user", "content": f"script: {json.dumps([[{'say': 'I'}, {'wait': thread}]])}"}]
    with recorder.client.open("POST", "/agent/", recorder.body | {"messages": messages}) as response:
        received = response.read1()
        while b"TEXT_MESSAGE_CONTENT" not in received:
            received += response.read1()
        status, text = recorder.client.fetch("POST", f"/agent/threads/{thread}/cancel/")
        assert status < 300, text
        recorder.raw = received + response.read()
    assert check_stream(read_stream(recorder.raw), recorder.body).ended["outcome"] == {"type": "cancelled"}


SCHEDULE = {"call": "schedule", "arguments": {"what": "tea"}}
ECHO = {"call": "echo", "arguments": {"text": "a"}}
WIPE = {"call": "wipe", "arguments": {"what": "disk"}}
YES, NO = {"approved": True}, {"approved": False, "reason": "No."}
RESEARCH = {"call": "research", "arguments": {"topic": "tea", "gate": "open"}}
KINDS: dict[str, Callable[[Recorder], object]] = {
    "text": play([{"say": "Hello there", "chunks": 3}]),
    "reasoning": play([{"think": "Hm, hm", "chunks": 2}, {"say": "42"}]),
    "reasoning and tools": play([{"think": "Hm"}, ECHO], [{"think": "And"}]),
    "a tool": play([ECHO]),
    "tools": play([{"say": "I look."}, *[{"call": "echo", "arguments": {"text": str(n)}} for n in range(3)]]),
    "a failing tool": play([{"call": "broken"}]),
    "an unknown tool": play([{"call": "nothing"}]),
    "frontend tool": play([{"call": "paint"}]),
    "frontend tools": play([{"call": "paint"}, {"call": "paint"}]),
    "frontend and server": play([{"call": "paint"}, ECHO]),
    "frontend, server and approval": play([{"call": "paint"}, {"call": "title", "arguments": {"text": "a"}}, WIPE]),
    "the result of a page": painted,
    "an approval": play([WIPE]),
    "approvals": play([WIPE, {"call": "ask", "arguments": {"what": "go"}}, WIPE]),
    "a question": play([SCHEDULE]),
    "a question of no form": play([{"call": "wonder"}]),
    "approved": resumed(WIPE, status="resolved", payload=YES),
    "approved with other arguments": resumed(WIPE, status="resolved", payload={**YES, "editedArgs": {"what": "b"}}),
    "denied": resumed(WIPE, status="resolved", payload=NO),
    "answered": resumed(SCHEDULE, status="resolved", payload={"day": "Friday", "guests": 2}),
    "not answered": resumed({"call": "wonder"}, status="cancelled"),
    "an answer to no question": lambda recorder: recorder.send(
        messages=[], resume=[{"interruptId": "x", "status": "cancelled"}]
    ),
    "an error": play([{"fail": ""}]),
    "an error in a text": play([{"say": "I sta"}, {"fail": ""}]),
    "an error after a tool": play([ECHO], [{"fail": ""}]),
    "state": play([{"call": "title", "arguments": {"text": "a"}}], [{"call": "pin", "arguments": {"text": "b"}}]),
    "state of the client": play([{"call": "pin", "arguments": {"text": "b"}}], state={"title": "a", "items": ["c"]}),
    "steps, activities and custom events": play([RESEARCH]),
    "steps of two tools at once": play([RESEARCH, RESEARCH]),
    "cancelled": cancelled,
}
# Streams for clients that declared no version or an older one.
OLDER = ["text", "reasoning", "tools", "frontend and server", "an approval", "denied", "an error", "state"]


# The validator forgets a call with its run, but the interrupt contract wants its result in the next one:
# `Recorder.send` checks that the call was announced.
RESUMED = ["--off", "AGUI207"]


def validate(*arguments: str | Path) -> None:
    validator = Path(sys.executable).with_name("ag-ui-validate")
    command = [validator, *arguments, "--max-warnings", "0", "--no-color"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.fixture
def recorder(scripted_project: LiveProject) -> Recorder:  # noqa: F811
    client = scripted_project.client(scripted_project.token)
    assert client.fetch("POST", "/gates/open/")[0] == 204
    return Recorder(client)


def check(recorder: Recorder, kind: str, recording: Path) -> None:
    KINDS[kind](recorder)
    recording.write_bytes(recorder.raw)
    validate(recording, *(RESUMED if recorder.resumed else ()))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_stream_is_valid(recorder: Recorder, kind: str, tmp_path: Path):
    check(recorder, kind, tmp_path / "stream.sse")


@pytest.mark.nightly
@pytest.mark.parametrize("version", ["0.9", None])
@pytest.mark.parametrize("kind", OLDER)
def test_streams_for_older_clients_are_valid(recorder: Recorder, kind: str, version: str | None, tmp_path: Path):
    recorder.body.pop("protocolVersion")
    recorder.body |= {"protocolVersion": version} if version else {}
    check(recorder, kind, tmp_path / "stream.sse")


def test_live_endpoint_is_valid(live_project: LiveProject):
    validate(f"{live_project.url}/agent/", "--header", f"Authorization: Bearer {live_project.token}")


def test_the_validator_has_teeth(recorder: Recorder, tmp_path: Path):
    recorder.ask([{"say": "Hello"}])
    broken = recorder.raw.replace(b"TEXT_MESSAGE_END", b"TEXT_MESSAGE_START", 1)
    (tmp_path / "stream.sse").write_bytes(broken)
    with pytest.raises(AssertionError, match="AGUI"):
        validate(tmp_path / "stream.sse")
