"""A server on a real socket in the test's own event loop, so that a client meets HTTP and the test what it does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls, parts
from agui.contrib.client import AGUIClient
from agui.http.tokens import create_token
from agui.testing import ScriptedModel
from tests.asking import scope_of
from tests.conftest import script
from tests.mounting import serve_urls

Application = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


def serve_to_mcp(settings: Any, registry: ToolRegistry) -> None:
    """Mount an agent with these tools, which MCP clients may call."""
    settings.AGUI = {"MCP": {"ENDPOINT": True}, "MAX_RUNS_PER_USER": 50, **settings.AGUI}
    view = DjangoAGUIView(registry, AgentConfig(model=ScriptedModel([])))
    serve_urls(settings, get_urls(view))


CUT = {"type": "cut"}  # Sent by an application: the connection breaks


@asynccontextmanager
async def serving(application: Application, grace_seconds: float = 0, host: str = "127.0.0.1") -> AsyncIterator[str]:
    """Serve an ASGI application, one request a connection; yields its URL. What is at work at the end has some time."""
    at_work: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        at_work.add(task)
        try:
            await _answer(application, reader, writer)
        except ConnectionError:
            pass
        except asyncio.CancelledError:
            writer.transport.abort()  # Nobody may be reading what is left
        finally:
            at_work.discard(task)
            writer.close()

    server = await asyncio.start_server(connected, host, 0)
    try:
        yield f"http://{host}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for _ in range(5):  # From a connection that was let in just now to its task
            await asyncio.sleep(0)
        if at_work and grace_seconds:
            await asyncio.wait(at_work, timeout=grace_seconds)
        for task in list(at_work):
            task.cancel()
        await asyncio.gather(*at_work, return_exceptions=True)
        await server.wait_closed()


async def _answer(application: Application, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    fields = (line.partition(":") for line in head[1:-2])
    headers = [(name.lower().encode(), value.strip().encode()) for name, _, value in fields]
    body = await reader.readexactly(int(dict(headers).get(b"content-length", b"0")))
    scope = scope_of(method, target, headers)
    received = iter([{"type": "http.request", "body": body}])

    async def receive() -> dict[str, Any]:
        for message in received:
            return message
        with suppress(ConnectionError):  # Reset, as by a client that leaves something unread: that is an end, too
            await reader.read()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, Any]) -> None:
        if message is CUT:
            writer.transport.abort()
        elif message["type"] == "http.response.start":
            lines = [f"HTTP/1.1 {message['status']} -", "connection: close"]
            lines += [f"{name.decode()}: {value.decode()}" for name, value in message.get("headers", [])]
            writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        else:
            writer.write(message.get("body", b""))
        with suppress(ConnectionError):  # Servers don't tell applications either
            await writer.drain()

    await application(scope, receive, send)


@dataclass
class Site:
    """The engine's endpoint behind a socket, its scripted model, and a client of one user."""

    url: str
    headers: dict[str, str]
    llm: ScriptedModel

    @property
    def client(self) -> AGUIClient:
        return AGUIClient(self.url, headers=self.headers)


@asynccontextmanager
async def site_that_says(user: Any, *answers: Any, around: Any = None) -> AsyncIterator[Site]:
    """Serve the endpoint as a project does, with a script instead of a model; `around` wraps the application."""
    token = (await sync_to_async(create_token)(user))[1]
    application: Application = ASGIHandler()
    for part in parts.installed():
        application = part.wrap_application(application)
    try:
        # The script comes before the server: what answers a request inherits it.
        with script(*answers) as llm:
            async with serving(around(application) if around else application, grace_seconds=10) as url:
                yield Site(f"{url}/agent/", {"Authorization": f"Bearer {token}"}, llm)
    finally:
        request_started.connect(reset_queries)
        request_started.connect(close_old_connections)


class Answers:
    """An application that sends one of these after the other, whatever is asked: a status, headers and a body's chunks.

    A chunk may be CUT, or an asyncio.Event that is waited for. `requests` has what was asked.
    """

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        body = (await receive())["body"]
        self.requests.append({"method": scope["method"], "path": scope["path"], "headers": headers, "body": body})
        status, sent, *chunks = self.answers.pop(0)
        told = {"content-type": "text/event-stream", **sent}
        pairs = [(name.encode(), value.encode()) for name, value in told.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        for chunk in chunks:
            if isinstance(chunk, asyncio.Event):
                await chunk.wait()
            elif chunk is CUT:
                await send(CUT)
            else:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
