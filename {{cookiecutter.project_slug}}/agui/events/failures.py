"""What is known of a run that failed: for its user, its developer and its operator.

Each has a code and the run's short id. The cause, in the words of the provider or of the exception,
is in the log and in the admin. A client reads it only with DEBUG, together with the setting to look
at.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from pydantic_ai.exceptions import (
    RunCancelled,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart

from agui.agents import llm
from agui.agents.keys import used_keys
from agui.errors import HINTS, RUN_ERRORS, RunFailed
from agui.log_fields import trace_metadata
from agui.models import Run

MAX_CAUSE_CHARS = 1000
MAX_FAILURES = 200
SHORT_ID = re.compile("[0-9a-f]{8}")

# What a provider says by its status.
STATUS_HINTS = {
    401: "The provider does not know the key: look at {key} in .env.",
    402: "The account at the provider has no credit left: look at its billing page.",
    403: "The key may not use this model: look at {key} and AGENT_MODEL in .env.",
    404: "The provider does not know the model: look at AGENT_MODEL in .env.",
    429: "The provider's rate limit or quota is reached: look at the limits and the billing page of its account.",
}


def short_id(key: str) -> str:
    """The beginning of a run's id: enough to find it in the admin and the log, and short enough to read out."""
    return key[:8]


def runs_by_short_id(text: str) -> list[UUID]:
    """Find the runs whose id begins with these eight characters."""
    short = text.strip().lower()
    if not SHORT_ID.fullmatch(short):
        return []
    found = Run.objects.filter(pk__range=(UUID(short + "0" * 24), UUID(short + "f" * 24)))
    return list(found.values_list("pk", flat=True)[:MAX_FAILURES])


def error_code(error: BaseException, messages: Iterable[ModelMessage] = ()) -> str:
    """Name an exception by a stable code; `messages` are those of the run so far."""
    if isinstance(error, RunFailed):
        return error.code
    if isinstance(error, RunTimedOut):
        return "timeout"
    if isinstance(error, UserError) and "name conflicts with existing tool" in str(error):
        return "tool_name_conflict"  # With a toolset that only the run could open
    if isinstance(error, UsageLimitExceeded):
        return "usage_limit"
    if isinstance(error, UnexpectedModelBehavior) and is_empty(messages):
        return "empty_answer"
    return (isinstance(error, Exception) and llm.error_code(error)) or "internal_error"


def is_empty(messages: Iterable[ModelMessage]) -> bool:
    """Whether the model's last answer has neither words nor tool calls."""
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    if not answers:
        return False
    parts = answers[-1].parts
    return not any(
        isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content)
        for part in parts
    )


def cause_of(error: BaseException) -> str:
    """Say in one line what went wrong, in the provider's or the exception's words; '' if the code says it all."""
    if isinstance(error, RunFailed | RunCancelled):
        return ""
    words = [f"{type(error).__name__}: {error}"]
    if error.__cause__ is not None and str(error.__cause__) not in words[0]:
        words.append(f"({type(error.__cause__).__name__}: {error.__cause__})")
    if isinstance(error, BaseExceptionGroup):  # A chain of models has one failure for each
        words += [f"({cause_of(part)})" for part in error.exceptions]
    return " ".join(" ".join(words).split())[:MAX_CAUSE_CHARS]


def hint_of(code: str, error: BaseException | None = None) -> str:
    """Say which setting a developer should look at."""
    status = getattr(error, "status_code", None)
    if status in STATUS_HINTS and code in ("model_refused", "model_unavailable"):
        return STATUS_HINTS[status].format(key=" or ".join(used_keys()) or "the provider's key")
    return HINTS.get(code, "")


def describe(
    code: str,
    key: str = "",
    *,
    cause: str = "",
    hint: str = "",
    details: Mapping[str, Any] | None = None,
) -> dict[str, Any] | None:
    """What RUN_ERROR's metadata tells beside the code: the run's short id, details, and with DEBUG the cause."""
    told: dict[str, Any] = {**(trace_metadata() or {}), **(details or {})}
    if key:
        told["runId"] = short_id(key)
    if settings.DEBUG and (hint := hint or hint_of(code)):
        # Only a provider's words: an exception of our own code may quote a secret, and is in the
        # log.
        is_told = cause and code != "internal_error"
        told["debug"] = {"cause": cause, "hint": hint} if is_told else {"hint": hint}
    return told or None


def read_failures(thread_id: str, scope: str) -> dict[str, dict[str, Any]]:
    """The failures of a thread's turns, by the id of the message that had no answer or half of one."""
    runs = Run.objects.filter(scope=scope, thread_id=thread_id).exclude(prompt_id="")
    failed = runs.exclude(code="").order_by("-started_at")[:MAX_FAILURES]
    prompts = set(failed.values_list("prompt_id", flat=True))
    if not prompts:
        return {}
    found: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    # The last run of each message counts: what was tried again with success is no failure.
    columns = (
        runs.filter(prompt_id__in=prompts)
        .order_by("-started_at")
        .values("id", "prompt_id", "code", "cause")
    )
    for row in columns[: 5 * MAX_FAILURES]:
        if row["prompt_id"] not in seen and row["code"] in RUN_ERRORS:
            metadata = describe(row["code"], str(row["id"]), cause=row["cause"]) or {}
            told: dict[str, Any] = {
                name: metadata[name] for name in ("runId", "debug") if name in metadata
            }
            found[row["prompt_id"]] = {
                "code": row["code"],
                "message": RUN_ERRORS[row["code"]],
                **told,
            }
        seen.add(row["prompt_id"])
    return found
