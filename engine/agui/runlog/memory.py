"""The logs of the runs of this process, in memory.

A run appends frames and never waits for a reader. Each reader follows at its own pace, so any
number of them gets the same bytes. Everything here happens on the server's one event loop.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from weakref import WeakSet, ref

from pydantic_ai import CancellationToken

from agui import clock, conf, parts
from agui.errors import AtCapacity, Conflict, TooManyRequests
from agui.namespaces import owner_of

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
    """A digest of the request, which is the same for equal requests."""
    key: str = field(default_factory=lambda: str(uuid.uuid4()))
    frames: list[bytes] = field(default_factory=list)
    token: CancellationToken = field(default_factory=CancellationToken)
    size: int = 0
    """Bytes of all frames."""
    closed_at: float | None = None
    is_cut: bool = False
    """Whether the last frame stands for others, which some readers have received and are lost."""
    forgotten: bool = False
    """Whether the thread was deleted. Then nobody can read the log any more."""
    readers: WeakSet[object] = field(default_factory=WeakSet)
    """The readers in this process, also those that have not begun to read."""
    changed: Callable[[], object] | None = None
    """Called after each new frame, and at the end."""
    fail: Callable[[str], None] | None = None
    """Ends the run for a reason of the server, a key of RUN_ERRORS. None before the run begins."""
    add_event: Callable[[bytes], object] | None = None
    """Appends the JSON of an event. None before the run begins."""
    has_news: bool = False
    """Whether something was left for the run, since it took its thread."""
    _started: asyncio.Future[None] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def running(self) -> bool:
        return self.closed_at is None

    async def started(self) -> None:
        """Wait until the run has started. Raises the error that refused it, for all who wait."""
        await asyncio.shield(self._started)

    def start(self) -> None:
        self._started.set_result(None)

    def refuse(self, error: BaseException) -> None:
        self._started.set_exception(error)
        # Mark the exception as seen. Otherwise asyncio logs it if nobody waits.
        self._started.exception()

    def append(self, frame: bytes) -> None:
        self.frames.append(frame)
        self.size += len(frame)
        self._notify()

    def stop(self, code: str | None = None) -> None:
        """End the run: for a user, or for a reason of the server, a key of RUN_ERRORS."""
        if code and self.fail:
            self.fail(code)
        else:
            self.token.cancel()

    def tell(self, data: bytes = b"") -> None:
        """Tell the run that something was left for it, and its readers by the JSON of an event."""
        self.has_news = True
        if data and self.add_event and self.frames:
            self.add_event(data)

    def close(self) -> None:
        self.closed_at = clock.monotonic()
        # They refer to the run, which would stay in memory as long as its log.
        self.fail = self.add_event = None
        self._notify()

    def drop(self) -> None:
        """Free the frames, even if a slow reader still needs them, unless they are being copied."""
        if self.changed is None:
            self.frames = []

    async def ended(self) -> bool:
        """Wait for the end, as long as a stopped run may take; returns whether it has ended."""
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
        """Yield the frames after number `after`, and comments in long silences, until the end."""
        position = after
        while True:
            if position < len(self.frames):
                chunk, position = self._piece(position)
                yield chunk
            elif not self.running:
                if self.frames and after > len(self.frames) - self.is_cut:
                    # This reader has frames that were lost when the run's process died.
                    yield self.frames[-1]
                for part in parts.implementing("end_read"):
                    part.end_read(self)
                return
            else:
                try:
                    async with asyncio.timeout(conf.get().heartbeat_seconds):
                        await self._changed.wait()
                except TimeoutError:
                    yield PING

    def _piece(self, position: int) -> tuple[bytes, int]:
        """Join the frames from a position on, up to about PIECE_BYTES."""
        piece = bytearray()
        while position < len(self.frames) and len(piece) < PIECE_BYTES:
            piece += self.frames[position]
            position += 1
        return bytes(piece), position


class RunLogs:
    """One active log per thread, and the last one for a while."""

    is_shared = False
    """Whether other processes can follow and stop the runs."""

    def __init__(self) -> None:
        self._active: dict[tuple[str, str], RunLog] = {}
        self._ended: OrderedDict[tuple[str, str], RunLog] = OrderedDict()
        self._ended_bytes = 0

    async def reserve(self, scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
        """Take the thread for a new run; returns the log, and whether it is new.

        An equal request gets the log of the first one. Raises Conflict for another request on a
        busy thread, and AtCapacity or TooManyRequests if a limit is reached.
        """
        log = self._find_equal(scope, thread_id, fingerprint)
        if log is not None:
            return log, False
        self._check_limits(scope)
        log = self._active[scope, thread_id] = RunLog(scope, thread_id, fingerprint)
        return log, True

    def _find_equal(self, scope: str, thread_id: str, fingerprint: str) -> RunLog | None:
        """Find the log of an equal request. Raises Conflict if the thread is busy with another."""
        kept = self._find_kept(scope, thread_id)
        if kept and kept.fingerprint == fingerprint:
            return kept
        if (scope, thread_id) in self._active:
            raise Conflict(headers={"Retry-After": "1"})
        return None

    def _check_limits(self, scope: str) -> None:
        if len(self._active) >= conf.get().max_concurrent_runs:
            raise AtCapacity(headers={"Retry-After": "1"})
        owner = owner_of(scope)
        runs_of_user = sum(owner_of(log.scope) == owner for log in self._active.values())
        if runs_of_user >= conf.get().max_runs_per_user:
            raise TooManyRequests(headers={"Retry-After": "1"})

    def release(self, log: RunLog, error: BaseException) -> None:
        """Free the thread, because an error refused the run."""
        self._active.pop((log.scope, log.thread_id), None)
        log.refuse(error)
        log.close()

    def close(self, log: RunLog) -> None:
        """End a run and free its thread. Its log stays readable for a while."""
        log.close()
        thread = (log.scope, log.thread_id)
        self._active.pop(thread, None)
        # `_ended` is in the order in which logs ended, so remove the thread's old log first.
        self._remove_ended(thread)
        if not log.forgotten:
            self._ended[thread] = log
            self._ended_bytes += log.size
        # Free the log in time even if no other request comes, or if the thread has a new log.
        retention_seconds = conf.get().log_retention_seconds
        asyncio.get_running_loop().call_later(retention_seconds + 1, self._expire, ref(log))
        self._forget_old()

    async def find(self, scope: str, thread_id: str) -> RunLog | None:
        """Find the log of the thread's active run, or otherwise the last one that is kept."""
        return self._find_kept(scope, thread_id)

    async def is_active(self, scope: str, thread_id: str) -> bool:
        return (scope, thread_id) in self._active

    async def stop(self, scope: str, thread_id: str, key: str = "") -> bool:
        """Stop the active run of the thread, if `key` is empty or the run's own id.

        Returns False if there is no such run, or it can't be reached.
        """
        active = self._active.get((scope, thread_id))
        if active is None or key not in ("", active.key):
            return False
        active.stop()
        return True

    async def tell(self, scope: str, thread_id: str, data: bytes = b"") -> bool:
        """Tell the active run of the thread, if there is one that can be reached."""
        if active := self._active.get((scope, thread_id)):
            active.tell(data)
        return active is not None

    async def flush(self, log: RunLog) -> None:
        """Bring all of a log that has ended to where other processes read it."""

    async def stop_if_unread(self, scope: str, thread_id: str) -> bool:
        """Stop the active run of the thread if nobody reads it; returns whether it has ended."""
        active = self._active.get((scope, thread_id))
        if active is None or active.readers:
            return False
        active.stop()
        return await active.ended()

    async def forget(self, scope: str, thread_id: str) -> None:
        """Remove the log of a deleted thread, and stop its active run."""
        active = self._active.get((scope, thread_id))
        if active is not None:
            active.forgotten = True
            active.stop()
        self._remove_ended((scope, thread_id))

    async def adopt(self, key: str, scope: str, thread_id: str, fingerprint: str) -> RunLog:
        """Continue the log of a run that another process has reserved."""
        log = self._active[scope, thread_id] = RunLog(scope, thread_id, fingerprint, key)
        return log

    async def hand_over(self, log: RunLog) -> RunLog:
        """Leave a log to the process that adopts it; returns the log to follow instead."""
        raise NotImplementedError("Other processes can't read this one's memory.")

    async def check(self) -> dict[str, bool]:
        """Return whether the servers that keep the logs answer, by name."""
        return {}

    async def aclose(self) -> None:
        """Forget everything."""
        self._active.clear()
        self._ended.clear()
        self._ended_bytes = 0

    def _find_kept(self, scope: str, thread_id: str) -> RunLog | None:
        self._forget_old()
        thread = (scope, thread_id)
        log = self._active.get(thread) or self._ended.get(thread)
        if log is None or log.forgotten:
            return None
        return log

    def _expire(self, reference: Callable[[], RunLog | None]) -> None:
        self._forget_old()
        if log := reference():
            log.drop()

    def _forget_old(self) -> None:
        settings = conf.get()
        oldest = clock.monotonic() - settings.log_retention_seconds
        # The logs are in the order in which they ended, so the first young one ends the search.
        while self._ended:
            thread, log = next(iter(self._ended.items()))
            is_young = log.closed_at is not None and log.closed_at > oldest
            if is_young and self._ended_bytes <= settings.max_kept_log_bytes:
                break
            self._remove_ended(thread)
            log.drop()

    def _remove_ended(self, thread: tuple[str, str]) -> None:
        if log := self._ended.pop(thread, None):
            self._ended_bytes -= log.size
