"""Errors, and what a client learns about them.

    HttpError              before the first byte: a status with a JSON body
    ├── BadRequest 400, Unauthorized 401, Forbidden 403, NotFound 404, MethodNotAllowed 405
    ├── Conflict 409, TooLarge 413, UnsupportedMediaType 415, Unprocessable 422
    └── TooManyRequests 429, AtCapacity and Unavailable 503, StorageFull 507, NeedsAsgi 500
    RunFailed              after it: one RUN_ERROR event with a stable code

Any other exception is a bug, or a failure of another system: the client gets a code and an id to
quote, and the log has the rest.
"""

from http import HTTPStatus
from typing import Any, ClassVar

from django.http import JsonResponse


class HttpError(Exception):
    """Refuses a request before its stream starts.

    The body of the response is `{"error": code, "message": sentence, ...extra}`.
    """

    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    code: ClassVar[str] = "internal_error"
    message: ClassVar[str] = "Something went wrong on the server."

    def __init__(
        self, message: str | None = None, *, headers: dict[str, str] | None = None, **extra: Any
    ) -> None:
        super().__init__(message or self.message)
        self.headers = headers or {}
        self.extra = extra

    def response(self) -> JsonResponse:
        body = {"error": self.code, "message": str(self), **self.extra}
        return JsonResponse(
            body, status=self.status, headers={"Cache-Control": "no-store", **self.headers}
        )


class BadRequest(HttpError):
    status = HTTPStatus.BAD_REQUEST
    code = "bad_request"
    message = "The request could not be read."


class Unauthorized(HttpError):
    status = HTTPStatus.UNAUTHORIZED
    code = "unauthorized"
    message = "Sign in, or send a valid API token."

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message, headers={"WWW-Authenticate": "Bearer"})


class Forbidden(HttpError):
    status = HTTPStatus.FORBIDDEN
    code = "forbidden"
    message = "This is not allowed."


class NotFound(HttpError):
    status = HTTPStatus.NOT_FOUND
    code = "not_found"
    message = "This does not exist, or it is not yours."


class MethodNotAllowed(HttpError):
    status = HTTPStatus.METHOD_NOT_ALLOWED
    code = "method_not_allowed"
    message = "This method is not supported here."


class Conflict(HttpError):
    status = HTTPStatus.CONFLICT
    code = "conflict"
    message = "Another run is active on this thread."


class TooLarge(HttpError):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    code = "too_large"
    message = "The request is too large."


class UnsupportedMediaType(HttpError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    code = "unsupported_media_type"
    message = "Send application/json."


class Unprocessable(HttpError):
    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "unprocessable"
    message = "The request can't be used."


class TooManyRequests(HttpError):
    status = HTTPStatus.TOO_MANY_REQUESTS
    code = "too_many_requests"
    message = "Too many runs at once."


class AtCapacity(HttpError):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "at_capacity"
    message = "The server is busy. Try again soon."


class Unavailable(HttpError):
    status = HTTPStatus.SERVICE_UNAVAILABLE
    code = "unavailable"
    message = "The server can't answer this now. Try again soon."


class NeedsAsgi(HttpError):
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    code = "needs_asgi"
    message = "This server can't run agents. Its log says why."


class StorageFull(HttpError):
    status = HTTPStatus.INSUFFICIENT_STORAGE
    code = "storage_full"
    message = "The server has no room for this now."


# The sentence for clients, by the code of RUN_ERROR. The codes are stable. Parts add their own at
# start-up.
RUN_ERRORS = {
    "internal_error": "The run failed on the server.",
    "model_error": "The model could not answer.",
    "model_unavailable": "The model is busy or out of reach. Try again later.",
    "model_timeout": "The model did not answer in time. Try again.",
    "empty_answer": "The model's answer was empty. Try again.",
    "model_refused": "The model or its provider refused the request.",
    "context_window": "The conversation is too long for the model. Start a new one.",
    "usage_limit": "The run reached a limit on requests, tool calls, tokens or cost.",
    "output_limit": "The answer became too long and was stopped.",
    "timeout": "The run took too long and was stopped.",
    "conversation_changed": "The conversation was changed or deleted meanwhile. Reload it.",
    "interrupt_pending": (
        "The conversation waits for your decision. Answer all open questions first."
    ),
    "interrupt_unknown": "The answer does not match a question that is open.",
    "interrupt_expired": "The question was answered too late. Dismiss it and ask again.",
    "invalid_resume": "The answer does not have the form that was asked for.",
    "tool_name_conflict": "A tool of the client has the name of a tool of the server.",
    "interrupted": "The server stopped before the run had ended.",
    "log_lost": "The rest of the answer can't be shown. Reload the conversation.",
}

# Hints for developers, by the code of RUN_ERROR.
HINTS = {
    "internal_error": "The server's log has the traceback, under this run.",
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
    "output_limit": 'AGUI["MAX_OUTPUT_BYTES"] is the largest stream of one run.',
    "timeout": 'AGUI["RUN_TIMEOUT_SECONDS"] is the longest run.',
    "tool_name_conflict": "Rename the tool in the page, or the one in tools.py.",
    "interrupted": (
        "The process that ran it has ended: a restart, a deployment, or too little memory."
    ),
}


class RunFailed(Exception):
    """Ends a run with RUN_ERROR. `code` is a key of RUN_ERRORS; its metadata has the details."""

    def __init__(self, code: str, **details: Any) -> None:
        super().__init__(RUN_ERRORS[code])
        self.code = code
        self.details = details
