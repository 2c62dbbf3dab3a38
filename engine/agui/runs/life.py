"""Tell live processes from dead ones by their heartbeats, and prove the death of one.

A process that is busy, stopped or slow is not dead, and keeps its runs. So a thread of its own
sends heartbeats, and another process counts as dead only with a proof:

- On the same machine, the operating system does not know the process.
- On another one, the heartbeat of a run has not changed for DEAD_SECONDS, while this process
  looked all the time. With PostgreSQL, the process has also lost its lock, which it holds through a
  connection that ends with the process.

No clocks are compared. If this process was stopped, or its database was away, it may have missed
heartbeats, and starts to look anew.
"""

import asyncio
import hashlib
import logging
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.functions import Now

from agui import clock, parts
from agui.blocking.executor import run_in_thread
from agui.blocking.workers import closing
from agui.models import Run
from agui.runs.processes import process_exists, process_name

logger = logging.getLogger("agui.processes")

BEAT_SECONDS = 3
DEAD_SECONDS = 12
# After a longer pause between two looks, this process may have missed heartbeats.
PAUSE_SECONDS = 6
RETRY_SECONDS = 1
STOP_SECONDS = 10  # At most; the thread ends after its query.
# The first number of all our advisory locks, by which they can be listed. It spells "agui".
LOCKS = 0x61677569
# If a host disappears, the server has to free its lock, and the client has to connect again.
PATIENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 3,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 12_000,
}
SERVER_PATIENCE = """
SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 12000; SET idle_session_timeout = 0
"""
HELD = """
SELECT objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
# SQLite uses the partial index only if the value of its condition stands in the query.
AT_WORK = "SELECT id, process, seen_at FROM agui_run WHERE status = 'running'"


class Heartbeat(NamedTuple):
    """The heartbeat of a run. It changes as long as the run's process is alive."""

    key: UUID
    process: str
    seen_at: datetime


class Life:
    """The heartbeats of this process, and those that it sees of others.

    All queries go through a connection of its own.
    """

    def __init__(self) -> None:
        self._runs: dict[str, Callable[[], object]] = {}
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._is_up = threading.Event()
        self._seen: dict[Heartbeat, float] = {}
        """Since when each heartbeat has not changed."""
        self._silent: frozenset[Heartbeat] = frozenset()
        self._checked_at = 0.0
        self._is_locked = False
        self._is_away = False

    def add(self, key: str, lost: Callable[[], object]) -> None:
        """Send heartbeats of a run from now on.

        `lost` is called in this event loop if another process has taken the run over.
        """
        loop = asyncio.get_running_loop()

        def call_lost() -> None:
            # If the loop has ended, so has the run.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(lost)

        self._runs[key] = call_lost
        self.start()

    def remove(self, key: str) -> None:
        self._runs.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._runs

    async def begin(self) -> None:
        """Wait until this process holds its lock, before it records a run as its own.

        Without the lock others could take it for dead.
        """
        self.start()
        if self._thread is not None and not self._is_up.is_set():
            await run_in_thread(self._is_up.wait, pool="database")

    def start(self) -> None:
        """Start the thread that looks after runs, unless it is running."""
        if _is_private(connections[router.db_for_write(Run)]):
            return
        with self._lock:
            if self._thread is not None and self._pid == os.getpid():
                return
            self._pid = os.getpid()
            self._ended = threading.Event()
            self._is_up = threading.Event()
            self._thread = threading.Thread(
                target=self._live, args=(self._ended, self._is_up), name="agui-life", daemon=True
            )
            self._thread.start()

    def stop(self, in_any_case: bool = True) -> None:
        """End the thread, or only if there are no runs, which may be of a newer event loop."""
        if self._runs and not in_any_case:
            return
        with self._lock:
            thread, self._thread = self._thread, None
            self._ended.set()
        if thread is not None and self._pid == os.getpid():
            thread.join(STOP_SECONDS)

    def is_dead(self, run: Run) -> bool:
        """Whether there is a proof that the process of a run has ended."""
        exists = process_exists(run.process)
        if exists is None:
            return self.is_silent(run)
        return not exists

    def is_silent(self, run: Run) -> bool:
        """Whether a run has sent no heartbeat for DEAD_SECONDS, and its process has no lock."""
        return Heartbeat(run.pk, run.process, run.seen_at) in self._silent

    def _live(self, ended: threading.Event, is_up: threading.Event) -> None:
        connection: BaseDatabaseWrapper | None = None
        pause: float = 0
        if not _has_locks(connections[router.db_for_write(Run)]):
            # Without locks there is no hurry, and most commands end before the first look.
            pause = BEAT_SECONDS
            is_up.set()
        while not ended.wait(pause):
            try:
                connection = connection or self._connect()
                self.beat()
                self.check_heartbeats(connection)
                pause = BEAT_SECONDS
                self._is_away = False
            except Exception as error:
                self._forget()
                if not self._is_away:
                    logger.warning("Heartbeat failed: %s; retrying in %s s", error, RETRY_SECONDS)
                pause = RETRY_SECONDS
                self._is_away = True
                if connection:
                    _close(connection)
                connection = None
            is_up.set()
        is_up.set()
        self._forget()
        if connection:
            _close(connection)

    def _connect(self) -> BaseDatabaseWrapper:
        alias = router.db_for_write(Run)
        connection = connections.create_connection(alias)
        options = dict(connection.settings_dict.get("OPTIONS") or {})
        # This connection lives as long as the process. Taken out of a pool, other threads would
        # miss it.
        options.pop("pool", None)
        if connection.vendor == "postgresql":
            options = PATIENCE | options
        connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
        connections[alias] = connection
        self._is_locked = False
        return connection

    def _forget(self) -> None:
        self._seen, self._silent = {}, frozenset()

    def beat(self) -> None:
        """Send a heartbeat of each run, and stop those that another process took or deleted."""
        runs = dict(self._runs)
        rows = Run.objects.using(router.db_for_write(Run))
        own = rows.filter(pk__in=runs, process=process_name())
        if not runs or _update_seen(own.filter(status=Run.Status.RUNNING)) == len(runs):
            return
        # Rows that are not running any more may also belong to runs that have ended meanwhile.
        remaining = own.exclude(status=Run.Status.INTERRUPTED).values_list("pk", flat=True)
        kept = set(map(str, remaining))
        for key, lost in runs.items():
            if key not in kept and key in self._runs:
                logger.warning("Stopping run %s: another process has taken it over", key)
                lost()

    def check_heartbeats(self, connection: BaseDatabaseWrapper) -> None:
        """Find out which heartbeats have changed."""
        began = clock.monotonic()
        if began - self._checked_at > PAUSE_SECONDS:
            self._forget()
        self._checked_at = began
        held = self._hold(connection)
        at_work = list(Run.objects.using(connection.alias).raw(AT_WORK))
        executor = parts.executor()
        if executor:
            ordered = executor.ordered_runs().using(connection.alias)
            at_work += ordered.only("process", "seen_at")
        heartbeats = [Heartbeat(run.pk, run.process, run.seen_at) for run in at_work]
        now = clock.monotonic()
        self._seen = {heartbeat: self._seen.get(heartbeat, now) for heartbeat in heartbeats}
        silent = []
        for heartbeat, since in self._seen.items():
            if began - since >= DEAD_SECONDS and _lock(heartbeat.process) not in held:
                silent.append(heartbeat)
        self._silent = frozenset(silent)

    def _hold(self, connection: BaseDatabaseWrapper) -> set[int]:
        """Take this process's lock, if it has not done so; returns the locks of all processes."""
        if not _has_locks(connection):
            return set()
        with connection.cursor() as cursor:
            if not self._is_locked:
                lock = [LOCKS, _lock(process_name())]
                cursor.execute(SERVER_PATIENCE)
                cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", lock)
                self._is_locked = cursor.fetchone()[0]
            cursor.execute(HELD, [LOCKS])
            return {_signed(number) for (number,) in cursor.fetchall()}


def _has_locks(connection: BaseDatabaseWrapper) -> bool:
    """Whether a process can hold a lock through a connection: not if a pooler shares it."""
    is_shared = connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    return connection.vendor == "postgresql" and not is_shared


def _is_private(database: BaseDatabaseWrapper) -> bool:
    """Whether no other process can use the database: SQLite's databases in memory are such."""
    return database.vendor == "sqlite" and database.is_in_memory_db()  # type: ignore[attr-defined]


def _update_seen(rows: QuerySet[Run]) -> int:
    """Record that these runs were seen now; returns how many."""
    features = connections[rows.db].features
    if not features.has_select_for_update_skip_locked:
        return rows.update(seen_at=Now())
    with transaction.atomic(using=rows.db):
        # Skip rows to which another thread is writing, for example a draft: that is a heartbeat,
        # too, and to wait for it with other rows locked could be a deadlock.
        no_key = features.has_select_for_no_key_update
        free = rows.select_for_update(skip_locked=True, no_key=no_key)
        keys = list(free.values_list("pk", flat=True))
        return rows.filter(pk__in=keys).update(seen_at=Now())


def _lock(process: str) -> int:
    """The second number of a process's lock."""
    return _signed(int.from_bytes(hashlib.sha256(process.encode()).digest()[:4]))


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number


def _close(connection: BaseDatabaseWrapper) -> None:
    with suppress(Exception):
        connection.close()
    del connections[connection.alias]


life = Life()
closing.append(life.stop)
