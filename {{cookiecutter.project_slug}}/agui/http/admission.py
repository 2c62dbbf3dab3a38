"""How much of a request's body is read: by its path and its credentials, before anything is.

A server, and Django after it, takes a whole body before a view is asked who has sent it.
server/daphne_patches.py asks here while a body comes to daphne, `limit_bodies` under any other
server.
"""

import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, NamedTuple

from django.conf import settings
from django.http import JsonResponse
from django.urls import Resolver404, resolve

from agui.errors import HttpError, TooLarge, Unauthorized

# The server reads a body of this size from anybody, so that the view can say what is wrong with the
# request.
FREE_BYTES = 64 * 1024
# Headers that may say who somebody is, also to a `get_user` of the project.
_CREDENTIAL = re.compile(rb"auth|cookie|key|session|sign|token|user")

Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]
Application = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]


class Admission(NamedTuple):
    """How many bytes of a body are read, and what is answered to more."""

    max_bytes: float
    refusal: HttpError


def admit(path: str, header_names: Iterable[bytes]) -> Admission:
    """Tell what is read of a request to this path. Only the agents' paths have limits here."""
    try:
        view: Any = resolve(path.removeprefix(settings.FORCE_SCRIPT_NAME or "")).func
    except Resolver404:
        return Admission(math.inf, TooLarge())
    limit = getattr(view, "max_body_bytes", None)
    if limit is None:
        return Admission(math.inf, TooLarge())
    if view.require_authenticated and not any(
        _CREDENTIAL.search(name.lower()) for name in header_names
    ):
        return Admission(FREE_BYTES, Unauthorized())
    most = max(FREE_BYTES, limit())
    return Admission(most, TooLarge(f"The body has more than {most} bytes."))


class Meter:
    """Counts the bytes of one body, as they are announced or as they come."""

    def __init__(self, path: str, header_names: Iterable[bytes]) -> None:
        self._path = path
        self._header_names = header_names
        self._admission: Admission | None = None
        self.size = 0

    def refusal(self, size: int) -> HttpError | None:
        """What to answer to a body of this size; None if it is read."""
        if size <= FREE_BYTES:
            return None
        if self._admission is None:
            self._admission = admit(self._path, self._header_names)
        return self._admission.refusal if size > self._admission.max_bytes else None

    def add(self, count: int) -> HttpError | None:
        """Count more bytes that have come; what to answer if they are too many."""
        self.size += count
        return self.refusal(self.size)


def limit_bodies(application: Application) -> Application:
    """Wrap an ASGI application: a body is refused by its length, by missing credentials, and while it comes."""

    async def limited(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        headers = dict(scope["headers"])
        meter = Meter(scope["path"].removeprefix(scope.get("root_path", "")), headers)
        length = headers.get(b"content-length", b"")
        if refusal := meter.refusal(int(length) if length.isdigit() else 0):
            await _answer(send, refusal.response())
            return

        refusals: list[HttpError] = []

        async def measured() -> Mapping[str, Any]:
            message = await receive()
            if refusal := meter.add(len(message.get("body", b""))):
                refusals.append(refusal)
            # For Django the client has gone: it closes what it has read, and answers nothing.
            return {"type": "http.disconnect"} if refusals else message

        await application(scope, measured, send)
        if refusals:
            await _answer(send, refusals[0].response())

    return limited


async def _answer(send: Send, response: JsonResponse) -> None:
    response["Content-Length"] = str(len(response.content))
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})
