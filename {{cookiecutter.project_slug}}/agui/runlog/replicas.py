"""Logs of runs of other processes, read from Redis for as long as somebody here follows them.

All readers of a run share one copy, and all copies one connection.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol
from weakref import WeakValueDictionary

from agui.errors import Unavailable
from agui.models import Run
from agui.runlog.memory import RunLog
from agui.runlog.mirror import Mirror
from agui.runlog.refusals import load_refusal
from agui.runlog.scripts import LOCK_MS, PUSH, STOP
from agui.runlog.server import AWAY_SECONDS, Away, Place, Server, log_key, read_key, stop_key

logger = logging.getLogger("agui.runlog")

READ_MS = 1000
GATHER_SECONDS = 0.01
# After so long a silence, it is asked whether the run is still on.
SILENT_SECONDS = 2.0
SWEEP_SECONDS = 5.0
READ_KEY_MS = 3000
# How long the log of a run may be behind its row. A process that was stopped has to connect to
# Redis again.
LAST_WORDS_SECONDS = 10.0
KEPT_MS = 60_000
# What readers are told of a run that nobody works on, by its status; '' has no row any more.
ENDINGS = {
    "": "conversation_changed",
    Run.Status.RUNNING: "interrupted",
    Run.Status.INTERRUPTED: "interrupted",
}


class Recovery(Protocol):
    """What the logs ask about runs of other processes: the database knows it (runs/recovery.py)."""

    async def find_dead(self, keys: Collection[str]) -> dict[str, str]: ...

    async def sweep(self) -> None: ...

    def last_frame(self, key: str, number: int, code: str) -> bytes: ...


@dataclass(eq=False)
class Replica(RunLog):
    """A copy of another process's log."""

    entry: str = ""
    ask_to_stop: Callable[[], object] | None = None
    heard_at: float = field(default_factory=time.monotonic)
    missed_at: float | None = None
    """Since when nobody is at work on it."""

    def take(self, position: str, fields: dict[bytes, bytes]) -> None:
        """Add an entry of the stream."""
        self.heard_at, self.missed_at = time.monotonic(), None
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
        self._read = "0-0"
        self._marked_at = 0.0
        self._asking: set[asyncio.Task[None]] = set()
        self._swept_at = time.monotonic()

    async def follow(self, entry: str, scope: str, thread_id: str) -> Replica:
        """The copy of a run's log. Raises Away."""
        key, fingerprint, _ = entry.split(" ")
        if (found := self._followed.get(key)) is not None:
            return found
        replica = self._followed[key] = Replica(scope, thread_id, fingerprint, key, entry=entry)
        # Whoever closes a response does that in another thread.
        loop, place = asyncio.get_running_loop(), Place.of(scope, thread_id)
        replica.ask_to_stop = partial(loop.call_soon_threadsafe, self._ask_to_stop, place, key)
        await self._server.mark([read_key(key)], READ_KEY_MS)
        await self._server.wake()
        return replica

    def _ask_to_stop(self, place: Place, key: str) -> None:
        task = asyncio.get_running_loop().create_task(
            self._stop(place, key), context=contextvars.Context()
        )
        self._asking.add(task)
        task.add_done_callback(self._asking.discard)

    async def _stop(self, place: Place, key: str) -> None:
        with suppress(Away):
            await self._server.run(STOP, [place.lock, place.last], key)

    async def pull_on(self) -> None:
        """Read what is new, for ever."""
        while True:
            try:
                reachable = await self._pull()
                await self._say_what_is_read()
                await self._ask_for_silent(reachable=reachable)
                if time.monotonic() - self._swept_at > SWEEP_SECONDS:
                    self._swept_at = time.monotonic()
                    await self._recovery.sweep()
            except Exception:
                logger.exception("The runs of other processes could not be read")
                await asyncio.sleep(AWAY_SECONDS)

    async def _pull(self) -> bool:
        streams = {self._server.inbox: self._read}
        streams |= {
            log_key(one.key): f"{len(one.frames)}-0"
            for one in self._followed.values()
            if one.running
        }
        try:
            found = await self._server.read(streams, READ_MS)
        except Away:
            await asyncio.sleep(AWAY_SECONDS)
            return False
        for name, entries in found.items():
            if name == self._server.inbox:
                self._read = entries[-1][0].decode()
                if any(fields[b"run"] for _, fields in entries):
                    self._mirror.look()
            elif (replica := self._followed.get(name.rpartition(":")[2])) is not None:
                for position, fields in entries:
                    replica.take(position.decode(), fields)
        if found:
            await asyncio.sleep(GATHER_SECONDS)
        return True

    async def _say_what_is_read(self) -> None:
        read = [read_key(one.key) for one in self._followed.values() if one.running and one.readers]
        if read and time.monotonic() - self._marked_at > READ_KEY_MS / 3000:
            self._marked_at = time.monotonic()
            with suppress(Away):
                await self._server.mark(read, READ_KEY_MS)

    async def _ask_for_silent(self, *, reachable: bool) -> None:
        """End what nobody works on any more."""
        oldest = time.monotonic() - SILENT_SECONDS
        silent = [one for one in self._followed.values() if one.running and one.heard_at < oldest]
        if not silent:
            return
        # Redis may have lost what it knew: whether a run is on is for the database to say.
        dead = await self._recovery.find_dead([one.key for one in silent])
        if Run.Status.RUNNING in dead.values():
            await self._recovery.sweep()
        for one in silent:
            status = dead.get(one.key)
            if status is None or (
                status == "" and await self._is_prepared(one, reachable=reachable)
            ):
                one.missed_at, one.heard_at = None, time.monotonic()
            elif one.missed_at is None:
                one.missed_at = time.monotonic()  # Its last words may be on their way
            elif status in ENDINGS or time.monotonic() - one.missed_at > LAST_WORDS_SECONDS:
                await self._end(one, status, reachable=reachable)

    async def _is_prepared(self, replica: Replica, *, reachable: bool) -> bool:
        """Whether a run has no row because it is about to begin."""
        if replica.frames or not reachable:
            return False
        try:
            [holder] = await self._server.values([Place.of(replica.scope, replica.thread_id).lock])
        except Away:
            return True
        return holder is not None and holder.partition(" ")[0] == replica.key

    async def _end(self, replica: Replica, status: str, *, reachable: bool) -> None:
        """Tell its readers how a run ended whose own process can't."""
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
        """End the log for all readers, wherever they are; whether it has an end that is still to be read here."""
        place, number = Place.of(replica.scope, replica.thread_id), len(replica.frames) + 1
        keys = [log_key(replica.key), place.lock, place.last, place.runs, stop_key(replica.key)]
        try:
            have, state = await self._server.run(
                PUSH, keys, replica.entry, number, 2, 0, LOCK_MS, KEPT_MS, last
            )
        except Away:
            return False
        # Redis may have forgotten what was read here: with less than this it can't go on.
        return have >= number or (state == b"closed" and have == number - 1)
