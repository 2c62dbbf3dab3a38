"""Patches of daphne: it waits for slow readers, refuses bodies early, and ends gracefully.

- daphne passes every frame on to Twisted at once, which keeps in memory what a client does not
  read. Here the application waits for the client, as it does under other servers.
- While a body arrives, the server refuses it if it is too large or comes without credentials
  (http/admission.py). It drops a client that sends a request too slowly.
- At its end, the server answers the requests that it has accepted.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any
from urllib.parse import unquote

import daphne  # type: ignore[import-untyped]
from daphne import http_protocol, server
from django.http import HttpResponse
from twisted.internet.interfaces import IListeningPort, IPushProducer, ITCPTransport
from twisted.web import http
from zope.interface import implementer  # type: ignore[import-untyped]

from agui.errors import HttpError
from agui.http.admission import Meter
from agui.runs.shutdown import shutdown

logger = logging.getLogger("agui.pacing")

# The server drops a client that reads nothing of the last 64 KB for this long.
STALLED_SECONDS = 120
# A client has to send all headers in this time, and then this much of the body in each such time.
COMING_SECONDS = 30
COMING_BYTES = 10_000
# A refused client may go on sending for this long, so that it gets to read the answer.
LINGER_SECONDS = 2
# At its end, the server first gives the proxy notice that connections close, and then has this long
# to answer.
ANSWER_SECONDS = 3
NOTICE_SECONDS = 0.2

Request: Any = getattr(http_protocol, "WebRequest", object)
Reply = Callable[[Any, Any, dict[str, Any]], Awaitable[None]]


@implementer(IPushProducer)
class PacedRequest(Request):
    """A request whose connection says when it has room for more of the response."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Twisted would parse every form in memory while all streams wait. Django parses it, too.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._meter = Meter("", ())
        self._is_refused = False
        self._watch_pace()

    def gotLength(self, length: int | None) -> None:
        super().gotLength(length)
        raw_path, _, _ = getattr(self.channel, "_path", b"").partition(b"?")
        path = unquote(raw_path.decode("ascii", "replace"))
        root_path = self.channel.factory.server.root_path
        header_names = [name for name, _ in self.requestHeaders.getAllRawHeaders()]
        self._meter = Meter(path.removeprefix(root_path), header_names)
        self._refuse(self._meter.refusal(length or 0))

    def handleContentChunk(self, data: bytes) -> None:
        if not self._is_refused:
            self._refuse(self._meter.add(len(data)))
        if not self._is_refused:
            super().handleContentChunk(data)

    def _refuse(self, error: HttpError | None) -> None:
        """Answer at once, and drop the connection when the client has had time to read that."""
        if error is None:
            return
        self._is_refused = True
        self.requestHeaders.removeHeader(b"expect")  # With it, Twisted would ask for the body.
        transport = self.channel.transport
        # The answer to an earlier request on this connection would have to come first.
        if len(self.channel.requests) == 1:
            transport.write(_serialize(error.response()))
            if ITCPTransport.providedBy(transport):
                transport.loseWriteConnection()
        asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abortConnection)

    def _watch_pace(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + COMING_SECONDS
        self._watch = loop.call_at(due, self._check_pace, self._meter.size, due)

    def _check_pace(self, before: int, due: float) -> None:
        # If this call is late, the event loop was blocked and has not read what the client sent.
        is_late = asyncio.get_running_loop().time() > due + 1
        if is_late or self._meter.size - before >= COMING_BYTES:
            self._watch_pace()
        elif self.channel is not None:
            self.channel.transport.abortConnection()

    def process(self) -> Any:
        self._watch.cancel()
        if self._is_refused:
            return None
        shutdown.await_signal()
        at_work.add(self)
        return super().process()

    def handle_reply(self, message: dict[str, Any]) -> None:
        if shutdown.has_begun:
            # The client then connects anew, to the next server.
            self.responseHeaders.setRawHeaders(b"connection", [b"close"])
        if self.channel is not None and not (self.producer or self.finished):
            self.registerProducer(self, True)
        super().handle_reply(message)

    async def room(self) -> None:
        """Wait until the client has read what was sent. Drops a client that does not read."""
        if self._has_room.is_set():
            return
        try:
            async with asyncio.timeout(STALLED_SECONDS):
                await self._has_room.wait()
        except TimeoutError:
            self.transport.abortConnection()

    def pauseProducing(self) -> None:
        self._has_room.clear()

    def resumeProducing(self) -> None:
        self._has_room.set()

    stopProducing = resumeProducing

    def finish(self) -> None:
        at_work.discard(self)
        if self.producer:
            self.unregisterProducer()
        super().finish()

    def connectionLost(self, reason: Any) -> None:
        at_work.discard(self)
        self._watch.cancel()
        self._has_room.set()
        super().connectionLost(reason)


at_work: set[PacedRequest] = set()


def _serialize(response: HttpResponse) -> bytes:
    """Write a response as it is sent, with the order to close the connection."""
    response["Content-Length"] = str(len(response.content))
    response["Connection"] = "close"
    status_line = f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\n".encode()
    return status_line + response.serialize_headers() + b"\r\n\r\n" + response.content


async def drain() -> None:
    """Accept no more connections, and answer the requests on those that exist."""
    from twisted.internet import reactor  # By now, daphne has chosen which one.

    chosen: Any = reactor
    for reader in chosen.getReaders():
        if IListeningPort.providedBy(reader):
            reader.stopListening()
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            await asyncio.sleep(NOTICE_SECONDS)
            while at_work:  # noqa: ASYNC110 -- Twisted has no event of asyncio to wait for
                await asyncio.sleep(0.02)


def _paced(handle_reply: Reply) -> Reply:
    @wraps(handle_reply)
    async def wait_and_handle(self: Any, protocol: Any, message: dict[str, Any]) -> None:
        if isinstance(protocol, PacedRequest):
            await protocol.room()
        await handle_reply(self, protocol, message)

    return wait_and_handle


def is_as_known() -> bool:
    """Whether daphne still makes its requests and sends replies in the way that is changed here."""
    try:
        makes_requests = http_protocol.HTTPFactory.buildProtocol.__code__.co_names
        reads_lines = http.HTTPChannel.lineReceived.__code__.co_names
        replies = server.Server.handle_reply
        has_known_methods = (
            _parameters(replies) == ["self", "protocol", "message"]
            and _parameters(Request.gotLength) == ["self", "length"]
            and _parameters(Request.handleContentChunk) == ["self", "data"]
        )
    except (AttributeError, TypeError, ValueError):
        return False
    return (
        has_known_methods
        and iscoroutinefunction(replies)
        and "WebRequest" in makes_requests
        and "_path" in reads_lines
    )


def _parameters(function: Callable[..., Any]) -> list[str]:
    return list(signature(function).parameters)


def pace_daphne() -> None:
    """Replace daphne's own request by PacedRequest, once and before the server answers."""
    if not is_as_known():
        logger.warning(
            "Not patching daphne %s: its requests or replies work in another way. What slow "
            "clients have not read stays in memory",
            daphne.__version__,
        )
        return
    http_protocol.WebRequest = PacedRequest
    server.Server.handle_reply = _paced(server.Server.handle_reply)
    shutdown.drain = drain
