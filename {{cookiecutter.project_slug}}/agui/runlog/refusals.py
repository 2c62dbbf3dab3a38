"""Why a run was refused, written down for a client that another process serves."""

import json
from http import HTTPStatus
from typing import Any, cast

from agui import errors
from agui.errors import HttpError, RunFailed


def dump_refusal(error: BaseException) -> str:
    """Write down why a run was refused, for a client of another process."""
    if isinstance(error, RunFailed):
        return json.dumps({"failed": error.code})
    if isinstance(error, HttpError):
        told = {
            "error": type(error).__name__,
            "status": error.status,
            "code": error.code,
            "message": str(error),
            "headers": error.headers,
            "extra": error.extra,
        }
        return json.dumps(told, default=str)
    return json.dumps({})


def load_refusal(text: bytes | str) -> Exception:
    """Read what `dump_refusal` has written."""
    reason = json.loads(text)
    if "failed" in reason:
        return RunFailed(reason["failed"])
    if "error" not in reason:
        return HttpError()
    error = _kind_of(reason)(reason["message"])
    error.headers, error.extra = reason["headers"], reason["extra"]
    return error


def _kind_of(reason: dict[str, Any]) -> type[HttpError]:
    kind = getattr(errors, reason["error"], None)
    if kind is None:  # A part's own
        kind = type(
            reason["error"],
            (HttpError,),
            {"status": HTTPStatus(reason["status"]), "code": reason["code"]},
        )
    return cast(type[HttpError], kind)
