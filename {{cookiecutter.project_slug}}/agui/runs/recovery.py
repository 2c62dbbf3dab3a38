"""What dead processes left: which runs nobody works on, and how their drafts get into their threads."""

import logging
from collections.abc import Collection
from contextlib import suppress
from functools import cache

from django.db import router, transaction
from pydantic_ai.conversation_store import ConversationConflict

from agui import conf, parts
from agui.blocking.executor import in_database
from agui.events.frames import encode, run_error
from agui.models import Run
from agui.parts import EndedRun
from agui.runs.life import life
from agui.runs.processes import process_name
from agui.runs.usage import count_unpriced
from agui.stores import codec
from agui.stores.base import ThreadStore, store_class

logger = logging.getLogger("agui.runs")


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
    rows: list[Run] = await in_database(
        list, Run.objects.filter(status=Run.Status.RUNNING).defer("draft")
    )
    # This process may also have a silent run of its own that it could not end in the database.
    dead = [
        run
        for run in rows
        if not is_on(run) and (run.process != process_name() or life.is_silent(run))
    ]
    for scope, thread_id in {(run.scope, run.thread_id) for run in dead}:
        await recover(store(), scope, thread_id)


def last_frame(key: str, number: int, code: str) -> bytes:
    """Make the frame that ends the log of a run whose own process can't."""
    return encode(key, number, run_error(code, key))


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
    if run.order and parts.executor():
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
    logger.warning(
        "Run %s of thread %s was interrupted: its process has ended", run.pk, run.thread_id
    )
    # With another revision the thread already has what the run added, or went on without it.
    if run.draft and conversation is not None and conversation.revision == run.revision:
        conversation.messages.extend(codec.load_messages(run.draft))
        conversation.usage += codec.load(codec.USAGE, run.usage)
        with suppress(ConversationConflict):  # Somebody else takes it up
            await store.save(conversation, scope=run.scope)
    await in_database(_end_dead, run)


def _end_dead(run: Run) -> None:
    usage = codec.load(codec.USAGE, run.usage)
    messages = codec.load_messages(run.draft or [])
    cost = {"cost": usage.cost, "unpriced": count_unpriced(usage, messages)}
    ending = {"status": Run.Status.INTERRUPTED, "code": "interrupted", "draft": None, "order": None}
    with transaction.atomic(using=router.db_for_write(Run)):
        row = Run.objects.filter(pk=run.pk, status=Run.Status.RUNNING)
        if row.update(**cost, **ending):
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
