"""Threads that users share: nobody waits for all the work of another."""

import asyncio
import threading
from concurrent.futures import Future
from functools import partial
from typing import Any

import pytest
from asgiref.sync import ThreadSensitiveContext

from agui import ToolRegistry
from agui.blocking.executor import owner, run_in_thread, stop_if_given_up
from agui.blocking.fair_threads import FairThreads
from agui.contrib.export import document
from agui.http import threads as threads_of_users
from agui.testing import call, say
from tests.conftest import Client


class Work:
    """Calls that end when they are told to, and who is at work."""

    def __init__(self, threads: int) -> None:
        self.pool = FairThreads(threads, "test")
        self.begun: list[Any] = []
        self.gates: dict[str, threading.Event] = {}
        self.changed = threading.Condition()

    def add(self, who: str | None, count: int = 1) -> list[Future[Any]]:
        names = [f"{who}{number}" for number in range(count)]
        self.gates |= {name: threading.Event() for name in names}
        return [self.pool.submit(who, partial(self.run, who, name)) for name in names]

    def run(self, who: str | None, name: str) -> str:
        with self.changed:
            self.begun.append(who)
            self.changed.notify_all()
        self.gates[name].wait(60)
        return name

    def has_begun(self, *names: str | None) -> bool:
        """Whether these, and no others, begin."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.begun) >= len(names), 60) and self.begun == list(names)

    def end(self) -> None:
        for gate in self.gates.values():
            gate.set()
        self.pool.shutdown()


@pytest.fixture
def work(request: pytest.FixtureRequest) -> Any:
    """The work of so many threads."""
    work = Work(request.param)
    yield work
    work.end()


@pytest.mark.parametrize("work", [8], indirect=True)
def test_a_lone_user_gets_most_threads_and_the_rest_is_for_users_without_one(work: Work):
    work.add("ada", 16)
    assert work.has_begun(*["ada"] * 6)
    work.add("bob", 16)
    assert work.has_begun(*["ada"] * 6, "bob")
    work.add("cid", 16)
    assert work.has_begun(*["ada"] * 6, "bob", "cid")


@pytest.mark.parametrize("work", [2], indirect=True)
def test_users_are_served_in_turns(work: Work):
    work.add("ada", 3)
    assert work.has_begun("ada")
    work.add("bob", 3)
    assert work.has_begun("ada", "bob")
    work.add("cid", 1)
    for name in ("ada0", "bob0"):
        work.gates[name].set()
    # Ada's second call waited longer than Cid's first, and Bob's than Ada's third.
    with work.changed:
        assert work.changed.wait_for(lambda: len(work.begun) == 4, 60)
    assert sorted(work.begun[2:]) in (["ada", "cid"], ["ada", "bob"], ["bob", "cid"])


@pytest.mark.parametrize("work", [8], indirect=True)
def test_the_engine_itself_is_not_limited(work: Work):
    work.add(None, 8)
    assert work.has_begun(*[None] * 8)


@pytest.mark.parametrize("work", [1], indirect=True)
def test_what_is_cancelled_never_begins(work: Work):
    first, second = work.add("ada", 2)
    third = work.add("bob")[0]
    assert work.has_begun("ada")
    assert second.cancel()
    for gate in work.gates.values():
        gate.set()
    assert (first.result(60), third.result(60)) == ("ada0", "bob0")
    work.end()
    assert second.cancelled()
    assert work.begun == ["ada", "bob"]


def test_errors_arrive_and_what_waits_at_the_end_is_cancelled():
    pool, gate = FairThreads(1, "test"), threading.Event()
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            pool.submit("ada", lambda: 1 // 0).result(60)
    running, waiting = (pool.submit("ada", gate.wait) for _ in range(2))
    pool.shutdown()
    assert waiting.cancelled()
    gate.set()
    assert running.result(60)


async def test_work_that_nobody_waits_for_stops_at_its_next_step():
    begun, ended = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        try:
            while True:
                stop_if_given_up()
        finally:
            ended.set()

    task = asyncio.create_task(run_in_thread(work, pool="reading"))
    await asyncio.to_thread(begun.wait, 60)
    task.cancel()
    await asyncio.wait([task])
    assert await asyncio.to_thread(ended.wait, 60)


async def test_a_run_with_many_calls_leaves_threads_to_others(mount, client: Client, other_client: Client, settings):
    settings.AGUI = {**settings.AGUI, "TOOL_THREADS": 4}
    registry = ToolRegistry()
    begun, release = threading.Semaphore(0), threading.Event()

    def hold() -> str:
        """Take long."""
        begun.release()
        release.wait(60)
        return str(owner.get())

    registry.add(hold)
    registry.add(lambda: "here", name="quick", description="Take no time.")
    try:
        mount(registry, [call("hold", _id=f"c{number}") for number in range(16)], say("Done."))
        long = asyncio.create_task(client.run("Hold"))
        for _ in range(3):
            assert await asyncio.to_thread(begun.acquire, timeout=60)
        mount(registry, call("quick"), say("Done."))
        events = await asyncio.wait_for(other_client.run("Quick", thread="t2"), 60)
        assert "here" in [event.get("content") for event in events]
        assert not begun.acquire(blocking=False)
    finally:
        release.set()
    results = [event["content"] for event in await long if event["type"] == "TOOL_CALL_RESULT"]
    assert results == [f"user:{client.user.pk}"] * 16


async def test_many_slow_reads_and_exports_leave_threads_to_others(mount, client, other_client, settings, intercept):
    settings.AGUI = {**settings.AGUI, "DATABASE_THREADS": 4}
    mount(ToolRegistry(), say("Done."), say("Done."))
    await client.run("Hello")
    await other_client.run("Hello")
    begun, release = threading.Semaphore(0), threading.Event()

    def wait(messages: Any) -> None:
        if owner.get() == f"user:{client.user.pk}":
            begun.release()
            release.wait(60)

    # As a server has it, and the test client has not: a thread for each request.
    async def read(client: Client, path: str) -> bytes:
        async with ThreadSensitiveContext():
            response = await client.get(path)
            return b"".join([part async for part in response]) if response.streaming else response.content

    for module in (threads_of_users, document):
        intercept(module, "wire_messages", before=wait)
    paths = ["threads/t1/", "export/"]
    reads = [asyncio.create_task(read(client, path)) for path in paths for _ in range(8)]
    try:
        for _ in range(3):
            assert await asyncio.to_thread(begun.acquire, timeout=60)
        for path in paths:
            assert b"Done." in await asyncio.wait_for(read(other_client, path), 60)
        # All this while no read of the first user has ended, and no fourth has begun.
        assert not any(task.done() for task in reads)
        assert not begun.acquire(blocking=False)
    finally:
        release.set()
    assert all(b"Done." in document for document in await asyncio.gather(*reads))
