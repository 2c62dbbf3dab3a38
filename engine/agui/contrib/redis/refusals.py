"""Errors that refuse a run, written to Redis for clients of other processes."""

import json
from http import HTTPStatus
from typing import Any, cast

from agui import errors
from agui.errors import HttpError, RunFailed


def dump_refusal(error: BaseException) -> str:
    """Write the error that refused a run as JSON."""
    if isinstance(error, RunFailed):
        return json.dumps({"failed": error.code})
    if isinstance(error, HttpError):
        refusal = {
            "error": type(error).__name__,
            "status": error.status,
            "code": error.code,
            "message": str(error.sentence),
            "headers": error.headers,
            "extra": error.extra,
        }
        return json.dumps(refusal, default=str)
    return json.dumps({})


def load_refusal(text: bytes | str) -> Exception:
    """Read an error that `dump_refusal` has written."""
    refusal = json.loads(text)
    if "failed" in refusal:
        return RunFailed(refusal["failed"])
    if "error" not in refusal:
        return HttpError()
    error = _error_class(refusal)(refusal["message"])
    error.headers = refusal["headers"]
    error.extra = refusal["extra"]
    return error


def _error_class(refusal: dict[str, Any]) -> type[HttpError]:
    error_class = getattr(errors, refusal["error"], None)
    if error_class is None:
        # A part has classes of its own, which this process may not have imported.
        attributes = {"status": HTTPStatus(refusal["status"]), "code": refusal["code"]}
        error_class = type(refusal["error"], (HttpError,), attributes)
    return cast(type[HttpError], error_class)
