"""Let a run read the messages of its user that have come since it began."""

import logging
from collections.abc import Iterable
from functools import partial
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelResponse

from agui import parts
from agui.actor import Actor
from agui.agents.config import usage_limits
from agui.agents.model_failures import is_refusal
from agui.blocking.executor import in_database, run_in_thread
from agui.contrib.queue import events
from agui.contrib.queue.models import QueuedMessage
from agui.contrib.queue.rows import Changed, Queue, claim
from agui.errors import HttpError
from agui.events.frames import to_data
from agui.protocol.inbound import load
from agui.protocol.types import Message
from agui.runs.deliver import deliver
from agui.runs.drive import write
from agui.runs.record import ActiveRun
from agui.stores.annotations import annotate, annotation
from agui.stores.tree import prompt_id

logger = logging.getLogger("agui.queue")

MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)
# The key in the metadata of messages that did not begin a run.
READ_IN_RUN = "read_in_run"
# How often to read anew what its user edits at the same time.
TRIES = 3


async def read_waiting(run: ActiveRun, ctx: Any, request: Any) -> None:
    """Add the messages that wait to the next request of a run."""
    queue = Queue(run.log.scope, run.log.thread_id)
    for _ in range(TRIES):
        if not _may_go_on(run, ctx, request):
            return
        present: list[QueuedMessage] = await in_database(queue.load)
        rows = [row for row in present if _is_for(run, row)]
        if not rows:
            return
        try:
            await _read(run, ctx, request, rows)
            return
        except Changed:
            continue
        except HttpError as error:
            logger.warning("Messages for run %s can't be read: %s", run.log.key, error)
            return


def _is_for(run: ActiveRun, row: QueuedMessage) -> bool:
    """Return whether a message was sent into this run.

    A run that has not begun yet has no row, and the message no key of a run. A run that answers
    questions goes on with the one that has asked them.
    """
    if row.mode != QueuedMessage.Mode.STEER:
        return False
    return row.run is None or str(row.run) == run.log.key or run.turn.answers is not None


def _may_go_on(run: ActiveRun, ctx: Any, request: Any) -> bool:
    """Return whether the next request can be made, so that messages turn no end into a failure."""
    last = ctx.messages[-1] if ctx.messages else None
    if isinstance(last, ModelResponse) and (last.state == "suspended" or is_refusal(last)):
        return False
    if request is not None:
        return True
    try:
        usage_limits(run.endpoint.config).check_before_request(run.usage)
    except UsageLimitExceeded:
        return False
    return True


async def _read(run: ActiveRun, ctx: Any, request: Any, rows: list[QueuedMessage]) -> None:
    actor = Actor(run.setup.deps.user, run.log.scope)
    messages = await load(await run_in_thread(messages_of, rows, pool="reading"), run.run_input)
    for message in messages:
        _mark(message)
    writes: list[Any] = [partial(claim, rows, run.log.key, is_stored=False)]
    for part in parts.installed():
        writes.append(await part.messages_arrived(messages, run.log.thread_id, actor))

    def record() -> None:
        for write_row in writes:
            if write_row:
                write_row()

    await deliver(run, ctx, request, messages, record, _describe)


def messages_of(rows: Iterable[QueuedMessage]) -> list[Message]:
    return [MESSAGE.validate_json(row.data) for row in rows]


def _mark(message: ModelMessage) -> None:
    """Tell clients that a run has read a message which was on already."""
    message_id = prompt_id(message)
    extras = annotation(message, "extras") or {}
    extra = extras.get(message_id, {})
    metadata = {**extra.get("metadata", {}), READ_IN_RUN: True}
    annotate(message, extras={**extras, message_id: {**extra, "metadata": metadata}})


async def announce(run: ActiveRun, sent: Any) -> None:
    """Tell the readers of a run which messages it was begun with. A worker finds their rows."""
    if sent is not None and sent.key == run.log.key:
        rows = sent.rows
    elif run.journal is not None and not run.earlier:
        rows = await in_database(list, QueuedMessage.objects.filter(run=run.log.key))
    else:
        return
    modes = {row.message_id: row.mode for row in rows}
    for message in run.stored:
        mode = modes.get(prompt_id(message))
        if mode:
            # Only RUN_STARTED comes before the first request.
            write(run, to_data(events.delivered(message, "", mode=mode)))


def _describe(message: ModelMessage, after: str) -> Any:
    return events.delivered(message, after, mode=QueuedMessage.Mode.STEER)
