"""Messages are lost by nothing: a process that dies, another writer, a stop at any moment, a fork, a deletion."""

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command

from agui.contrib.queue import rows
from agui.contrib.queue.models import QueuedMessage
from agui.errors import TooManyRequests
from agui.models import Run, get_conversation_model
from agui.runs import deliver
from agui.runs.live import live
from agui.runs.recovery import recover
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import call, say
from tests.clock import Clock
from tests.conftest import Client, script
from tests.queueing import Gate, Queue, Reading, settled, texts, working
from tests.test_recovery import GONE

pytestmark = pytest.mark.database

READ = ["Go", "tool: a", "Stop"]


async def steer(at_work: Any, queue: Queue, later: Gate) -> None:
    """Play a run up to the request with which its model reads a message."""
    await queue.steer("Stop")
    at_work.gate.opened.set()
    await at_work.run.at(later)


@pytest.mark.parametrize("has_draft", [True, False])
async def test_a_process_dies_after_its_model_has_read_a_message(client: Client, queue: Queue, has_draft: bool):
    later = Gate()
    async with working(client, [later(), say("Late.")], say("Again.")) as at_work:
        await steer(at_work, queue, later)
        row = await Run.objects.aget()
        await Run.objects.aupdate(process=GONE, **({} if has_draft else {"draft": None}))
        await recover(ModelConversationStore(), row.scope, "t1")
        # The message is in the thread with the draft, or waits if the draft was lost.
        assert await queue.waiting() == ([] if has_draft else ["Stop"])
        await at_work.run.end(later)
        await settled()
        assert await texts(client) == (READ if has_draft else ["Go"])
        assert await queue.waiting() == ([] if has_draft else ["Stop"])
        await queue.send("POST", {}, status=202)
    assert (await texts(client)).count("Stop") == 1
    assert await queue.waiting() == []


async def test_a_message_waits_again_if_its_run_can_not_be_stored(client: Client, queue: Queue):
    later = Gate()
    async with working(client, [later(), say("Late.")]) as at_work:
        await steer(at_work, queue, later)
        await get_conversation_model().objects.aupdate(revision="another")
        events = await at_work.run.end(later)
    assert events[-1]["code"] == "conversation_changed"
    assert await texts(client) == ["Go"]
    listed = await queue.send("GET")
    assert (listed["held"], await queue.waiting()) == ("failed", ["Stop"])
    # Its run is over, so it is a remark about that run no longer.
    assert listed["messages"][0]["mode"] == "queue"


async def test_a_message_does_not_rely_on_a_run_that_is_refused(client: Client, queue: Queue, user: Any):
    log, _ = await live.logs.reserve(f"user:{user.pk}", "t1", "another request")
    with script(say("Hello.")):
        posted = asyncio.create_task(queue.post("Hi"))
        async with asyncio.timeout(60):
            while not log.has_news:  # noqa: ASYNC110 # another task sets it
                await asyncio.sleep(0.001)
        live.logs.release(log, TooManyRequests())
        assert (await posted)["refusal"] is None
        await settled()
    assert await texts(client) == ["Hi", "assistant: Hello."]


async def test_the_draft_has_the_results_before_the_message(client: Client, queue: Queue, monkeypatch):
    drafts, write = [], deliver._write

    def write_and_keep(run: Any, columns: dict[str, Any], record: Any) -> None:
        drafts.append(codec.load_messages(columns["draft"]))
        write(run, columns, record)

    monkeypatch.setattr(deliver, "_write", write_and_keep)
    gate = Gate()
    with script([*(call("echo", text=text, _id=text) for text in "abc"), gate()], say("Done.")):
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("Stop")
        await run.end(gate)
    [[_, results, stop]] = drafts
    assert [part.tool_call_id for part in results.parts] == ["a", "b", "c"]
    assert results.state == "complete"
    assert [part.content for part in stop.parts] == ["Stop"]


@pytest.fixture
def slow_write(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the record of a message wait, and perhaps fail."""
    write, slow = deliver._write, SimpleNamespace(reached=threading.Event(), go_on=threading.Event(), fails=False)

    def slowly(*args: Any) -> None:
        slow.reached.set()
        assert slow.go_on.wait(60)
        if slow.fails:
            raise ConnectionError("The database has gone.")
        write(*args)

    monkeypatch.setattr(deliver, "_write", slowly)
    return slow


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_run_is_stopped_while_its_message_is_recorded(client: Client, queue: Queue, slow_write, is_written):
    slow_write.fails = not is_written
    async with working(client, say("Late.")) as at_work:
        await queue.steer("Stop")
        at_work.gate.opened.set()
        await at_work.run.until(slow_write.reached)
        await client.http.post("/agent/threads/t1/cancel/")
        slow_write.go_on.set()
    assert await texts(client) == (READ if is_written else READ[:2])
    assert await queue.waiting() == ([] if is_written else ["Stop"])


@pytest.mark.parametrize("change", ["taken back", "edited", "queued", "read"])
async def test_a_message_that_changes_while_it_is_read_is_read_as_it_is(
    client: Client, queue: Queue, slow_write, change: str
):
    async with working(client, say("Done."), say("More.")) as at_work:
        await queue.steer("Stop")
        await queue.steer("Slow down")
        at_work.gate.opened.set()
        await at_work.run.until(slow_write.reached)
        if change == "taken back":
            await queue.send("DELETE", query="?message_id=Stop", status=204)
        elif change == "edited":
            await queue.send("PATCH", {"message_id": "Stop", "message": message("Stop", "Hurry")})
        elif change == "queued":
            await queue.send("PATCH", {"message_id": "Stop", "mode": "queue"})
        else:
            await QueuedMessage.objects.filter(message_id="Stop").aupdate(state="read", run=None)
        slow_write.go_on.set()
    first = {"edited": ["Hurry"]}.get(change, [])
    last = ["Stop", "assistant: More."] if change == "queued" else []
    assert await texts(client) == ["Go", "tool: a", *first, "Slow down", "assistant: Done.", *last]
    assert "Stop" not in str([message.parts for message in at_work.requests[1].messages])


async def test_a_run_that_another_process_has_taken_over_reads_nothing_more(client: Client, queue: Queue, monkeypatch):
    write = deliver._write

    def after_the_take_over(*args: Any) -> None:
        Run.objects.update(process=GONE)
        write(*args)

    monkeypatch.setattr(deliver, "_write", after_the_take_over)
    async with working(client, say("Late.")) as at_work:
        await queue.steer("Stop")
    assert await QueuedMessage.objects.filter(state="waiting").acount() == 1
    assert len(at_work.requests) == 1


async def test_a_message_that_is_edited_while_its_run_begins_is_read_as_it_is(
    client: Client, queue: Queue, monkeypatch
):
    load = rows.Queue.load

    def load_too_early(waiting: rows.Queue) -> list[QueuedMessage]:
        loaded = load(waiting)
        monkeypatch.undo()
        QueuedMessage.objects.update(data=json.dumps(message("m1", "Hurry")), changes=1)
        return loaded

    monkeypatch.setattr(rows.Queue, "load", load_too_early)
    with script(say("Done.")):
        assert (await queue.post("Slow down", "m1"))["refusal"] is None
        await settled()
    assert await texts(client) == ["Hurry", "assistant: Done."]


def message(message_id: str, text: str) -> dict[str, str]:
    return {"id": message_id, "role": "user", "content": text}


async def test_messages_that_were_read_are_pruned_after_a_while(client: Client, queue: Queue, clock: Clock):
    with script(say("Hello."), call("wipe", _id="w1")):
        await queue.post("Hi")
        await settled()
        await client.run("Wipe")
        await queue.post("And then?")
    for days, kept in (6, 2), (2, 1):
        clock.advance(days * 86_400)
        await sync_to_async(call_command)("prune_agent_data")
        assert await QueuedMessage.objects.acount() == kept
    assert await queue.waiting() == ["And then?"]
