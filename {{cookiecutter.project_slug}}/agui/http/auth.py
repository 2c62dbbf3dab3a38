"""Who acts: the `get_user` hook, sessions with CSRF, 401 and 403.

A request that carries cookies and no bearer token could come from another site's page, so it has to
prove with Django's CSRF token that it does not. `get_user` answers None for "nobody", and raises
`Unauthorized` for somebody whose credentials are bad.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.functional import LazyObject

from agui.actor import Actor
from agui.errors import BadRequest, Forbidden, Unauthorized
from agui.http.tokens import token_user

GetUser = Callable[[HttpRequest], Any] | Callable[[HttpRequest], Awaitable[Any]]

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


async def get_user(request: HttpRequest) -> Any:
    """Find the user by API token, else by session: the hook's default."""
    return await token_user(request) or await session_user(request)


async def session_user(request: HttpRequest) -> Any | None:
    """Find the signed-in user of the browser session."""
    user = await request.auser()
    return user if user.is_authenticated else None


async def authenticate(request: HttpRequest, hook: GetUser | None, *, required: bool) -> Actor:
    """Ask the hook who acts. Raises Unauthorized when somebody has to be signed in and nobody is."""
    user = await _call(hook or get_user, request)
    if user is not None and user.is_authenticated:
        request.user = user
        return Actor(user, f"user:{user.pk}")
    session = getattr(request, "session", None)
    if required or session is None:
        raise Unauthorized
    # Loads the session: a key that is none of ours is forgotten then
    visitor = await request.auser()
    if session.session_key is None or not await session.aexists(session.session_key):
        # Now, while the response can still carry the cookie: a stream is too late.
        await session.acreate()
    return Actor(visitor, f"session:{session.session_key}")


async def _call(hook: GetUser, request: HttpRequest) -> Any:
    # A plain function may well use the ORM: it gets a thread, and what it returns may still be
    # awaitable.
    found = hook(request) if iscoroutinefunction(hook) else await sync_to_async(hook)(request)
    if not isinstance(found, LazyObject) and isawaitable(found):
        found = await found
    if isinstance(found, LazyObject):
        # Django's request.user asks the database when it is first looked at.
        await sync_to_async(lambda: found.is_authenticated)()
    return found


async def enforce_csrf(request: HttpRequest) -> None:
    """Raise Forbidden for an unsafe request that another site's page could have made."""
    bearer = request.headers.get("Authorization", "").lower().startswith("bearer ")
    if request.method in SAFE_METHODS or bearer or not request.COOKIES:
        return
    try:
        failed = await sync_to_async(_csrf_failure)(request)
    except (MultiPartParserError, SuspiciousOperation):
        # Django looks for the token in the form first.
        raise BadRequest("The form could not be read.") from None
    if failed:
        raise Forbidden("The CSRF token is missing or wrong: send it as X-CSRFToken.")


def _csrf_failure(request: HttpRequest) -> bool:
    # Our views are exempt from the middleware's check because tokens need none, so it is run here.
    check = CsrfViewMiddleware(lambda _: HttpResponse())
    check.process_request(request)
    return check.process_view(request, HttpResponse, (), {}) is not None
