"""The logs of the runs of all processes: each in its process's memory, and copied to Redis.

Clients can follow and stop a run from any process. Redis makes that quick, but the database
decides which run may write to a thread, and whether a run is dead. So runs go on while Redis is
away.
"""

import asyncio
import contextvars
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

from agui import conf
from agui.contrib.redis.mirror import Mirror
from agui.contrib.redis.replicas import Recovery, Replicas
from agui.contrib.redis.scripts import (
    ACTIVE,
    FIND,
    FORGET,
    LOCK_MS,
    REPLACE,
    RESERVE,
    RUNNING_MS,
    STOP,
    TELL,
)
from agui.contrib.redis.server import Away, Server, ThreadKeys, read_key, stop_key
from agui.errors import Conflict, TooManyRequests, Unavailable
from agui.runlog.memory import RunLog, RunLogs

# How long it may take until Redis hears that a run has ended.
ENDING_SECONDS = 0.3
TRY_SECONDS = 0.03
REPLACE_MS = 2000


class RedisLogs(RunLogs):
    """One active log per thread in all processes."""

    is_shared = True

    def __init__(self, url: str, recovery: Recovery) -> None:
        super().__init__()
        self.server = Server(url)
        self._recovery = recovery
        self._claimed: dict[str, RunLog] = {}
        self._tasks: list[asyncio.Task[None]] = []

    def _start(self) -> None:
        """Begin to exchange logs with other processes, unless this event loop has done so."""
        if self._tasks and self._tasks[0].get_loop() is asyncio.get_running_loop():
            return
        self.server.start()
        self.mirror = Mirror(self.server)
        self.replicas = Replicas(self.server, self.mirror, self._recovery)
        work = (self.mirror.run(), self.replicas.run(), self.server.close_with_loop())
        self._tasks = [_create_task(each) for each in work]

    async def reserve(self, scope: str, thread_id: str, fingerprint: str) -> tuple[RunLog, bool]:
        self._start()
        equal = self._find_equal(scope, thread_id, fingerprint)
        if equal is not None:
            return equal, False
        self._check_limits(scope)
        log = RunLog(scope, thread_id, fingerprint)
        entry = f"{log.key} {fingerprint} {self.server.process}"
        self._claimed[log.key] = log
        try:
            holder = await self._claim(log, entry)
            key = _key_of(holder)
            if key != log.key:
                local = self._claimed.get(key) or self._by_key(scope, thread_id, key)
                return local or await self.replicas.follow(holder, scope, thread_id), False
        except Away:
            equal = self._find_equal(scope, thread_id, fingerprint)
            if equal is not None:
                return equal, False
        finally:
            del self._claimed[log.key]
        self._active[scope, thread_id] = log
        self.mirror.add(log, entry)
        return log, True

    async def _claim(self, log: RunLog, entry: str) -> str:
        """Take the thread in Redis; returns its entry, which may belong to an equal request.

        Raises Away, Conflict and TooManyRequests.
        """
        keys = ThreadKeys.for_thread(log.scope, log.thread_id)
        ended = self._ended.get((log.scope, log.thread_id))
        replaced = self.mirror.entry(ended) if ended else ""
        most_runs = conf.get().max_runs_per_user
        clock = asyncio.get_running_loop().time
        deadline = clock() + ENDING_SECONDS
        while True:
            arguments = (entry, log.fingerprint, replaced, LOCK_MS, RUNNING_MS, most_runs)
            answer, lock = await self.server.run(
                RESERVE, [keys.lock, keys.last, keys.runs], *arguments
            )
            holder = lock.decode()
            if answer in (b"new", b"kept") or log.fingerprint in holder.split():
                return holder
            if answer in (b"held", b"many") and clock() < deadline:
                await asyncio.sleep(TRY_SECONDS)
            elif answer == b"many":
                raise TooManyRequests(headers={"Retry-After": "1"})
            elif holder != replaced and await self._is_dead(holder, has_begun=answer == b"open"):
                replaced = holder
            else:
                raise Conflict(headers={"Retry-After": "1"})

    async def _is_dead(self, entry: str, *, has_begun: bool = False) -> bool:
        """Whether nobody works on a run any more.

        A run that has no row and has not begun is still being prepared.
        """
        key = _key_of(entry)
        dead = await self._recovery.find_dead([key])
        return key in dead and (has_begun or dead[key] != "")

    def _by_key(self, scope: str, thread_id: str, key: str) -> RunLog | None:
        thread = (scope, thread_id)
        for log in (self._active.get(thread), self._ended.get(thread)):
            if log is not None and log.key == key and not log.forgotten:
                return log
        return None

    def release(self, log: RunLog, error: BaseException) -> None:
        super().release(log, error)
        self.mirror.release(log, error)

    async def find(self, scope: str, thread_id: str) -> RunLog | None:
        """As RunLogs.find. Raises Unavailable if only Redis could answer, and it is away."""
        self._start()
        active = self._active.get((scope, thread_id))
        if active:
            return None if active.forgotten else active
        keys = ThreadKeys.for_thread(scope, thread_id)
        try:
            entry = (await self.server.run(FIND, [keys.lock, keys.last])).decode()
            key = _key_of(entry)
            if not entry or self.mirror.is_forgotten(key):
                return None
            local = self._by_key(scope, thread_id, key)
            return local or await self.replicas.follow(entry, scope, thread_id)
        except Away:
            kept = self._find_kept(scope, thread_id)
            if kept is None:
                raise Unavailable(headers={"Retry-After": "1"}) from None
            return kept

    async def is_active(self, scope: str, thread_id: str) -> bool:
        if await super().is_active(scope, thread_id):
            return True
        keys = ThreadKeys.for_thread(scope, thread_id)
        try:
            entry = (await self.server.run(ACTIVE, [keys.lock, keys.last])).decode()
        except Away:
            return False
        return bool(entry) and not await self._is_dead(entry)

    async def stop(self, scope: str, thread_id: str, key: str = "") -> bool:
        if await super().stop(scope, thread_id, key):
            return True
        keys = ThreadKeys.for_thread(scope, thread_id)
        ended = self._ended.get((scope, thread_id))
        try:
            entry = self.mirror.entry(ended) if ended else ""
            if entry:
                found = await self.server.run(FIND, [keys.lock, keys.last])
                if found.decode() == entry:
                    return False  # Redis has not heard yet that the run has ended.
            return bool(await self.server.run(STOP, [keys.lock, keys.last], key))
        except Away:
            return False

    async def tell(self, scope: str, thread_id: str, data: bytes = b"") -> bool:
        self._start()
        if await super().tell(scope, thread_id, data):
            return True
        keys = ThreadKeys.for_thread(scope, thread_id)
        try:
            return bool(await self.server.run(TELL, [keys.lock, keys.last], data))
        except Away:
            return False

    async def flush(self, log: RunLog) -> None:
        with suppress(Away):
            # A log that Redis has to its end has no entry any more.
            while not log.running and self._tasks and self.mirror.entry(log):
                await self.mirror.push()

    async def stop_if_unread(self, scope: str, thread_id: str) -> bool:
        try:
            return await self._stop_if_unread(scope, thread_id)
        except Away:
            return False

    async def _stop_if_unread(self, scope: str, thread_id: str) -> bool:
        active = self._active.get((scope, thread_id))
        if active is not None:
            [reader] = await self.server.values([read_key(active.key)])
            return reader is None and await super().stop_if_unread(scope, thread_id)
        lock = ThreadKeys.for_thread(scope, thread_id).lock
        entry = await self.server.run(REPLACE, [lock], REPLACE_MS)
        if not entry:
            return False
        request_key = stop_key(_key_of(entry.decode()))
        for _ in range(round(REPLACE_MS / 1000 / TRY_SECONDS)):
            holder, request = await self.server.values([lock, request_key])
            if holder != entry.decode():
                return True
            if request is None:
                break  # The run has readers, so its process has refused to stop it.
            await asyncio.sleep(TRY_SECONDS)
        return False

    async def forget(self, scope: str, thread_id: str) -> None:
        await super().forget(scope, thread_id)
        keys = ThreadKeys.for_thread(scope, thread_id)
        # If Redis is away, the log expires there, and the run stops because its row is gone.
        with suppress(Away):
            await self.server.run(FORGET, [keys.lock, keys.last])

    async def adopt(self, key: str, scope: str, thread_id: str, fingerprint: str) -> RunLog:
        """As RunLogs.adopt. The log may have ended, and the run may be stopped already.

        Raises Unavailable while Redis is away.
        """
        self._start()
        entry = f"{key} {fingerprint} {self.server.process}"
        try:
            # From now on the process that had the log before can't add to it, not even after the
            # lock of this process has expired.
            keys = ThreadKeys.for_thread(scope, thread_id)
            await self.server.hold(keys.lock, entry, LOCK_MS)
            await self.server.hold(keys.last, entry, RUNNING_MS)
            frames, has_ended = await self.server.frames(key)
            [request] = await self.server.values([stop_key(key)])
        except Away:
            raise Unavailable(headers={"Retry-After": "1"}) from None
        log = RunLog(scope, thread_id, fingerprint, key, frames)
        log.start()
        if has_ended:
            log.close()
            return log
        if request:
            log.forgotten = request == "forget"
            log.stop()
        self._active[scope, thread_id] = log
        self.mirror.add(log, entry, position=len(frames))
        return log

    async def hand_over(self, log: RunLog) -> RunLog:
        """Leave a log to the process that adopts it; returns the log to follow instead.

        Raises Unavailable while Redis is away.
        """
        entry = self.mirror.entry(log)
        with suppress(Away):
            await self.mirror.push()
        # Drop the log even if Redis is away: nobody adds to it, and readers would wait for ever.
        self.mirror.drop(log)
        self._active.pop((log.scope, log.thread_id), None)
        try:
            lock = ThreadKeys.for_thread(log.scope, log.thread_id).lock
            await self.server.hold(lock, entry, RUNNING_MS)
            return await self.replicas.follow(entry, log.scope, log.thread_id)
        except Away:
            raise Unavailable(headers={"Retry-After": "1"}) from None

    async def check(self) -> dict[str, bool]:
        return {"redis": await self.server.ping()}

    async def aclose(self) -> None:
        await super().aclose()
        loop = asyncio.get_running_loop()
        tasks = [task for task in self._tasks if task.get_loop() is loop]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks = []
        await self.server.aclose()


def _key_of(entry: str) -> str:
    """The id of the run that an entry names (see scripts.py)."""
    return entry.partition(" ")[0]


def _create_task(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    # The task must not have the context of the first request, whose thread ends with the request.
    return asyncio.get_running_loop().create_task(work, context=contextvars.Context())
