"""The project's own agent, without a server: requests go to the ASGI application in this process.

It behaves exactly like the HTTP endpoint: same middleware, permissions and limits. httpx2's
ASGITransport can't be used, because it returns a response only when all of it is there.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx2
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.urls import NoReverseMatch, reverse

from agui.namespaces import mounted_agents
from agui.runs.live import live

# The application needs time to notice that its reader has left, and runs to save their progress.
LEAVE_SECONDS = 10


class NoAgent(Exception):
    """The project's routes name no agent."""


def own_url(agent: str) -> str:
    """Return the address of an agent of the project, at a host that the settings allow.

    Nothing looks the host up.
    """
    try:
        path = reverse(f"{agent}:run")
    except NoReverseMatch:
        agents = ", ".join(mounted_agents())
        if agents:
            raise NoAgent(f"The project's routes have no agent {agent!r}, but: {agents}.") from None
        raise NoAgent(
            "The project's routes have no agent: add agui.get_urls(...) to them, or use --url."
        ) from None
    host = next((host for host in settings.ALLOWED_HOSTS if host != "*"), "localhost")
    return f"https://{host.lstrip('.')}{path}"


class InProcess(httpx2.AsyncBaseTransport):
    """Calls the application, and streams its responses."""

    def __init__(self) -> None:
        self._application: Any = ASGIHandler()
        self._calls: set[_Call] = set()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        call = _Call(request, await request.aread())
        call.task = asyncio.create_task(self._application(call.scope, call.receive, call.send))
        self._calls.add(call)
        call.task.add_done_callback(lambda _: self._calls.discard(call))
        call.task.add_done_callback(call.end)
        try:
            start = await call.sent.get()
        except BaseException:
            call.left.set()
            raise
        if start is None:
            await call.aclose()
            raise httpx2.ReadError("The application did not answer: its log says why.")
        return httpx2.Response(
            start["status"], headers=start["headers"], stream=call, request=request
        )

    async def aclose(self) -> None:
        """Close all responses, and stop the runs: nothing would drive them after this."""
        for call in list(self._calls):
            await call.aclose()
        for log in list(live.tasks.values()):
            log.stop()
        if live.tasks:
            await asyncio.wait(live.tasks, timeout=LEAVE_SECONDS)
        await live.logs.aclose()


class _Call(httpx2.AsyncByteStream):
    """One request on its way through the application."""

    def __init__(self, request: httpx2.Request, body: bytes) -> None:
        self.sent: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.task: asyncio.Task[None]
        self._body: bytes | None = body
        self.left = asyncio.Event()
        url = request.url
        self.scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": url.scheme,
            "server": (url.host, url.port or 443),
            "client": ("127.0.0.1", 0),
            "root_path": "",
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
        }

    async def receive(self) -> dict[str, Any]:
        if self._body is None:
            await self.left.wait()
            return {"type": "http.disconnect"}
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        self.sent.put_nowait(message)

    def end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # Django has logged it
        self.sent.put_nowait(None)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while message := await self.sent.get():
            body = message.get("body")
            if body:
                yield body
            if not message.get("more_body"):
                return

    async def aclose(self) -> None:
        """Tell the application that its reader has left, as a server would."""
        self.left.set()
        await asyncio.wait({self.task}, timeout=LEAVE_SECONDS)
