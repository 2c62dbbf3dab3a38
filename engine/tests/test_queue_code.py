"""Messages that the project's own code sends: `send` and `follow`."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import async_to_sync

from agui.contrib.queue.from_code import follow, send
from agui.errors import AtCapacity
from agui.testing import event_types, say
from tests.conftest import Client, script
from tests.queueing import Queue, settled, texts, working


async def test_code_begins_a_run_and_follows_it(client: Client, user: Any):
    with script(say("Thanks.")) as model:
        assert await send("t1", "The report is there.", user=user) == "read"
        events = [event async for event in follow("t1", user=user)]
        await settled()
    assert event_types(events)[0] == "RUN_STARTED"
    assert event_types(events)[-1] == "RUN_FINISHED"
    assert model.requests[0].prompt == "The report is there."
    assert await texts(client) == ["The report is there.", "assistant: Thanks."]


async def test_code_speaks_into_a_run(client: Client, queue: Queue, user: Any):
    async with working(client, say("Two."), says=say("One.")) as at_work:
        for _ in range(2):
            assert await send("t1", "More", user=user, mode="steer", message_id="m1") == "waiting"
        following = asyncio.create_task(all_of(user))
    assert await following == at_work.events
    assert await texts(client) == ["Go", "assistant: One.", "More", "assistant: Two."]


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


def test_a_job_waits_for_the_end_of_its_run(client: Client, user: Any):
    """As a task of Celery does."""

    async def work() -> list[str]:
        await send("t1", "The report is there.", user=user)
        return [event["type"] async for event in follow("t1", user=user)]

    with script(say("Thanks.")):
        assert async_to_sync(work)()[-1] == "RUN_FINISHED"
    assert async_to_sync(texts)(client) == ["The report is there.", "assistant: Thanks."]
