"""What messages that wait do at the same moment, or under odd ids. (transcripts/queue_routes.yaml has the rest.)"""

import asyncio
import json
import threading
from contextlib import suppress
from typing import Any

import pytest
from ag_ui.core import UserMessage
from django.db import connections
from django.test import AsyncClient

from agui.actor import Actor
from agui.contrib.queue import rows
from agui.contrib.queue.models import QueuedMessage
from agui.models import Run
from agui.testing import call, collect, say
from tests.conftest import Client, script
from tests.queueing import Queue, working

MESSAGE = {"id": "m1", "role": "user", "content": "Hi"}


@pytest.fixture
async def paused(client: Client) -> None:
    """A thread that waits for an approval, so that no message begins a run."""
    with script(call("wipe", _id="w1")):
        await client.run("Wipe")


@pytest.mark.usefixtures("paused")
async def test_the_same_message_sent_several_times_at_once_is_one(client: Client, queue: Queue):
    await asyncio.gather(*[queue.post("Three", "m3") for _ in range(5)])
    assert await queue.waiting() == ["Three"]


async def test_every_reader_is_told(client: Client, queue: Queue):
    async with working(client, say("Two."), says=say("One.")) as at_work:
        other = asyncio.create_task(follow(client))
        await queue.post("a")
        await queue.send("DELETE", query="?message_id=a", status=204)
    assert at_work.events == await other


async def follow(client: Client) -> list[dict[str, Any]]:
    return await collect(await client.get("threads/t1/events/"))


@pytest.mark.database
@pytest.mark.usefixtures("paused")
async def test_two_processes_do_not_pass_the_limit(user: Any, monkeypatch: pytest.MonkeyPatch):
    """Each adds a message at the same moment; threads stand for the processes."""
    scope = (await Run.objects.aget()).scope
    both, create = threading.Barrier(2), QueuedMessage.objects.create

    def meet(**values: Any) -> Any:
        # The second one comes so far only if the first one does not keep it out.
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)
        return create(**values)

    def add(name: str) -> str:
        message = UserMessage(id=name, content="Hi")
        try:
            return rows.add(rows.Queue(scope, "t1"), Actor(user, scope), message, "queue", 1).state
        except rows.QueueFull as error:
            return error.code
        finally:
            connections.close_all()

    monkeypatch.setattr(QueuedMessage.objects, "create", meet)
    states = await asyncio.gather(*[asyncio.to_thread(add, name) for name in "ab"])
    assert sorted(states) == ["queue_full", "waiting"]


async def test_other_sites_can_not_send(client: Client, queue: Queue, user: Any):
    browser = AsyncClient(enforce_csrf_checks=True)
    await browser.aforce_login(user)
    response = await browser.post(queue.path, json.dumps({"message": MESSAGE}), content_type="application/json")
    assert response.status_code == 403
