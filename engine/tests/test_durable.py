"""What workers go on from: notes of tools, drafts, and streams that break off. (Workers themselves need PostgreSQL.)"""

import asyncio
import json
import threading

import pytest
from pydantic_ai import BinaryImage, ModelRetry, ToolReturn
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from agui.contrib.durable.journal import OUTCOME, Journal
from agui.contrib.durable.splice import left_open
from agui.models import Run
from agui.runs import drafts, start
from agui.stores import codec
from agui.testing import call, collect, say, wait
from tests import urls
from tests.conftest import Client, run_input, script, until

pytestmark = pytest.mark.database

IMAGE = BinaryImage(b"\xff\x00", media_type="image/png", _identifier="one")
OUTCOMES = [
    ToolReturn(return_value="done"),
    ToolReturn(return_value=None),
    ToolReturn(return_value={"deep": [1, 2.5, "\x00 and \ud800"]}, metadata={"page": 1}),
    ToolReturn(return_value="see", content=["this", IMAGE]),
    ToolFailed("It did not work."),
    ModelRetry("Another title."),
]


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_an_outcome_is_the_same_for_the_next_worker(outcome):
    known = codec.load(OUTCOME, json.loads(json.dumps(codec.dump(OUTCOME, outcome))))
    assert type(known) is type(outcome)
    assert known == outcome or str(known) == str(outcome)


def frames(*events):
    return [
        f"id: key:{number}\ndata: {json.dumps({'type': kind, **more})}\n\n".encode()
        for number, (kind, more) in enumerate(events, 1)
    ]


def test_what_was_begun_is_ended_the_last_first():
    begun = frames(
        ("RUN_STARTED", {}),
        ("STEP_STARTED", {"stepName": "one"}),
        ("STEP_STARTED", {"stepName": "two"}),
        ("STEP_FINISHED", {"stepName": "one"}),
        ("TEXT_MESSAGE_START", {"messageId": "m1"}),
        ("TEXT_MESSAGE_CONTENT", {"messageId": "m1", "delta": "data: {"}),
        ("TEXT_MESSAGE_END", {"messageId": "m1"}),
        ("REASONING_START", {"messageId": "m2"}),
        ("REASONING_MESSAGE_START", {"messageId": "m2"}),
    )
    ends = [event.model_dump(by_alias=True, exclude_none=True, exclude={"timestamp"}) for event in left_open(begun)]
    assert ends == [
        {"type": "REASONING_MESSAGE_END", "messageId": "m2"},
        {"type": "REASONING_END", "messageId": "m2"},
        {"type": "STEP_FINISHED", "stepName": "two"},
    ]


def test_nothing_is_open_after_whole_parts():
    call = [(f"TOOL_CALL_{step}", {"toolCallId": "c1"}) for step in ("START", "ARGS", "END")]
    assert left_open(frames(*call)) == []
    assert [event.type for event in left_open(frames(call[0]))] == ["TOOL_CALL_END"]


def test_a_run_goes_on_from_the_last_answer_that_asked_for_tools():
    orders = pytest.importorskip("agui.contrib.durable.orders", reason="DBOS is not installed", exc_type=ImportError)
    asked = ModelResponse(parts=[ToolCallPart("echo", {}, tool_call_id="c1")])
    result = ModelRequest(parts=[ToolReturnPart("echo", "", tool_call_id="c1")])
    half = ModelResponse(parts=[TextPart("Half")], state="interrupted")
    assert orders._reached([asked, result, half]) == [asked]
    assert orders._reached([asked, result, asked, result]) == [asked, result, asked]
    assert orders._reached([half]) == []
    # A message that was sent meanwhile stays where the run has read it.
    said = ModelRequest(parts=[UserPromptPart("Stop")], metadata={"agui": {"ids": ["m1"]}})
    assert orders._reached([asked, result, said, half]) == [asked, result, said]
    assert orders._reached([said, asked, result, half]) == [said, asked]


@pytest.fixture
def with_journals(intercept):
    """Runs as a worker has them."""
    intercept(start, "activate", after=lambda run: setattr(run, "journal", Journal(run)))


@pytest.mark.usefixtures("with_journals")
async def test_the_outcome_that_was_noted_first_counts(client: Client, intercept):
    record = Journal._record
    # A worker took over, as this one seemed dead.
    intercept(Journal, "_record", before=lambda self, call_id, _: record(self, call_id, "theirs"))
    with script(call("ping", _id="c1"), say("Done")):
        events = await client.run(text="Go")
    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["theirs"]
    assert events[-1]["outcome"] == {"type": "success"}


@pytest.mark.usefixtures("with_journals")
async def test_an_older_draft_does_not_come_after_the_answer_that_asks_for_tools(client, monkeypatch, intercept):
    taken, go_on, is_waiting = threading.Event(), threading.Event(), asyncio.Event()

    class Writing(asyncio.Lock):
        async def acquire(self):
            if self.locked():
                is_waiting.set()
            return await super().acquire()

    reached, ask = asyncio.Event(), asyncio.Event()
    with script([say("Half"), wait(ask, reached), call("hang", _id="c1")], say("Done")):
        response = await client.post(run_input("Go"))
        await reached.wait()
        intercept(drafts, "_write", before=lambda _: (taken.set(), go_on.wait(60)))
        monkeypatch.setattr(drafts.checkpoints, "writing", Writing())
        writing = asyncio.create_task(drafts.checkpoints.write())
        await asyncio.to_thread(taken.wait, 60)
        ask.set()
        await until(lambda: is_waiting.is_set() or urls.hanging.is_set())
        assert not urls.hanging.is_set()
        go_on.set()
        await writing
        assert await asyncio.to_thread(urls.hanging.wait, 60)
        [answer] = codec.load_messages((await Run.objects.aget()).draft or [])
        assert [one.tool_call_id for one in answer.tool_calls] == ["c1"]
        urls.let_go.set()
        await collect(response)
