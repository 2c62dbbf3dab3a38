"""Which processes count as dead: what the system knows, what is seen of the others, and no clocks."""

import asyncio
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.db.models.signals import pre_save
from django.utils import timezone
from pydantic_ai import FunctionToolset
from servers import wait_until

from agui import ToolRegistry, tool
from agui.blocking.executor import run_in_thread
from agui.models import Run
from agui.runs import fence, processes, start
from agui.runs import life as heartbeats
from agui.runs.life import DEAD_SECONDS, life
from agui.runs.processes import process_name
from agui.testing import call, say
from tests import pages
from tests.conftest import Client, run_input, script

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

HERE = process_name().rpartition("/")[0].rpartition("/")[0]
HOUR = timedelta(hours=1)

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="Only Linux tells when a process began")


@pytest.fixture
def neighbour() -> Iterator[subprocess.Popen[bytes]]:
    program = "import time; time.sleep(600)"
    process = subprocess.Popen([sys.executable, "-c", program])
    yield process
    process.kill()
    process.wait()


def name_of(process: subprocess.Popen[bytes], begun: str | None = None) -> str:
    stat = processes._stat(process.pid)
    assert stat
    return f"{HERE}/{process.pid}/abc.{begun or stat.begun}"


def test_this_process_is_there_and_an_earlier_one_with_its_id_is_not():
    assert processes.process_exists(process_name())
    # As in a container that was started anew.
    assert processes.process_exists(f"{process_name().rpartition('/')[0]}/another") is False


@needs_proc
def test_a_neighbour_is_there_until_it_ends(neighbour):
    name = name_of(neighbour)
    assert processes.process_exists(name)
    # One with the same id that has ended is another one.
    assert processes.process_exists(name_of(neighbour, begun="1")) is False
    neighbour.send_signal(signal.SIGSTOP)
    assert processes.process_exists(name)
    neighbour.kill()
    os.waitid(os.P_PID, neighbour.pid, os.WEXITED | os.WNOWAIT)
    # The process has ended, although the process that started it has not heard of that.
    assert processes.process_exists(name) is False
    neighbour.wait()
    assert processes.process_exists(name) is False


@pytest.mark.parametrize("name", ["elsewhere/1/abc.1", "", "nonsense"])
def test_a_process_of_another_place_can_not_be_looked_at(name):
    assert processes.process_exists(name) is None


def test_nobody_can_look_where_the_system_hides_its_processes(monkeypatch, neighbour):
    monkeypatch.setattr(processes, "_stat", lambda pid: None)
    assert processes.process_exists(f"{HERE}/{neighbour.pid}/abc.1") is None
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


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
async def test_a_jump_of_the_clock_is_no_silence(watch, jump):
    run, now = await make_run(), timezone.now()
    for number in range(6):
        await Run.objects.aupdate(seen_at=now + (jump if number % 2 else timedelta()) + timedelta(seconds=number))
        await watch(DEAD_SECONDS - 3)
        assert not await is_dead(run)


async def test_a_run_that_gives_a_sign_again_is_alive_at_once(watch):
    run = await make_run()
    await watch(DEAD_SECONDS + 6)
    assert await is_dead(run)
    await Run.objects.aupdate(seen_at=timezone.now() + HOUR)
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
        if has_locks:
            with connection.cursor() as cursor:
                lock = heartbeats.LOCKS, heartbeats._lock("elsewhere/1/abc")
                cursor.execute("SELECT pg_advisory_lock(%s, %s)", lock)
        held.set()
        go_on.wait(60)
        if has_locks:
            # A closed connection gives up its lock too, but not at once.
            with connection.cursor() as cursor:
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

    @tool(registry)
    async def block() -> str:
        """Keep the event loop from everything else until there was a heartbeat."""
        seen: list[object] = []

        def look() -> None:
            before = Run.objects.get().seen_at
            wait_until(lambda: Run.objects.get().seen_at != before)
            seen.append(before)
            connection.close()

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return "seen" if seen else "not seen"

    mount(registry, call("block"), say("Done"))
    events = await client.run("Go")
    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["seen"]


async def test_a_process_holds_its_lock_before_its_first_run_is_recorded(client: Client, mount, monkeypatch):
    """A process that is slow to connect takes its lock when a run waits for it, or would not wait."""
    await asyncio.to_thread(life.stop)
    seen, connect, is_missed = [], life._connect, threading.Event()

    def connect_late():
        assert is_missed.wait(60)
        return connect()

    async def wait_for_lock(function, **options):
        is_missed.set()
        return await run_in_thread(function, **options)

    monkeypatch.setattr(life, "_connect", connect_late)
    monkeypatch.setattr(heartbeats, "run_in_thread", wait_for_lock)

    def look(**_: object) -> None:
        is_missed.set()
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(heartbeats.HELD, [heartbeats.LOCKS])
                seen.append((heartbeats._lock(process_name()) % 2**32,) in cursor.fetchall())

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

    def plain() -> str:
        """Do something."""
        done.append("plain")
        return "done"

    async def coroutine() -> str:
        """Do something."""
        return plain()

    registry.add(plain)
    registry.add(coroutine)
    other.add_function(plain, name="listed")

    model = mount(registry, call("first"), call(name), say("Done"), toolsets=[other])
    events = await client.run("Go")
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", "interrupted")
    assert (done, len(model.requests)) == ([], 2)


async def test_a_tool_that_has_waited_for_a_thread_asks_again_whose_the_run_is(
    client: Client, mount, monkeypatch, settings, clock
):
    settings.AGUI = {"TOOL_THREADS": 1}
    asked, check = threading.Semaphore(0), fence.Fence._check

    def count(self):
        check(self)
        asked.release()

    monkeypatch.setattr(fence.Fence, "_check", count)
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
    events = await client.run("Go")
    assert (events[-1]["type"], events[-1].get("code")) == ("RUN_ERROR", "interrupted")
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
