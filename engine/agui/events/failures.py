"""Describe the failure of a run to its user, its developer and its operator.

All of them get a code and the run's short id. The cause, in the words of the provider or of the
exception, is in the log and in the admin. Clients get it only with DEBUG, together with a hint that
names a setting.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.conf import settings
from pydantic_ai.capabilities import HookTimeoutError
from pydantic_ai.exceptions import (
    ContentFilterError,
    RunCancelled,
    RunTimedOut,
    UnexpectedModelBehavior,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart

from agui.agents import llm
from agui.agents.keys import used_keys
from agui.agents.model_failures import UnreadableAnswer
from agui.errors import HINTS, RUN_ERRORS, WITHOUT_CAUSE, RunFailed, is_failure_of_others
from agui.log_fields import trace_metadata
from agui.models import Run

MAX_CAUSE_CHARS = 1000
MAX_FAILURES = 200
# pydantic-ai's words for a tool of the client and one of the server that have one name.
TOOL_OF_CLIENT = re.compile("AG-UI frontend tools.* conflicts with|conflicts with .*AG-UI frontend")
SHORT_ID = re.compile("[0-9a-f]{8}")

# What the status of a provider's answer means.
STATUS_HINTS = {
    401: "The provider does not know the key: look at {key} in .env.",
    402: "The account at the provider has no credit left: look at its billing page.",
    403: "The key may not use this model: look at {key} and AGENT_MODEL in .env.",
    404: "The provider does not know the model: look at AGENT_MODEL in .env.",
    429: (
        "The provider's rate limit or quota is reached: "
        "look at the limits and the billing page of its account."
    ),
}


def short_id(key: str) -> str:
    """Shorten a run's id, so that a user can read it out and find it in the admin and the log."""
    return key[:8]


def runs_by_short_id(text: str) -> list[UUID]:
    """Find the runs whose id begins with these eight characters."""
    short = text.strip().lower()
    if not SHORT_ID.fullmatch(short):
        return []
    runs = Run.objects.filter(pk__range=(UUID(short + "0" * 24), UUID(short + "f" * 24)))
    return list(runs.values_list("pk", flat=True)[:MAX_FAILURES])


def error_code(error: BaseException, messages: Iterable[ModelMessage] = ()) -> str:
    """Name an exception by a stable code; `messages` are those of the run so far."""
    if isinstance(error, RunFailed):
        return error.code
    if isinstance(error, RunTimedOut):
        return "timeout"
    if isinstance(error, UserError) and TOOL_OF_CLIENT.search(str(error)):
        # `check_tool_names` can't see the tools of a toolset that only a run opens.
        return "tool_name_conflict"
    if isinstance(error, UsageLimitExceeded):
        return "usage_limit"
    is_known = isinstance(error, ContentFilterError | UnreadableAnswer)
    if isinstance(error, UnexpectedModelBehavior) and not is_known and _is_empty(messages):
        return "empty_answer"
    code = None
    if isinstance(error, Exception):
        code = llm.error_code(error)
    if code:
        return code
    if isinstance(error, HookTimeoutError):
        return "hook_timeout"
    if is_failure_of_others(error):
        return "service_unavailable"
    return "internal_error"


def _is_empty(messages: Iterable[ModelMessage]) -> bool:
    """Whether the model's last answer has neither words nor tool calls."""
    answers = [message for message in messages if isinstance(message, ModelResponse)]
    if not answers:
        return False
    for part in answers[-1].parts:
        if isinstance(part, ToolCallPart) or (isinstance(part, TextPart) and part.content.strip()):
            return False
    return True


def cause_of(error: BaseException) -> str:
    """Say in one line what went wrong, in the provider's or the exception's words.

    Returns '' if the code says everything.
    """
    if isinstance(error, RunFailed | RunCancelled):
        return ""
    words = [f"{type(error).__name__}: {error}"]
    cause = error.__cause__
    if cause is not None and str(cause) not in words[0]:
        words.append(f"({type(cause).__name__}: {cause})")
    if isinstance(error, BaseExceptionGroup):
        # A chain of models raises a group, with the failure of each model.
        words += [f"({cause_of(part)})" for part in error.exceptions]
    return " ".join(" ".join(words).split())[:MAX_CAUSE_CHARS]


def hint_of(code: str, error: BaseException | None = None) -> str:
    """Name the setting that a developer should look at."""
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
    """Build RUN_ERROR's metadata; only with DEBUG it has a hint, and the cause if it is safe."""
    metadata: dict[str, Any] = {**(trace_metadata() or {}), **(details or {})}
    if key:
        metadata["runId"] = short_id(key)
    if settings.DEBUG:
        hint = hint or hint_of(code)
        # The words of our own exceptions stay in the log, because they may quote a secret.
        if hint and cause and code not in WITHOUT_CAUSE:
            metadata["debug"] = {"cause": cause, "hint": hint}
        elif hint:
            metadata["debug"] = {"hint": hint}
    return metadata or None


def read_failures(thread_id: str, scope: str) -> dict[str, dict[str, Any]]:
    """Read the failures of a thread's turns, by the client's id of the message they failed on."""
    runs = Run.objects.filter(scope=scope, thread_id=thread_id).exclude(prompt_id="")
    failed = runs.exclude(code="").order_by("-started_at")[:MAX_FAILURES]
    prompts = set(failed.values_list("prompt_id", flat=True))
    if not prompts:
        return {}
    failures: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    tries = runs.filter(prompt_id__in=prompts).order_by("-started_at")
    for row in tries.values("id", "prompt_id", "code", "cause")[: 5 * MAX_FAILURES]:
        # Only the last run of a message counts, because a second try may have succeeded.
        if row["prompt_id"] not in seen and row["code"] in RUN_ERRORS:
            failure = {"code": row["code"], "message": str(RUN_ERRORS[row["code"]])}
            metadata = describe(row["code"], str(row["id"]), cause=row["cause"]) or {}
            for name in ("runId", "debug"):
                if name in metadata:
                    failure[name] = metadata[name]
            failures[row["prompt_id"]] = failure
        seen.add(row["prompt_id"])
    return failures
