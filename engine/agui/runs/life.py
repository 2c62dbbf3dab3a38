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
from agui.runs import locks
from agui.runs.processes import process_exists, process_name
from agui.tenants import are_kept_apart, current_tenant, working_for

logger = logging.getLogger("agui.processes")

BEAT_SECONDS = 3
DEAD_SECONDS = 12
# After a longer pause between two looks, this process may have missed heartbeats.
PAUSE_SECONDS = 6
RETRY_SECONDS = 1
STOP_SECONDS = 10  # At most; the thread ends after its query.
# SQLite uses the partial index only if the value of its condition stands in the query.
AT_WORK = "SELECT id, process, seen_at FROM agui_run WHERE status = 'running'"


class Heartbeat(NamedTuple):
    """The heartbeat of a run. It changes as long as the run's process is alive."""

    key: UUID
    process: str
    seen_at: datetime


class OwnRun(NamedTuple):
    """A run of this process, and what is called if another process has taken it over."""

    tenant: str | None
    lost: Callable[[], object]


class Life:
    """The heartbeats of this process, and those that it sees of others.

    All queries go through a connection of its own.
    """

    def __init__(self) -> None:
        self._runs: dict[str, OwnRun] = {}
        self._watched: set[str | None] = set()
        """The tenants that have runs of other processes."""
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

        self._runs[key] = OwnRun(current_tenant(), call_lost)
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
        self._watched.add(current_tenant())
        return Heartbeat(run.pk, run.process, run.seen_at) in self._silent

    def _live(self, ended: threading.Event, is_up: threading.Event) -> None:
        connection: BaseDatabaseWrapper | None = None
        pause: float = 0
        if not locks.are_possible(connections[router.db_for_write(Run)]):
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
            options = locks.PATIENCE | options
        connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
        connections[alias] = connection
        self._is_locked = False
        return connection

    def _forget(self) -> None:
        self._seen, self._silent = {}, frozenset()

    def beat(self) -> None:
        """Send a heartbeat of each run, and stop those that another process took or deleted."""
        by_tenant: dict[str | None, dict[str, OwnRun]] = {}
        for key, run in self._runs.copy().items():
            by_tenant.setdefault(run.tenant, {})[key] = run
        for tenant, runs in by_tenant.items():
            with working_for(tenant):
                self._beat(runs)

    def _beat(self, runs: dict[str, OwnRun]) -> None:
        rows = Run.objects.using(router.db_for_write(Run))
        own = rows.filter(pk__in=runs, process=process_name())
        if _update_seen(own.filter(status=Run.Status.RUNNING)) == len(runs):
            return
        # Rows that are not running any more may also belong to runs that have ended meanwhile.
        remaining = own.exclude(status=Run.Status.INTERRUPTED).values_list("pk", flat=True)
        kept = set(map(str, remaining))
        for key, run in runs.items():
            if key not in kept and key in self._runs:
                logger.warning("Stopping run %s: another process has taken it over", key)
                run.lost()

    def check_heartbeats(self, connection: BaseDatabaseWrapper) -> None:
        """Find out which heartbeats have changed."""
        began = clock.monotonic()
        if began - self._checked_at > PAUSE_SECONDS:
            self._forget()
        self._checked_at = began
        held = self._hold(connection)
        heartbeats = []
        for tenant in self.tenants():
            with working_for(tenant):
                at_work = _read_heartbeats(connection)
            heartbeats += at_work
            if not at_work:
                self._watched.discard(tenant)
        now = clock.monotonic()
        self._seen = {heartbeat: self._seen.get(heartbeat, now) for heartbeat in heartbeats}
        silent = []
        for heartbeat, since in self._seen.items():
            if began - since >= DEAD_SECONDS and locks.number_of(heartbeat.process) not in held:
                silent.append(heartbeat)
        self._silent = frozenset(silent)

    def tenants(self) -> set[str | None]:
        """Return the tenants that have runs, as far as this process knows; {None} without any."""
        if not are_kept_apart():
            return {None}
        own = (run.tenant for run in self._runs.copy().values())
        return {*own, *self._watched.copy()}

    def _hold(self, connection: BaseDatabaseWrapper) -> set[int]:
        """Take this process's lock, if it has not done so; returns the locks of all processes."""
        if not locks.are_possible(connection):
            return set()
        if not self._is_locked:
            self._is_locked = locks.take(connection, process_name())
        return locks.held(connection)


def _read_heartbeats(connection: BaseDatabaseWrapper) -> list[Heartbeat]:
    at_work = list(Run.objects.using(connection.alias).raw(AT_WORK))
    executor = parts.executor()
    if executor:
        ordered = executor.ordered_runs().using(connection.alias)
        at_work += ordered.only("process", "seen_at")
    return [Heartbeat(run.pk, run.process, run.seen_at) for run in at_work]


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


def _close(connection: BaseDatabaseWrapper) -> None:
    with suppress(Exception):
        connection.close()
    del connections[connection.alias]


life = Life()
closing.append(life.stop)
