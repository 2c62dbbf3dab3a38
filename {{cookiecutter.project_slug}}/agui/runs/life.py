"""Which processes are alive: their signs of life, and how the death of one is proven.

A process that is busy, stopped or slow is not dead, and its runs are its own. So its signs of life
come from a thread of their own, and another process counts as dead only with a proof:

- In the same place, the operating system knows the process, or it does not.
- Elsewhere, the sign of life of a run has not changed for DEAD_SECONDS, while this process looked all the time. With
  PostgreSQL, the process has also lost its lock: it holds that through a connection that ends when the process does.

No clocks are compared. A process that was stopped itself, or whose database was away, has seen
nothing and starts anew.
"""

import asyncio
import hashlib
import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import QuerySet
from django.db.models.functions import Now

from agui import conf
from agui.blocking.executor import closing, run_in_thread
from agui.models import Run
from agui.runs.processes import is_there, process_name

logger = logging.getLogger("agui.processes")

SIGN_OF_LIFE_SECONDS = 3
DEAD_SECONDS = 12
# After so long a pause between two looks, this process may have missed signs of life.
PAUSE_SECONDS = 6
RETRY_SECONDS = 1
# The first number of all our advisory locks, so that they can be listed: "agui".
LOCKS = 0x61677569
# Both ends have to notice that the other one's host is gone: the server, for the lock; and this
# end, to connect again.
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
# Written out: SQLite reads the small indexes only if it is told the values of their conditions.
AT_WORK = """
SELECT id, process, seen_at FROM agui_run WHERE status = 'running'
UNION ALL SELECT id, process, seen_at FROM agui_run WHERE {order} IS NOT NULL
"""


class Sign(NamedTuple):
    """What is to be seen of a run. As long as its process is alive, this changes."""

    key: UUID
    process: str
    seen_at: datetime


class Life:
    """The signs of life of this process, and what it sees of others', through a connection of its own."""

    def __init__(self) -> None:
        self._runs: dict[str, Callable[[], object]] = {}
        self._thread: threading.Thread | None = None
        self._pid = 0
        self._ended = threading.Event()
        self._is_up = threading.Event()
        self._seen: dict[Sign, float] = {}
        """Since when each sign is the same."""
        self._silent: frozenset[Sign] = frozenset()
        self._looked_at = 0.0
        self._is_locked = False
        self._is_away = False

    def add(self, key: str, lost: Callable[[], object]) -> None:
        """Give signs of life of a run from now on; `lost` is called in this event loop if another process has it."""
        loop = asyncio.get_running_loop()

        def call_lost() -> None:
            with suppress(RuntimeError):  # The loop has ended, and the run with it
                loop.call_soon_threadsafe(lost)

        self._runs[key] = call_lost
        self.start()

    def remove(self, key: str) -> None:
        self._runs.pop(key, None)

    def __contains__(self, key: object) -> bool:
        return key in self._runs

    async def begin(self) -> None:
        """Before a run is recorded as this process's, let the process hold its lock, so that it can't count as dead."""
        self.start()
        if self._thread is not None and not self._is_up.is_set():
            await run_in_thread(self._is_up.wait, pool="database")

    def start(self) -> None:
        """Look after runs from now on, until this process ends. Once more changes nothing."""
        if conf.is_testing():  # Whose only process this is
            return
        if self._thread is None or self._pid != os.getpid():
            self._pid, self._ended, self._is_up = os.getpid(), threading.Event(), threading.Event()
            arguments = self._ended, self._is_up
            self._thread = threading.Thread(
                target=self._live, args=arguments, name="agui-life", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """End the thread, and close its connection: a test database can't be dropped while there are some."""
        if self._thread is not None and self._pid == os.getpid():
            self._ended.set()
            self._thread.join()
        self._thread = None

    def is_dead(self, run: Run) -> bool:
        """Whether the process that a run belongs to is proven to have ended."""
        there = is_there(run.process)
        return self.is_silent(run) if there is None else not there

    def is_silent(self, run: Run) -> bool:
        """Whether nobody has given a sign of life of a run, or could have, for DEAD_SECONDS."""
        return Sign(run.pk, run.process, run.seen_at) in self._silent

    def _live(self, ended: threading.Event, is_up: threading.Event) -> None:
        connection: BaseDatabaseWrapper | None = None
        pause: float = 0
        if not _has_locks(connections[router.db_for_write(Run)]):
            # Not at once: most commands and tests are over before.
            pause = SIGN_OF_LIFE_SECONDS
            is_up.set()
        while not ended.wait(pause):
            try:
                connection = connection or self._connect()
                self.sign()
                self.look(connection)
                pause, self._is_away = SIGN_OF_LIFE_SECONDS, False
            except Exception as error:
                self._forget()
                if not self._is_away:
                    logger.warning("This process can give no sign of life: %s", error)
                pause, self._is_away = RETRY_SECONDS, True
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
        # It is kept for ever: out of a pool, another thread would lack it.
        options = {**(connection.settings_dict.get("OPTIONS") or {})}
        options.pop("pool", None)
        if connection.vendor == "postgresql":
            options = {**PATIENCE, **options}
        connection.settings_dict = {**connection.settings_dict, "OPTIONS": options}
        connections[alias] = connection
        self._is_locked = False
        return connection

    def _forget(self) -> None:
        self._seen, self._silent = {}, frozenset()

    def sign(self) -> None:
        """Give a sign of life of each run, and find those that another process has taken over, or deleted."""
        runs = dict(self._runs)
        ours = Run.objects.using(router.db_for_write(Run)).filter(
            pk__in=runs, process=process_name()
        )
        if runs and _update_seen(ours.filter(status=Run.Status.RUNNING)) < len(runs):
            # Not what has ended meanwhile.
            kept = {
                str(key)
                for key in ours.exclude(status=Run.Status.INTERRUPTED).values_list("pk", flat=True)
            }
            for key, lost in runs.items():
                if key not in kept and key in self._runs:
                    logger.warning("Run %s is stopped: it is not this process's any more", key)
                    lost()

    def look(self, connection: BaseDatabaseWrapper) -> None:
        """See which signs of life have changed."""
        began = time.monotonic()
        if began - self._looked_at > PAUSE_SECONDS:
            self._forget()
        self._looked_at = began
        held = self._hold(connection)
        at_work = Run.objects.using(connection.alias).raw(
            AT_WORK.format(order=connection.ops.quote_name("order"))
        )
        signs = [Sign(run.pk, run.process, run.seen_at) for run in at_work]
        now = time.monotonic()
        self._seen = {sign: self._seen.get(sign, now) for sign in signs}
        self._silent = frozenset(
            sign
            for sign, since in self._seen.items()
            if began - since >= DEAD_SECONDS and _lock(sign.process) not in held
        )

    def _hold(self, connection: BaseDatabaseWrapper) -> set[int]:
        """Hold this process's lock; those of all processes."""
        if not _has_locks(connection):
            return set()
        with connection.cursor() as cursor:
            if not self._is_locked:
                cursor.execute(SERVER_PATIENCE)
                cursor.execute(
                    "SELECT pg_try_advisory_lock(%s, %s)", [LOCKS, _lock(process_name())]
                )
                self._is_locked = cursor.fetchone()[0]
            cursor.execute(HELD, [LOCKS])
            return {_signed(number) for (number,) in cursor.fetchall()}


def _has_locks(connection: BaseDatabaseWrapper) -> bool:
    """Where a connection is nobody's own, as with a pooler, a lock would not be, either."""
    return connection.vendor == "postgresql" and not connection.settings_dict.get(
        "DISABLE_SERVER_SIDE_CURSORS"
    )


def _update_seen(rows: QuerySet[Run]) -> int:
    """Note that these runs were seen just now; how many."""
    features = connections[rows.db].features
    if not features.has_select_for_update_skip_locked:
        return rows.update(seen_at=Now())
    with transaction.atomic(using=rows.db):
        # What another thread is writing to, for example a draft, is a sign of life in itself. To
        # wait for it, with other rows locked, could be a deadlock.
        free = rows.select_for_update(
            skip_locked=True, no_key=features.has_select_for_no_key_update
        )
        return rows.filter(pk__in=list(free.values_list("pk", flat=True))).update(seen_at=Now())


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
