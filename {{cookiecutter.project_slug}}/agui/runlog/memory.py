"""The logs of the runs of this process, in memory.

A run appends frames and never waits for a reader; a reader follows at its own pace, so any number
of them sees the same bytes. All of it happens on the server's one event loop.
"""

import asyncio
import time
import uuid
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakSet, ref

from pydantic_ai import CancellationToken

from agui import conf
from agui.errors import AtCapacity, Conflict, TooManyRequests

PING = b": ping\n\n"
# How long a stopped run may take to end.
STOP_SECONDS = 2
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
    size: int = 0
    """Bytes of all frames."""
    closed_at: float | None = None
    is_cut: bool = False
    """Its last frame stands for others, which were sent to some and are lost."""
    forgotten: bool = False
    """Its thread was deleted: nothing is to be read of it any more."""
    readers: WeakSet[object] = field(default_factory=WeakSet)
    """Who reads it here, or is about to."""
    changed: Callable[[], object] | None = None
    """Is called when there is something new, or the end."""
    fail: Callable[[str], None] | None = None
    """Ends its run for a reason of ours, a key of RUN_ERRORS; set once there is a run."""
    _started: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
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
        self.size += len(frame)
        self._notify()

    def stop(self, code: str | None = None) -> None:
        """End its run: because somebody wants that, or for a reason of ours, a key of RUN_ERRORS."""
        if code and self.fail:
            self.fail(code)
        else:
            self.token.cancel()

    def close(self) -> None:
        self.closed_at = time.monotonic()
        self.fail = None  # With it, all of the run would stay as long as its log
        self._notify()

    def drop(self) -> None:
        """Let the frames go: who has them still to read, and does not go on, is not to keep them."""
        if self.changed is None:  # Nobody copies them
            self.frames = []

    async def ended(self) -> bool:
        """Wait for its end, as long as a stopped run may take; whether it has come."""
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                while self.running:
                    await self._changed.wait()
        return not self.running

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()
        if self.changed:
            self.changed()

    async def follow(self, after: int = 0) -> AsyncGenerator[bytes]:
        """Yield the frames after number `after`, those to come included, with a comment in long silences."""
        position = after
        while True:
            if position < len(self.frames):
                chunk, position = self._piece(position)
                yield chunk
            elif not self.running:
                if self.frames and after > len(self.frames) - self.is_cut:
                    # Its process died with what this reader has seen of it: this is the end
                    yield self.frames[-1]
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
        self._ended_bytes = 0

    async def reserve(self, scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
        """Take the thread for a new run: the log, and whether it is new.

        The same request again gets the log that it already has. Raises Conflict for another one
        on a busy thread, AtCapacity and TooManyRequests when the limits are reached.
        """
        if log := self._known(scope, thread_id, fingerprint):
            return log, False
        self._check_limits(scope)
        log = self._active[scope, thread_id] = RunLog(scope, thread_id, fingerprint)
        return log, True

    def _known(self, scope: str, thread_id: str, fingerprint: str) -> RunLog | None:
        """The log that an equal request has already. Raises Conflict for another one on a busy thread."""
        kept = self._kept(scope, thread_id)
        if kept and kept.fingerprint == fingerprint:
            return kept
        if (scope, thread_id) in self._active:
            raise Conflict(headers={"Retry-After": "1"})
        return None

    def _check_limits(self, scope: str) -> None:
        if len(self._active) >= conf.get().max_concurrent_runs:
            raise AtCapacity(headers={"Retry-After": "1"})
        if sum(log.scope == scope for log in self._active.values()) >= conf.get().max_runs_per_user:
            raise TooManyRequests(headers={"Retry-After": "1"})

    def release(self, log: RunLog, error: BaseException) -> None:
        """Give the thread back: no run has come of it, for this reason."""
        self._active.pop((log.scope, log.thread_id), None)
        log.refuse(error)
        log.close()

    def close(self, log: RunLog) -> None:
        """End a run: the thread is free, the log stays readable for a while."""
        log.close()
        place = (log.scope, log.thread_id)
        self._active.pop(place, None)
        self._take_out(place)  # To the end of the line
        if not log.forgotten:
            self._ended[place] = log
            self._ended_bytes += log.size
        # Also when nobody asks for anything any more; and when the thread has had another run, for
        # who still reads.
        asyncio.get_running_loop().call_later(
            conf.get().log_retention_seconds + 1, self._expire, ref(log)
        )
        self._forget_old()

    async def find(self, scope: str, thread_id: str) -> RunLog | None:
        """The log of the thread's active run, or else of the last one that is still kept."""
        return self._kept(scope, thread_id)

    async def is_active(self, scope: str, thread_id: str) -> bool:
        return (scope, thread_id) in self._active

    async def stop(self, scope: str, thread_id: str, key: str = "") -> bool:
        """Stop the active run of the thread, or only this one; False when there is none that can be reached."""
        active = self._active.get((scope, thread_id))
        if active is None or key not in ("", active.key):
            return False
        active.stop()
        return True

    async def make_way(self, scope: str, thread_id: str) -> bool:
        """Stop the active run of the thread if nobody reads it, and wait for its end; whether it has ended."""
        active = self._active.get((scope, thread_id))
        if active is None or active.readers:
            return False
        active.stop()
        return await active.ended()

    async def forget(self, scope: str, thread_id: str) -> None:
        """Drop what is kept of a deleted thread, and stop what runs on it."""
        if active := self._active.get((scope, thread_id)):
            active.forgotten = True
            active.stop()
        self._take_out((scope, thread_id))

    async def adopt(self, key: str, scope: str, thread_id: str, fingerprint: str) -> RunLog:
        """Go on with the log of a run that was reserved elsewhere, after the frames that it has."""
        log = self._active[scope, thread_id] = RunLog(scope, thread_id, fingerprint, key)
        return log

    async def hand_over(self, log: RunLog) -> RunLog:
        """Leave a log that was reserved here to the process that adopts it; the one to follow instead."""
        raise NotImplementedError(
            "Other processes can't read this one's memory: set AGUI['REDIS_URL']."
        )

    async def is_reachable(self) -> bool:
        """Whether what the logs need answers."""
        return True

    async def aclose(self) -> None:
        """Forget everything."""
        self._active.clear()
        self._ended.clear()
        self._ended_bytes = 0

    def _kept(self, scope: str, thread_id: str) -> RunLog | None:
        self._forget_old()
        log = self._active.get((scope, thread_id)) or self._ended.get((scope, thread_id))
        return None if log is None or log.forgotten else log

    def _expire(self, reference: Callable[[], RunLog | None]) -> None:
        self._forget_old()
        if log := reference():
            log.drop()

    def _forget_old(self) -> None:
        oldest, most = (
            time.monotonic() - conf.get().log_retention_seconds,
            conf.get().max_kept_log_bytes,
        )
        # In the order in which they ended: the first that is young enough ends the search.
        for place, log in list(self._ended.items()):
            if log.closed_at is not None and log.closed_at > oldest and self._ended_bytes <= most:
                break
            self._take_out(place)
            log.drop()

    def _take_out(self, place: tuple[str, str]) -> None:
        if log := self._ended.pop(place, None):
            self._ended_bytes -= log.size
