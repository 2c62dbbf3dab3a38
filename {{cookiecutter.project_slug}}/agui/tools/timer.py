"""From the start and the end of a tool call to its audit event."""

import time
from collections.abc import Container, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone
from pydantic import ValidationError
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from agui import conf
from agui.tools.audit import AuditEvent, Outcome
from agui.tools.redaction import redact, redact_text
from agui.tools.secret_arguments import REDACTED, Path, hide, secret_paths

MAX_CAUSE_CHARS = 2000
# What a tool raises to tell the model something, and what pydantic-ai makes of it.
SIGNALS = (ToolFailed, ModelRetry, ToolFailedError, ToolRetryError)


class ToolCallTimer:
    """Turns the start and the end of a run's tool calls into audit events."""

    def __init__(self, deps: Any, *, thread_id: str = "", run_id: str = "") -> None:
        """`deps` are the run's AgentDeps; the ids are for a run that has others."""
        self._user_id = getattr(getattr(deps, "user", None), "pk", None)
        self._thread_id = str(getattr(deps, "thread_id", thread_id))
        self._run_id = str(getattr(deps, "run_id", run_id))
        self._scope = str(getattr(deps, "scope", ""))
        self._started: dict[str, tuple[ToolCallPart, datetime, float]] = {}
        self._approvals: dict[str, tuple[str, ToolCallPart | None]] = {}
        self._causes: dict[str, str] = {}
        self._schemas: dict[str, dict[str, Any]] = {}
        self.secrets: dict[str, list[Path]] = {}
        """Where the secret arguments of each tool are."""

    def learn(self, name: str, schema: dict[str, Any]) -> None:
        """Note the schema of a tool's arguments, which says what of them is secret."""
        if self._schemas.get(name) != schema:
            self._schemas[name], self.secrets[name] = schema, secret_paths(schema)

    def start(
        self, call: ToolCallPart, *, edited: dict[str, Any] | None = None, approved_by: str = ""
    ) -> None:
        """Note the model's call, with what the user has put in the place of its arguments when they approved it."""
        self._approvals[call.tool_call_id] = approved_by, None if edited is None else call
        ran = call if edited is None else replace(call, args=edited)
        self._started[call.tool_call_id] = (ran, timezone.now(), time.perf_counter())

    def blame(self, call_id: str, error: BaseException) -> None:
        """Note why a call failed, if its exception tells more than the model is told."""
        if cause := cause_of(error):
            self._causes[call_id] = describe_cause(cause)

    def stop(self, result: ToolReturnPart) -> AuditEvent | None:
        """Describe the call that ended; None when it wasn't seen to start."""
        if result.tool_call_id not in self._started:
            return None
        if result.outcome == "success":
            return self._describe(
                result.tool_call_id, "success", None, len(result.model_response_str())
            )
        # A call that the model is asked to correct did nothing: it failed.
        return self._describe(
            result.tool_call_id,
            "denied" if result.outcome == "denied" else "failed",
            _error(result),
        )

    def abandon(self, waiting: Container[str] = ()) -> list[AuditEvent]:
        """Describe the calls that the run left behind when it was stopped, but for those that wait for approval."""
        left = [call_id for call_id in self._started if call_id not in waiting]
        return [
            self._describe(call_id, "failed", "The run ended before the tool did.")
            for call_id in left
        ]

    def _describe(
        self, call_id: str, outcome: Outcome, error: str | None, size: int | None = None
    ) -> AuditEvent:
        call, started_at, clock = self._started.pop(call_id)
        approved_by, proposed = self._approvals.pop(call_id)
        cause = self._causes.pop(call_id, None)
        if error is not None and cause is not None:
            # Cut afterwards: half of a secret would not be found.
            error = redact_text(
                cause, call, conf.get().audit_redact, self.secrets.get(call.tool_name, ())
            )[:MAX_CAUSE_CHARS]
        return AuditEvent(
            user_id=self._user_id,
            thread_id=self._thread_id,
            run_id=self._run_id,
            tool_call_id=call_id,
            tool_name=call.tool_name,
            arguments=self._redacted(call),
            started_at=started_at,
            duration_ms=round((time.perf_counter() - clock) * 1000, 3),
            outcome=outcome,
            error=error,
            result_size=size,
            scope=self._scope,
            approved_by=approved_by,
            proposed=None if proposed is None else self._redacted(proposed),
        )

    def _redacted(self, call: ToolCallPart) -> dict[str, Any]:
        hidden: dict[str, Any] = hide(_arguments(call), self.secrets.get(call.tool_name, ()))
        return redact(hidden, conf.get().audit_redact)


def _arguments(call: ToolCallPart) -> dict[str, Any]:
    try:
        return call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        return {"invalid": REDACTED}  # Broken JSON: nobody knows which part of it is secret


def _error(result: ToolReturnPart) -> str:
    """What the model was told. The details of wrong arguments hold their values: those are left out."""
    if isinstance(result.content, list):
        return _details(result.content)
    return result.model_response_str(wrap_if_error=False)


def _details(errors: Iterable[Any]) -> str:
    return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in errors)


def cause_of(error: BaseException) -> BaseException | None:
    """The exception behind a failure; None if a tool only said something to the model."""
    cause: BaseException | None = error
    while isinstance(cause, SIGNALS):
        cause = cause.__cause__
    return cause


def describe_cause(cause: BaseException) -> str:
    """Say the exception's class and words. The values that pydantic quotes are left out."""
    if isinstance(cause, ValidationError):
        words = _details(
            cause.errors(include_url=False, include_input=False, include_context=False)
        )
    else:
        words = str(cause)
    return f"{type(cause).__name__}: {words[: 50 * MAX_CAUSE_CHARS]}".removesuffix(": ")
