"""What a worker needs to know of a run, and how it takes the run up where another one left it."""

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
from pydantic_ai.messages import ModelMessage, ModelResponse

from agui import parts
from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.durable.journal import Journal
from agui.contrib.durable.ordered import ORDER, Order, Ordered
from agui.contrib.durable.queue import enqueue
from agui.contrib.durable.splice import go_on
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
from agui.turns.take import continue_turn
from agui.turns.turn import Turn

logger = logging.getLogger("agui.durable")


# How long it waits for Redis to come back.
AWAY_SECONDS = 1


async def place_order(log: RunLog, run_input: RunAgentInput, turn: Turn, path: str) -> None:
    """Leave a run, whose turn is stored, to the workers."""
    run_input = run_input.model_copy(
        update={"messages": instructing(run_input.messages), "resume": None}
    )
    headers = {
        name: value for part in parts.installed() for name, value in part.request_headers().items()
    }
    order = Order(
        path=path,
        fingerprint=log.fingerprint,
        run_input=run_input,
        answers=turn.answers,
        headers=headers,
    )
    columns = {"order": codec.dump(ORDER, order), "process": "", "seen_at": Now()}
    with suppress(Unavailable):  # The worker waits for Redis to come back
        await live.logs.hand_over(log)
    await in_database(lambda: Run.objects.filter(pk=log.key).update(**columns))
    try:
        await enqueue(log.key)
    except Exception:
        logger.exception(
            "Run %s could not be put into the queue: a worker will find it without", log.key
        )


async def accept(key: str) -> Ordered | None:
    """Begin to execute a run; None when there is nothing left to do."""
    row = await in_database(_claim, key)
    if row is None:
        return None
    order = codec.load(ORDER, row.order)
    view: Any = resolve(order.path).func
    run = Ordered(
        row,
        order,
        view.endpoint,
        store_class()().of(row.scope),
        await _adopt(row, order.fingerprint),
    )
    row.attempts += 1
    await in_database(lambda: Run.objects.filter(pk=key).update(attempts=row.attempts))
    return run


def _claim(key: str) -> Run | None:
    with transaction.atomic():
        # One that another worker has: this one was told to execute it long ago, and was too slow.
        row = (
            Run.objects.select_for_update().filter(pk=key, order__isnull=False, process="").first()
        )
        if row is not None:
            Run.objects.filter(pk=key).update(process=process_name(), seen_at=Now())
    return row


async def _adopt(row: Run, fingerprint: str) -> RunLog:
    while True:
        try:
            return await live.logs.adopt(str(row.pk), row.scope, row.thread_id, fingerprint)
        except Unavailable:
            await asyncio.sleep(AWAY_SECONDS)


async def activate(run: Ordered) -> ActiveRun | None:
    """Put the run together as it was when it was last written down; None if its thread has gone on without it."""
    row, order, log = run.row, run.order, run.log
    earlier = _reached(codec.load_messages(row.draft or []))
    config, run_input = run.endpoint.config, order.run_input
    turn = await continue_turn(run.store, row.scope, run_input, config, order.answers, earlier)
    if turn is None or turn.conversation.revision != row.revision:
        return None
    usage = codec.load(codec.USAGE, row.usage)
    actor = Actor(await _user(row), row.scope)
    active = start.activate(log, run.endpoint, actor, run_input, turn, earlier=earlier, usage=usage)
    active.journal = Journal(active)
    active.go_on = partial(go_on, run=run, earlier=earlier)
    return active


def _reached(draft: list[ModelMessage]) -> list[ModelMessage]:
    """Cut a draft back to the last answer that asked for tools: how those ended is in the journal.

    What comes after it is asked again, as one text may not be another's end.
    """
    asked = [
        i
        for i, message in enumerate(draft)
        if isinstance(message, ModelResponse) and message.tool_calls
    ]
    return draft[: asked[-1] + 1] if asked else []


async def _user(row: Run) -> Any:
    user = None
    if row.owner_id is not None:
        with suppress(get_user_model().DoesNotExist):
            user = await get_user_model()._default_manager.aget(pk=row.owner_id)
    return user or AnonymousUser()
