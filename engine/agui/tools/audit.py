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

from agui import conf, statements
from agui.blocking.executor import run_in_thread
from agui.blocking.patience import is_waiting, wait_for_database
from agui.models import AuditRecord

logger = logging.getLogger("agui.audit")

Outcome = Literal["success", "failed", "denied"]

# A logger that hangs must not keep a run from ending.
RECORD_SECONDS = 10

recording: set[asyncio.Task[None]] = set()
"""The records that are being written, including those of runs that no longer wait for them."""


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
    """The arguments as the tool got them, with secrets redacted."""
    started_at: datetime
    """When the tool began; aware."""
    duration_ms: float
    """How long the tool took, in milliseconds, without the wait for an approval."""
    outcome: Outcome
    error: str | None = None
    """The reason why the call failed or was denied, with secrets redacted.

    This is the exception with its message, or otherwise what the model was told.
    """
    result_size: int | None = None
    """Characters of a successful result, as the model reads it."""
    scope: str = field(default="", repr=False)
    """The owner, as in `Thread`. A visitor's scope is a session's key: keep it out of logs."""
    approved_by: str = ""
    """The user who approved the call, if it needed an approval."""
    proposed: dict[str, Any] | None = None
    """The model's arguments, redacted, if the user changed them before approving the call."""
    via: str = ""
    """The part by which the call came, and the client's name for itself, if no run has made it."""

    @property
    def success(self) -> bool:
        return self.outcome == "success"

    @property
    def arguments_repr(self) -> str:
        """The arguments as one line of JSON."""
        return json.dumps(self.arguments, default=str, ensure_ascii=False)


@runtime_checkable
class AuditLogger(Protocol):
    """Records events. `record` may block: it runs in a thread. Its exceptions are only logged."""

    def record(self, event: AuditEvent) -> None: ...


class NullAuditLogger:
    """Records nothing."""

    def record(self, event: AuditEvent) -> None:
        pass


class LoggingAuditLogger:
    """Logs each event to `agui.audit` as a line of JSON: a WARNING if the call was no success."""

    def record(self, event: AuditEvent) -> None:
        level = logging.INFO if event.success else logging.WARNING
        fields = asdict(event)
        # A session's key is as good as a password.
        del fields["scope"]
        logger.log(level, "%s", json.dumps(fields, default=str))


class ModelAuditLogger:
    """Stores events as AuditRecord rows, which the admin shows."""

    def record(self, event: AuditEvent) -> None:
        statements.insert(AuditRecord(**storable({**asdict(event), "error": event.error or ""})))


def storable(value: Any) -> Any:
    """Replace the characters that PostgreSQL refuses: NUL and lone surrogates."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode().replace("\x00", "\ufffd")
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(storable, value))
    return value


def resolve_audit_logger(own: AuditLogger | None = None) -> AuditLogger:
    """Find the audit logger of an agent: its own, or the one that AGUI["AUDIT_LOGGER"] names.

    Raises ImproperlyConfigured if that is no audit logger.
    """
    if own is None:
        path = conf.get().audit_logger
        chosen = import_string(path)()
        setting = f"AGUI['AUDIT_LOGGER'] = {path!r}"
    else:
        chosen = own
        setting = f"AgentConfig(audit_logger={own!r})"
    if isinstance(chosen, type):
        raise ImproperlyConfigured(
            f"{setting} is a class: give an instance of it, {chosen.__name__}()."
        )
    # isinstance() with a protocol takes 20 times as long, and each run asks twice.
    record = getattr(chosen, "record", None)
    if not callable(record) or inspect.iscoroutinefunction(record):
        raise ImproperlyConfigured(
            f"{setting} has no usable record(event): write it as a plain method, not "
            "as a coroutine. It is called in a thread and may block."
        )
    return chosen


async def record_event(audit_logger: AuditLogger, event: AuditEvent) -> None:
    """Record an event off the event loop.

    If the record fails, the run goes on and the failure is logged. If it takes long, the run goes
    on, too. The record itself is never given up: not when the run is stopped, nor when the event
    loop is blocked, nor when other records have all threads.
    """
    if isinstance(audit_logger, NullAuditLogger):
        return
    task = asyncio.create_task(_record(audit_logger, event))
    recording.add(task)
    task.add_done_callback(recording.discard)
    while not task.done():
        await asyncio.wait([task], timeout=RECORD_SECONDS)
        if not task.done() and not is_waiting():
            logger.warning(
                "Recording call %s of tool %r in run %s takes more than %s s: the run goes on",
                event.tool_call_id,
                event.tool_name,
                event.run_id,
                RECORD_SECONDS,
            )
            return


async def _record(audit_logger: AuditLogger, event: AuditEvent) -> None:
    try:
        await wait_for_database(partial(run_in_thread, audit_logger.record, event, pool="audit"))
    except (Exception, asyncio.CancelledError) as error:
        logger.exception(
            "Recording call %s of tool %r in run %s failed",
            event.tool_call_id,
            event.tool_name,
            event.run_id,
        )
        if isinstance(error, asyncio.CancelledError):
            raise
