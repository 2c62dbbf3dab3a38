"""Messages that wait: nothing loses them, one transaction decides about each, and the project's own code sends them.

(transcripts/queue.yaml and queue_routes.yaml have the rest.)
"""

import asyncio
import json
import threading
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from ag_ui.core import UserMessage
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.core.management import call_command
from django.db import IntegrityError, OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext

from agui import statements
from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.queue import apps as queue_apps
from agui.contrib.queue import next_run, rows, views
from agui.contrib.queue.from_code import follow, send
from agui.contrib.queue.models import QueuedMessage
from agui.errors import AtCapacity, TooManyRequests
from agui.models import Run, get_conversation_model
from agui.runs import deliver
from agui.runs.live import live
from agui.runs.recovery import recover
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import call, event_types, fail, say
from tests.clock import Clock
from tests.conftest import Client, decision, script, until
from tests.queueing import Queue, Reading, settled, working
from tests.test_recovery import GONE
from tests.transcript_tools import Gate

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
        assert await client.lines() == (READ if has_draft else ["Go"])
        assert await queue.waiting() == ([] if has_draft else ["Stop"])
        await queue.send("POST", {}, status=202)
    assert (await client.lines()).count("Stop") == 1
    assert await queue.waiting() == []


async def test_a_message_waits_again_if_its_run_can_not_be_stored(client: Client, queue: Queue):
    later = Gate()
    async with working(client, [later(), say("Late.")]) as at_work:
        await steer(at_work, queue, later)
        await get_conversation_model().objects.aupdate(revision="another")
        events = await at_work.run.end(later)
    assert events[-1]["code"] == "conversation_changed"
    assert await client.lines() == ["Go"]
    listed = await queue.send("GET")
    assert (listed["held"], await queue.waiting()) == ("failed", ["Stop"])
    # Its run is over, so it is a remark about that run no longer.
    assert listed["messages"][0]["mode"] == "queue"


async def test_a_message_does_not_rely_on_a_run_that_is_refused(client: Client, queue: Queue, user: Any):
    log, _ = await live.logs.reserve(f"user:{user.pk}", "t1", "another request")
    with script(say("Hello.")):
        posted = asyncio.create_task(queue.post("Hi"))
        await until(lambda: log.has_news)
        live.logs.release(log, TooManyRequests())
        assert (await posted)["refusal"] is None
        await settled()
    assert await client.lines() == ["Hi", "assistant: Hello."]


async def test_the_draft_has_the_results_before_the_message(client: Client, queue: Queue, intercept):
    drafts: list[Any] = []
    intercept(deliver, "_write", before=lambda _, columns, __: drafts.append(codec.load_messages(columns["draft"])))
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
def slow_write(intercept: Any) -> Any:
    """Let the record of a message wait, and perhaps fail."""
    slow = SimpleNamespace(reached=threading.Event(), go_on=threading.Event(), fails=False)

    def wait(*args: Any) -> None:
        slow.reached.set()
        assert slow.go_on.wait(60)
        if slow.fails:
            raise ConnectionError("The database has gone.")

    intercept(deliver, "_write", before=wait)
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
    assert await client.lines() == (READ if is_written else READ[:2])
    assert await queue.waiting() == ([] if is_written else ["Stop"])


@pytest.mark.parametrize("change", ["taken back", "edited", "queued", "read"])
async def test_a_message_that_changes_meanwhile_is_read_as_it_is(client: Client, queue: Queue, slow_write, change: str):
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
    assert await client.lines() == ["Go", "tool: a", *first, "Slow down", "assistant: Done.", *last]
    assert "Stop" not in str([message.parts for message in at_work.requests[1].messages])


async def test_a_run_that_another_process_has_taken_over_reads_nothing_more(client: Client, queue: Queue, intercept):
    intercept(deliver, "_write", before=lambda *_: Run.objects.update(process=GONE))
    async with working(client, say("Late.")) as at_work:
        await queue.steer("Stop")
    assert await QueuedMessage.objects.filter(state="waiting").acount() == 1
    assert len(at_work.requests) == 1


async def test_a_message_that_is_edited_as_its_run_begins(client: Client, queue: Queue, monkeypatch, intercept):
    def edit(_: Any) -> None:
        monkeypatch.undo()
        QueuedMessage.objects.update(data=json.dumps(message("m1", "Hurry")), changes=1)

    intercept(rows.Queue, "load", after=edit)
    with script(say("Done.")):
        assert (await queue.post("Slow down", "m1"))["refusal"] is None
        await settled()
    assert await client.lines() == ["Hurry", "assistant: Done."]


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


# --- Lost answers, other runs, restarts


def restart(*, is_loaded: bool = False) -> None:
    """Forget what only the memory of a process has, as it is before or after its first run."""
    config: Any = apps.get_app_config("agui_queue")
    config._held.clear()
    config._is_loaded = is_loaded


@pytest.mark.parametrize("is_back", [True, False])
async def test_the_answer_to_the_record_of_a_message_is_lost(client: Client, queue: Queue, intercept, is_back: bool):
    errors = iter([OperationalError("The connection was lost.")] if is_back else [ConnectionError()] * 9)

    def lose_the_answer(_: Any) -> None:
        for error in errors:
            raise error

    intercept(deliver, "_write", after=lose_the_answer)
    async with working(client, say("Done.")):
        await queue.steer("Stop")
    # A run that knows nothing of its message leaves it.
    assert await client.lines() == (["Go", "tool: a", "Stop", "assistant: Done."] if is_back else ["Go", "tool: a"])
    assert await queue.waiting() == ([] if is_back else ["Stop"])


async def test_no_run_begins_in_place_of_a_new_question(client: Client, queue: Queue, monkeypatch, intercept):
    def ask(_: Any) -> None:
        monkeypatch.undo()
        run = Run.objects.get()
        Run.objects.create(scope=run.scope, owner_id=run.owner_id, thread_id="t1", run_id="r2", status="paused")

    with script(say("Hello."), say("Too early.")) as model:
        await client.run("Hi")
        intercept(rows.Queue, "load", after=ask)
        answer = await queue.post("And then?")
        await settled()
    assert (answer["held"], answer["state"], answer["refusal"]) == ("paused", "waiting", None)
    assert len(model.requests) == 1
    assert await queue.waiting() == ["And then?"]


async def test_a_message_for_one_run_is_not_left_to_the_next(client: Client, queue: Queue, intercept):
    """The run is looked up once, so that it can't be another after it was compared."""
    found: list[Any] = []
    async with working(client, say("Done."), runId="r1"):
        intercept(rows, "active_run", after=found.append)
        await queue.steer("Stop", expected_run="r1")
        row = await QueuedMessage.objects.aget()
    assert [row.run] == found


@pytest.mark.parametrize("limit", [1000, 1])
async def test_messages_from_before_a_restart_follow_a_good_end(client: Client, queue: Queue, monkeypatch, limit: int):
    """Also if they wait in more threads than a process remembers."""
    monkeypatch.setattr(queue_apps, "MAX_HELD", limit)
    with script(call("wipe", _id="w1"), fail(ConnectionError("gone")), say("Hello."), say("Then this.")):
        await client.run("Wipe", thread="t0")
        await Queue(client, "t0").post("In another thread")
        await client.run("Go")
        await queue.post("And then?")
        restart()
        await client.run("Again")
        await settled()
    assert (await client.lines())[-2:] == ["And then?", "assistant: Then this."]


async def test_a_run_that_answers_a_question_reads_what_was_steered_at_the_pause(client: Client, queue: Queue):
    with script(call("wipe", _id="w1"), say("Wiped.")):
        await client.run("Wipe")
        await queue.steer("Slow down")
        restart(is_loaded=True)  # As if another process had got the message.
        await client.run(resume=[decision("w1", True)])
        await settled()
    assert (await client.lines())[-2:] == ["Slow down", "assistant: Wiped."]
    assert await queue.waiting() == []


async def test_messages_that_wait_again_as_their_process_died_follow_a_good_end(client: Client, queue: Queue):
    later = Gate()
    async with working(client, [later(), say("Late.")], say("Hello."), say("Then this.")) as at_work:
        await steer(at_work, queue, later)
        row = await Run.objects.aget()
        await Run.objects.aupdate(process=GONE, draft=None)
        await at_work.run.end(later)
        restart(is_loaded=True)
        await recover(ModelConversationStore(), row.scope, "t1")
        await client.run("Again")
    assert (await client.lines())[-2:] == ["Stop", "assistant: Then this."]


async def test_messages_are_held_if_other_runs_come_between_again_and_again(client: Client, queue: Queue, monkeypatch):
    async def never(*args: Any) -> bool:
        return False

    with script(say("Hello."), say("Again."), say("Then this.")):
        await client.run("Hi")
        monkeypatch.setattr(next_run.NextRun, "_wake", never)
        await queue.post("And then?")
        monkeypatch.undo()
        await client.run("Again")
        await settled()
    assert (await client.lines())[-2:] == ["And then?", "assistant: Then this."]


async def test_messages_are_claimed_in_the_order_in_which_they_are_locked(client: Client, queue: Queue):
    """Otherwise a run and a client that moves messages could wait for each other."""
    with script(call("wipe", _id="w1")):
        await client.run("Wipe")
        for text in ("a", "b", "c"):
            await queue.post(text)
        await queue.send("PATCH", {"message_id": "c", "position": 0})
    assert await queue.waiting() == ["c", "a", "b"]

    def claim() -> list[int]:
        row = QueuedMessage.objects.first()
        run = Run.objects.get()
        loaded = rows.Queue(row.scope, "t1").load()
        with CaptureQueriesContext(connection) as captured:
            rows.claim(loaded, str(run.pk), is_stored=True)
        updates = [query["sql"] for query in captured if query["sql"].startswith("UPDATE")]
        keys = [row.pk for row in sorted(loaded, key=lambda row: row.pk)]
        return [keys.index(int(pk)) for sql in updates for pk in keys if f'"id" = {pk} ' in sql]

    assert await in_database(claim) == [0, 1, 2]


async def test_a_message_that_can_not_be_recorded_is_in_no_draft(client: Client, queue: Queue, monkeypatch):
    write, drafts = deliver._write, []

    def write_too_late(*args: Any) -> None:
        QueuedMessage.objects.update(state="taken_back")
        try:
            write(*args)
        finally:
            drafts.append(str(Run.objects.get().draft))

    monkeypatch.setattr(deliver, "_write", write_too_late)
    async with working(client, say("Done.")):
        await queue.steer("Stop")
    [draft] = drafts
    assert "Stop" not in draft


async def test_a_run_that_can_not_be_stored_has_read_nothing(client: Client, queue: Queue, monkeypatch, intercept):
    def refuse_runs(row: Any) -> None:
        if isinstance(row, Run):
            raise IntegrityError

    intercept(statements, "insert", before=refuse_runs)
    with script(say("Hello.")):
        assert (await queue.post("Hi"))["state"] == "waiting"
        await settled()
        assert await queue.waiting() == ["Hi"]
        monkeypatch.undo()
        await queue.send("POST", {}, status=202)
        await settled()
    assert await client.lines() == ["Hi", "assistant: Hello."]


# --- At the same moment


async def test_two_processes_do_not_pass_the_limit(client: Client, user: Any, intercept):
    """Each adds a message at the same moment; threads stand for the processes."""
    with script(call("wipe", _id="w1")):
        await client.run("Wipe")  # No message begins a run then.
    scope = (await Run.objects.aget()).scope
    both = threading.Barrier(2)

    def meet() -> None:
        # The second one comes so far only if the first one does not keep it out.
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)

    def add(name: str) -> str:
        try:
            message = UserMessage(id=name, content="Hi")
            return rows.add(rows.Queue(scope, "t1"), Actor(user, scope), message, "queue", 1).state
        except rows.QueueFull as error:
            return error.code
        finally:
            connections.close_all()

    intercept(QueuedMessage.objects, "create", before=meet)
    states = await asyncio.gather(*[asyncio.to_thread(add, name) for name in "ab"])
    assert sorted(states) == ["queue_full", "waiting"]


# --- The project's own code


async def test_code_speaks_into_a_run(client: Client, queue: Queue, user: Any):
    async with working(client, say("Two."), says=say("One.")) as at_work:
        for _ in range(2):
            assert await send("t1", "More", user=user, mode="steer", message_id="m1") == "waiting"
        following = asyncio.create_task(all_of(user))
    assert await following == at_work.events
    assert await client.lines() == ["Go", "assistant: One.", "More", "assistant: Two."]


async def all_of(user: Any) -> list[dict[str, Any]]:
    return [event async for event in follow("t1", user=user)]


async def test_code_learns_why_no_run_begins(client: Client, queue: Queue, user: Any, other: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "MAX_CONCURRENT_RUNS": 1}
    async with working(client, says=say("One."), thread="t2"):
        with pytest.raises(AtCapacity):
            await send("t1", "Hi", user=user)
    assert await queue.waiting() == ["Hi"]
    # Nobody else has anything to follow.
    assert [event async for event in follow("t2", user=other)] == []


def test_code_begins_a_run_and_waits_for_its_end(client: Client, user: Any):
    """As a task of Celery does."""

    async def work() -> list[str]:
        assert await send("t1", "The report is there.", user=user) == "read"
        return event_types(await all_of(user))

    with script(say("Thanks.")) as model:
        kinds = async_to_sync(work)()
    assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
    assert model.requests[0].prompt == "The report is there."
    assert async_to_sync(client.lines)() == ["The report is there.", "assistant: Thanks."]


async def test_what_waits_is_listed_away_from_the_event_loop(client: Client, monkeypatch):
    written, listing = [], views.listing

    def list_here(*args: Any) -> Any:
        written.append(threading.get_ident())
        return listing(*args)

    monkeypatch.setattr(views, "listing", list_here)
    with script(say("Fine")):
        await client.run("Hello")
    assert (await client.get("threads/t1/messages/")).status_code == 200
    assert len(written) == 1
    assert threading.get_ident() not in written
