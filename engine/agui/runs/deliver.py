"""Let the model of a run read messages that the user has sent since the run began."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.db import router, transaction
from pydantic_ai import RunContext
from pydantic_ai.messages import ModelMessage, ModelRequest

from agui import parts, statements
from agui.blocking.executor import in_database
from agui.deps import AgentDeps
from agui.errors import RunFailed
from agui.models import Run
from agui.protocol.types import BaseEvent
from agui.runs.drafts import checkpoints
from agui.runs.record import ActiveRun
from agui.stores.tree import prompt_id
from agui.turns.take import for_the_model

Describe = Callable[[ModelMessage, str], BaseEvent]
"""Makes the event of a message, of the id of the message before it; '' if there is none."""


async def deliver(
    run: ActiveRun,
    ctx: RunContext[AgentDeps],
    request: ModelRequest | None,
    messages: Sequence[ModelMessage],
    record: Callable[[], None],
    describe: Describe,
) -> None:
    """Add messages to the next request of a run. `ctx` and `request` are those of before_request.

    `record` is called in the transaction that writes the messages to the run's draft. If it raises,
    the model reads none of them. Raises RunFailed if the run belongs to another process.
    """
    kept = [replace(message, run_id=ctx.run_id) for message in messages]
    read = [replace(message) for message in for_the_model(list(kept))]
    async with checkpoints.writing:
        for message, form in zip(kept, read, strict=True):
            run.delivered.add(message, form, partial(describe, message))
        columns = run.columns(request)
        # From now on the run answers the last of them: its failure is theirs.
        columns["prompt_id"] = prompt_id(kept[-1])
        writing = asyncio.create_task(in_database(_write, run, columns, record))
        try:
            await asyncio.shield(writing)
        finally:
            # If the run is being stopped, it keeps what the database has.
            await asyncio.wait([writing])
            if writing.exception() is not None:
                for message in kept:
                    run.delivered.remove(message)
    for part in parts.installed():
        part.fill_deps(run.setup.deps, [*run.turn.history, *run.delivered])
    ctx.enqueue(*read)


def _write(run: ActiveRun, columns: dict[str, Any], record: Callable[[], None]) -> None:
    with transaction.atomic(using=router.db_for_write(Run)):
        if not statements.update(Run, columns, **run.own_row()):
            raise RunFailed("conversation_changed")
        record()
