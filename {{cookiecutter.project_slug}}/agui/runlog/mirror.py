"""Copies the frames of this process's runs to Redis, in order and many at once; no run waits for
it.

How far it got is what Redis says: frames that Redis lost, or that came while it was away, are sent
once more.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from agui import conf
from agui.runlog.memory import RunLog
from agui.runlog.refusals import dump_refusal
from agui.runlog.scripts import LOCK_MS, PUSH, RELEASE, RUNNING_MS
from agui.runlog.server import AWAY_SECONDS, Away, Place, Server, Value, log_key, stop_key

logger = logging.getLogger("agui.runlog")

# How often Redis hears of a run that says nothing, and what is asked of it is looked up.
RENEW_SECONDS = 1.5
# How long frames are gathered, after the first ones were sent at once.
GATHER_SECONDS = 0.01
PUSH_BYTES = 256 * 1024
REFUSAL_MS = 10_000


@dataclass(eq=False)
class Mirrored:
    """A log, and how far Redis has it."""

    log: RunLog
    entry: str
    place: Place
    position: int = 0
    pushed_at: float = 0.0

    @property
    def is_due(self) -> bool:
        has_news = self.position < len(self.log.frames) or not self.log.running
        return has_news or time.monotonic() - self.pushed_at >= RENEW_SECONDS

    def call(self) -> tuple[Sequence[str], Sequence[Value]]:
        """What PUSH is to be told next."""
        frames, size = [], 0
        for frame in self.log.frames[self.position :]:
            frames.append(frame)
            size += len(frame)
            if size > PUSH_BYTES:
                break
        is_end = not self.log.running and self.position + len(frames) == len(self.log.frames)
        log_ms = max(1, round(conf.get().log_retention_seconds * 1000)) if is_end else RUNNING_MS
        keys = [
            log_key(self.log.key),
            self.place.lock,
            self.place.last,
            self.place.runs,
            stop_key(self.log.key),
        ]
        return keys, [
            self.entry,
            self.position + 1,
            int(is_end),
            int(self.log.forgotten),
            LOCK_MS,
            log_ms,
            *frames,
        ]


class Mirror:
    """The logs of this process's runs that Redis is to have."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._logs: dict[str, Mirrored] = {}
        self._released: list[tuple[Sequence[str], Sequence[Value]]] = []
        self._refused: list[str] = []
        self._due = asyncio.Event()
        self._pushing = asyncio.Lock()

    def add(self, log: RunLog, entry: str, position: int = 0) -> None:
        self._logs[log.key] = Mirrored(log, entry, Place.of(log.scope, log.thread_id), position)
        log.changed = self._due.set

    def release(self, log: RunLog, error: BaseException) -> None:
        """Tell Redis that no run has come of it."""
        if mirrored := self._logs.pop(log.key, None):
            place = mirrored.place
            keys = [log_key(log.key), place.lock, place.last, place.runs]
            self._released.append((keys, [mirrored.entry, dump_refusal(error), REFUSAL_MS]))
            self._due.set()

    def drop(self, log: RunLog) -> None:
        """Leave the log to another process."""
        self._logs.pop(log.key, None)
        log.changed = None

    def entry(self, log: RunLog) -> str:
        """Under which name Redis may still hold the thread for this log, or ''."""
        mirrored = self._logs.get(log.key)
        return mirrored.entry if mirrored else ""

    def is_forgotten(self, key: str) -> bool:
        """Whether the thread of a run was deleted that Redis may still hold it for."""
        mirrored = self._logs.get(key)
        return mirrored is not None and mirrored.log.forgotten

    def look(self) -> None:
        """See what is asked of the runs."""
        for mirrored in self._logs.values():
            mirrored.pushed_at = 0.0
        self._due.set()

    async def push_on(self) -> None:
        """Push what is new, for ever."""
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
                logger.exception("The runs of this process could not be copied to Redis")
                await asyncio.sleep(AWAY_SECONDS)

    async def push(self) -> None:
        """Push what is new by now. Raises Away."""
        async with self._pushing:
            await self._push()

    async def _push(self) -> None:
        self._give_up()
        if self._refused:
            refused, self._refused = self._refused, []
            await self._server.delete(refused)
        if released := list(self._released):
            await self._server.run_all(RELEASE, released)
            del self._released[: len(released)]
        due = [mirrored for mirrored in self._logs.values() if mirrored.is_due]
        if not due:
            return
        calls = [mirrored.call() for mirrored in due]
        answers = await self._server.run_all(PUSH, calls)
        for mirrored, (_, arguments), (position, state) in zip(due, calls, answers, strict=True):
            self._note(mirrored, position, state.decode(), is_end=arguments[2] == 1)

    def _note(self, mirrored: Mirrored, position: int, state: str, *, is_end: bool) -> None:
        log = mirrored.log
        mirrored.pushed_at = time.monotonic()
        # With a gap Redis has less than it had, or more: an answer of it was lost.
        mirrored.position = len(log.frames) if state in ("closed", "forget") else position
        if position > len(log.frames):
            logger.error("Redis has more of run %s than its process", log.key)
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
        """Let go of ended logs that nobody could follow any more, once Redis is back."""
        oldest = time.monotonic() - conf.get().log_retention_seconds - RUNNING_MS / 1000
        for key, mirrored in list(self._logs.items()):
            if mirrored.log.closed_at is not None and mirrored.log.closed_at < oldest:
                del self._logs[key]
