"""Copies the frames of this process's runs to Redis, in order and many at once.

No run waits for it. Redis answers how many frames it has, so frames that Redis lost, or that came
while it was away, are sent again.
"""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from agui import clock, conf
from agui.contrib.redis.refusals import dump_refusal
from agui.contrib.redis.scripts import LOCK_MS, PUSH, RELEASE, RUNNING_MS
from agui.contrib.redis.server import (
    AWAY_SECONDS,
    Away,
    Server,
    ThreadKeys,
    Value,
    log_key,
    stop_key,
)
from agui.runlog.memory import RunLog

logger = logging.getLogger("agui.runlog")

# How often the mirror renews a silent run in Redis, and looks up whether it should stop.
RENEW_SECONDS = 1.5
# How long the mirror gathers frames after each push.
GATHER_SECONDS = 0.01
PUSH_BYTES = 256 * 1024
REFUSAL_MS = 10_000


@dataclass(eq=False)
class Mirrored:
    """A log, and how much of it Redis has."""

    log: RunLog
    entry: str
    thread: ThreadKeys
    position: int = 0
    """The number of frames that Redis has."""
    pushed_at: float = 0.0

    @property
    def is_due(self) -> bool:
        has_news = self.position < len(self.log.frames) or not self.log.running
        return has_news or clock.monotonic() - self.pushed_at >= RENEW_SECONDS

    def call(self) -> tuple[Sequence[str], Sequence[Value]]:
        """Make the keys and arguments of the next PUSH."""
        log, thread = self.log, self.thread
        frames = []
        size = 0
        for frame in log.frames[self.position :]:
            frames.append(frame)
            size += len(frame)
            if size > PUSH_BYTES:
                break
        is_end = not log.running and self.position + len(frames) == len(log.frames)
        log_ms = RUNNING_MS
        if is_end:
            log_ms = max(1, round(conf.get().log_retention_seconds * 1000))
        keys = [log_key(log.key), thread.lock, thread.last, thread.runs, stop_key(log.key)]
        first, forgotten = self.position + 1, int(log.forgotten)
        return keys, [self.entry, first, int(is_end), forgotten, LOCK_MS, log_ms, *frames]


class Mirror:
    """The logs of this process's runs that are copied to Redis."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._logs: dict[str, Mirrored] = {}
        self._released: list[tuple[Sequence[str], Sequence[Value]]] = []
        self._refused: list[str] = []
        self._due = asyncio.Event()
        self._pushing = asyncio.Lock()

    def add(self, log: RunLog, entry: str, position: int = 0) -> None:
        thread = ThreadKeys.for_thread(log.scope, log.thread_id)
        self._logs[log.key] = Mirrored(log, entry, thread, position)
        log.changed = self._due.set

    def release(self, log: RunLog, error: BaseException) -> None:
        """Free the thread in Redis, because an error refused the run."""
        mirrored = self._logs.pop(log.key, None)
        if mirrored is None:
            return
        thread = mirrored.thread
        keys = [log_key(log.key), thread.lock, thread.last, thread.runs]
        self._released.append((keys, [mirrored.entry, dump_refusal(error), REFUSAL_MS]))
        self._due.set()

    def drop(self, log: RunLog) -> None:
        """Stop copying a log: it has ended, or another process has it."""
        self._logs.pop(log.key, None)
        log.changed = None

    def entry(self, log: RunLog) -> str:
        """The entry under which Redis may still hold the thread for this log, or ''."""
        mirrored = self._logs.get(log.key)
        return mirrored.entry if mirrored else ""

    def tell(self, key: str, data: bytes) -> None:
        """Tell a run of this process what another process has left for it."""
        mirrored = self._logs.get(key)
        if mirrored is not None and mirrored.log.running:
            mirrored.log.tell(data)

    def is_forgotten(self, key: str) -> bool:
        """Whether the run's thread was deleted, which Redis may not know yet."""
        mirrored = self._logs.get(key)
        return mirrored is not None and mirrored.log.forgotten

    def renew_all(self) -> None:
        """Renew all runs in Redis now, which also tells whether one should stop."""
        for mirrored in self._logs.values():
            mirrored.pushed_at = 0.0
        self._due.set()

    async def run(self) -> None:
        """Push new frames as they come, until the task is cancelled."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RENEW_SECONDS):
                    await self._due.wait()
            self._due.clear()
            try:
                await self.push()
                await asyncio.sleep(GATHER_SECONDS)
            except Away:
                await asyncio.sleep(AWAY_SECONDS)
                self._due.set()
            except Exception:
                logger.exception("Copying runs to Redis failed; retrying in %s s", AWAY_SECONDS)
                await asyncio.sleep(AWAY_SECONDS)

    async def push(self) -> None:
        """Push what is new. Raises Away."""
        async with self._pushing:
            await self._push()

    async def _push(self) -> None:
        self._give_up()
        if self._refused:
            refused, self._refused = self._refused, []
            await self._server.delete(refused)
        released = list(self._released)
        if released:
            await self._server.run_all(RELEASE, released)
            del self._released[: len(released)]
        due = [mirrored for mirrored in self._logs.values() if mirrored.is_due]
        if not due:
            return
        calls = [mirrored.call() for mirrored in due]
        answers = await self._server.run_all(PUSH, calls)
        for mirrored, (_, arguments), (position, state) in zip(due, calls, answers, strict=True):
            self._handle(mirrored, position, state.decode(), is_end=arguments[2] == 1)

    def _handle(self, mirrored: Mirrored, position: int, state: str, *, is_end: bool) -> None:
        """Handle an answer of PUSH."""
        log = mirrored.log
        mirrored.pushed_at = clock.monotonic()
        # After a gap, Redis has lost frames, or has some whose answer was lost.
        mirrored.position = len(log.frames) if state in ("closed", "forget") else position
        if position > len(log.frames):
            logger.error(
                "Deleting run %s from Redis: it has %s frames there, but %s in its process",
                log.key,
                position,
                len(log.frames),
            )
            self.drop(log)
        if state == "lost":
            self.drop(log)
            log.stop("interrupted")
        if state == "replace" and log.readers:
            self._refused.append(stop_key(log.key))
            self._due.set()
        elif state in ("stop", "forget", "replace") and log.running:
            log.forgotten = log.forgotten or state == "forget"
            log.stop()
        if is_end and state != "gap":
            self.drop(log)
        elif log.key in self._logs and mirrored.is_due:
            self._due.set()

    def _give_up(self) -> None:
        """Drop ended logs that nobody could follow any more when Redis is back."""
        oldest = clock.monotonic() - conf.get().log_retention_seconds - RUNNING_MS / 1000
        for key, mirrored in list(self._logs.items()):
            if mirrored.log.closed_at is not None and mirrored.log.closed_at < oldest:
                del self._logs[key]
