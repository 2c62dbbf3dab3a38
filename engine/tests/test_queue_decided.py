"""One transaction decides about each message, whatever comes between: lost answers, other runs, restarts."""

from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from agui import statements
from agui.blocking.executor import in_database
from agui.contrib.queue import apps as queue_apps
from agui.contrib.queue import next_run, rows
from agui.contrib.queue.models import QueuedMessage
from agui.models import Run
from agui.runs import deliver
from agui.runs.recovery import recover
from agui.stores.model import ModelConversationStore
from agui.testing import call, fail, say
from tests.conftest import Client, decision, script
from tests.queueing import Gate, Queue, settled, texts, working
from tests.test_recovery import GONE

pytestmark = pytest.mark.database


def restart(*, is_loaded: bool = False) -> None:
    """Forget what only the memory of a process has, as it is before or after its first run."""
    config: Any = apps.get_app_config("agui_queue")
    config._held.clear()
    config._is_loaded = is_loaded


@pytest.mark.parametrize("is_back", [True, False])
async def test_the_answer_to_the_record_of_a_message_is_lost(client: Client, queue: Queue, monkeypatch, is_back: bool):
    write, attempts = deliver._write, []

    def write_and_lose_the_answer(*args: Any) -> None:
        write(*args)
        attempts.append(args)
        if not is_back:
            raise ConnectionError
        if len(attempts) == 1:
            raise OperationalError("The connection was lost.")

    monkeypatch.setattr(deliver, "_write", write_and_lose_the_answer)
    async with working(client, say("Done.")):
        await queue.steer("Stop")
    # A run that knows nothing of its message leaves it.
    last = ["Stop", "assistant: Done."] if is_back else []
    assert await texts(client) == ["Go", "tool: a", *last]
    assert await queue.waiting() == ([] if is_back else ["Stop"])


async def test_no_run_begins_in_place_of_a_question_that_was_asked_meanwhile(client: Client, queue: Queue, monkeypatch):
    load = rows.Queue.load

    def load_too_early(waiting: rows.Queue) -> list[QueuedMessage]:
        loaded = load(waiting)
        monkeypatch.undo()
        run = Run.objects.get()
        Run.objects.create(scope=run.scope, owner_id=run.owner_id, thread_id="t1", run_id="r2", status="paused")
        return loaded

    with script(say("Hello."), say("Too early.")) as model:
        await client.run("Hi")
        monkeypatch.setattr(rows.Queue, "load", load_too_early)
        answer = await queue.post("And then?")
        await settled()
    assert (answer["held"], answer["state"], answer["refusal"]) == ("paused", "waiting", None)
    assert len(model.requests) == 1
    assert await queue.waiting() == ["And then?"]


async def test_a_message_for_one_run_is_not_left_to_the_next(client: Client, queue: Queue, monkeypatch):
    """The run is looked up once, so that it can't be another after it was compared."""
    find, found = rows.active_run, []

    def find_and_count(*args: Any) -> Any:
        found.append(find(*args))
        return found[-1]

    async with working(client, say("Done."), runId="r1"):
        monkeypatch.setattr(rows, "active_run", find_and_count)
        await queue.steer("Stop", expected_run="r1")
        row = await QueuedMessage.objects.aget()
    assert [row.run] == found


@pytest.mark.parametrize("limit", [1000, 1])
async def test_messages_that_waited_before_a_restart_follow_a_good_end(
    client: Client, queue: Queue, monkeypatch, limit: int
):
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
    assert (await texts(client))[-2:] == ["And then?", "assistant: Then this."]


async def test_a_run_that_answers_a_question_reads_what_was_steered_at_the_pause(client: Client, queue: Queue):
    with script(call("wipe", _id="w1"), say("Wiped.")):
        await client.run("Wipe")
        await queue.steer("Slow down")
        restart(is_loaded=True)  # As if another process had got the message.
        await client.run(resume=[decision("w1", True)])
        await settled()
    assert (await texts(client))[-2:] == ["Slow down", "assistant: Wiped."]
    assert await queue.waiting() == []


async def test_messages_that_wait_again_as_their_process_died_follow_a_good_end(client: Client, queue: Queue):
    later = Gate()
    async with working(client, [later(), say("Late.")], say("Hello."), say("Then this.")) as at_work:
        await queue.steer("Stop")
        at_work.gate.opened.set()
        await at_work.run.at(later)
        row = await Run.objects.aget()
        await Run.objects.aupdate(process=GONE, draft=None)
        await at_work.run.end(later)
        restart(is_loaded=True)
        await recover(ModelConversationStore(), row.scope, "t1")
        await client.run("Again")
    assert (await texts(client))[-2:] == ["Stop", "assistant: Then this."]


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
    assert (await texts(client))[-2:] == ["And then?", "assistant: Then this."]


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


async def test_a_run_that_can_not_be_stored_has_read_nothing(client: Client, queue: Queue, monkeypatch):
    insert = statements.insert

    def refuse_runs(row: Any) -> None:
        if isinstance(row, Run):
            raise IntegrityError
        insert(row)

    monkeypatch.setattr(statements, "insert", refuse_runs)
    with script(say("Hello.")):
        assert (await queue.post("Hi"))["state"] == "waiting"
        await settled()
        assert await queue.waiting() == ["Hi"]
        monkeypatch.undo()
        await queue.send("POST", {}, status=202)
        await settled()
    assert await texts(client) == ["Hi", "assistant: Hello."]
