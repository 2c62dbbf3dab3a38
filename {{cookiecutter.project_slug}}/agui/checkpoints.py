"""What a killed process must not take along: the answer so far, and the results of its tools.

Every run of this process is written down now and then, as a draft in its row. Should the process die,
whoever comes to the thread next finds a run that nobody works on, and puts its draft into the thread.
"""

import asyncio
import contextvars
import logging
import os
import socket
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.db import DataError, IntegrityError, router, transaction
from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet
from django.db.models.functions import Now
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolReturnPart,
)

from agui import conf
from agui.additions import answered
from agui.executor import in_database, run_in_thread
from agui.figures import keep_up
from agui.models import Run
from agui.money import add_spending, dump_spent, load_spent, spent_by_model
from agui.stores import ThreadStore, codec, store_class

logger = logging.getLogger("agui.runs")

# How much of an answer a killed process may take along.
DRAFT_SECONDS = 2
SIGN_OF_LIFE_SECONDS = 3
# Without a sign of life for so long, a process that can't be looked at is dead.
DEAD_SECONDS = 12
# Made here, not on first use: that may be in several threads at once.
WORD = uuid4().hex[:8]


@dataclass
class Unfinished:
    """What of a run is not in its messages yet: the text under way, and results whose fellows are still awaited."""

    captured: list[ModelMessage] = field(default_factory=list)
    """The run's messages, as pydantic-ai keeps them."""
    _texts: dict[int, list[str]] = field(default_factory=dict)
    _results: dict[str, ToolReturnPart] = field(default_factory=dict)
    _place: int = 0
    """The number of the response that the texts are of."""

    def note(self, event: Any) -> None:
        if isinstance(event, PartDeltaEvent):
            if isinstance(event.delta, TextPartDelta):
                self._texts.setdefault(event.index, []).append(event.delta.content_delta)
        elif isinstance(event, PartStartEvent):
            if event.index == 0:
                self._texts.clear()
                self._place = self._responses()
            if isinstance(event.part, TextPart):
                self._texts[event.index] = [event.part.content]
        elif isinstance(event, FunctionToolResultEvent) and isinstance(event.part, ToolReturnPart):
            self._results[event.part.tool_call_id] = event.part

    @property
    def results(self) -> int:
        """How many tools have ended."""
        return len(self._results)

    def messages(self) -> list[ModelMessage]:
        """Put it into messages, to come after the captured ones."""
        last = self.captured[-1] if self.captured else None
        if isinstance(last, ModelResponse):
            calls = {call.tool_call_id for call in last.tool_calls} - answered(self.captured)
            results = [part for call_id, part in self._results.items() if call_id in calls]
            return [ModelRequest(parts=results, state="interrupted")] if results else []
        texts = [TextPart(text) for _, pieces in sorted(self._texts.items()) if (text := "".join(pieces))]
        return [ModelResponse(parts=texts, state="interrupted")] if texts and self._place == self._responses() else []

    def _responses(self) -> int:
        return sum(isinstance(message, ModelResponse) for message in self.captured)


Draft = Callable[[], dict[str, Any] | None]
"""Takes down a run: columns of its row, or None when nothing is new."""


class Checkpoints:
    """Writes down the runs of this process, all at once and off the event loop."""

    def __init__(self) -> None:
        self._drafts: dict[str, Draft] = {}
        self._lost: dict[str, Callable[[], object]] = {}
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self.writing = asyncio.Lock()
        """Held from taking down what a run has reached until it is written: what is older must not come later."""
        self._hurried: set[str] = set()
        self._signed_at = 0.0
        self._hour = 0
        self._counting: asyncio.Task[None] | None = None

    def add(self, key: str, draft: Draft, lost: Callable[[], object]) -> None:
        """Write a run down from now on; `lost` is called should another process have taken it up."""
        self._drafts[key], self._lost[key] = draft, lost
        if self._task is None:
            self._due, self.writing = asyncio.Event(), asyncio.Lock()
            self._task = asyncio.get_running_loop().create_task(self._write_on(), context=contextvars.Context())

    def remove(self, key: str) -> None:
        self._drafts.pop(key, None)
        self._lost.pop(key, None)
        if self._task is not None and not self._drafts:
            self._task.cancel()
            self._task = None

    def hurry(self, key: str) -> None:
        """Write a run down at once: a tool has ended, and what it did can't be undone."""
        self._hurried.add(key)
        self._due.set()

    def __contains__(self, key: object) -> bool:
        return key in self._drafts

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
                self._keep_figures()
            try:
                await self.write(None if is_due else hurried)
            except Exception:
                logger.exception("The runs of this process could not be written down")

    def _keep_figures(self) -> None:
        if (hour := int(time.time() // 3600)) != self._hour:
            self._hour = hour
            # On a thread of its own: after a long pause there is much to count, and signs of life can't wait.
            self._counting = asyncio.create_task(run_in_thread(keep_up, pool="figures"), context=contextvars.Context())

    async def write(self, keys: Collection[str] | None = None) -> None:
        """Write down what is new of these runs, or of all. Afterwards, what was taken before is written too."""
        async with self.writing:
            drafts = {
                key: columns
                for key, draft in self._drafts.items()
                if (keys is None or key in keys) and (columns := _take(key, draft)) is not None
            }
            is_due = time.monotonic() - self._signed_at >= SIGN_OF_LIFE_SECONDS
            if is_due:
                self._signed_at = time.monotonic()
            if drafts or is_due:
                alive = set(self._drafts) if is_due else set()
                for key in await run_in_thread(_write, drafts, alive, pool="checkpoints"):
                    if lost := self._lost.get(key):
                        logger.warning("Run %s is stopped: it is not this process's any more", key)
                        lost()


def _take(key: str, draft: Draft) -> dict[str, Any] | None:
    try:
        return draft()
    except Exception:
        logger.exception("What run %s has reached can't be written down", key)
        return None


def _write(drafts: dict[str, dict[str, Any]], alive: set[str]) -> set[str]:
    """Write down drafts and signs of life; the runs that were taken up or deleted, because this process seemed dead."""
    ours = Run.objects.filter(process=process_name()).exclude(status=Run.Status.INTERRUPTED)
    # Not what has ended meanwhile.
    running = ours.filter(status=Run.Status.RUNNING)
    lost: set[str] = set()
    if running.filter(pk__in=alive).update(seen_at=Now()) < len(alive):
        lost = alive - {str(key) for key in ours.filter(pk__in=alive).values_list("pk", flat=True)}
    database = router.db_for_write(Run)
    with transaction.atomic(using=database):
        for key, columns in drafts.items():
            try:
                with transaction.atomic(using=database):
                    running.filter(pk=key).update(seen_at=Now(), **columns)
            except (DataError, IntegrityError):
                logger.exception("What run %s has reached can't be written down", key)
    return lost


checkpoints = Checkpoints()


def process_name() -> str:
    """Name this process: where process ids are its own, its id, and a word that tells it from an earlier one."""
    return f"{_place()}/{os.getpid()}/{WORD}"


@cache
def _place() -> str:
    """Where a process id means one process. A host's name says little: containers may share one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{os.stat('/proc/self/ns/pid').st_ino}"
    except OSError:
        return socket.gethostname()[:200]


def _with_freshness(running: QuerySet[Run]) -> QuerySet[Run]:
    # By the database's clock: the hosts' may differ.
    fresh = Q(seen_at__gt=Now() - timedelta(seconds=DEAD_SECONDS))
    return running.annotate(is_fresh=ExpressionWrapper(fresh, BooleanField()))


async def find_dead(keys: Collection[str]) -> dict[str, str]:
    """Which of these runs nobody works on, each with its status in the database; '' for one that has no row."""
    rows: list[Any] = await in_database(list, _with_freshness(Run.objects.filter(pk__in=keys)).defer("draft"))
    found = {str(run.pk): run for run in rows}
    dead = {}
    for key in keys:
        run = found.get(key)
        if run is None or not _is_on(run):
            dead[key] = run.status if run else ""
    return dead


async def sweep() -> None:
    """Take up what dead processes left, in all threads whose store needs no request to be opened."""
    store = store_class()
    if store.for_request.__func__ is not ThreadStore.for_request.__func__:  # type: ignore[attr-defined]
        return
    running = Run.objects.filter(status=Run.Status.RUNNING).exclude(process=process_name())
    rows: list[Any] = await in_database(list, _with_freshness(running).defer("draft"))
    for scope, thread_id in {(run.scope, run.thread_id) for run in rows if not _is_on(run)}:
        await recover(store(), scope, thread_id)


async def recover(store: ThreadStore, scope: str, thread_id: str) -> bool:
    """Take up what runs of dead processes left in a thread; whether a living one still works on it."""
    is_running = False
    running = Run.objects.filter(scope=scope, thread_id=thread_id, status=Run.Status.RUNNING)
    found: list[Any] = await in_database(list, _with_freshness(running))
    for run in found:
        if _is_on(run):
            is_running = True
            if conf.get().redis_url is None and run.process != process_name():
                _warn_of(run.process)
        else:
            await take_up(store, run)
    return is_running


@cache
def _warn_of(process: str) -> None:
    """Say once of another process what this one can't do."""
    logger.warning(
        "Runs of process %s can't be followed or stopped from this one. Set REDIS_URL, or serve with one process.",
        process,
    )


def _is_on(run: Any) -> bool:
    """Whether a process works on it, or a worker will go on with it."""
    if run.order and conf.get().run_executor == "dbos":
        return True
    return run.status == Run.Status.RUNNING and is_alive(run, run.is_fresh)


def is_alive(run: Run, is_fresh: bool) -> bool:
    """Whether the process works on it that says so, as far as can be seen from here."""
    if run.process == process_name():
        return str(run.pk) in checkpoints
    return is_fresh and not has_ended(run.process)


def has_ended(process: str) -> bool:
    """Whether a process is no more, by its name; one of another place can't be looked at."""
    place, _, pid = process.rpartition("/")[0].rpartition("/")
    return process != process_name() and place == _place() and _is_gone(int(pid))


def _is_gone(pid: int) -> bool:
    """Whether there is no such process here. One with our own id had it before us."""
    if pid == os.getpid():
        return True
    if os.name != "posix":
        return False  # Elsewhere the question would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


async def take_up(store: ThreadStore, run: Run) -> None:
    """End the run of a dead process: what it had reached goes into its thread."""
    conversation = await store.load(run.thread_id, limit=1, scope=run.scope)
    if conversation is None and run.draft:
        return  # In a session, which is another device's
    logger.warning("Run %s of thread %s was interrupted: its process has ended", run.pk, run.thread_id)
    # With another revision the thread already has what the run added, or went on without it.
    if run.draft and conversation is not None and conversation.revision == run.revision:
        conversation.messages.extend(codec.load_messages(run.draft))
        conversation.usage += codec.load(codec.USAGE, run.usage)
        with suppress(ConversationConflict):  # Somebody else takes it up
            await store.save(conversation, scope=run.scope)
    await in_database(_end_dead, run)


def _end_dead(run: Run) -> None:
    usage = codec.load(codec.USAGE, run.usage)
    spent = spent_by_model(usage, codec.load_messages(run.draft or []), run.model)
    ending = {"status": Run.Status.INTERRUPTED, "code": "interrupted", "draft": None, "order": None}
    with transaction.atomic(using=router.db_for_write(Run)):
        row = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
        if row.update(cost=usage.cost, spent=dump_spent(spent), **ending):
            add_spending(run.scope, run.owner_id, spent, load_spent(run.spent))
