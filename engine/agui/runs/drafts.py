"""Drafts of runs: the answer so far, and the results of tools, in case the process dies.

Every run of this process is written to its row now and then. If the process dies, the next request
for the thread, or a sweep, puts the draft into the thread (recovery.py).
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Collection
from contextlib import nullcontext, suppress
from functools import partial
from typing import Any

from django.db import DataError, IntegrityError, router, transaction
from django.db.models.functions import Now

from agui import clock, statements
from agui.blocking.executor import run_in_thread
from agui.models import Run
from agui.runs.life import life
from agui.runs.processes import process_name
from agui.tenants import current_tenant, working_for

logger = logging.getLogger("agui.runs")

# How much of an answer is lost if its process dies.
DRAFT_SECONDS = 2


Draft = Callable[[], dict[str, Any] | None]
"""Makes a draft: columns of the run's row, or None if nothing is new."""


class Checkpoints:
    """Writes the drafts of this process's runs, all at once and off the event loop."""

    def __init__(self) -> None:
        self._drafts: dict[str, Draft] = {}
        self._tenants: dict[str, str | None] = {}
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self.writing = asyncio.Lock()
        """Held from making drafts until they are written, so that no older one is written later."""
        self._urgent: set[str] = set()
        self._unwritten: dict[str, dict[str, Any]] = {}

    def add(self, key: str, draft: Draft, lost: Callable[[], object]) -> None:
        """Write drafts of a run from now on.

        `lost` is called if another process has taken the run up.
        """
        self._drafts[key] = partial(contextvars.copy_context().run, draft)
        self._tenants[key] = current_tenant()
        life.add(key, lost)
        if self._task is None:
            self._due, self.writing = asyncio.Event(), asyncio.Lock()
            self._task = asyncio.get_running_loop().create_task(
                self._write_loop(), context=contextvars.Context()
            )

    def remove(self, key: str) -> None:
        self._drafts.pop(key, None)
        self._tenants.pop(key, None)
        life.remove(key)
        if self._task is not None and not self._drafts:
            self._task.cancel()
            self._task = None

    def write_soon(self, key: str) -> None:
        """Write a run's draft at once: a tool has ended, and its effects can't be undone."""
        self._urgent.add(key)
        self._due.set()

    async def _write_loop(self) -> None:
        due = clock.monotonic() + DRAFT_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0, due - clock.monotonic())):
                    await self._due.wait()
            urgent, self._urgent = self._urgent, set()
            self._due.clear()
            is_due = clock.monotonic() >= due
            if is_due:
                due = clock.monotonic() + DRAFT_SECONDS
            try:
                await self.write(None if is_due else urgent)
            except Exception:
                logger.exception("Saving drafts of runs failed; retrying in %s s", DRAFT_SECONDS)

    async def write(self, keys: Collection[str] | None = None) -> None:
        """Write what is new in these runs, or in all, and drafts that were not written before."""
        async with self.writing:
            drafts = {}
            for key, make_draft in self._drafts.items():
                # Drafts that were made while the database was away are still to be written.
                columns = self._unwritten.get(key)
                if keys is None or key in keys:
                    columns = _make(key, make_draft) or columns
                if columns is not None:
                    drafts[key] = columns
            self._unwritten = drafts
            by_tenant: dict[str | None, dict[str, dict[str, Any]]] = {}
            for key, columns in drafts.items():
                by_tenant.setdefault(self._tenants[key], {})[key] = columns
            for tenant, its_drafts in by_tenant.items():
                with working_for(tenant):
                    await run_in_thread(_write, its_drafts, pool="checkpoints")
            self._unwritten = {}


def _make(key: str, draft: Draft) -> dict[str, Any] | None:
    try:
        return draft()
    except Exception:
        logger.exception("Making the draft of run %s failed", key)
        return None


def _write(drafts: dict[str, dict[str, Any]]) -> None:
    database = router.db_for_write(Run)
    # A run may have ended meanwhile, or another process may have taken it up.
    running = {"process": process_name(), "status": Run.Status.RUNNING}
    # Several drafts share a transaction, with a savepoint for each. One alone needs neither.
    atomic = partial(transaction.atomic, using=database) if len(drafts) > 1 else nullcontext
    with atomic():
        for key, columns in drafts.items():
            try:
                with atomic():
                    statements.update(Run, {"seen_at": Now(), **columns}, pk=key, **running)
            except (DataError, IntegrityError):
                logger.exception("Saving the draft of run %s failed", key)


checkpoints = Checkpoints()
