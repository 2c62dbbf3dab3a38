"""The state of reading one run of a remote agent, over all of its connections."""

from collections.abc import AsyncGenerator

import anyio
import httpx2
from ag_ui.core import BaseEvent

from agui.contrib.client.errors import AGUIProtocolError
from agui.contrib.client.events import Chunks, UnreadableEventError, parse_event
from agui.contrib.client.lifecycle import Lifecycle, OutOfOrderError

AFTERMATH_SECONDS = 0.5
"""The time after a run in which the client watches for events that break the protocol."""
# A new connection does not help against these errors: a wrong address, header or kind of answer.
HOPELESS = (
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
    httpx2.SSEError,
    httpx2.DecodingError,
)


class Reading:
    """The state of reading one run, over all of its connections."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.last_id = ""
        self._chunks = Chunks()
        self._lifecycle = Lifecycle()

    @property
    def started(self) -> bool:
        return self._lifecycle.started

    @property
    def ended(self) -> bool:
        return self._lifecycle.ended

    def read(self, frame: httpx2.ServerSentEvent) -> list[BaseEvent]:
        """Return the events of a frame. Raises AGUIProtocolError."""
        events = []
        try:
            received = parse_event(frame.data) if frame.data else None
            for event in self._chunks.expand(received) if received else ():
                if not self._lifecycle.is_repeated(event):
                    self._lifecycle.check(event)
                    events.append(event)
        except (UnreadableEventError, OutOfOrderError) as error:
            raise AGUIProtocolError(
                self.url, f"{self.url} broke the protocol: {error}", "protocol"
            ) from error
        self.last_id = frame.id
        return events

    async def expect_nothing(self, frames: AsyncGenerator[httpx2.ServerSentEvent]) -> None:
        """Check that the stream ends with the run. Raises AGUIProtocolError."""
        try:
            with anyio.move_on_after(AFTERMATH_SECONDS):
                async for frame in frames:
                    self.read(frame)
        except httpx2.RequestError:
            # Nothing of the run is lost.
            pass

    def may_retry(self, error: Exception | None) -> bool:
        """Return whether the stream can be resumed, or the request sent again.

        A request can't if the server may already be at work.
        """
        if isinstance(error, HOPELESS):
            return False
        if self.started:
            return bool(self.last_id)
        if isinstance(error, httpx2.ConnectTimeout):
            return True
        return not isinstance(error, httpx2.TimeoutException)
