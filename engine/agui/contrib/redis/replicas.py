"""Logs of runs of other processes, read from Redis as long as somebody here follows them.

All readers of a run share one copy, and all copies share one connection.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol
from weakref import WeakValueDictionary

from agui import clock
from agui.contrib.redis.mirror import Mirror
from agui.contrib.redis.refusals import load_refusal
from agui.contrib.redis.scripts import LOCK_MS, PUSH, STOP
from agui.contrib.redis.server import (
    AWAY_SECONDS,
    Away,
    Server,
    ThreadKeys,
    log_key,
    read_key,
    stop_key,
)
from agui.errors import Unavailable
from agui.models import Run
from agui.runlog.memory import RunLog
from agui.tenants import current_tenant, working_for

logger = logging.getLogger("agui.runlog")

READ_MS = 1000
GATHER_SECONDS = 0.01
# After a silence of this length, ask the database whether the run is still on.
SILENT_SECONDS = 2.0
SWEEP_SECONDS = 5.0
READ_KEY_MS = 3000
# How long the log of a run may be behind its row. A process that was paused has to connect to Redis
# again.
LAST_WORDS_SECONDS = 10.0
KEPT_MS = 60_000
# The error that readers get if nobody works on a run, by its status; '' means it has no row.
ENDINGS = {
    "": "conversation_changed",
    Run.Status.RUNNING: "interrupted",
    Run.Status.INTERRUPTED: "interrupted",
}


class Recovery(Protocol):
    """The questions of the logs to the database about other processes (runs/recovery.py)."""

    async def find_dead(self, keys: Collection[str]) -> dict[str, str]: ...

    async def sweep(self) -> None: ...

    def last_frame(self, key: str, number: int, code: str) -> bytes: ...


@dataclass(eq=False)
class Replica(RunLog):
    """A copy of another process's log."""

    entry: str = ""
    ask_to_stop: Callable[[], object] | None = None
    heard_at: float = field(default_factory=clock.monotonic)
    tenant: str | None = field(default_factory=current_tenant)
    missed_at: float | None = None
    """Since when nobody works on the run."""

    def add_entry(self, position: str, fields: dict[bytes, bytes]) -> None:
        """Add an entry of the stream: a frame, the end, or the reason of a refusal."""
        self.heard_at = clock.monotonic()
        self.missed_at = None
        number, _, part = position.partition("-")
        if b"refused" in fields:
            self.give_up(load_refusal(fields[b"refused"]))
        elif part == "1":
            self.is_cut = b"cut" in fields
            self.close()
        elif int(number) == len(self.frames) + 1:
            self.append(fields[b"frame"])
            if not self._started.done():
                self.start()

    def stop(self, code: str | None = None) -> None:
        if self.ask_to_stop:
            self.ask_to_stop()

    def give_up(self, error: Exception) -> None:
        if not self._started.done():
            self.refuse(error)
        self.close()


class Replicas:
    """The runs of other processes that are followed here."""

    def __init__(self, server: Server, mirror: Mirror, recovery: Recovery) -> None:
        self._server = server
        self._mirror = mirror
        self._recovery = recovery
        self._followed: WeakValueDictionary[str, Replica] = WeakValueDictionary()
        self._inbox_position = "0-0"
        self._marked_at = 0.0
        self._asking: set[asyncio.Task[None]] = set()
        self._swept_at = clock.monotonic()

    async def follow(self, entry: str, scope: str, thread_id: str) -> Replica:
        """The copy of a run's log. Raises Away."""
        key, fingerprint, _ = entry.split(" ")
        replica = self._followed.get(key)
        if replica is not None:
            return replica
        replica = self._followed[key] = Replica(scope, thread_id, fingerprint, key, entry=entry)
        # Responses are closed in other threads, so go back to the event loop.
        loop, thread = asyncio.get_running_loop(), ThreadKeys.for_thread(scope, thread_id)
        replica.ask_to_stop = partial(loop.call_soon_threadsafe, self._ask_to_stop, thread, key)
        await self._server.mark([read_key(key)], READ_KEY_MS)
        await self._server.wake()
        return replica

    def _ask_to_stop(self, thread: ThreadKeys, key: str) -> None:
        work = self._stop(thread, key)
        task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _stop(self, thread: ThreadKeys, key: str) -> None:
        with suppress(Away):
            await self._server.run(STOP, [thread.lock, thread.last], key)

    async def run(self) -> None:
        """Read new frames as they come, until the task is cancelled."""
        while True:
            try:
                reachable = await self._pull()
                await self._mark_read()
                await self._end_dead(reachable=reachable)
                if clock.monotonic() - self._swept_at > SWEEP_SECONDS:
                    self._swept_at = clock.monotonic()
                    await self._recovery.sweep()
            except Exception:
                logger.exception("Reading runs from Redis failed; retrying in %s s", AWAY_SECONDS)
                await asyncio.sleep(AWAY_SECONDS)

    async def _pull(self) -> bool:
        streams = {self._server.inbox: self._inbox_position}
        for replica in self._running():
            streams[log_key(replica.key)] = f"{len(replica.frames)}-0"
        try:
            news = await self._server.read(streams, READ_MS)
        except Away:
            await asyncio.sleep(AWAY_SECONDS)
            return False
        for name, entries in news.items():
            if name == self._server.inbox:
                self._inbox_position = entries[-1][0].decode()
                if any(fields[b"run"] for _, fields in entries):
                    self._mirror.renew_all()
                for _, fields in entries:
                    if b"event" in fields:
                        self._mirror.tell(fields[b"run"].decode(), fields[b"event"])
                continue
            followed = self._followed.get(name.rpartition(":")[2])
            if followed is not None:
                for position, fields in entries:
                    followed.add_entry(position.decode(), fields)
        if news:
            await asyncio.sleep(GATHER_SECONDS)
        return True

    def _running(self) -> list[Replica]:
        return [replica for replica in self._followed.values() if replica.running]

    async def _mark_read(self) -> None:
        """Tell the other processes which of their runs have readers here."""
        keys = [read_key(replica.key) for replica in self._running() if replica.readers]
        if keys and clock.monotonic() - self._marked_at > READ_KEY_MS / 3000:
            self._marked_at = clock.monotonic()
            with suppress(Away):
                await self._server.mark(keys, READ_KEY_MS)

    async def _end_dead(self, *, reachable: bool) -> None:
        """End the silent runs that nobody works on any more."""
        oldest = clock.monotonic() - SILENT_SECONDS
        silent = [replica for replica in self._running() if replica.heard_at < oldest]
        if not silent:
            return
        # Redis may have lost what it knew, so ask the database whether the runs are still on.
        dead: dict[str, str] = {}
        for tenant in {replica.tenant for replica in silent}:
            keys = [replica.key for replica in silent if replica.tenant == tenant]
            with working_for(tenant):
                dead |= await self._recovery.find_dead(keys)
        if Run.Status.RUNNING in dead.values():
            await self._recovery.sweep()
        for replica in silent:
            status = dead.get(replica.key)
            if status is None or (
                status == "" and await self._is_prepared(replica, reachable=reachable)
            ):
                replica.missed_at = None
                replica.heard_at = clock.monotonic()
            elif replica.missed_at is None:
                # The last frames may be on their way.
                replica.missed_at = clock.monotonic()
            elif status in ENDINGS or clock.monotonic() - replica.missed_at > LAST_WORDS_SECONDS:
                await self._end(replica, status, reachable=reachable)

    async def _is_prepared(self, replica: Replica, *, reachable: bool) -> bool:
        """Whether a run has no row because it is about to begin."""
        if replica.frames or not reachable:
            return False
        lock = ThreadKeys.for_thread(replica.scope, replica.thread_id).lock
        try:
            [holder] = await self._server.values([lock])
        except Away:
            return True
        return holder is not None and holder.partition(" ")[0] == replica.key

    async def _end(self, replica: Replica, status: str, *, reachable: bool) -> None:
        """End the log of a run for its readers, as its own process can't do that."""
        if not replica.frames:
            replica.give_up(Unavailable(headers={"Retry-After": "1"}))
            return
        code = ENDINGS.get(status, "log_lost")
        last = self._recovery.last_frame(replica.key, len(replica.frames) + 1, code)
        if reachable and code == "interrupted" and await self._cut(replica, last):
            return
        replica.append(last)
        replica.is_cut = True
        replica.close()

    async def _cut(self, replica: Replica, last: bytes) -> bool:
        """End the log in Redis, for the readers of all processes.

        Returns whether this process will now read an end from there.
        """
        number = len(replica.frames) + 1
        thread = ThreadKeys.for_thread(replica.scope, replica.thread_id)
        keys = [log_key(replica.key), thread.lock, thread.last, thread.runs, stop_key(replica.key)]
        try:
            length, state = await self._server.run(
                PUSH, keys, replica.entry, number, 2, 0, LOCK_MS, KEPT_MS, last
            )
        except Away:
            return False
        # If Redis has lost frames that were read here, it can't append the end after them.
        return length >= number or (state == b"closed" and length == number - 1)
