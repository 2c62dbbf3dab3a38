"""daphne, made to wait: for clients that don't keep up, and at its end for the requests that it has
taken.

And made to refuse: a body that is too large, or that nobody is known to send, while it comes
(http/admission.py), and a client that sends a request ever so slowly.

daphne hands all that an application sends to Twisted at once, which keeps in memory what a client
does not read. Here the application waits instead, as it does under other servers. And it ends at
once, where others first answer what they were asked.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any
from urllib.parse import unquote

from daphne import http_protocol, server  # type: ignore[import-untyped]
from twisted.internet.interfaces import IListeningPort, IPushProducer, ITCPTransport
from twisted.web import http
from zope.interface import implementer  # type: ignore[import-untyped]

from agui.errors import HttpError
from agui.http.admission import Meter
from agui.runs.shutdown import shutdown

logger = logging.getLogger("agui.pacing")

# A client that takes nothing of the last 64 KB for so long is not waited for any more.
STALLED_SECONDS = 120
# A request that comes has to bring as much of its body in this time, and all of its headers at
# first.
COMING_SECONDS = 30
COMING_BYTES = 10_000
# So long a client that is refused may go on sending, to get to read why.
LINGER_SECONDS = 2
# At the end: for what has been asked, and before that for the proxy to hear that its connections
# close.
ANSWER_SECONDS = 3
NOTICE_SECONDS = 0.2

Request: Any = getattr(http_protocol, "WebRequest", object)
Reply = Callable[[Any, Any, dict[str, Any]], Awaitable[None]]


@implementer(IPushProducer)
class PacedRequest(Request):
    """A request whose connection says when it has room for more of the response."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Twisted would parse every form for itself, all of it in memory and while all streams wait.
        # Django does it.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
        self._has_room = asyncio.Event()
        self._has_room.set()
        self._meter = Meter("", ())
        self._is_refused = False
        self._watch_pace()

    def gotLength(self, length: int | None) -> None:
        super().gotLength(length)
        path = unquote(
            getattr(self.channel, "_path", b"").partition(b"?")[0].decode("ascii", "replace")
        )
        names = [name for name, _ in self.requestHeaders.getAllRawHeaders()]
        self._meter = Meter(path.removeprefix(self.channel.factory.server.root_path), names)
        self._refuse(self._meter.refusal(length or 0))

    def handleContentChunk(self, data: bytes) -> None:
        if not self._is_refused:
            self._refuse(self._meter.add(len(data)))
        if not self._is_refused:
            super().handleContentChunk(data)

    def _refuse(self, error: HttpError | None) -> None:
        """Answer now, and read no more than it takes the client to see the answer."""
        if error is None:
            return
        self._is_refused = True
        self.requestHeaders.removeHeader(b"expect")  # Twisted would ask for the body
        response, transport = error.response(), self.channel.transport
        response["Content-Length"], response["Connection"] = str(len(response.content)), "close"
        head = f"HTTP/1.1 {response.status_code} {response.reason_phrase}\r\n".encode()
        # Else an answer to an earlier request would have to come first
        if len(self.channel.requests) == 1:
            transport.write(head + response.serialize_headers() + b"\r\n\r\n" + response.content)
            if ITCPTransport.providedBy(transport):
                transport.loseWriteConnection()
        asyncio.get_running_loop().call_later(LINGER_SECONDS, transport.abortConnection)

    def _watch_pace(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + COMING_SECONDS
        self._watch = loop.call_at(due, self._check_pace, self._meter.size, due)

    def _check_pace(self, before: int, due: float) -> None:
        # Late is an event loop that was blocked: what the client has sent meanwhile is not read
        # yet.
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
            # Asks for the next server
            self.responseHeaders.setRawHeaders(b"connection", [b"close"])
        if self.channel is not None and not (self.producer or self.finished):
            self.registerProducer(self, True)
        super().handle_reply(message)

    async def room(self) -> None:
        """Wait until the client has read what it was sent; give up on one that does not."""
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


async def drain() -> None:
    """Take no more connections, and answer what was asked on those that there are."""
    from twisted.internet import reactor  # Which one it is, daphne has chosen by now

    chosen: Any = reactor
    for reader in chosen.getReaders():
        if IListeningPort.providedBy(reader):
            reader.stopListening()
    with suppress(TimeoutError):
        async with asyncio.timeout(ANSWER_SECONDS):
            await asyncio.sleep(NOTICE_SECONDS)
            while at_work:  # noqa: ASYNC110 # Twisted says nothing to asyncio
                await asyncio.sleep(0.02)


def _paced(handle_reply: Reply) -> Reply:
    @wraps(handle_reply)
    async def wait_and_handle(self: Any, protocol: Any, message: dict[str, Any]) -> None:
        if isinstance(protocol, PacedRequest):
            await protocol.room()
        await handle_reply(self, protocol, message)

    return wait_and_handle


def is_as_known() -> bool:
    """Whether daphne still makes its requests and hands on replies in the way that this module changes."""
    try:
        makes_requests = http_protocol.HTTPFactory.buildProtocol.__code__.co_names
        takes = list(signature(server.Server.handle_reply).parameters)
        reads = [
            list(signature(getattr(Request, name)).parameters)
            for name in ("gotLength", "handleContentChunk")
        ]
        knows = http.HTTPChannel.lineReceived.__code__.co_names
    except (AttributeError, TypeError, ValueError):
        return False
    is_awaited = iscoroutinefunction(server.Server.handle_reply) and takes == [
        "self",
        "protocol",
        "message",
    ]
    is_read = "_path" in knows and reads == [["self", "length"], ["self", "data"]]
    return is_awaited and is_read and "WebRequest" in makes_requests


def pace_daphne() -> None:
    """Put it in the place of daphne's own request: once, before the server answers."""
    if not is_as_known():
        logger.warning(
            "This daphne is not as agui/server/daphne_patches.py knows it: what clients don't read stays in memory."
        )
        return
    http_protocol.WebRequest = PacedRequest
    server.Server.handle_reply = _paced(server.Server.handle_reply)
    shutdown.drain = drain
