"""Begin the next run with the messages that wait, once a run has ended well."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.contrib.auth import get_user_model
from pydantic_ai.messages import ModelMessage

from agui import conf
from agui.actor import Actor
from agui.blocking.executor import in_database, release_connections, run_in_thread
from agui.contrib.queue import events, rows
from agui.contrib.queue.conf import QueueSettings
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.queue.rows import Queue, active_run, last_run
from agui.contrib.queue.steering import messages_of
from agui.errors import Conflict, HttpError, RunFailed
from agui.events.frames import to_data
from agui.log_fields import run_fields
from agui.models import Run
from agui.protocol.inbound import instructing
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs import start
from agui.runs.live import live
from agui.runs.record import ActiveRun
from agui.runs.shutdown import shutdown
from agui.stores.base import store_class
from agui.stores.tree import prompt_id

logger = logging.getLogger("agui.queue")

# How often to look again, if runs of others come between.
TRIES = 5

_tasks: set[asyncio.Task[None]] = set()


@dataclass(frozen=True)
class Sending:
    """The messages with which a run begins."""

    key: str
    rows: Sequence[QueuedMessage]

    def has(self, message: ModelMessage) -> bool:
        message_id = prompt_id(message)
        return any(row.message_id == message_id for row in self.rows)


sending: ContextVar[Sending | None] = ContextVar("agui_queue_sending", default=None)
"""The messages with which this task's run begins."""

Start = Callable[[RunLog, RunAgentInput], None]


@dataclass(frozen=True)
class NextRun:
    """What a run is made of, beside its messages."""

    queue: Queue
    template: RunAgentInput
    """The tools and the context of the client."""
    start: Start

    async def add(
        self, actor: Actor, message: Any, mode: str, expected_run: str | None = None
    ) -> tuple[QueuedMessage, HttpError | RunFailed | None]:
        """Add a message, and bring it to a run. Returns its row, and why no run may begin, if so.

        Raises the errors of rows.add.
        """
        limit = conf.part(QueueSettings).max_messages
        row: QueuedMessage = await in_database(
            rows.add, self.queue, actor, message, mode, limit, expected_run
        )
        if row.state == QueuedMessage.State.WAITING:
            event = await in_database(_queued, self.queue, row)
            try:
                await self.wake(event)
            except (HttpError, RunFailed) as error:
                self.queue.hold()
                return row, error
        return row, None

    async def wake(self, data: bytes = b"") -> None:
        """Bring new messages to the active run, or begin one if the last one has ended well.

        `data` is the JSON of the event that tells its readers. Raises HttpError and RunFailed if a
        run may not begin.
        """
        for _ in range(TRIES):
            if await self._wake(data):
                return
        self.queue.hold()

    async def _wake(self, data: bytes) -> bool:
        """Try it once. Returns False if another run has come between."""
        queue = self.queue
        if await live.logs.tell(queue.scope, queue.thread_id, data):
            log = await live.logs.find(queue.scope, queue.thread_id)
            # A run that waits for a worker has its row, and may begin much later.
            if await in_database(active_run, queue):
                return True
            if log is not None and not await _has_begun(log):
                return False
            # Another process may not have heard of it before the end of its run.
            if not live.logs.is_shared or await in_database(active_run, queue):
                return True
        if await in_database(has_ended_well, queue):
            try:
                await self.begin()
            except Conflict:
                return False
        else:
            queue.hold()
        return True

    async def begin(self) -> None:
        """Begin a run, however the last one has ended. Raises HttpError and RunFailed."""
        log = await self._begin()
        if log is not None:
            await log.started()

    async def _begin(self) -> RunLog | None:
        """Take the thread for a run with all messages that wait; None if there are none."""
        waiting: list[QueuedMessage] = await in_database(self.queue.load)
        if not waiting:
            return None
        queued = await run_in_thread(messages_of, waiting, pool="reading")
        changes = {
            "messages": [*instructing(self.template.messages), *queued],
            "run_id": str(uuid4()),
            "resume": None,
        }
        run_input = self.template.model_copy(update=changes)
        versions = repr([(row.pk, row.changes) for row in waiting])
        fingerprint = hashlib.sha256(versions.encode()).hexdigest()
        log, is_new = await live.logs.reserve(self.queue.scope, self.queue.thread_id, fingerprint)
        if is_new:
            token = sending.set(Sending(log.key, waiting))
            try:
                self.start(log, run_input)
            finally:
                sending.reset(token)
        return log


def _queued(queue: Queue, row: QueuedMessage) -> bytes:
    return to_data(events.queued(row, queue.index(row) or 0))


async def _has_begun(log: RunLog) -> bool:
    """Wait for the beginning of another request's run. Returns False if it was refused."""
    try:
        await log.started()
    except (HttpError, RunFailed):
        return False
    return True


def has_ended_well(queue: Queue) -> bool:
    last = last_run(queue)
    return last is None or last["status"] == Run.Status.FINISHED


def go_on(run: ActiveRun) -> bool:
    """Begin the next run in the background, if messages wait after a good end.

    Returns False after another end.
    """
    if run.status != Run.Status.FINISHED or shutdown.has_begun:
        return False
    work = _go_on(run)
    task = asyncio.get_running_loop().create_task(work, context=start.detached_context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return True


async def _go_on(run: ActiveRun) -> None:
    queue = Queue(run.log.scope, run.log.thread_id)
    try:
        user = await _find_user(run.setup.deps.user)
        if user is None:
            queue.hold()
            return
        actor = Actor(user, queue.scope)
        store = store_class()().for_scope(queue.scope)

        def begin(log: RunLog, run_input: RunAgentInput) -> None:
            with run_fields(log, user):
                start.start(log, run.endpoint, actor, run_input, store, run.path)

        template = run.run_input.model_copy(update={"state": None})
        await NextRun(queue, template, begin).wake()
    except (HttpError, RunFailed) as error:
        queue.hold()
        logger.warning("Messages of thread %s wait: no run may begin: %s", queue.thread_id, error)
    except Exception:
        queue.hold()
        logger.exception("Messages of thread %s wait: no run could begin", queue.thread_id)
    finally:
        await release_connections()


async def _find_user(user: Any) -> Any:
    """Read the user again; None if they may not sign in any more."""
    if user.pk is None:
        return user
    users = get_user_model()._default_manager.filter(pk=user.pk)
    found = await in_database(users.first)
    return found if found is not None and found.is_active else None


async def stop_all() -> None:
    """Begin no more runs."""
    for task in _tasks:
        task.cancel()
    await asyncio.gather(*_tasks, return_exceptions=True)
