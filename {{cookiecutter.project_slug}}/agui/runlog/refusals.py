"""Why a run was refused, written down for a client that another process serves."""

import json

from agui import errors
from agui.errors import HttpError, RunFailed


def dump_refusal(error: BaseException) -> str:
    """Write down why a run was refused, for a client of another process."""
    if isinstance(error, RunFailed):
        return json.dumps({"failed": error.code})
    if isinstance(error, HttpError):
        told = {"error": type(error).__name__, "message": str(error), "headers": error.headers, "extra": error.extra}
        return json.dumps(told, default=str)
    return json.dumps({})


def load_refusal(text: bytes | str) -> Exception:
    """Read what `dump_refusal` has written."""
    reason = json.loads(text)
    if "failed" in reason:
        return RunFailed(reason["failed"])
    kind: type[HttpError] | None = getattr(errors, reason.get("error", ""), None)
    if kind is None:
        return HttpError()
    error = kind(reason["message"])
    error.headers, error.extra = reason["headers"], reason["extra"]
    return error
