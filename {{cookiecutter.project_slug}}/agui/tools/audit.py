"""The audit trail: who called which tool, with what, and how it ended."""

import asyncio
import inspect
import json
import logging
from dataclasses import asdict, dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from agui import conf
from agui.blocking.executor import run_in_thread
from agui.blocking.patience import is_waiting, wait_for_database
from agui.models import AuditRecord

Outcome = Literal["success", "failed", "denied"]

# A sink that hangs must not keep a run from ending.
RECORD_SECONDS = 10

recording: set[asyncio.Task[None]] = set()
"""What is being recorded, also for runs that no longer wait for it."""


@dataclass(frozen=True)
class AuditEvent:
    """One tool call, from its start to its end."""

    user_id: Any
    thread_id: str
    """Unique for its owner."""
    run_id: str
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    """As the tool got them, with secrets already redacted."""
    started_at: datetime
    duration_ms: float
    outcome: Outcome
    error: str | None = None
    """Why it was no success: the exception with its message, secrets redacted, or else what the model was told."""
    result_size: int | None = None
    """Characters of the result as the model reads it, if the call was a success."""
    scope: str = field(default="", repr=False)
    """The owner as one string, as in `Thread`. A visitor's is the key of a session: keep it out of logs."""
    approved_by: str = ""
    """Who approved the call, if it had to wait for that."""
    proposed: dict[str, Any] | None = None
    """The arguments as the model gave them, redacted, if who approved it has changed them."""

    @property
    def success(self) -> bool:
        return self.outcome == "success"

    @property
    def arguments_repr(self) -> str:
        """The arguments as one line of JSON."""
        return json.dumps(self.arguments, default=str, ensure_ascii=False)


@runtime_checkable
class AuditLogger(Protocol):
    """Where events go. `record` may block: it is called in a thread. What it raises is logged, never more."""

    def record(self, event: AuditEvent) -> None: ...


class NullAuditLogger:
    """Keeps nothing."""

    def record(self, event: AuditEvent) -> None:
        pass


class LoggingAuditLogger:
    """Writes one line of JSON an event to the logger `agui.audit`: a WARNING unless the call was a success."""

    def record(self, event: AuditEvent) -> None:
        level = logging.INFO if event.success else logging.WARNING
        told = asdict(event)
        del told["scope"]  # A session's key is as good as a password
        logging.getLogger("agui.audit").log(level, "%s", json.dumps(told, default=str))


class ModelAuditLogger:
    """Keeps events as AuditRecord rows, which the admin shows."""

    def record(self, event: AuditEvent) -> None:
        AuditRecord.objects.create(**_storable({**asdict(event), "error": event.error or ""}))


def _storable(value: Any) -> Any:
    """Replace the characters that PostgreSQL refuses, NUL and lone surrogates: a record is not to be lost over them."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode().replace("\x00", "\ufffd")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def resolve_audit_logger(own: AuditLogger | None = None) -> AuditLogger:
    """Find the logger of an agent: its own, else the one that AGUI["AUDIT_LOGGER"] names.

    Raises ImproperlyConfigured for what isn't one.
    """
    path = conf.get().audit_logger
    logger = import_string(path)() if own is None else own
    named = (
        f"AGUI['AUDIT_LOGGER'] = {path!r}" if own is None else f"AgentConfig(audit_logger={own!r})"
    )
    if isinstance(logger, type):
        raise ImproperlyConfigured(
            f"{named} is a class: give an instance of it, {logger.__name__}()."
        )
    if not isinstance(logger, AuditLogger) or inspect.iscoroutinefunction(logger.record):
        raise ImproperlyConfigured(
            f"{named} has no usable record(event): write it as a plain method, not "
            "as a coroutine. It is called in a thread and may block."
        )
    return logger


async def record_event(logger: AuditLogger, event: AuditEvent) -> None:
    """Record off the event loop.

    A run goes on when its audit trail can't be written; the log says so.

    A record that takes long is not waited for, and not given up either: neither when the run is
    stopped, nor when its time is over while the event loop is blocked or other records have all
    threads.
    """
    if isinstance(logger, NullAuditLogger):
        return
    task = asyncio.create_task(_record(logger, event))
    recording.add(task)
    task.add_done_callback(recording.discard)
    while not (await asyncio.wait([task], timeout=RECORD_SECONDS))[0]:
        if not is_waiting():
            logging.getLogger("agui.audit").warning(
                "The call %s of tool %r in run %s takes more than %s seconds to be recorded: the run goes on.",
                *(event.tool_call_id, event.tool_name, event.run_id, RECORD_SECONDS),
            )
            return


async def _record(logger: AuditLogger, event: AuditEvent) -> None:
    try:
        await wait_for_database(partial(run_in_thread, logger.record, event, pool="audit"))
    except (Exception, asyncio.CancelledError) as error:
        logging.getLogger("agui.audit").exception(
            "The call %s of tool %r in run %s was not recorded.",
            event.tool_call_id,
            event.tool_name,
            event.run_id,
        )
        if isinstance(error, asyncio.CancelledError):
            raise
