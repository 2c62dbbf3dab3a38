"""Messages that are sent while the agent works: part `queue`."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest

from agui.contrib.queue.models import QueuedMessage
from agui.models import Message, Run
from agui.runs.live import live
from agui.testing import call, collect, event_types, fail, say, wait
from engine.conftest import Client, decision, run_input, script

pytestmark = pytest.mark.database


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


@pytest.fixture
def queue(client: Client) -> Queue:
    return Queue(client)


class Gate:
    """A point in a script at which the model waits."""

    def __init__(self) -> None:
        self.reached, self.opened = asyncio.Event(), asyncio.Event()

    def __call__(self) -> Any:
        return wait(self.opened, self.reached)


class Reading:
    """A run whose events are read in the background."""

    def __init__(self, client: Client, text: str, **body: Any) -> None:
        self._task = asyncio.create_task(client.run(text, **body))

    async def at(self, gate: Gate) -> None:
        reached = asyncio.create_task(gate.reached.wait())
        await asyncio.wait([reached, self._task], return_when=asyncio.FIRST_COMPLETED)
        if not gate.reached.is_set():
            raise AssertionError(self._task.result())

    async def end(self, gate: Gate | None = None) -> list[dict[str, Any]]:
        if gate:
            gate.opened.set()
        return await self._task


async def texts(client: Client, thread: str = "t1") -> list[str]:
    """The thread as a list: the user's words, and the agent's with a sign before them."""
    messages = (await client.thread(thread))["messages"]
    lines = []
    for message in messages:
        if message["role"] == "user":
            lines.append(message["content"])
        elif message.get("content"):
            lines.append(f"{message['role']}: {message['content']}")
    return lines


def custom(events: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event["value"] for event in events if event["type"] == "CUSTOM" and event["name"] == name]


async def settled(thread: str = "t1") -> None:
    """Wait until no run of this process is on, and none is about to begin."""
    from agui.contrib.queue import next_run

    while live.tasks or next_run._tasks:
        await asyncio.wait([*live.tasks, *next_run._tasks])


async def test_a_steered_message_is_read_before_the_next_request(client: Client, queue: Queue):
    gate = Gate()
    with script([call("echo", text="one", _id="c1"), gate()], say("Done.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        answer = await queue.steer("Stop at two")
        assert (answer["state"], answer["position"], answer["mode"]) == ("waiting", 0, "steer")
        events = await run.end(gate)
    assert model.requests[1].prompt == "Stop at two"
    assert await texts(client) == ["Go", "tool: one", "Stop at two", "assistant: Done."]
    assert [value["messageId"] for value in custom(events, "message_queued")] == ["Stop at two"]
    [delivered] = custom(events, "message_delivered")
    thread = (await client.thread())["messages"]
    assert delivered["message"] == thread[3]
    assert delivered["after"] == thread[2]["id"]
    kinds = event_types(events)
    place = next(i for i, event in enumerate(events) if event.get("name") == "message_delivered")
    assert kinds.index("TOOL_CALL_RESULT") < place < kinds.index("TEXT_MESSAGE_CONTENT")
    assert "ACTIVITY_SNAPSHOT" not in kinds
    assert await queue.waiting() == []


async def test_a_queued_message_begins_the_next_run(client: Client, queue: Queue):
    gate = Gate()
    with script([say("One."), gate()], say("Two.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.post("And then?")
        await queue.post("And last?")
        assert await queue.waiting() == ["And then?", "And last?"]
        await run.end(gate)
        await settled()
    assert [request.prompt for request in model.requests] == ["Go", "And last?"]
    assert await texts(client) == ["Go", "assistant: One.", "And then?", "And last?", "assistant: Two."]
    assert await queue.waiting() == []
