"""The audit trail: who called which tool, with what, and how it ended."""

import asyncio
import inspect
import json
import logging
import time
from collections.abc import Container, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.module_loading import import_string
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from agui import conf
from agui.executor import run_in_thread

if TYPE_CHECKING:
    from agui.agent import AgentDeps

Outcome = Literal["success", "failed", "denied"]

REDACTED = "[redacted]"
# A sink that hangs must not keep a run from ending.
RECORD_SECONDS = 10


@dataclass(frozen=True)
class AuditEvent:
    """One tool call, from its start to its end."""

    user_id: Any
    thread_id: str
    run_id: str
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]
    """As the model gave them, with secrets already redacted."""
    started_at: datetime
    duration_ms: float
    outcome: Outcome
    error: str | None = None
    """What the model was told, unless the call was a success."""
    result_size: int | None = None
    """Characters of the result as the model reads it, if the call was a success."""


@runtime_checkable
class AuditLogger(Protocol):
    """Where events go. `record` may block: it is called in a thread. What it raises is logged, never more."""

    def record(self, event: AuditEvent) -> None: ...


class NullAuditLogger:
    """Keeps nothing."""

    def record(self, event: AuditEvent) -> None:
        pass


class LoggingAuditLogger:
    """Writes one line of JSON an event to the logger `agui.audit`."""

    def record(self, event: AuditEvent) -> None:
        logging.getLogger("agui.audit").info("%s", json.dumps(asdict(event), default=str))


class ModelAuditLogger:
    """Keeps events as AuditRecord rows, which the admin shows."""

    def record(self, event: AuditEvent) -> None:
        from agui.models import AuditRecord  # Django's models are not there yet when settings name this class

        AuditRecord.objects.create(**_storable({**asdict(event), "error": event.error or ""}))


def _storable(value: Any) -> Any:
    """Replace the characters that PostgreSQL refuses, NUL and lone surrogates: a record is not to be lost over them."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode().replace("\x00", "\ufffd")
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, list | tuple) else value


def resolve_audit_logger() -> AuditLogger:
    """Make the logger that AGUI["AUDIT_LOGGER"] names.

    Raises ImproperlyConfigured for what isn't one.
    """
    path = conf.get().audit_logger
    logger = import_string(path)()
    if not isinstance(logger, AuditLogger) or inspect.iscoroutinefunction(logger.record):
        raise ImproperlyConfigured(
            f"AGUI['AUDIT_LOGGER'] = {path!r} has no usable record(event): write it as a plain method, not "
            "as a coroutine. It is called in a thread and may block."
        )
    return logger


async def record_event(logger: AuditLogger, event: AuditEvent) -> None:
    """Record off the event loop. A run goes on when its audit trail can't be written; the log says so."""
    if isinstance(logger, NullAuditLogger):
        return
    try:
        async with asyncio.timeout(RECORD_SECONDS):
            await run_in_thread(logger.record, event, pool="audit")
    except Exception:
        logging.getLogger("agui.audit").exception(
            "The call %s of tool %r in run %s was not recorded.", event.tool_call_id, event.tool_name, event.run_id
        )


class ToolCallTimer:
    """Turns the start and the end of a run's tool calls into audit events."""

    def __init__(self, deps: "AgentDeps") -> None:
        self._deps = deps
        self._started: dict[str, tuple[ToolCallPart, datetime, float]] = {}

    def start(self, call: ToolCallPart) -> None:
        self._started[call.tool_call_id] = (call, timezone.now(), time.perf_counter())

    def stop(self, result: ToolReturnPart) -> AuditEvent | None:
        """Describe the call that ended; None when it wasn't seen to start."""
        if result.tool_call_id not in self._started:
            return None
        if result.outcome == "success":
            return self._describe(result.tool_call_id, "success", None, len(result.model_response_str()))
        # A call that the model is asked to correct did nothing: it failed.
        return self._describe(result.tool_call_id, "denied" if result.outcome == "denied" else "failed", _error(result))

    def abandon(self, waiting: Container[str] = ()) -> list[AuditEvent]:
        """Describe the calls that the run left behind when it was stopped, but for those that wait for approval."""
        left = [call_id for call_id in self._started if call_id not in waiting]
        return [self._describe(call_id, "failed", "The run ended before the tool did.") for call_id in left]

    def _describe(self, call_id: str, outcome: Outcome, error: str | None, size: int | None = None) -> AuditEvent:
        call, started_at, clock = self._started.pop(call_id)
        return AuditEvent(
            user_id=getattr(self._deps.user, "pk", None),
            thread_id=self._deps.thread_id,
            run_id=self._deps.run_id,
            tool_call_id=call_id,
            tool_name=call.tool_name,
            arguments=redact(_arguments(call), conf.get().audit_redact),
            started_at=started_at,
            duration_ms=round((time.perf_counter() - clock) * 1000, 3),
            outcome=outcome,
            error=error,
            result_size=size,
        )


def _arguments(call: ToolCallPart) -> dict[str, Any]:
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {"invalid": REDACTED}  # Broken JSON: nobody knows which part of it is secret


def _error(result: ToolReturnPart) -> str:
    """What the model was told. The details of wrong arguments hold their values: those are left out."""
    if isinstance(result.content, list):
        return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in result.content)
    return result.model_response_str(wrap_if_error=False)


def redact(arguments: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Replace the values of these names, at any depth, whatever their case."""
    secret = {_normal(name) for name in names}

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: REDACTED if _normal(str(key)) in secret else clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    cleaned: dict[str, Any] = clean(arguments)
    return cleaned


def _normal(name: str) -> str:
    return name.casefold().replace("-", "_")
