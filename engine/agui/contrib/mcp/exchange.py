"""One request over HTTP and its response, through the official server."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

from asgiref.sync import ThreadSensitiveContext
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from agui import conf
from agui.blocking.executor import release_connections
from agui.runs.start import detached_context

MAX_AHEAD = 100
"""The events ahead of a slow client. A tool that shows more waits for it."""


class Exchange:
    """A request, on its way through the official server."""

    def __init__(self, request: HttpRequest, body: bytes, *, streams: bool) -> None:
        """`streams` lets the response be server-sent events, which have progress, too."""
        self._request = request
        self._body = body
        self._streams = streams
        self._sent: asyncio.Queue[Any] = asyncio.Queue(MAX_AHEAD)
        self._task: asyncio.Task[None] | None = None
        self.is_closed = False
        """Whether the client reads the stream no longer."""

    async def respond(self, server: Server[Any]) -> HttpResponseBase:
        # A stream outlives the request's own thread.
        self._task = asyncio.create_task(self._serve(server), context=detached_context())
        try:
            start = await self._sent.get()
            if start is None:
                await self._task  # This raises what has failed.
            headers = {}
            for name, value in start.get("headers", ()):
                headers[name.decode("latin-1").title()] = value.decode("latin-1")
            # A server decides that, not the application.
            headers.pop("Connection", None)
            headers["Cache-Control"] = "no-store, no-transform"
            if headers.get("Content-Type", "").startswith("text/event-stream"):
                headers |= {"X-Accel-Buffering": "no", "Content-Encoding": "identity"}
                return StreamingHttpResponse(
                    self._stream(), status=start["status"], headers=headers
                )
            content = b"".join([chunk async for chunk in self._chunks()])
        except BaseException:
            self._task.cancel()
            raise
        response = HttpResponse(content, status=start["status"])
        del response["Content-Type"]
        for name, value in headers.items():
            response[name] = value
        return response

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message of ours between the server's: each of its chunks is a whole event."""
        data = json.dumps(message, separators=(",", ":"))
        chunk = f"event: message\r\ndata: {data}\r\n\r\n".encode()
        await self._sent.put({"type": "http.response.body", "body": chunk})

    async def _serve(self, server: Server[Any]) -> None:
        received = iter([{"type": "http.request", "body": self._body, "more_body": False}])

        async def receive() -> Any:
            for message in received:
                return message
            # Django, and not this function, notices that a client has left.
            return await asyncio.get_running_loop().create_future()

        scope: Any = {**self._request.scope, "root_path": ""}  # type: ignore[attr-defined]
        others = [header for header in scope["headers"] if header[0] != b"accept"]
        scope["headers"] = [*others, (b"accept", _accepted(self._request).encode())]
        manager = StreamableHTTPSessionManager(
            server,
            json_response=not self._streams,
            stateless=True,
            max_request_body_size=conf.get().max_body_bytes,
        )
        try:
            # A thread of its own for what is synchronous, such as checks of permissions.
            async with ThreadSensitiveContext(), manager.run():
                try:
                    await manager.handle_request(scope, receive, self._sent.put)
                finally:
                    await release_connections()
            await self._sent.put(None)  # This is the end.
        except BaseException:
            # Nobody may be there who would make room in a full queue.
            while not self._sent.empty():
                self._sent.get_nowait()
            self._sent.put_nowait(None)
            raise

    async def _chunks(self) -> AsyncGenerator[bytes]:
        while (message := await self._sent.get()) is not None:
            yield message.get("body", b"")

    async def _stream(self) -> AsyncGenerator[bytes]:
        try:
            async for chunk in self._chunks():
                yield chunk
        finally:
            # If the client has left, its call goes on (gate.py).
            self.is_closed = True
            if self._task:
                self._task.cancel()


def _accepted(request: HttpRequest) -> str:
    """Return what the client accepts. Some leave out what others must name."""
    accepted = request.headers.get("Accept") or "*/*"
    return "*/*" if "text/event-stream" in accepted else accepted
