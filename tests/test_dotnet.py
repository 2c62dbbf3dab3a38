"""The bodies that .NET's AGUIChatClient was recorded to send: each is answered as that client understands it."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from daily import by_day
from servers import LiveProject, serve
from tests.wire import check_stream, read_stream

pytestmark = pytest.mark.clients

BODIES = sorted((Path(__file__).parent / "fixtures/dotnet").glob("*.json"))


INSTANT_MODEL = """
from agui.contrib.demo.model import build_demo_model

model = build_demo_model(pace_seconds=0)
"""


@pytest.fixture(scope="module")
def instant_project(live_project: LiveProject) -> Iterator[LiveProject]:
    """The same project, served by a second process whose demo model does not type."""
    (live_project.path / "instant.py").write_text(INSTANT_MODEL)
    with serve(live_project.path, AGENT_MODEL="python:instant.model") as live:
        yield live


@pytest.mark.parametrize("path", by_day(BODIES, 4), ids=lambda path: path.stem)
def test_recorded_body_is_answered(instant_project: LiveProject, path: Path):
    body = json.loads(path.read_text()) | {"threadId": str(uuid.uuid4())}
    client = instant_project.client(instant_project.token)
    with client.open("POST", "/agent", body, {"Accept": "text/event-stream"}) as response:
        assert response.status == 200, response.read()
        assert response.headers["Content-Type"].startswith("text/event-stream")
        stream = check_stream(read_stream(response.read()), body)
    if "resume" in body:
        # This answers a question that this server never asked.
        assert stream.ended["code"] == "interrupt_unknown"
        return
    assert stream.ended["type"] == "RUN_FINISHED"
    assert set(stream.messages.values()) >= {"text"}
    # A message that has no id of its own is kept under one.
    ids = [message["id"] for message in client.thread(body["threadId"])["messages"]]
    assert len(set(ids)) == len(ids) > 1
    assert all(ids)


def test_turn_after_turn_on_one_thread(instant_project: LiveProject):
    """That client sends its whole history with each request: what is known is not said twice."""
    client, thread = instant_project.client(instant_project.token), str(uuid.uuid4())
    assert len(BODIES) == 20
    turns = [path for path in BODIES if path.stem.startswith("Step01")]
    for path in turns:
        body = json.loads(path.read_text()) | {"threadId": thread}
        with client.open("POST", "/agent", body) as response:
            stream = check_stream(read_stream(response.read()), body)
        assert stream.ended["type"] == "RUN_FINISHED"
    said = [message["content"] for message in client.thread(thread)["messages"] if message["role"] == "user"]
    recorded = [message["content"] for message in json.loads(turns[-1].read_text())["messages"]]
    assert said == recorded[::2]
