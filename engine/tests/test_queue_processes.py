"""Messages that another process takes than the one which has the run."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from daily import by_day
from django.db import connection

pytest.importorskip("redis")

from agui import statements
from agui.contrib.queue import next_run, rows
from agui.contrib.redis.mirror import Mirror
from agui.testing import say
from tests.conftest import Client, script, until
from tests.queueing import Queue, settled, working
from tests.test_queue_schedules import play
from tests.two_processes import Processes, needs_redis, patience, processes, redis, server

__all__ = ["patience", "processes", "redis", "server"]

pytestmark = [needs_redis, pytest.mark.database]


async def test_a_message_from_elsewhere_is_read_at_the_next_step(client: Client, queue: Queue, processes: Processes):
    async with working(client, say("Done.")) as at_work:
        [log] = processes.here._active.values()
        with processes.elsewhere():
            await queue.steer("Stop")
        await until(lambda: log.has_news)
    assert await client.lines() == ["Go", "tool: a", "Stop", "assistant: Done."]
    queued = [event["value"] for event in at_work.events if event.get("name") == "message_queued"]
    assert [value["messageId"] for value in queued] == ["Stop"]


@pytest.mark.parametrize("remembered", [0, 1000])
async def test_a_message_that_is_heard_of_too_late_begins_a_run(
    client: Client, queue: Queue, processes: Processes, monkeypatch, remembered
):
    """Although the process may remember no more threads with messages, too."""
    monkeypatch.setattr("agui.contrib.queue.apps.MAX_HELD", remembered)
    monkeypatch.setattr(Mirror, "tell", lambda *args: None)
    async with working(client, say("Two."), says=say("One.")):
        with processes.elsewhere():
            await queue.post("And then?")
    assert await client.lines() == ["Go", "assistant: One.", "And then?", "assistant: Two."]


async def test_a_message_before_redis_has_the_end_begins_a_run(
    client: Client, queue: Queue, processes: Processes, monkeypatch
):
    """Redis has told the run of it, but the run's process has looked for messages before."""
    here, elsewhere = processes.all
    push, tell = Mirror.push, elsewhere.tell
    is_over, has_told = asyncio.Event(), asyncio.Event()

    async def push_later(mirror: Mirror) -> None:
        if is_over.is_set() and mirror is here.mirror:
            await has_told.wait()
        await push(mirror)

    async def tell_redis(*args: Any) -> bool:
        told = await tell(*args)
        has_told.set()
        return told

    monkeypatch.setattr(Mirror, "push", push_later)
    monkeypatch.setattr(elsewhere, "tell", tell_redis)
    async with working(client, say("Two."), says=say("One.")) as at_work:
        is_over.set()
        await at_work.run.end(at_work.gate)
        await settled()
        with processes.elsewhere():
            await queue.post("And then?")
            await settled()
    assert await client.lines() == ["Go", "assistant: One.", "And then?", "assistant: Two."]


async def test_a_run_in_whose_thread_nothing_waits_begins_no_other(client: Client, processes: Processes, monkeypatch):
    """It looks once, when its end is committed, and asks the database nothing more."""
    looks, begun = [], []

    def select(model: Any, **where: Any) -> Any:
        looks.append((model, connection.in_atomic_block))
        return statements.select(model, **where)

    monkeypatch.setattr(rows, "statements", SimpleNamespace(select=select))
    monkeypatch.setattr(next_run, "go_on", begun.append)
    with script(say("One.")):
        await client.run("Go")
    await settled()
    assert looks == [(rows.QueuedMessage, False)]
    assert begun == []


@pytest.mark.parametrize("seed", by_day(range(100, 104), every=4))
async def test_no_message_is_lost_or_read_twice_between_processes(client: Client, processes: Processes, seed: int):
    await play(client, seed, processes)
