"""The logs of the runs of all processes: this one's in memory, and for the others' readers in
Redis.

A thread is taken, followed and stopped wherever its run is. Redis makes that quick, but nothing
depends on it: that two runs don't write to one thread, and that a run is dead, is for the database
to say. So runs go on while Redis is away.
"""

import asyncio
import contextvars
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from agui import conf
from agui.errors import Conflict, TooManyRequests, Unavailable
from agui.runlog.memory import RunLog, RunLogs
from agui.runlog.mirror import Mirror
from agui.runlog.replicas import Recovery, Replicas
from agui.runlog.scripts import ACTIVE, FIND, FORGET, LOCK_MS, REPLACE, RESERVE, RUNNING_MS, STOP
from agui.runlog.server import Away, Place, Server, read_key, stop_key

# For how long Redis may not have heard yet that a run has ended.
ENDING_SECONDS = 0.3
TRY_SECONDS = 0.03
REPLACE_MS = 2000


class RedisLogs(RunLogs):
    """One active log a thread in all processes."""

    def __init__(self, url: str, recovery: Recovery) -> None:
        super().__init__()
        self.server = Server(url)
        self._recovery = recovery
        self._claimed: dict[str, RunLog] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def _start(self) -> None:
        """Begin to exchange logs with the other processes, on the first use in this event loop."""
        if self._tasks and self._tasks[0].get_loop() is asyncio.get_running_loop():
            return
        self.server.start()
        self.mirror = Mirror(self.server)
        self.replicas = Replicas(self.server, self.mirror, self._recovery)
        self._tasks = [_create_task(self.mirror.push_on()), _create_task(self.replicas.pull_on())]

    async def reserve(self, scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
        self._start()
        if known := self._known(scope, thread_id, fingerprint):
            return known, False
        self._check_limits(scope)
        log = RunLog(scope, thread_id, fingerprint)
        entry = f"{log.key} {fingerprint} {self.server.process}"
        self._claimed[log.key] = log
        try:
            found = await self._claim(log, entry)
            key = found.partition(" ")[0]
            if key != log.key:
                here = self._claimed.get(key) or self._by_key(scope, thread_id, key)
                return here or await self.replicas.follow(found, scope, thread_id), False
        except Away:
            if known := self._known(scope, thread_id, fingerprint):
                return known, False
        finally:
            del self._claimed[log.key]
        self._active[scope, thread_id] = log
        self.mirror.add(log, entry)
        return log, True

    async def _claim(self, log: RunLog, entry: str) -> str:
        """Take the thread in Redis: its entry, which is another's for an equal request.

        Raises Away, Conflict and TooManyRequests.
        """
        place = Place.of(log.scope, log.thread_id)
        ended = self._ended.get((log.scope, log.thread_id))
        replaced = self.mirror.entry(ended) if ended else ""
        deadline = asyncio.get_running_loop().time() + ENDING_SECONDS
        while True:
            answer, found = await self.server.run(
                RESERVE,
                [place.lock, place.last, place.runs],
                *(
                    entry,
                    log.fingerprint,
                    replaced,
                    LOCK_MS,
                    RUNNING_MS,
                    conf.get().max_runs_per_user,
                ),
            )
            holder = found.decode()
            if answer in (b"new", b"kept") or log.fingerprint in holder.split():
                return holder
            if answer in (b"held", b"many") and asyncio.get_running_loop().time() < deadline:
                await asyncio.sleep(TRY_SECONDS)
            elif answer == b"many":
                raise TooManyRequests(headers={"Retry-After": "1"})
            elif holder != replaced and await self._is_dead(holder, has_begun=answer == b"open"):
                replaced = holder
            else:
                raise Conflict(headers={"Retry-After": "1"})

    async def _is_dead(self, entry: str, *, has_begun: bool = False) -> bool:
        """Whether nobody works on a run any more. One without a row is still being prepared, unless it had begun."""
        key = entry.partition(" ")[0]
        status = (await self._recovery.find_dead([key])).get(key)
        return status is not None and (has_begun or status != "")

    def _by_key(self, scope: str, thread_id: str, key: str) -> RunLog | None:
        found = (self._active.get((scope, thread_id)), self._ended.get((scope, thread_id)))
        return next((log for log in found if log and log.key == key and not log.forgotten), None)

    def release(self, log: RunLog, error: BaseException) -> None:
        super().release(log, error)
        self.mirror.release(log, error)

    async def find(self, scope: str, thread_id: str) -> RunLog | None:
        """As RunLogs.find. Raises Unavailable when only Redis could tell, and it is away."""
        self._start()
        active = self._active.get((scope, thread_id))
        if active:
            return None if active.forgotten else active
        place = Place.of(scope, thread_id)
        try:
            entry = (await self.server.run(FIND, [place.lock, place.last])).decode()
            key = entry.partition(" ")[0]
            if not entry or self.mirror.is_forgotten(key):
                return None
            here = self._by_key(scope, thread_id, key)
            return here or await self.replicas.follow(entry, scope, thread_id)
        except Away:
            if kept := self._kept(scope, thread_id):
                return kept
            raise Unavailable(headers={"Retry-After": "1"}) from None

    async def is_active(self, scope: str, thread_id: str) -> bool:
        if await super().is_active(scope, thread_id):
            return True
        place = Place.of(scope, thread_id)
        try:
            entry = (await self.server.run(ACTIVE, [place.lock, place.last])).decode()
        except Away:
            return False
        return bool(entry) and not await self._is_dead(entry)

    async def stop(self, scope: str, thread_id: str, key: str = "") -> bool:
        if await super().stop(scope, thread_id, key):
            return True
        place = Place.of(scope, thread_id)
        ended = self._ended.get((scope, thread_id))
        try:
            if ended and (entry := self.mirror.entry(ended)):
                found = await self.server.run(FIND, [place.lock, place.last])
                if found.decode() == entry:  # Redis has not heard of its end yet
                    return False
            return bool(await self.server.run(STOP, [place.lock, place.last], key))
        except Away:
            return False

    async def make_way(self, scope: str, thread_id: str) -> bool:
        try:
            return await self._make_way(scope, thread_id)
        except Away:
            return False

    async def _make_way(self, scope: str, thread_id: str) -> bool:
        if active := self._active.get((scope, thread_id)):
            [is_read] = await self.server.values([read_key(active.key)])
            return is_read is None and await super().make_way(scope, thread_id)
        lock = Place.of(scope, thread_id).lock
        entry = await self.server.run(REPLACE, [lock], REPLACE_MS)
        if not entry:
            return False
        asked = stop_key(entry.decode().partition(" ")[0])
        for _ in range(round(REPLACE_MS / 1000 / TRY_SECONDS)):
            holder, waits = await self.server.values([lock, asked])
            if holder != entry.decode():
                return True
            if waits is None:
                break  # It has readers
            await asyncio.sleep(TRY_SECONDS)
        return False

    async def forget(self, scope: str, thread_id: str) -> None:
        await super().forget(scope, thread_id)
        place = Place.of(scope, thread_id)
        # What is there goes by itself, and a run whose row has gone is stopped
        with suppress(Away):
            await self.server.run(FORGET, [place.lock, place.last])

    async def adopt(self, key: str, scope: str, thread_id: str, fingerprint: str) -> RunLog:
        """As RunLogs.adopt: one that has ended, or was to be stopped, is so. Raises Unavailable while Redis is away."""
        self._start()
        entry = f"{key} {fingerprint} {self.server.process}"
        try:
            # From now on the process that had it before can't add to it, also when the lock of this
            # one has run out.
            place = Place.of(scope, thread_id)
            await self.server.hold(place.lock, entry, LOCK_MS)
            await self.server.hold(place.last, entry, RUNNING_MS)
            frames, has_ended = await self.server.frames(key)
            [asked] = await self.server.values([stop_key(key)])
        except Away:
            raise Unavailable(headers={"Retry-After": "1"}) from None
        log = RunLog(scope, thread_id, fingerprint, key, frames)
        log.start()
        if has_ended:
            log.close()
            return log
        if asked:
            log.forgotten = asked == "forget"
            log.stop()
        self._active[scope, thread_id] = log
        self.mirror.add(log, entry, position=len(frames))
        return log

    async def hand_over(self, log: RunLog) -> RunLog:
        """Leave a log that was reserved here to the process that adopts it; the one to follow instead.

        Raises Unavailable while Redis is away.
        """
        entry = self.mirror.entry(log)
        with suppress(Away):
            await self.mirror.push()
        # Whether Redis is there or not: nobody adds to what is here any more, and its readers would
        # wait for ever.
        self.mirror.drop(log)
        self._active.pop((log.scope, log.thread_id), None)
        try:
            await self.server.hold(Place.of(log.scope, log.thread_id).lock, entry, RUNNING_MS)
            return await self.replicas.follow(entry, log.scope, log.thread_id)
        except Away:
            raise Unavailable(headers={"Retry-After": "1"}) from None

    async def is_reachable(self) -> bool:
        return await self.server.ping()

    async def aclose(self) -> None:
        await super().aclose()
        here = [task for task in self._tasks if task.get_loop() is asyncio.get_running_loop()]
        for task in here:
            task.cancel()
        await asyncio.gather(*here, return_exceptions=True)
        self._tasks = []
        await self.server.aclose()


def _create_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    # Not in the context of the request that happens to be the first: its thread ends with it.
    return asyncio.get_running_loop().create_task(work, context=contextvars.Context())
