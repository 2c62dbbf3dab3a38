"""What a killed process must not take along: the answer so far, and the results of its tools.

Every run of this process is written down now and then, as a draft in its row. Should the process die,
whoever comes to the thread next finds a run that nobody works on, and puts its draft into the thread.
"""

import asyncio
import contextvars
import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.db import DataError, IntegrityError, router, transaction
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
from agui.blocking.executor import in_database, run_in_thread
from agui.contrib.dashboard.rollup import keep_up
from agui.contrib.spending.ledger import add_spending, dump_spent, load_spent
from agui.contrib.spending.usage import spent_by_model
from agui.models import Run
from agui.runs.processes import life, process_name
from agui.runs.trim import answered
from agui.stores import codec
from agui.stores.base import ThreadStore, store_class

logger = logging.getLogger("agui.runs")

# How much of an answer a killed process may take along.
DRAFT_SECONDS = 2


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
        self._task: asyncio.Task[None] | None = None
        self._due = asyncio.Event()
        self.writing = asyncio.Lock()
        """Held from taking down what a run has reached until it is written: what is older must not come later."""
        self._hurried: set[str] = set()
        self._unwritten: dict[str, dict[str, Any]] = {}
        self._hour = 0
        self._counting: asyncio.Task[None] | None = None

    def add(self, key: str, draft: Draft, lost: Callable[[], object]) -> None:
        """Write a run down from now on; `lost` is called should another process have taken it up."""
        self._drafts[key] = draft
        life.add(key, lost)
        if self._task is None:
            self._due, self.writing = asyncio.Event(), asyncio.Lock()
            self._task = asyncio.get_running_loop().create_task(self._write_on(), context=contextvars.Context())

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
            # While the database was away, what was taken down then was not written.
            drafts = {key: columns for key, columns in (self._unwritten | drafts).items() if key in self._drafts}
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


async def find_dead(keys: Collection[str]) -> dict[str, str]:
    """Which of these runs nobody works on, each with its status in the database; '' for one that has no row."""
    life.start()
    rows: list[Run] = await in_database(list, Run.objects.filter(pk__in=keys).defer("draft"))
    found = {str(run.pk): run for run in rows}
    dead = {}
    for key in keys:
        run = found.get(key)
        if run is None or not is_on(run):
            dead[key] = run.status if run else ""
    return dead


async def sweep() -> None:
    """Take up what dead processes left, in all threads whose store needs no request to be opened."""
    life.start()
    store = store_class()
    if store.needs_request:
        return
    rows: list[Run] = await in_database(list, Run.objects.filter(status=Run.Status.RUNNING).defer("draft"))
    # This process may also have a silent run of its own that it could not end in the database.
    dead = [run for run in rows if not is_on(run) and (run.process != process_name() or life.is_silent(run))]
    for scope, thread_id in {(run.scope, run.thread_id) for run in dead}:
        await recover(store(), scope, thread_id)


async def recover(store: ThreadStore, scope: str, thread_id: str) -> bool:
    """Take up what runs of dead processes left in a thread; whether a living one still works on it."""
    is_running = False
    running = Run.objects.filter(scope=scope, thread_id=thread_id, status=Run.Status.RUNNING)
    rows: list[Run] = await in_database(list, running)
    for run in rows:
        if is_on(run):
            is_running = True
            life.start()
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


def is_on(run: Run) -> bool:
    """Whether a process works on it, or a worker will go on with it."""
    if run.order and conf.get().run_executor == "dbos":
        return True
    return run.status == Run.Status.RUNNING and is_alive(run)


def is_alive(run: Run) -> bool:
    """Whether the process works on it that says so, for all that is known."""
    if run.process == process_name():
        return str(run.pk) in life
    return not life.is_dead(run)


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
