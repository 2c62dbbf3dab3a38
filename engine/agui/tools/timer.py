"""From the start and the end of a tool call to its audit event."""

from collections.abc import Container, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from agui import clock, conf
from agui.tools.audit import AuditEvent, Outcome
from agui.tools.redaction import redact, redact_text
from agui.tools.secret_arguments import REDACTED, Path, hide, secret_paths

MAX_CAUSE_CHARS = 2000
# A tool raises the first two to tell the model something. pydantic-ai raises the others then.
SIGNALS = (ToolFailed, ModelRetry, ToolFailedError, ToolRetryError)


class ToolCallTimer:
    """Turns the start and the end of a run's tool calls into audit events."""

    def __init__(self, deps: Any, *, thread_id: str = "", run_id: str = "", via: str = "") -> None:
        """`deps` are the run's AgentDeps. The ids are used if `deps` has none."""
        self._via = via
        self._user_id = getattr(getattr(deps, "user", None), "pk", None)
        self._thread_id = str(getattr(deps, "thread_id", thread_id))
        self._run_id = str(getattr(deps, "run_id", run_id))
        self._scope = str(getattr(deps, "scope", ""))
        self._started: dict[str, tuple[ToolCallPart, datetime, float]] = {}
        self._approvals: dict[str, tuple[str, ToolCallPart | None]] = {}
        self._causes: dict[str, str] = {}
        self._schemas: dict[str, dict[str, Any]] = {}
        self._secrets: dict[str, list[Path]] = {}

    def add_schema(self, name: str, schema: dict[str, Any]) -> None:
        """Remember the schema of a tool's arguments: it says which of them are secret."""
        if self._schemas.get(name) is not schema:
            self._schemas[name] = schema
            self._secrets.pop(name, None)

    def secrets(self, tool_name: str) -> list[Path]:
        """Find the paths of a tool's secret arguments."""
        if tool_name not in self._secrets:
            self._secrets[tool_name] = secret_paths(self._schemas.get(tool_name, {}))
        return self._secrets[tool_name]

    def start(
        self, call: ToolCallPart, *, edited: dict[str, Any] | None = None, approved_by: str = ""
    ) -> None:
        """Start the clock of the model's call.

        `edited` are the arguments with which the user has replaced the model's.
        """
        proposed = None
        if edited is not None:
            proposed = call
            call = replace(call, args=edited)
        self._approvals[call.tool_call_id] = approved_by, proposed
        self._started[call.tool_call_id] = (call, clock.now(), clock.monotonic())

    def add_cause(self, call_id: str, error: BaseException) -> None:
        """Record why a call failed, if the exception has more to say than the model is told."""
        cause = cause_of(error)
        if cause:
            self._causes[call_id] = describe_cause(cause)

    def stop(self, result: ToolReturnPart) -> AuditEvent | None:
        """Describe the call that ended; None if its start is unknown."""
        call_id = result.tool_call_id
        if call_id not in self._started:
            return None
        if result.outcome == "success":
            return self._describe(call_id, "success", None, len(result.model_response_str()))
        if result.outcome == "denied":
            return self._describe(call_id, "denied", _error(result))
        # A call that the model has to correct did nothing: it failed, too.
        return self._describe(call_id, "failed", _error(result))

    def abandon(self, waiting: Container[str] = ()) -> list[AuditEvent]:
        """Describe the calls that a stopped run left behind, except those that are waiting."""
        events = []
        for call_id in list(self._started):
            if call_id not in waiting:
                error = "The run ended before the tool did."
                events.append(self._describe(call_id, "failed", error))
        return events

    def _describe(
        self, call_id: str, outcome: Outcome, error: str | None, size: int | None = None
    ) -> AuditEvent:
        call, started_at, began = self._started.pop(call_id)
        approved_by, proposed = self._approvals.pop(call_id)
        cause = self._causes.pop(call_id, None)
        if error is not None and cause is not None:
            paths = self.secrets(call.tool_name)
            # The text is cut afterwards, because half of a secret would not be recognized.
            error = redact_text(cause, call, conf.get().audit_redact, paths)[:MAX_CAUSE_CHARS]
        return AuditEvent(
            user_id=self._user_id,
            thread_id=self._thread_id,
            run_id=self._run_id,
            tool_call_id=call_id,
            tool_name=call.tool_name,
            arguments=self._redacted(call),
            started_at=started_at,
            duration_ms=round((clock.monotonic() - began) * 1000, 3),
            outcome=outcome,
            error=error,
            result_size=size,
            scope=self._scope,
            approved_by=approved_by,
            proposed=self._redacted(proposed) if proposed else None,
            via=self._via,
        )

    def _redacted(self, call: ToolCallPart) -> dict[str, Any]:
        hidden: dict[str, Any] = hide(_arguments(call), self.secrets(call.tool_name))
        return redact(hidden, conf.get().audit_redact)


def _arguments(call: ToolCallPart) -> dict[str, Any]:
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        # Any part of broken JSON may be secret.
        return {"invalid": REDACTED}


def _error(result: ToolReturnPart) -> str:
    """Repeat what the model was told, without the values of wrong arguments."""
    if isinstance(result.content, list):
        return _details(result.content)
    return result.model_response_str(wrap_if_error=False)


def _details(errors: Iterable[Any]) -> str:
    details = []
    for error in errors:
        location = ".".join(map(str, error["loc"]))
        details.append(f"{location}: {error['msg']}")
    return "; ".join(details)


def cause_of(error: BaseException) -> BaseException | None:
    """Find the exception behind a failure; None if a tool only told the model something."""
    # pydantic-ai raises its own signal from the tool's signal, and that from the cause.
    cause: BaseException | None = error
    while isinstance(cause, SIGNALS):
        cause = cause.__cause__
    return cause


def describe_cause(cause: BaseException) -> str:
    """Name the exception's class and message, without the values that pydantic quotes."""
    if isinstance(cause, ValidationError):
        errors = cause.errors(include_url=False, include_input=False, include_context=False)
        words = _details(errors)
    else:
        words = str(cause)
    return f"{type(cause).__name__}: {words[: 50 * MAX_CAUSE_CHARS]}".removesuffix(": ")
