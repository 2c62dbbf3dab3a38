"""What a remote server answers: each message is weighed before a library builds anything of it.

The library validates a message on the event loop, several times, and a message of a few megabytes
can have a million parts.
"""

import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from agui.contrib.mcp.outside import NotAllowed, refuse_compressed
from agui.errors import HttpError
from agui.http.bodies import parsed
from agui.protocol.strict_json import has_more_values, parse_json

MAX_MESSAGE_BYTES = 20_000_000
MAX_VALUES = 50_000
MAX_ITEMS = 1000
"""The parts of a result, or the items of a page of a list."""
END_OF_EVENT = re.compile(rb"(?>\r\n|\n|\r){2}")


async def ask_plain(request: httpx2.Request) -> None:
    """Ask for an answer whose size is that of what arrives: a hook of a client."""
    request.headers["Accept-Encoding"] = "identity"


async def weigh(response: httpx2.Response) -> None:
    """Let the messages of an answer be read as long as they are of a fair size: a hook of a client.

    Raises NotAllowed, and so does the reading of the answer.
    """
    try:
        refuse_compressed(response)
    except NotAllowed:
        await response.aclose()
        raise
    is_events = response.headers.get("Content-Type", "").startswith("text/event-stream")
    response.stream = _Weighed(response.stream, is_events=is_events)


class _Weighed(httpx2.AsyncByteStream):
    """The body of an answer, of which each message comes whole."""

    def __init__(self, stream: Any, *, is_events: bool) -> None:
        self._stream = stream
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        received, searched = bytearray(), 0
        async for chunk in self._stream:
            received += chunk
            while self._is_events and (end := END_OF_EVENT.search(received, max(0, searched - 3))):
                event = bytes(received[: end.end()])
                del received[: end.end()]
                searched = 0
                yield await self._weigh(event)
            searched = len(received)
            if searched > MAX_MESSAGE_BYTES:
                raise NotAllowed("The answer is too long.")
        if received:
            yield await self._weigh(bytes(received))

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def _weigh(self, message: bytes) -> bytes:
        await parsed(_check, message, self._is_events)
        return message


def _check(message: bytes, is_event: bool) -> None:
    """Raise NotAllowed for a message that would take long."""
    data = _data_of(message) if is_event else message
    if len(message) > MAX_MESSAGE_BYTES or has_more_values(data, MAX_VALUES):
        raise NotAllowed("The answer is too large.")
    try:
        payload = parse_json(data)
    except HttpError:
        return  # The library says what is wrong with it.
    result = payload.get("result") if isinstance(payload, dict) else None
    for items in result.values() if isinstance(result, dict) else ():
        if isinstance(items, list) and len(items) > MAX_ITEMS:
            raise NotAllowed("The answer has too many parts.")


def _data_of(event: bytes) -> bytes:
    lines = event.splitlines()
    return b"\n".join(line.removeprefix(b"data:") for line in lines if line.startswith(b"data:"))
