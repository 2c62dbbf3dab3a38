"""A reader in another process has read the end of a run as one in its own process has."""

from typing import Any

import pytest

pytest.importorskip("redis")

from agui.contrib.notifications.deliver import deliveries
from agui.contrib.notifications.models import Notification
from agui.testing import collect
from tests.conftest import Client, half_said
from tests.receiving import allow, choose, ends_are_read, runs_ended
from tests.two_processes import Processes, needs_redis, patience, processes, redis, server

__all__ = ["patience", "processes", "redis", "server"]

pytestmark = [needs_redis, pytest.mark.database]


@pytest.mark.parametrize("stays", [True, False])
async def test_a_reader_in_another_process_counts_if_it_stays_to_the_end(
    client: Client, user: Any, settings: Any, monkeypatch: pytest.MonkeyPatch, processes: Processes, stays: bool
):
    allow(settings, "localhost")
    await choose(user, address="http://localhost/")
    monkeypatch.setattr(deliveries, "start", lambda: None)
    async with half_said(client) as (first, go_on):
        first.close()
        with processes.elsewhere():
            response = await client.get("threads/t1/events/")
        if stays:
            go_on.set()
            await collect(response)
        else:
            frames = aiter(response.streaming_content)
            await anext(frames)
            await frames.aclose()
            response.close()
            go_on.set()
        await runs_ended()
    await ends_are_read()
    assert await Notification.objects.acount() == (0 if stays else 1)
