"""A receiver of webhooks on a real socket, and a user whose runs nobody reads."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest

from agui.blocking.executor import in_database
from agui.contrib.notifications import choices
from agui.contrib.notifications.deliver import deliveries
from agui.contrib.notifications.models import Notification
from agui.runs.live import live
from agui.testing import say
from tests.conftest import Client, half_said, run_input, script

OK = b"HTTP/1.1 204 No Content\r\n\r\n"


def answer(status: int, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status} -", "Content-Length: 0", *headers, "", ""]).encode()


@dataclass
class Received:
    """A request, as it came over the network."""

    line: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Receiver:
    """Answers each request with the next of `answers`: bytes, or a function that writes; the last one for ever."""

    def __init__(self, sock: socket.socket) -> None:
        self.port = sock.getsockname()[1]
        self.host = f"localhost:{self.port}"
        self.url = f"http://{self.host}/hooks/agent?key=s3cret"
        self.answers: list[Any] = [OK]
        self.requests: list[Received] = []
        self.connections = 0
        self._arrived = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            await self._reply(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort() if task.cancelling() else writer.close()

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            pairs = (line.partition(":") for line in head[1:-2])
            headers = {name.lower(): value.strip() for name, _, value in pairs}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.requests.append(Received(head[0], headers, body))
            self._arrived.set()
            reply = self.answers[0] if len(self.answers) == 1 else self.answers.pop(0)
            if callable(reply):
                await reply(reader, writer)
            else:
                writer.write(reply)
                await writer.drain()

    async def hang_up(self) -> None:
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def arrived(self, number: int = 1) -> list[Received]:
        """Wait for so many requests."""
        async with asyncio.timeout(60):
            while len(self.requests) < number:
                self._arrived.clear()
                await self._arrived.wait()
        return self.requests


@asynccontextmanager
async def receiving(ssl: Any = None) -> AsyncIterator[Receiver]:
    sock = socket.create_server(("127.0.0.1", 0))
    receiver = Receiver(sock)
    server = await asyncio.start_server(receiver.connected, sock=sock, ssl=ssl)
    try:
        yield receiver
    finally:
        try:
            await deliveries.stop()
        finally:
            server.close()
            await receiver.hang_up()
        await asyncio.sleep(0)  # The transports close in the next turn of the loop.


@pytest.fixture
async def hook(settings: Any) -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        allow(settings, receiver.host)
        yield receiver


@pytest.fixture
async def secret(user: Any, hook: Receiver) -> str:
    """The secret of the user's webhook, which leads to the receiver."""
    return await choose(user, address=hook.url)


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test send what is due, and not the server."""
    monkeypatch.setattr(deliveries, "start", lambda: None)


async def silently(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


def allow(settings: Any, *hosts: str, **more: Any) -> None:
    """Turn webhooks on. A host that is `localhost` is allowed with DEBUG alone."""
    section = {"WEBHOOK_HOSTS": [*hosts], "SITE_URL": "https://site.example", "WAIT_SECONDS": 0, **more}
    settings.AGUI = {**settings.AGUI, "NOTIFICATIONS": section}
    settings.DEBUG = True


async def choose(user: Any, **changes: Any) -> str:
    """Choose as a user does; returns the secret of a new webhook."""
    _, secret = await in_database(lambda: choices.change(user.pk, **changes))
    return secret


async def run_unread(client: Client, text: str = "Go", thread: str = "t1", answer: Any = None, **headers: str) -> None:
    """Let a run end with this answer, whose reader has gone at once."""
    with script(answer or say("Fine.")):
        response = await client.post(run_input(text, thread=thread), **headers)
        assert response.status_code == 200
        response.close()
        await runs_ended()


@asynccontextmanager
async def left_at_work(client: Client, thread: str = "t1") -> AsyncIterator[None]:
    """A run is at work, and its reader has gone; it ends afterwards."""
    async with half_said(client, thread=thread) as (response, go_on):
        response.close()
        yield
        go_on.set()
        await runs_ended()


async def runs_ended() -> None:
    if live.tasks:
        await asyncio.wait(live.tasks)


async def ends_are_read() -> None:
    """Wait until what readers have read is known."""
    if deliveries._forgetting:
        await asyncio.wait(deliveries._forgetting)


async def due(user: Any, channel: str = "webhook", **fields: Any) -> Notification:
    """A message that nobody has sent yet."""
    about = {"scope": f"user:{user.pk}", "thread_id": "t1", "run": uuid4(), "kind": "run.failed", **fields}
    return await Notification.objects.acreate(owner=user, channel=channel, **about)
