"""Errors, and what a client learns about them.

    HttpError              before the first byte: a status with a JSON body
    ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405
    ├── Conflict 409, TooLarge 413, UnsupportedMediaType 415, Unprocessable 422
    └── TooManyRequests 429, AtCapacity and Unavailable 503, StorageFull 507, NeedsAsgi 500
    RunFailed              after it: one RUN_ERROR event with a stable code

Any other exception is a bug, or a failure of another system: the client gets a code and an id to
quote, and the log has the rest.
"""

import errno
import logging
import socket
import sys
from http import HTTPStatus
from math import ceil
from typing import Any, ClassVar

from django.core.exceptions import BadRequest as MalformedRequest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError
from django.http import Http404, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agui.sentences import in_english


class HttpError(Exception):
    """Refuses a request before its stream starts.

    The body of the response is `{"error": code, "message": sentence, ...extra}`. The response is in
    the language that is active, which is the request's. `str(error)` is English, for logs.
    """

    status: HTTPStatus = HTTPStatus.INTERNAL_SERVER_ERROR
    code: str = "internal_error"
    message: ClassVar[str | Promise] = _("Something went wrong on the server.")

    def __init__(
        self,
        message: str | Promise | None = None,
        *,
        headers: dict[str, str] | None = None,
        **extra: Any,
    ) -> None:
        self.sentence = message or self.message
        super().__init__(in_english(self.sentence))
        self.headers = headers or {}
        self.extra = extra

    def response(self) -> JsonResponse:
        body = {"error": self.code, "message": str(self.sentence), **self.extra}
        return JsonResponse(
            body, status=self.status, headers={"Cache-Control": "no-store", **self.headers}
        )


class BadRequest(HttpError):
    status = HTTPStatus.BAD_REQUEST
    code = "bad_request"
    message = _("The request could not be read.")


class Unauthorized(HttpError):
    status = HTTPStatus.UNAUTHORIZED
    code = "unauthorized"
    message = _("Sign in, or send a valid API token.")

    def __init__(self, message: str | Promise | None = None, **extra: Any) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"}, **extra)


class Forbidden(HttpError):
    status = HTTPStatus.FORBIDDEN
    code = "forbidden"
    message = _("This is not allowed.")


class NotFound(HttpError):
    status = HTTPStatus.NOT_FOUND
    code = "not_found"
    message = _("This does not exist, or it is not yours.")


class MethodNotAllowed(HttpError):
    status = HTTPStatus.METHOD_NOT_ALLOWED
    code = "method_not_allowed"
    message = _("This method is not supported here.")


class Conflict(HttpError):
    status = HTTPStatus.CONFLICT
    code = "conflict"
    message = _("Another run is active on this thread.")


class TooLarge(HttpError):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"
    message = _("The request is too large.")


class UnsupportedMediaType(HttpError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "unsupported_media_type"
    message = "Send application/json."


class Unprocessable(HttpError):
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "unprocessable"
    message = _("The request can't be used.")


class TooManyRequests(HttpError):
    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_requests"
    message = _("Too many runs at once.")


class AtCapacity(HttpError):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "at_capacity"
    message = _("The server is busy. Try again soon.")


class Unavailable(HttpError):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "unavailable"
    message = _("The server can't answer this now. Try again soon.")


class NeedsAsgi(HttpError):
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    code = "needs_asgi"
    message = _("This server can't run agents. Its log says why.")


class StorageFull(HttpError):
    status = HTTPStatus.INSUFFICIENT_STORAGE
    code = "storage_full"
    message = _("The server has no room for this now.")


# What libraries raise if another system fails, by module.
FAILURES_OF_OTHERS = {
    "aiohttp": "ClientError",
    "httpx": "HTTPError",
    "httpx2": "HTTPError",
    "mcp": "MCPError",
    "pydantic_ai.mcp": "MCPError",
    "requests": "RequestException",
}
# The errno of a full disk, and of a reached quota or limit of the process.
NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
KINDS: dict[int, type[HttpError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    413: TooLarge,
    415: UnsupportedMediaType,
    422: Unprocessable,
    429: TooManyRequests,
    503: Unavailable,
}


def is_failure_of_others(error: BaseException | None) -> bool:
    """Whether another system failed or was out of reach. Libraries wrap what says so."""
    while error is not None:
        if isinstance(error, OperationalError | ConnectionError | TimeoutError | socket.gaierror):
            return True
        for module, name in FAILURES_OF_OTHERS.items():
            kind = getattr(sys.modules.get(module), name, None)
            if kind and isinstance(error, kind):
                return True
        if isinstance(error, BaseExceptionGroup):
            return any(map(is_failure_of_others, error.exceptions))
        error = error.__cause__
    return False


def refusal_of(error: Exception) -> HttpError | None:
    """Return what an exception means in any view of Django or REST framework: None is a bug.

    What an exception of REST framework says is for clients. What Django's say is not. Another
    system that fails, such as a database, and a full disk have answers of their own.
    """
    if isinstance(error, HttpError):
        return error
    if isinstance(error, Http404):
        return NotFound()
    if isinstance(error, PermissionDenied):
        return Forbidden()
    if isinstance(error, SuspiciousOperation):
        logging.getLogger(f"django.security.{type(error).__name__}").error(str(error))
        return BadRequest()
    if isinstance(error, MultiPartParserError | MalformedRequest):
        return BadRequest()
    if is_failure_of_others(error):
        return Unavailable(headers={"Retry-After": "1"})
    if isinstance(error, OSError) and error.errno in NO_SPACE:
        return StorageFull()
    # Only who has it loaded can raise it.
    rest_framework = sys.modules.get("rest_framework.exceptions")
    if rest_framework and isinstance(error, rest_framework.APIException):
        return _refusal_of_rest(error)
    return None


def _refusal_of_rest(error: Any) -> HttpError:
    kind = KINDS.get(error.status_code, HttpError)
    refusal = kind(str(error.detail))
    if not isinstance(error.detail, str):
        refusal = kind(detail=error.detail)
    if kind is HttpError:
        refusal.status, refusal.code = HTTPStatus(error.status_code), error.default_code
    if wait := getattr(error, "wait", None):
        refusal.headers["Retry-After"] = str(ceil(wait))
    return refusal


# The sentence for clients, by the code of RUN_ERROR. The codes are stable. Parts add their own at
# start-up. An event has the sentence in the language of its run.
RUN_ERRORS: dict[str, str | Promise] = {
    "internal_error": _("The run failed on the server."),
    "service_unavailable": _("A service that the agent needs did not answer. Try again later."),
    "hook_timeout": _("A step on the server took too long. Try again."),
    "model_error": _("The model could not answer."),
    "model_unavailable": _("The model is busy or out of reach. Try again later."),
    "model_timeout": _("The model did not answer in time. Try again."),
    "empty_answer": _("The model's answer was empty. Try again."),
    "model_refused": _("The model or its provider refused the request."),
    "context_window": _("The conversation is too long for the model. Start a new one."),
    "usage_limit": _("The run reached a limit on requests, tool calls, tokens or cost."),
    "output_limit": _("The answer became too long and was stopped."),
    "timeout": _("The run took too long and was stopped."),
    "conversation_changed": _("The conversation was changed or deleted meanwhile. Reload it."),
    "interrupt_pending": _(
        "The conversation waits for your decision. Answer all open questions first."
    ),
    "interrupt_unknown": _("The answer does not match a question that is open."),
    "interrupt_expired": _("The question was answered too late. Dismiss it and ask again."),
    "invalid_resume": _("The answer does not have the form that was asked for."),
    "tool_name_conflict": _("A tool of the client has the name of a tool of the server."),
    "interrupted": _("The server stopped before the run had ended."),
    "log_lost": _("The rest of the answer can't be shown. Reload the conversation."),
}

# Hints for developers, by the code of RUN_ERROR. They are English.
HINTS = {
    "internal_error": "The server's log has the traceback, under this run.",
    "service_unavailable": "The server's log has the traceback, which names the service.",
    "hook_timeout": "The server's log names the hook, under this run: raise its timeout.",
    "model_error": (
        "The model's answer could not be used: try another AGENT_MODEL, or simpler tools."
    ),
    "model_unavailable": (
        "Look at the provider's status page, at your rate limits, and at the address in *_BASE_URL."
    ),
    "model_timeout": 'AGUI["MODEL_TIMEOUT_SECONDS"] says how long a model may be silent.',
    "model_refused": (
        "The model or a filter declined, or look at AGENT_MODEL and the provider's key in .env."
    ),
    "empty_answer": (
        "Look at max_tokens in AgentConfig.model_settings, and at what *_BASE_URL answers."
    ),
    "context_window": 'AGUI["HISTORY_MESSAGES"] says how much of a conversation the model reads.',
    "usage_limit": 'AGUI["LIMITS"] has the limits of one run.',
    "output_limit": (
        'AGUI["MAX_OUTPUT_BYTES"] is the largest stream of one run, and '
        'AGUI["MAX_RESPONSE_BYTES"] the largest response of a provider.'
    ),
    "timeout": 'AGUI["RUN_TIMEOUT_SECONDS"] is the longest run.',
    "tool_name_conflict": "Rename the tool in the page, or the one in tools.py.",
    "interrupted": (
        "The process that ran it has ended: a restart, a deployment, or too little memory."
    ),
}


# The codes of failures in code of the project: their words may quote a secret.
WITHOUT_CAUSE = {"internal_error", "service_unavailable", "hook_timeout"}


class RunFailed(Exception):
    """Ends a run with RUN_ERROR. `code` is a key of RUN_ERRORS; its metadata has the details."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(in_english(RUN_ERRORS[code]))
        self.code = code
        self.details = details
