"""The audit trail: who called which tool, with what, and how it ended."""

import asyncio
import inspect
import json
import logging
import re
import time
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone
from django.utils.module_loading import import_string
from pydantic import ValidationError
from pydantic_ai import ModelRetry
from pydantic_ai.exceptions import ToolFailed, ToolFailedError, ToolRetryError
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from agui import conf
from agui.blocking.executor import run_in_thread
from agui.blocking.patience import is_waiting, wait_for_database
from agui.models import AuditRecord
from agui.tools.secret_arguments import REDACTED, Path, hide, secret_paths

Outcome = Literal["success", "failed", "denied"]

# A name and what leads to its value, in an exception's words: `api_key=`, `"apiKey": "`, `Authorization: Bearer `.
NAMED = re.compile(r"""(?i)(?<![\w-])([\w-]++)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?""")
VALUE = re.compile(r"""[^\s"'&,;)\]}\[]+""")
# A sink that hangs must not keep a run from ending.
RECORD_SECONDS = 10
MAX_CAUSE_CHARS = 2000
# What a tool raises to tell the model something, and what pydantic-ai makes of it.
SIGNALS = (ToolFailed, ModelRetry, ToolFailedError, ToolRetryError)

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
    named = f"AGUI['AUDIT_LOGGER'] = {path!r}" if own is None else f"AgentConfig(audit_logger={own!r})"
    if isinstance(logger, type):
        raise ImproperlyConfigured(f"{named} is a class: give an instance of it, {logger.__name__}().")
    if not isinstance(logger, AuditLogger) or inspect.iscoroutinefunction(logger.record):
        raise ImproperlyConfigured(
            f"{named} has no usable record(event): write it as a plain method, not "
            "as a coroutine. It is called in a thread and may block."
        )
    return logger


async def record_event(logger: AuditLogger, event: AuditEvent) -> None:
    """Record off the event loop. A run goes on when its audit trail can't be written; the log says so.

    A record that takes long is not waited for, and not given up either: neither when the run is stopped, nor when its
    time is over while the event loop is blocked or other records have all threads.
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
            "The call %s of tool %r in run %s was not recorded.", event.tool_call_id, event.tool_name, event.run_id
        )
        if isinstance(error, asyncio.CancelledError):
            raise


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

    def start(self, call: ToolCallPart, *, edited: dict[str, Any] | None = None, approved_by: str = "") -> None:
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
            return self._describe(result.tool_call_id, "success", None, len(result.model_response_str()))
        # A call that the model is asked to correct did nothing: it failed.
        return self._describe(result.tool_call_id, "denied" if result.outcome == "denied" else "failed", _error(result))

    def abandon(self, waiting: Container[str] = ()) -> list[AuditEvent]:
        """Describe the calls that the run left behind when it was stopped, but for those that wait for approval."""
        left = [call_id for call_id in self._started if call_id not in waiting]
        return [self._describe(call_id, "failed", "The run ended before the tool did.") for call_id in left]

    def _describe(self, call_id: str, outcome: Outcome, error: str | None, size: int | None = None) -> AuditEvent:
        call, started_at, clock = self._started.pop(call_id)
        approved_by, proposed = self._approvals.pop(call_id)
        cause = self._causes.pop(call_id, None)
        if error is not None and cause is not None:
            # Cut afterwards: half of a secret would not be found.
            error = redact_text(cause, call, conf.get().audit_redact, self.secrets.get(call.tool_name, ()))[
                :MAX_CAUSE_CHARS
            ]
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
        words = _details(cause.errors(include_url=False, include_input=False, include_context=False))
    else:
        words = str(cause)
    return f"{type(cause).__name__}: {words[: 50 * MAX_CAUSE_CHARS]}".removesuffix(": ")


def redact_text(text: str, call: ToolCallPart, names: Iterable[str], paths: Iterable[Path] = ()) -> str:
    """Replace the values of secret arguments in an exception's words, and what is written there as `name=value`."""
    try:
        arguments = call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        arguments = {}
    for value in sorted(_secrets(arguments, redact(hide(arguments, paths), names)), key=len, reverse=True):
        text = text.replace(value, REDACTED)
    is_secret = secret_test(names)
    pieces, end = [], 0
    for named in NAMED.finditer(text):
        if named.start() < end or not is_secret(named[1]):
            continue
        if written := VALUE.match(text, named.end()):
            pieces += [text[end : named.end()], REDACTED]
            end = written.end()
    text = "".join([*pieces, text[end:]])
    return re.sub(r"(://[^\s/:@]*:)[^\s/@]+@", rf"\1{REDACTED}@", text)


def _secrets(value: Any, redacted: Any) -> Iterator[str]:
    """The texts and numbers that redaction has taken out of arguments."""
    if isinstance(value, dict) and isinstance(redacted, dict):
        for key, item in value.items():
            yield from _secrets(item, redacted[key])
    elif isinstance(value, list | tuple) and isinstance(redacted, list):
        for item, cleaned in zip(value, redacted, strict=True):
            yield from _secrets(item, cleaned)
    elif redacted == REDACTED:
        yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif value not in (None, True, False, ""):
        yield str(value)


def redact(arguments: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Replace the values of arguments with one of these in their names, at any depth and however they are written."""
    is_secret = secret_test(names)

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: REDACTED if is_secret(str(key)) else clean(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    cleaned: dict[str, Any] = clean(arguments)
    return cleaned


def secret_test(names: Iterable[str]) -> Callable[[str], bool]:
    """Make the test of whether one of these is a part of a name, however the two are written."""
    secrets = {_letters(name) for name in names} - {""}

    def is_secret(name: str) -> bool:
        letters = _letters(name)
        return any(secret in letters for secret in secrets)

    return is_secret


def _letters(name: str) -> str:
    """Strip a name to its letters and digits: "API-Key", "apiKey" and "api_key" are "apikey"."""
    return "".join(filter(str.isalnum, name.casefold()))
