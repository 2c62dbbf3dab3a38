"""What a killed process must not take along: the answer so far, and the results of its tools.

Every run of this process is written down now and then, as a draft in its row. Should the process
die, whoever comes to the thread next finds a run that nobody works on, and puts its draft into the
thread.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from django.db import DataError, IntegrityError, router, transaction
from django.db.models.functions import Now

from agui.blocking.executor import run_in_thread
from agui.models import Run
from agui.runs.life import life
from agui.runs.processes import process_name

logger = logging.getLogger("agui.runs")

# How much of an answer a killed process may take along.
DRAFT_SECONDS = 2


Draft = Callable[[], dict[str, Any] | None]
"""Takes down a run: columns of its row, or None when nothing is new."""


class Checkpoints:
    """Writes down the runs of this process, all at once and off the event loop."""

    def __init__(self) -> None:
        self._drafts: dict[str, Draft] = {}
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self.writing = asyncio.Lock()
        """Held from taking down what a run has reached until it is written: what is older must not come later."""
        self._hurried: set[str] = set()
        self._unwritten: dict[str, dict[str, Any]] = {}

    def add(self, key: str, draft: Draft, lost: Callable[[], object]) -> None:
        """Write a run down from now on; `lost` is called should another process have taken it up."""
        self._drafts[key] = draft
        life.add(key, lost)
        if self._task is None:
            self._due, self.writing = asyncio.Event(), asyncio.Lock()
            self._task = asyncio.get_running_loop().create_task(
                self._write_on(), context=contextvars.Context()
            )

    def remove(self, key: str) -> None:
        self._drafts.pop(key, None)
        life.remove(key)
        if self._task is not None and not self._drafts:
            self._task.cancel()
            self._task = None

    def hurry(self, key: str) -> None:
        """Write a run down at once: a tool has ended, and what it did can't be undone."""
        self._hurried.add(key)
        self._due.set()

    async def _write_on(self) -> None:
        due = time.monotonic() + DRAFT_SECONDS
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0, due - time.monotonic())):
                    await self._due.wait()
            hurried, self._hurried = self._hurried, set()
            self._due.clear()
            is_due = time.monotonic() >= due
            if is_due:
                due = time.monotonic() + DRAFT_SECONDS
            try:
                await self.write(None if is_due else hurried)
            except Exception:
                logger.exception("The runs of this process could not be written down")

    async def write(self, keys: Collection[str] | None = None) -> None:
        """Write down what is new of these runs, or of all. Afterwards, what was taken before is written too."""
        async with self.writing:
            drafts = {
                key: columns
                for key, draft in self._drafts.items()
                if (keys is None or key in keys) and (columns := _take(key, draft)) is not None
            }
            # While the database was away, what was taken down then was not written.
            drafts = {
                key: columns
                for key, columns in (self._unwritten | drafts).items()
                if key in self._drafts
            }
            self._unwritten = drafts
            if drafts:
                await run_in_thread(_write, drafts, pool="checkpoints")
            self._unwritten = {}


def _take(key: str, draft: Draft) -> dict[str, Any] | None:
    try:
        return draft()
    except Exception:
        logger.exception("What run %s has reached can't be written down", key)
        return None


def _write(drafts: dict[str, dict[str, Any]]) -> None:
    database = router.db_for_write(Run)
    # Not what has ended meanwhile, nor what is another process's.
    running = Run.objects.filter(process=process_name(), status=Run.Status.RUNNING)
    with transaction.atomic(using=database):
        for key, columns in drafts.items():
            try:
                with transaction.atomic(using=database):
                    running.filter(pk=key).update(seen_at=Now(), **columns)
            except (DataError, IntegrityError):
                logger.exception("What run %s has reached can't be written down", key)


checkpoints = Checkpoints()
