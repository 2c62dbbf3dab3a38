"""What a run had reached when its process was killed is in the thread, once, and which processes count as dead."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.db.models.signals import pre_save
from django.utils import timezone
from pydantic_ai import FunctionToolset
from pydantic_ai.conversation import Conversation
from servers import wait_until

from agui import ToolRegistry, tool
from agui.blocking.executor import in_database
from agui.models import Run
from agui.runs import drafts, fence, locks, processes, recovery, start
from agui.runs import life as heartbeats
from agui.runs.life import DEAD_SECONDS, life
from agui.runs.live import live
from agui.runs.processes import process_name
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, say, think, wait
from tests import pages, urls
from tests.clock import Clock
from tests.conftest import Client, half_said, results_of, run_input, script, until

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

HERE = process_name().rpartition("/")[0].rpartition("/")[0]
# Above every system's limit: no process has this id.
GONE = f"{HERE}/{2**31 - 2}/abc"
HOUR = timedelta(hours=1)
LONG_AGO = timezone.now() - timedelta(minutes=1)
GO_HALF = ["Go", "assistant: Half of it"]


async def kill(client: Client, *answer: Any, **changes: Any) -> Run:
    """Play a run up to its `answer`, and put into the thread "killed" what a kill leaves of it."""
    reached = asyncio.Event()
    with script(*answer[:-1], [*answer[-1], wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Go", thread="alive"))
        await reached.wait()
        await drafts.checkpoints.write()
        run = await Run.objects.aget(thread_id="alive")
        stored: Any = await ModelConversationStore().load("alive")
        await live.logs.stop(run.scope, "alive")
        await collect(response)
    left = Conversation(conversation_id="killed", messages=stored.messages)
    await ModelConversationStore().save(left, scope=run.scope)
    same = {name: getattr(run, name) for name in ("scope", "owner_id", "draft", "usage")}
    values = {"thread_id": "killed", "process": GONE, "revision": left.revision, **same, **changes}
    return await Run.objects.acreate(**values)


@pytest.mark.parametrize("is_looked_at", [True, False])
async def test_partial_text_is_there_once_and_the_next_turn_works(client: Client, is_looked_at: bool):
    """Who looks at it takes it up, and so does the next turn alone."""
    run = await kill(client, [say("Half of it")])
    if is_looked_at:
        await asyncio.gather(*[client.thread("killed") for _ in range(5)])
        assert await client.lines("killed") == GO_HALF
        assert not (await client.thread("killed"))["running"]
        await run.arefresh_from_db()
        assert (run.status, run.code, run.draft) == (Run.Status.INTERRUPTED, "interrupted", None)
    with script(say("The rest")) as model:
        await client.run("Go on", thread="killed")
    assert "Half of it" in str(model.requests[0].messages)
    assert await client.lines("killed") == [*GO_HALF, "Go on", "assistant: The rest"]
    # Nor is there a draft of a run that has ended.
    assert not await Run.objects.exclude(draft__isnull=True).filter(thread_id="killed").aexists()


async def test_nothing_is_added_twice(client: Client):
    # Killed after the end was stored, before it was noted
    await kill(client, [say("Half of it")], revision="another")
    assert await client.lines("killed") == ["Go"]
    assert (await Run.objects.aget(thread_id="killed")).status == Run.Status.INTERRUPTED


async def test_what_tools_did_is_known_with_the_ids_that_were_streamed(client: Client):
    calls = [call("echo", text="done", _id="c1"), call("note", text="Milk")]
    await kill(client, calls, [say("Half of it")])
    streamed = [m["id"] for m in (await client.thread("alive"))["messages"]]
    thread = await client.thread("killed")
    assert [m["id"] for m in thread["messages"]] == streamed
    assert thread["state"] == {"text": "Milk"}
    with script(say("ok")) as model:
        await client.run("Go on", thread="killed")
    assert results_of(model.requests[0])["c1"].content == "done"


async def test_a_result_is_known_although_another_tool_was_still_at_work(client: Client):
    with script([call("echo", text="done", _id="c1"), call("hang", _id="c2")]):
        response = await client.post(run_input("Go"))
        await asyncio.to_thread(urls.hanging.wait, 60)
        async for piece in response.streaming_content:
            if b"TOOL_CALL_RESULT" in piece:
                break
        await drafts.checkpoints.write()
        run = await Run.objects.aget()
        urls.let_go.set()
    parts = [part for message in codec.load_messages(run.draft or ()) for part in message.parts]
    told = [(part.part_kind, getattr(part, "tool_call_id", None)) for part in parts]
    assert told == [("tool-call", "c1"), ("tool-call", "c2"), ("tool-return", "c1")]


@pytest.mark.parametrize("part", [call("echo", text="x" * 50, _chunks=5), think("Hm")])
async def test_parts_of_an_answer_under_way_are_let_go(client: Client, part: Any):
    await kill(client, [say("Half"), part])
    assert await client.lines("killed") == ["Go", "assistant: Half"]


# A container with our host's name has processes with our ids.
@pytest.mark.parametrize(
    "process", [f"{HERE}/{os.getppid()}/abc", f"elsewhere/{os.getpid()}/abc"], ids=["here", "elsewhere"]
)
async def test_the_run_of_a_living_process_is_left_alone(client: Client, process, monkeypatch, caplog):
    monkeypatch.setattr(live.logs, "is_shared", False)
    recovery._warn_of.cache_clear()
    run = await kill(client, [say("Half of it")], process=process, seen_at=timezone.now() + timedelta(hours=1))
    assert (await client.thread("killed"))["running"]
    response = await client.post(run_input("Go on", thread="killed"))
    assert response.status_code == 409
    assert response.headers["Retry-After"]
    # This process can't stop it, and says so, once in the log.
    for _ in range(2):
        assert (await client.http.post("/agent/threads/killed/cancel/")).status_code == 503
    assert caplog.text.count("serve with one process") == 1
    await run.arefresh_from_db()
    assert run.status == Run.Status.RUNNING
    assert await client.lines("killed") == ["Go"]


@pytest.mark.parametrize("process", [f"{HERE}/{os.getpid()}/before", process_name()], ids=["before", "this one"])
async def test_a_process_that_is_gone_is_known_by_its_id(client: Client, process):
    await kill(client, [say("Half of it")], process=process, seen_at=timezone.now())
    assert not (await client.thread("killed"))["running"]


@pytest.mark.parametrize("process", ["elsewhere/1/abc", ""])
async def test_a_process_that_nobody_can_look_at_is_known_by_its_silence(client: Client, process, watch):
    await kill(client, [say("Half of it")], process=process, seen_at=LONG_AGO)
    # The clock of the database may be wrong.
    assert (await client.thread("killed"))["running"]
    await watch(15)
    assert not (await client.thread("killed"))["running"]
    assert await client.lines("killed") == GO_HALF


async def test_a_draft_is_written_as_soon_as_it_is_due(client: Client, clock: Clock):
    async def is_kept() -> bool:
        return "Half" in str((await Run.objects.aget()).draft)

    async with half_said(client):
        assert not await is_kept()
        clock.advance(drafts.DRAFT_SECONDS)
        await until(is_kept)


async def test_a_process_that_was_taken_for_dead_stops_its_run_and_changes_nothing(client: Client):
    async with half_said(client) as (response, _):
        # What another process does that finds no heartbeat.
        await Run.objects.aupdate(status=Run.Status.INTERRUPTED, code="interrupted")
        await in_database(life.beat)
        events = await asyncio.wait_for(collect(response), 60)
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "interrupted")
    assert await client.lines() == ["Hi"]
    assert (await Run.objects.aget()).code == "interrupted"


async def test_a_tool_that_ends_is_written_down_at_once(client: Client, monkeypatch, intercept):
    monkeypatch.setattr("agui.runs.drafts.DRAFT_SECONDS", 3600)
    written, reached = threading.Event(), asyncio.Event()
    with script(call("hang", _id="c1"), [wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Go"))
        await asyncio.to_thread(urls.hanging.wait, 60)
        # All that there is so far is written down: nothing is new but the result.
        await drafts.checkpoints.write()
        intercept(drafts, "_write", after=lambda _: written.set())
        urls.let_go.set()
        await reached.wait()
        assert await asyncio.to_thread(written.wait, 60)
        draft = (await Run.objects.aget()).draft
        assert codec.load_messages(draft or ())[-1].parts[0].part_kind == "tool-return"
        await live.logs.stop(f"user:{client.user.pk}", "t1")
        await collect(response)


async def test_a_store_that_keeps_nothing_has_no_drafts(client: Client, settings):
    settings.AGUI = {"CONVERSATION_STORE": "agui.stores.null.NullConversationStore"}
    async with half_said(client):
        await drafts.checkpoints.write()
        assert (await Run.objects.aget()).draft is None


# --- Which processes count as dead: what the system knows, what is seen of the others, and no clocks

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="Only Linux tells when a process began")


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as process:
        yield process
        process.kill()


@needs_proc
def test_a_neighbour_is_there_until_it_ends(neighbour):
    place = f"{HERE}/{neighbour.pid}/abc"
    name = f"{place}.{processes._stat(neighbour.pid).begun}"
    assert processes.process_exists(name)
    # An earlier process with the same id is another one.
    assert processes.process_exists(f"{place}.1") is False
    neighbour.send_signal(signal.SIGSTOP)
    assert processes.process_exists(name)
    neighbour.kill()
    os.waitid(os.P_PID, neighbour.pid, os.WEXITED | os.WNOWAIT)
    # The process has ended, although the process that started it has not heard of that.
    assert processes.process_exists(name) is False
    neighbour.wait()
    assert processes.process_exists(name) is False


def test_nobody_can_look_elsewhere_or_where_the_system_hides_its_processes(monkeypatch, neighbour):
    monkeypatch.setattr(processes, "_stat", lambda pid: None)
    for name in (f"{HERE}/{neighbour.pid}/abc.1", "elsewhere/1/abc.1", "", "nonsense"):
        assert processes.process_exists(name) is None
    assert processes.process_exists(process_name())
    assert processes.process_exists(f"{HERE}/{2**31 - 2}/abc.1") is False


# --- What is seen of a process of another place


async def make_run(**changes) -> Run:
    values = {"process": "elsewhere/1/abc", "thread_id": "t", "scope": "user:1", **changes}
    return await Run.objects.acreate(id=uuid4(), **values)


async def is_dead(run: Run) -> bool:
    await run.arefresh_from_db()
    return life.is_dead(run)


@pytest.mark.parametrize("jump", [-HOUR, timedelta(), HOUR])
async def test_silence_is_what_this_process_has_seen_and_not_what_clocks_say(watch, jump):
    run = await make_run(seen_at=timezone.now() + jump)
    await watch(DEAD_SECONDS)
    assert not await is_dead(run)
    await watch(3)
    assert await is_dead(run)
    # A run that gives a sign again is alive at once, whichever way its clock has jumped.
    for sign in (2 * HOUR, -2 * HOUR, timedelta()):
        await Run.objects.aupdate(seen_at=timezone.now() + sign)
        assert not await is_dead(run)
        await watch(DEAD_SECONDS - 3)
        assert not await is_dead(run)


async def test_a_process_that_was_stopped_itself_begins_anew(watch):
    run = await make_run()
    await watch(DEAD_SECONDS)
    await watch(60, step=60)
    assert not await is_dead(run)
    await watch(DEAD_SECONDS - 3)
    assert not await is_dead(run)
    await watch(3)
    assert await is_dead(run)


def test_after_an_outage_of_the_database_it_begins_anew(monkeypatch):
    """All processes were silent, and are not to take each other for dead."""
    monkeypatch.setattr(heartbeats, "BEAT_SECONDS", 0.01)
    monkeypatch.setattr(heartbeats, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(heartbeats, "DEAD_SECONDS", 0)
    run = Run.objects.create(process="elsewhere/1/abc", thread_id="t", scope="user:1")
    run.refresh_from_db()
    look, was_away, is_back, go_on = life.check_heartbeats, threading.Event(), threading.Event(), threading.Event()

    def look_in_an_outage(connection):
        if was_away.is_set():
            is_back.set()
            go_on.wait(60)
        elif life.is_dead(run):
            was_away.set()
            raise OperationalError("The database is away")
        look(connection)

    monkeypatch.setattr(life, "check_heartbeats", look_in_an_outage)
    life.start()
    assert is_back.wait(60)
    assert not life.is_dead(run)
    go_on.set()
    life.stop()


async def test_with_postgresql_a_process_is_alive_as_long_as_it_holds_its_lock(watch):
    has_locks = connection.vendor == "postgresql"
    held, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        lock = locks.LOCKS, locks.number_of("elsewhere/1/abc")
        with connection.cursor() as cursor:
            if has_locks:
                cursor.execute("SELECT pg_advisory_lock(%s, %s)", lock)
            held.set()
            go_on.wait(60)
            if has_locks:  # A closed connection gives up its lock too, but not at once.
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", lock)
        connection.close()

    holding = asyncio.create_task(asyncio.to_thread(hold))
    await asyncio.to_thread(held.wait, 60)
    run = await make_run()
    await watch(60)
    assert await is_dead(run) is not has_locks
    go_on.set()
    await holding
    await watch(6)
    assert await is_dead(run)


def test_the_docs_have_every_status_of_a_run():
    section = pages.read("architecture.md").split("\n## The life of a run\n")[1].split("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", section, re.M)) == sorted(Run.Status.values)


# --- What this process does for its own runs


async def test_heartbeats_are_sent_while_the_event_loop_is_blocked(client: Client, mount, monkeypatch):
    monkeypatch.setattr(heartbeats, "BEAT_SECONDS", 0.05)
    life.stop()
    registry = ToolRegistry()

    def look() -> None:
        before = Run.objects.get().seen_at
        wait_until(lambda: Run.objects.get().seen_at != before)
        connection.close()

    @tool(registry)
    async def block() -> str:
        """Keep the event loop from everything else until there was a heartbeat."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(look).result()
        return "seen"

    mount(registry, call("block"), say("Done"))
    events = await client.run("Go")
    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["seen"]


async def test_a_process_holds_its_lock_before_its_first_run_is_recorded(client: Client, mount, monkeypatch, intercept):
    """A process that is slow to connect takes its lock when a run waits for it, or would not wait."""
    await asyncio.to_thread(life.stop)
    seen, is_missed = [], threading.Event()
    intercept(life, "_connect", before=lambda: is_missed.wait(60))
    intercept(heartbeats, "run_in_thread", before=lambda *_: is_missed.set())

    def look(**_: object) -> None:
        is_missed.set()
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(locks.HELD, [locks.LOCKS])
                seen.append((locks.number_of(process_name()) % 2**32,) in cursor.fetchall())

    pre_save.connect(look, sender=Run)
    try:
        mount(ToolRegistry(), say("Done"))
        await client.run("Go")
    finally:
        pre_save.disconnect(look, sender=Run)
    assert seen == ([True] if connection.vendor == "postgresql" else [])


LOST = {"status": Run.Status.INTERRUPTED}, {"process": "elsewhere/1/abc"}


@pytest.mark.parametrize("change", LOST, ids=["ended", "taken over"])
@pytest.mark.parametrize("name", ["plain", "coroutine", "listed"])
async def test_no_tool_starts_for_a_run_that_is_another_process_s(client: Client, mount, change, name):
    registry, other = ToolRegistry(), FunctionToolset(id="other")
    done: list[str] = []

    @tool(registry)
    async def first() -> str:
        """Be the last that this process may do."""
        await Run.objects.aupdate(**change)
        return "first"

    def plain() -> None:
        """Do something."""
        done.append("plain")

    async def coroutine() -> None:
        """Do something."""
        plain()

    registry.add(plain)
    registry.add(coroutine)
    other.add_function(plain, name="listed")

    model = mount(registry, call("first"), call(name), say("Done"), toolsets=[other])
    assert (await client.run("Go"))[-1].get("code") == "interrupted"
    assert (done, len(model.requests)) == ([], 2)


async def test_a_tool_that_waits_for_a_thread_asks_again_whose_the_run_is(
    client: Client, mount, intercept, settings, clock
):
    settings.AGUI = {"TOOL_THREADS": 1}
    asked = threading.Semaphore(0)
    intercept(fence.Fence, "_check", after=lambda _: asked.release())
    registry, begun = ToolRegistry(), []

    @tool(registry)
    def work() -> str:
        """Take the only thread until the other call is waiting for it, and the run is another process's."""
        begun.append("work")
        for _ in range(2):
            assert asked.acquire(timeout=60)
        Run.objects.update(process="elsewhere/1/abc")
        clock.advance(60)
        return "done"

    mount(registry, [call("work"), call("work")], say("Done"))
    assert (await client.run("Go"))[-1].get("code") == "interrupted"
    assert begun == ["work"]


@pytest.mark.parametrize("store", ["stores.model.ModelConversationStore", "stores.null.NullConversationStore"])
async def test_of_two_processes_that_begin_at_once_one_is_refused(client: Client, settings, monkeypatch, store: str):
    """The other one's run is stored after this one has looked for it."""
    settings.AGUI = {**settings.AGUI, "CONVERSATION_STORE": f"agui.{store}"}
    load_window = start.load_window

    async def load_late(*args: Any) -> Any:
        loaded = await load_window(*args)
        await Run.objects.acreate(
            id=uuid4(), scope=f"user:{client.user.pk}", owner=client.user, thread_id="t1", run_id="theirs"
        )
        return loaded

    with script(say("Hello."), say("Hello again.")) as model:
        with monkeypatch.context() as patch:
            patch.setattr(start, "load_window", load_late)
            response = await client.post(run_input("Hi"))
        assert (response.status_code, response["Retry-After"], model.requests) == (409, "1", [])
        assert await Run.objects.aget(thread_id="t1")
        await Run.objects.all().adelete()
        assert (await client.get("threads/t1/")).status_code == 404
        assert (await client.run("Hi"))[-1]["type"] == "RUN_FINISHED"
