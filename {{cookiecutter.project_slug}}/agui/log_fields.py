"""Which run a line of the log belongs to: ids that are known while a run is on, wherever the line comes from."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

FIELDS = ("run_id", "thread_id", "user_id", "trace_id")
# What the line at the end of a run has besides.
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
    """Gives each record that is logged while a run is on the ids of it, as attributes, and drops
    none.

    `run_id` is the run's own, which the admin and error messages have. It belongs on a handler:
    then it sees what any logger says, in the run's task and on the threads of its tools.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        for name, value in current().items():
            record.__dict__.setdefault(name, value)
        return True


def current() -> Mapping[str, str]:
    """What is known of the run that is on: some of FIELDS, nothing outside of a run."""
    return _fields.get({})


@contextmanager
def log_fields(**fields: str) -> Iterator[None]:
    """Put these on each record that is logged meanwhile."""
    before = _fields.set({**current(), **{name: value for name, value in fields.items() if value}})
    try:
        yield
    finally:
        _fields.reset(before)


def run_fields(log: Any, user: Any) -> AbstractContextManager[None]:
    """Put the ids of a run, by its log, and of its user on each record that is logged meanwhile."""
    user_id = "" if user.pk is None else str(user.pk)
    return log_fields(run_id=log.key, thread_id=log.thread_id, user_id=user_id)


def trace_metadata() -> dict[str, str] | None:
    """Return what an error tells of the trace that it is in, for somebody to quote."""
    trace_id = current().get("trace_id")
    return {"traceId": trace_id} if trace_id else None
