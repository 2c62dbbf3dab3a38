"""The workflow that executes a run, and the take-over of runs of dead workers."""

import asyncio
import logging
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from asgiref.sync import ThreadSensitiveContext
from dbos import DBOS, WorkflowStatus
from django.conf import settings
from django.db.models.functions import Now
from django.utils.translation import override

from agui import clock, conf, parts
from agui.blocking.executor import in_database, owner
from agui.blocking.patience import Patience, patience
from agui.contrib.durable.models import RunOrder, ToolOutcome
from agui.contrib.durable.ordered import Ordered
from agui.contrib.durable.orders import accept, activate
from agui.contrib.durable.queue import (
    NAME,
    QUEUE,
    VERSION,
    WORKFLOW,
    database_url,
    enqueue_again,
    forget_ended,
    states,
)
from agui.contrib.durable.splice import finish
from agui.models import Run
from agui.runs import drive as runs
from agui.runs.drafts import checkpoints
from agui.runs.life import life
from agui.runs.processes import process_exists, process_name
from agui.runs.recovery import is_alive, recover_run
from agui.runs.shutdown import end_parts

logger = logging.getLogger("agui.durable")

POLL_SECONDS = 0.1
"""The longest wait of a run in the queue while a worker is free."""
LOOK_SECONDS = 1.0
TIDY_SECONDS = 3600.0
# A run may kill each worker that executes it, so there is a limit.
MAX_ATTEMPTS = 5

executing: set[str] = set()


async def work() -> None:
    """Execute runs until SIGTERM or SIGINT. Runs that then take too long move to another worker."""
    leaving = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leaving.set)
    await life.begin()
    # Each worker has its own id, so that DBOS recovers no run itself: a host may have several
    # workers.
    DBOS(
        config={
            "name": NAME,
            "system_database_url": database_url(),
            "executor_id": process_name(),
            "application_version": VERSION,
            "log_level": "WARNING",
        }
    )
    DBOS.launch()
    await DBOS.register_queue_async(
        QUEUE, worker_concurrency=conf.get().max_concurrent_runs, polling_interval_sec=POLL_SECONDS
    )
    logger.warning("Worker %s started", process_name())
    tidied_at = -TIDY_SECONDS
    while not leaving.is_set():
        try:
            await in_database(requeue_lost_runs)
            if clock.monotonic() - tidied_at > TIDY_SECONDS:
                tidied_at = clock.monotonic()
                await in_database(forget_ended)
        except Exception:
            logger.exception(
                "Looking for runs of dead workers failed; retrying in %s s", LOOK_SECONDS
            )
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await leaving.wait()
    await _leave()


@DBOS.workflow(name=WORKFLOW)
async def execute(key: str) -> None:
    """Execute a run from its draft to its end."""
    if key in executing:
        return
    executing.add(key)
    try:
        async with ThreadSensitiveContext():
            await _execute(key)
    finally:
        executing.discard(key)


async def _execute(key: str) -> None:
    patience.set(Patience())
    run = await accept(key)
    if run is None:
        return
    owner.set(run.row.scope)
    with override(run.order.language or settings.LANGUAGE_CODE):
        await _finish_order(run)
    await in_database(_close, key)


async def _finish_order(run: Ordered) -> None:
    """Execute a run, or end it if nobody can."""
    active = None
    is_running = run.row.status == Run.Status.RUNNING
    if is_running and run.attempts <= MAX_ATTEMPTS:
        active = await activate(run)
    if active:
        headers = run.order.headers
        with parts.entered(part.request_context(headers) for part in parts.installed()):
            await runs.drive(active)
    else:
        if is_running:
            await recover_run(run.store, run.row)
            run.row.status = Run.Status.INTERRUPTED
        await finish(run)


def _close(key: str) -> None:
    if RunOrder.objects.filter(run__pk=key, run__process=process_name()).delete()[0]:
        ToolOutcome.objects.filter(run__pk=key).delete()


def requeue_lost_runs() -> None:
    """Put runs of dead workers into the queue again, and runs that never got there."""
    ordered = Run.objects.filter(pk__in=RunOrder.objects.values("pk")).defer("draft")
    waiting = states([str(run.pk) for run in ordered if not run.process])
    for run in ordered:
        key = str(run.pk)
        if key in executing:
            continue
        is_cared_for = is_alive(run) if run.process else _waits(run, waiting.get(key))
        if is_cared_for:
            continue
        # If several workers see this run, only one of them changes the row.
        unchanged = Run.objects.filter(pk=key, process=run.process, seen_at=run.seen_at)
        if unchanged.update(process="", seen_at=Now()):
            logger.warning("Requeueing run %s of thread %s: no worker has it", key, run.thread_id)
            enqueue_again(key)


def _waits(run: Run, state: WorkflowStatus | None) -> bool:
    """Return whether a worker will take a run, or has just taken it."""
    if state is None:
        return False
    if state.status == "PENDING" and process_exists(state.executor_id or "") is False:
        return False
    return state.status == "ENQUEUED" or not life.is_silent(run)


async def _leave() -> None:
    await asyncio.to_thread(
        DBOS.destroy, workflow_completion_timeout_sec=int(conf.get().shutdown_seconds)
    )
    if not executing:
        return
    try:
        await checkpoints.write()
        # This blocks the event loop on purpose, so that these runs do nothing more.
        ThreadPoolExecutor(1).submit(_give_back, list(executing)).result()
    except Exception:
        logger.exception(
            "Returning %s runs to the queue failed: other workers take them over once they notice "
            "that worker %s has ended",
            len(executing),
            process_name(),
        )
    finally:
        ThreadPoolExecutor(1).submit(asyncio.run, end_parts()).result()
        # An ordinary exit would record these runs as interrupted.
        os._exit(0)


def _give_back(keys: list[str]) -> None:
    for key in keys:
        if Run.objects.filter(pk=key, process=process_name()).update(process="", seen_at=Now()):
            enqueue_again(key)
