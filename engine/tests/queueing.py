"""A client that sends messages while the agent works, and a model that waits for the test."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

from agui.contrib.queue import next_run
from agui.runs.live import live
from agui.testing import call
from tests.conftest import Client, script
from tests.transcript_tools import Gate


class Queue:
    """What a client does beside its runs."""

    def __init__(self, client: Client, thread: str = "t1") -> None:
        self.client = client
        self.path = f"{client.prefix}threads/{thread}/messages/"

    async def send(self, method: str, body: Any = None, query: str = "", status: int = 200, **headers: str) -> Any:
        data = "" if body is None else json.dumps(body)
        response = await self.client.http.generic(
            method, self.path + query, data, content_type="application/json", headers=headers
        )
        assert response.status_code == status, response.content
        return json.loads(response.content) if response.content else None

    async def post(self, text: str, message_id: str = "", status: int = 202, **body: Any) -> Any:
        message = {"id": message_id or text, "role": "user", "content": text}
        return await self.send("POST", {"message": message, **body}, status=status)

    async def steer(self, text: str, **body: Any) -> Any:
        return await self.post(text, mode="steer", **body)

    async def waiting(self) -> list[str]:
        """The texts that wait, in their order."""
        return [row["message"]["content"] for row in (await self.send("GET"))["messages"]]


class Reading:
    """A run whose events are read in the background."""

    def __init__(self, client: Client, text: str, **body: Any) -> None:
        self._task = asyncio.create_task(client.run(text, **body))

    async def at(self, gate: Gate) -> None:
        reached = asyncio.create_task(gate.reached.wait())
        await asyncio.wait([reached, self._task], return_when=asyncio.FIRST_COMPLETED)
        if not gate.reached.is_set():
            raise AssertionError(self._task.result())

    async def until(self, reached: threading.Event) -> None:
        """Wait for a point in another thread."""
        while not await asyncio.to_thread(reached.wait, 0.1):
            assert not self._task.done(), self._task.result()

    async def end(self, gate: Gate | None = None) -> list[dict[str, Any]]:
        if gate:
            gate.opened.set()
        return await self._task


@asynccontextmanager
async def working(client: Client, *answers: Any, says: Any = None, text: str = "Go", **body: Any) -> AsyncIterator[Any]:
    """A run whose model waits after its first words, or after its call of a tool; in the end it goes on."""
    gate = Gate()
    with script([says or call("echo", text="a"), gate()], *answers) as model:
        run = Reading(client, text, **body)
        await run.at(gate)
        at_work = SimpleNamespace(run=run, gate=gate, requests=model.requests, events=[])
        yield at_work
        at_work.events = await run.end(gate)
        await settled()


async def settled() -> None:
    """Wait until no run of this process is on, and none is about to begin."""
    while live.tasks or next_run._tasks:
        await asyncio.wait([*live.tasks, *next_run._tasks])
