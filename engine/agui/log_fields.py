"""Add the run to each line of the log that belongs to one, in every module."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

FIELDS = ("run_id", "thread_id", "user_id", "trace_id")
# The line at the end of a run has these, too.
END_FIELDS = (
    "agent",
    "model",
    "outcome",
    "code",
    "duration_ms",
    "input_tokens",
    "output_tokens",
    "cost",
)

_fields: ContextVar[Mapping[str, str]] = ContextVar("agui_log_fields")


class RunFields(logging.Filter):
    """Adds the ids of the active run to each record, as attributes. It drops no record.

    `run_id` is the key that the admin and error messages show, not the client's id. Put the filter
    on a handler, where it sees the records of all loggers, in the run's task and in its threads.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in current().items():
            record.__dict__.setdefault(name, value)
        return True


def current() -> Mapping[str, str]:
    """Return the known FIELDS of the active run; nothing outside of a run."""
    return _fields.get({})


@contextmanager
def log_fields(**fields: str) -> Iterator[None]:
    """Add fields to each record that is logged meanwhile. Empty ones are left out."""
    merged = dict(current())
    for name, value in fields.items():
        if value:
            merged[name] = value
    token = _fields.set(merged)
    try:
        yield
    finally:
        _fields.reset(token)


def run_fields(log: Any, user: Any) -> AbstractContextManager[None]:
    """Add the ids of a run, its thread and its user to each record that is logged meanwhile."""
    user_id = "" if user.pk is None else str(user.pk)
    return log_fields(run_id=log.key, thread_id=log.thread_id, user_id=user_id)


def trace_metadata() -> dict[str, str] | None:
    """Return the id of the active trace for an error, so that a user can quote it."""
    trace_id = current().get("trace_id")
    return {"traceId": trace_id} if trace_id else None
