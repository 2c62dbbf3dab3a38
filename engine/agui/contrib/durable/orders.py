"""Order a run from the workers, and take it up where another worker left it."""

import asyncio
import logging
from contextlib import suppress
from functools import partial
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.db.models.functions import Now
from django.urls import resolve
from django.utils.translation import get_language
from pydantic_ai.messages import ModelMessage, ModelResponse

from agui import parts
from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.durable.journal import Journal
from agui.contrib.durable.models import RunOrder
from agui.contrib.durable.ordered import ORDER, Order, Ordered
from agui.contrib.durable.queue import enqueue
from agui.contrib.durable.splice import join_to_log
from agui.errors import Unavailable
from agui.models import Run
from agui.protocol.inbound import instructing
from agui.protocol.types import RunAgentInput
from agui.runlog.memory import RunLog
from agui.runs import start
from agui.runs.live import live
from agui.runs.processes import process_name
from agui.runs.record import ActiveRun
from agui.stores import codec
from agui.stores.base import store_class
from agui.stores.tree import prompt_id
from agui.turns.take import continue_turn
from agui.turns.turn import Turn

logger = logging.getLogger("agui.durable")

AWAY_SECONDS = 1
"""The pause before a worker tries Redis again."""


async def place_order(log: RunLog, run_input: RunAgentInput, turn: Turn, path: str) -> None:
    """Leave a run, whose turn is stored, to the workers."""
    headers: dict[str, str] = {}
    for part in parts.installed():
        headers.update(part.request_headers())
    changes = {"messages": instructing(run_input.messages), "resume": None}
    order = Order(
        path=path,
        fingerprint=log.fingerprint,
        run_input=run_input.model_copy(update=changes),
        answers=turn.answers,
        headers=headers,
        language=get_language() or "",
    )
    # Without Redis, the worker that takes the run waits for it.
    with suppress(Unavailable):
        await live.logs.hand_over(log)
    await in_database(_keep, log.key, codec.dump(ORDER, order))
    try:
        await enqueue(log.key)
    except Exception:
        logger.exception("Enqueueing run %s failed: a worker will find it in the database", log.key)


def _keep(key: str, content: Any) -> None:
    with transaction.atomic():
        # The database may have done this although its answer was lost.
        RunOrder.objects.update_or_create(run_id=key, defaults={"content": content})
        Run.objects.filter(pk=key).update(process="", seen_at=Now())


async def accept(key: str) -> Ordered | None:
    """Begin to execute a run; None if there is nothing left to do."""
    claimed: RunOrder | None = await in_database(_claim, key)
    if claimed is None:
        return None
    row = claimed.run
    order = codec.load(ORDER, claimed.content)
    view: Any = resolve(order.path).func
    store = store_class()().for_scope(row.scope)
    log = await _adopt(row, order.fingerprint)
    attempts = claimed.attempts + 1
    # A `save` would bring back an order that another worker has closed meanwhile.
    await in_database(lambda: RunOrder.objects.filter(run_id=key).update(attempts=attempts))
    return Ordered(row, order, attempts, view.endpoint, store, log)


def _claim(key: str) -> RunOrder | None:
    with transaction.atomic():
        # If this worker was slow, another one has the run by now.
        free = RunOrder.objects.filter(run_id=key, run__process="").select_related("run")
        order = free.select_for_update(of=("run",)).first()
        if order is not None:
            Run.objects.filter(pk=key).update(process=process_name(), seen_at=Now())
    return order


async def _adopt(row: Run, fingerprint: str) -> RunLog:
    while True:
        try:
            return await live.logs.adopt(str(row.pk), row.scope, row.thread_id, fingerprint)
        except Unavailable:
            await asyncio.sleep(AWAY_SECONDS)


async def activate(run: Ordered) -> ActiveRun | None:
    """Build the run from its last draft; None if its thread has gone on without it."""
    row, order, endpoint = run.row, run.order, run.endpoint
    run_input = order.run_input
    earlier = _reached(codec.load_messages(row.draft or []))
    turn = await continue_turn(
        run.store, row.scope, run_input, endpoint.config, order.answers, earlier
    )
    if turn is None or turn.conversation.revision != row.revision:
        return None
    usage = codec.load(codec.USAGE, row.usage)
    actor = Actor(await _user(row), row.scope)
    before = {"earlier": earlier, "usage": usage}
    active = start.activate(run.log, endpoint, actor, run_input, turn, path=order.path, **before)
    active.journal = Journal(active)
    active.join_to_log = partial(join_to_log, run=run, earlier=earlier)
    return active


def _reached(draft: list[ModelMessage]) -> list[ModelMessage]:
    """Cut a draft back to the last answer with tool calls: the journal has their outcomes.

    A message of the user that the run has read after it stays, so no other takes its place.

    The model is asked again for what came after it, since a new text can't continue half of an old
    one.
    """
    for index in reversed(range(len(draft))):
        message = draft[index]
        if prompt_id(message) or (isinstance(message, ModelResponse) and message.tool_calls):
            return draft[: index + 1]
    return []


async def _user(row: Run) -> Any:
    if row.owner_id is None:
        return AnonymousUser()
    try:
        return await get_user_model()._default_manager.aget(pk=row.owner_id)
    except get_user_model().DoesNotExist:
        return AnonymousUser()
