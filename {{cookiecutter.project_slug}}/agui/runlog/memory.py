"""The logs of the runs of this process, in memory.

A run appends frames and never waits for a reader; a reader follows at its own pace, so any number
of them sees the same bytes. All of it happens on the server's one event loop.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field

from pydantic_ai import CancellationToken

from agui import conf
from agui.errors import AtCapacity, Conflict, TooManyRequests

PING = b": ping\n\n"
PIECE_BYTES = 64 * 1024


@dataclass(eq=False)
class RunLog:
    """The numbered frames of one run. Frame n is `frames[n - 1]`."""

    scope: str
    thread_id: str
    fingerprint: str
    """Equal for equal requests."""
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    frames: list[bytes] = field(default_factory=list)
    token: CancellationToken = field(default_factory=CancellationToken)
    closed_at: float | None = None
    forgotten: bool = False
    """Its thread was deleted: nothing is to be read of it any more."""
    _started: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def running(self) -> bool:
        return self.closed_at is None

    async def started(self) -> None:
        """Wait until the run has started. Raises what refused it, to all who wait."""
        await asyncio.shield(self._started)

    def start(self) -> None:
        self._started.set_result(None)

    def refuse(self, error: BaseException) -> None:
        self._started.set_exception(error)
        self._started.exception()  # Whether anybody waits or not

    def append(self, frame: bytes) -> None:
        self.frames.append(frame)
        self._notify()

    def close(self) -> None:
        self.closed_at = time.monotonic()
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def follow(self, after: int = 0) -> AsyncGenerator[bytes]:
        """Yield the frames after number `after`, those to come included, with a comment in long silences."""
        position = after
        while True:
            if position < len(self.frames):
                chunk, position = self._piece(position)
                yield chunk
            elif not self.running:
                return
            else:
                try:
                    async with asyncio.timeout(conf.get().heartbeat_seconds):
                        await self._changed.wait()
                except TimeoutError:
                    yield PING

    def _piece(self, position: int) -> tuple[bytes, int]:
        """Join what is there, but no more than a reader can be expected to take at once."""
        piece = bytearray()
        while position < len(self.frames) and len(piece) < PIECE_BYTES:
            piece += self.frames[position]
            position += 1
        return bytes(piece), position


class RunLogs:
    """One active log a thread, and for a while the last one."""

    def __init__(self) -> None:
        self._active: dict[tuple[str, str], RunLog] = {}
        self._ended: dict[tuple[str, str], RunLog] = {}

    def reserve(self, scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
        """Take the thread for a new run: the log, and whether it is new.

        The same request again gets the log that it already has. Raises Conflict for another one
        on a busy thread, AtCapacity and TooManyRequests when the limits are reached.
        """
        place = (scope, thread_id)
        if active := self._active.get(place):
            if active.fingerprint == fingerprint:
                return active, False
            raise Conflict(headers={"Retry-After": "1"})
        if (ended := self.last(scope, thread_id)) and ended.fingerprint == fingerprint:
            return ended, False
        if len(self._active) >= conf.get().max_concurrent_runs:
            raise AtCapacity(headers={"Retry-After": "1"})
        if sum(log.scope == scope for log in self._active.values()) >= conf.get().max_runs_per_user:
            raise TooManyRequests(headers={"Retry-After": "1"})
        log = self._active[place] = RunLog(scope, thread_id, fingerprint)
        return log, True

    def release(self, log: RunLog, error: BaseException) -> None:
        """Give the thread back: no run has come of it, for this reason."""
        self._active.pop((log.scope, log.thread_id), None)
        log.refuse(error)

    def close(self, log: RunLog) -> None:
        """End a run: the thread is free, the log stays readable for a while."""
        log.close()
        place = (log.scope, log.thread_id)
        self._active.pop(place, None)
        self._forget_old()
        self._ended.pop(place, None)  # To the end of the line
        if not log.forgotten:
            self._ended[place] = log

    def active(self, scope: str, thread_id: str) -> RunLog | None:
        return self._active.get((scope, thread_id))

    def last(self, scope: str, thread_id: str) -> RunLog | None:
        """The active log of the thread, or else the last one that is still kept."""
        self._forget_old()
        log = self.active(scope, thread_id) or self._ended.get((scope, thread_id))
        return None if log is None or log.forgotten else log

    def forget(self, scope: str, thread_id: str) -> None:
        """Drop what is kept of a deleted thread, and stop what runs on it."""
        if active := self.active(scope, thread_id):
            active.forgotten = True
            active.token.cancel()
        self._ended.pop((scope, thread_id), None)

    def _forget_old(self) -> None:
        oldest = time.monotonic() - conf.get().log_retention_seconds
        # In the order in which they ended: the first that is young enough ends the search.
        for place, log in list(self._ended.items()):
            if log.closed_at is not None and log.closed_at > oldest:
                break
            del self._ended[place]
