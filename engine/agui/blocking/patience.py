"""A run waits for a database that is away, and continues when the database is back.

A request does not wait: its client is asked to try again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from agui import clock, conf

logger = logging.getLogger("agui.runs")

R = TypeVar("R")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
# PostgreSQL's errors: no connection, too many connections, a server that starts or stops,
# and a transaction that was rolled back for the sake of another.
AWAY_STATES = ("08", "53300", "57P", "40")


@dataclass
class Patience:
    """Since when a run waits for its database; None while the database answers."""

    away_since: float | None = None


patience: ContextVar[Patience | None] = ContextVar("agui_patience", default=None)
"""The patience of the run that this task works for."""


async def wait_for_database(ask: Callable[[], Awaitable[R]]) -> R:
    """Ask the database. A run asks again while it is away, up to AGUI["DATABASE_WAIT_SECONDS"].

    The database may have done its work although its answer was lost, so `ask` must be repeatable.
    """
    waiting = patience.get()
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            answer = await ask()
        except (OperationalError, InterfaceError) as error:
            if waiting is None or not is_away(error):
                raise
            now = clock.monotonic()
            wait_seconds = conf.get().database_wait_seconds
            if waiting.away_since is None:
                waiting.away_since = now
                reason, _, _ = str(error).strip().partition("\n")
                logger.warning("Database unavailable: %s; retrying for %s s", reason, wait_seconds)
            if now + pause - waiting.away_since > wait_seconds:
                raise
        else:
            if waiting is not None:
                waiting.away_since = None
            return answer
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def is_waiting() -> bool:
    """Whether the run that this task works for waits for its database."""
    waiting = patience.get()
    return waiting is not None and waiting.away_since is not None


def is_away(error: BaseException) -> bool:
    """Whether the database failed, and not the query."""
    cause = error.__cause__
    sqlite_name: str = getattr(cause, "sqlite_errorname", "")
    if sqlite_name:
        return sqlite_name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED"))
    state = getattr(cause, "sqlstate", None)
    return state is None or state.startswith(AWAY_STATES)
