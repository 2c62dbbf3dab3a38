"""Recover the runs of dead processes: their drafts go into their threads."""

import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import cache

from django.db import router, transaction
from django.db.models import QuerySet
from pydantic_ai.conversation_store import ConversationConflict

from agui import parts
from agui.blocking.executor import in_database
from agui.events.frames import encode, run_error
from agui.models import Run
from agui.part_values import EndedRun
from agui.runs.life import life
from agui.runs.live import live
from agui.runs.processes import process_name
from agui.runs.usage import count_unpriced
from agui.stores import codec
from agui.stores.base import ThreadStore, store_class
from agui.tenants import working_for

logger = logging.getLogger("agui.runs")


async def find_dead(keys: Collection[str]) -> dict[str, str]:
    """Find the runs among these that nobody works on, with their status; '' if a run has no row."""
    life.start()
    rows, on = await in_database(_read, Run.objects.filter(pk__in=keys).defer("draft"))
    dead = dict.fromkeys(keys, "")
    for run in rows:
        if run in on:
            dead.pop(str(run.pk), None)
        else:
            dead[str(run.pk)] = run.status
    return dead


async def sweep() -> None:
    """Take up what dead processes left in all threads, if the store needs no request."""
    life.start()
    store = store_class()
    if store.needs_request:
        return
    for tenant in life.tenants():
        with working_for(tenant):
            await _sweep(store)


async def _sweep(store: type[ThreadStore]) -> None:
    running = Run.objects.filter(status=Run.Status.RUNNING).defer("draft")
    rows, on = await in_database(_read, running)
    threads = set()
    for run in rows:
        # A run of this process may have ended while the database was away. Then it is silent.
        is_own = run.process == process_name() and not life.is_silent(run)
        if not is_own and run not in on:
            threads.add((run.scope, run.thread_id))
    for scope, thread_id in threads:
        await recover(store(), scope, thread_id)


def last_frame(key: str, number: int, code: str) -> bytes:
    """Make the frame that ends the log of a run whose own process can't."""
    return encode(key, number, run_error(code, key))


async def recover(store: ThreadStore, scope: str, thread_id: str) -> bool:
    """Take up what runs of dead processes left in a thread.

    Returns whether a living process still works on the thread.
    """
    running = Run.objects.filter(scope=scope, thread_id=thread_id, status=Run.Status.RUNNING)
    rows, on = await in_database(_read, running)
    for run in rows:
        if run in on:
            life.start()
            if not live.logs.is_shared and run.process != process_name():
                _warn_of(run.process)
        else:
            await recover_run(store, run)
    return bool(on)


@cache
def _warn_of(process: str) -> None:
    """Warn once for each other process: readers here can't follow or stop its runs."""
    logger.warning(
        "Runs of process %s can't be followed or stopped from this one. "
        "Share runs between processes (agui/manual/operate.md), or serve with one process",
        process,
    )


def _read(runs: QuerySet[Run]) -> tuple[list[Run], set[Run]]:
    """Read runs, and those of them that are still on."""
    rows = list(runs)
    return rows, still_on(rows)


def still_on(runs: Iterable[Run]) -> set[Run]:
    """Select the runs on which a process works, or with which a worker will go on.

    This asks the database.
    """
    on = {run for run in runs if run.status == Run.Status.RUNNING and is_alive(run)}
    executor = parts.executor()
    if executor:
        rest = {run.pk: run for run in runs if run not in on}
        ordered = executor.ordered_runs().filter(pk__in=rest)
        on.update(rest[key] for key in ordered.values_list("pk", flat=True))
    return on


def is_alive(run: Run) -> bool:
    """Whether the process in a run's row works on it, as far as this process knows."""
    if run.process == process_name():
        return str(run.pk) in life
    return not life.is_dead(run)


async def recover_run(store: ThreadStore, run: Run) -> None:
    """End the run of a dead process, and put its draft into its thread."""
    conversation = await store.load(run.thread_id, limit=1, scope=run.scope)
    if conversation is None and run.draft:
        return  # The thread is in a session, and this request is from another device.
    logger.warning(
        "Ending run %s of thread %s: its process %s has ended", run.pk, run.thread_id, run.process
    )
    # If the revision has changed, the thread has what the run added, or went on without it.
    if run.draft and conversation is not None and conversation.revision == run.revision:
        conversation.messages.extend(codec.load_messages(run.draft))
        conversation.usage += codec.load(codec.USAGE, run.usage)
        # With a conflict, another process is taking up the same run.
        with suppress(ConversationConflict):
            await store.save(conversation, scope=run.scope)
    await in_database(_end_dead, run)


def _end_dead(run: Run) -> None:
    usage = codec.load(codec.USAGE, run.usage)
    messages = codec.load_messages(run.draft or [])
    with transaction.atomic(using=router.db_for_write(Run)):
        row = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
        has_ended = row.update(
            cost=usage.cost,
            unpriced=count_unpriced(usage, messages),
            status=Run.Status.INTERRUPTED,
            code="interrupted",
            draft=None,
        )
        if not has_ended:
            return
        ended = EndedRun(
            key=str(run.pk),
            scope=run.scope,
            owner_id=run.owner_id,
            thread_id=run.thread_id,
            model=run.model,
            status=Run.Status.INTERRUPTED,
            usage=usage,
            messages=messages,
        )
        for part in parts.installed():
            part.run_ended(ended)
