"""The workflow that executes a run, and how the runs of dead workers are taken over."""

import asyncio
import logging
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from asgiref.sync import ThreadSensitiveContext
from dbos import DBOS, WorkflowStatus
from django.db.models.functions import Now

from agui import conf, parts
from agui.blocking.executor import in_database, owner
from agui.blocking.patience import Patience, patience
from agui.contrib.durable.models import ToolOutcome
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
from agui.runs.processes import is_there, process_name
from agui.runs.recovery import is_alive, take_up
from agui.runs.shutdown import end_parts

logger = logging.getLogger("agui.durable")

# How long a run may wait in the queue although a worker is free.
POLL_SECONDS = 0.1
LOOK_SECONDS = 1.0
TIDY_SECONDS = 3600.0
# A run that ends every worker that executes it is given up.
MAX_ATTEMPTS = 5

executing: set[str] = set()


async def work() -> None:
    """Execute runs until SIGTERM or SIGINT; those that then take too long go on in another worker."""
    leaving = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leaving.set)
    await life.begin()
    # Under a name of its own, DBOS recovers nothing by itself: a host may have several workers.
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
    logger.warning("This worker executes runs: %s", process_name())
    tidied_at = -TIDY_SECONDS
    while not leaving.is_set():
        try:
            await in_database(take_over)
            if time.monotonic() - tidied_at > TIDY_SECONDS:
                tidied_at = time.monotonic()
                await in_database(forget_ended)
        except Exception:
            logger.exception("The runs of dead workers could not be looked for")
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await leaving.wait()
    await _leave()


@DBOS.workflow(name=WORKFLOW)
async def execute(key: str) -> None:
    """Execute a run to its end, from where it is."""
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
    is_on = run.row.status == Run.Status.RUNNING
    if is_on and run.row.attempts <= MAX_ATTEMPTS and (active := await activate(run)):
        with parts.entered(part.request_context(run.order.headers) for part in parts.installed()):
            await runs.drive(active)
    else:
        if is_on:
            await take_up(run.store, run.row)
            run.row.status = Run.Status.INTERRUPTED
        await finish(run)
    await in_database(_close, key)


def _close(key: str) -> None:
    if Run.objects.filter(pk=key, process=process_name()).update(order=None):
        ToolOutcome.objects.filter(run__pk=key).delete()


def take_over() -> None:
    """Put the runs of dead workers into the queue again, and what was ordered without getting there."""
    ordered = Run.objects.filter(order__isnull=False).defer("order", "draft")
    waiting = states([str(run.pk) for run in ordered if not run.process])
    for run in ordered:
        key = str(run.pk)
        if key in executing or (is_alive(run) if run.process else _waits(run, waiting.get(key))):
            continue
        # Of several workers that look, one does it.
        if Run.objects.filter(pk=key, process=run.process, seen_at=run.seen_at).update(
            process="", seen_at=Now()
        ):
            logger.warning("Run %s of thread %s is put into the queue again", key, run.thread_id)
            enqueue_again(key)


def _waits(run: Run, state: WorkflowStatus | None) -> bool:
    """Whether a worker will take a run, or has taken it just now."""
    if state is None or (state.status == "PENDING" and is_there(state.executor_id or "") is False):
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
        # The event loop stands still meanwhile: nothing of these runs happens any more.
        ThreadPoolExecutor(1).submit(_give_back, list(executing)).result()
    except Exception:
        logger.exception(
            "The runs of this worker could not be given back: others will see that it is gone"
        )
    finally:
        ThreadPoolExecutor(1).submit(asyncio.run, end_parts()).result()
        os._exit(0)  # Else these runs would be ended as interrupted


def _give_back(keys: list[str]) -> None:
    for key in keys:
        if Run.objects.filter(pk=key, process=process_name()).update(process="", seen_at=Now()):
            enqueue_again(key)
