"""Limit the body of a request, by the request's path and its credentials.

A server, and then Django, reads a whole body before a view can ask who has sent it. These limits
apply earlier, while a body arrives: `limit_bodies` has them for any server, and the part `pacing`
has them for daphne, which otherwise keeps a body before the application sees it.
"""

import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.http import JsonResponse
from django.urls import Resolver404, resolve
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.errors import HttpError, TooLarge, Unauthorized
from agui.sentences import fill_lazy

# The server reads a body of this size from anybody, so that the view can say what is wrong with the
# request.
FREE_BYTES = 64 * 1024
# Headers that may identify a user, also for the project's own `get_user`.
_CREDENTIAL = re.compile(rb"auth|cookie|key|session|sign|token|user")

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class Admission(NamedTuple):
    """The bytes of a body that are read, and the answer to a longer one."""

    max_bytes: float
    refusal: HttpError


def admit(path: str, header_names: Iterable[bytes]) -> Admission:
    """Find the limit for a request to this path."""
    view = _find_view(path)
    has_credentials = any(_CREDENTIAL.search(name.lower()) for name in header_names)
    if view is None:
        max_bytes = _max_site_bytes(has_credentials)
    elif view.require_authenticated and not has_credentials:
        return Admission(FREE_BYTES, Unauthorized())
    else:
        max_bytes = view.max_body_bytes()
    max_bytes = max(FREE_BYTES, max_bytes)
    return Admission(
        max_bytes,
        TooLarge(fill_lazy(_("The request is too large: at most {limit} bytes."), limit=max_bytes)),
    )


def _max_site_bytes(has_credentials: bool) -> float:
    """Return the largest body for a path that is no agent's: only known users upload files."""
    limit: int | None = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    if has_credentials:
        limit = conf.get().max_site_body_bytes
    return math.inf if limit is None else limit


def _find_view(path: str) -> Any | None:
    """Find the view of an agent at this path."""
    prefix = settings.FORCE_SCRIPT_NAME or ""
    try:
        view: Any = resolve(path.removeprefix(prefix)).func
    except Resolver404:
        return None
    return view if hasattr(view, "max_body_bytes") else None


class Meter:
    """Counts the bytes of one body, as they are announced or as they arrive."""

    def __init__(self, path: str, header_names: Iterable[bytes]) -> None:
        self._path = path
        self._header_names = header_names
        self._admission: Admission | None = None
        self.size = 0

    def refusal(self, size: int) -> HttpError | None:
        """Return the answer to a body of this size; None if the body is read."""
        if size <= FREE_BYTES:
            return None
        if self._admission is None:
            self._admission = admit(self._path, self._header_names)
        if size <= self._admission.max_bytes:
            return None
        return self._admission.refusal

    def add(self, count: int) -> HttpError | None:
        """Count bytes that have arrived. Returns the answer if there are too many by now."""
        self.size += count
        return self.refusal(self.size)


def limit_bodies(application: Application) -> Application:
    """Make an ASGI application refuse bodies that are too large or that come without credentials.

    It refuses a body by its Content-Length, or while the body arrives.
    """

    async def limited(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        path = scope["path"].removeprefix(scope.get("root_path", ""))
        meter = Meter(path, headers)
        length = headers.get(b"content-length", b"")
        refusal = meter.refusal(int(length)) if length.isdigit() else None

        async def receive_measured() -> Message:
            nonlocal refusal
            message = await receive()
            body = message.get("body", b"")
            refusal = refusal or meter.add(len(body))
            if refusal:
                # Django believes that the client has gone: it closes the body and answers nothing.
                return {"type": "http.disconnect"}
            return message

        if refusal is None:
            await application(scope, receive_measured, send)
        if refusal:
            await _answer(send, refusal.response())

    return limited


async def _answer(send: Send, response: JsonResponse) -> None:
    response["Content-Length"] = str(len(response.content))
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
