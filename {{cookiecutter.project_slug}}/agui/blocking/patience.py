"""A run waits for a database that is away: what it has reached is kept, and it goes on when the database is back.

A request does not wait. Its client is told to come again.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from django.db import InterfaceError, OperationalError

from agui import conf

logger = logging.getLogger("agui.runs")

R = TypeVar("R")

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 1.0
# PostgreSQL: no connection, too many of them, the server ends or begins; and what it rolled back
# for another's sake.
AWAY_STATES = ("08", "53300", "57P", "40")


@dataclass
class Patience:
    """How long a run has waited by now."""

    away_since: float | None = None


patience: ContextVar[Patience | None] = ContextVar("agui_patience", default=None)
"""That of the run that this task works for."""


async def wait_for_database(ask: Callable[[], Awaitable[R]]) -> R:
    """Ask the database; in a run, again while it is away, for AGUI["DATABASE_WAIT_SECONDS"] at
    most.

    An answer may be lost after the database has done what it was asked: `ask` has to bear that it
    is done again.
    """
    waiting, pause = patience.get(), FIRST_PAUSE_SECONDS
    while True:
        try:
            answer = await ask()
        except (OperationalError, InterfaceError) as error:
            if waiting is None or not is_away(error):
                raise
            now = time.monotonic()
            if waiting.away_since is None:
                waiting.away_since = now
                logger.warning(
                    "The database is away: a run waits for it (%s)",
                    str(error).strip().partition("\n")[0],
                )
            if now + pause - waiting.away_since > conf.get().database_wait_seconds:
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
    """Whether it was the database that failed, and not what it was asked."""
    cause = error.__cause__
    if name := getattr(cause, "sqlite_errorname", None):
        return bool(name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")))
    state = getattr(cause, "sqlstate", None)
    return state is None or state.startswith(AWAY_STATES)
