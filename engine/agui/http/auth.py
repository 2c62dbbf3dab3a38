"""Find the user of a request: the `get_user` hook, sessions with CSRF, 401 and 403.

A page of another site could have sent a request that carries cookies and no bearer token, so such a
request needs Django's CSRF token. `get_user` returns None if nobody is signed in, and raises
`Unauthorized` for bad credentials.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable, iscoroutinefunction
from typing import Any

from asgiref.sync import sync_to_async
from django.contrib import auth
from django.core.exceptions import ObjectDoesNotExist, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.middleware.csrf import CsrfViewMiddleware
from django.utils.functional import LazyObject
from django.utils.translation import gettext_lazy as _

from agui.actor import Actor
from agui.errors import BadRequest, Forbidden, Unauthorized
from agui.http.tokens import token_user
from agui.namespaces import scope_of

GetUser = Callable[[HttpRequest], Any] | Callable[[HttpRequest], Awaitable[Any]]

SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}


async def get_user(request: HttpRequest) -> Any:
    """Find the user by API token, then by session: the hook's default."""
    return await token_user(request) or await session_user(request)


async def session_user(request: HttpRequest) -> Any | None:
    """Find the signed-in user of the browser session."""
    user = await _load_user(request)
    return user if user.is_authenticated else None


async def _load_user(request: HttpRequest) -> Any:
    """Load the user of the session. A project's own backend may lack Django's `aget_user`."""
    if all(hasattr(backend, "aget_user") for backend in auth.get_backends()):
        return await request.auser()
    return await sync_to_async(auth.get_user)(request)


async def authenticate(
    request: HttpRequest, hook: GetUser | None, *, required: bool, namespace: str
) -> Actor:
    """Ask the hook who acts, for the agent of this namespace.

    Raises Unauthorized if nobody is signed in, and either `required` is set or there is no session.
    """
    user = await ask_hook(hook or get_user, request)
    if user is not None and user.is_authenticated:
        request.user = user
        return Actor(user, scope_of(f"user:{user.pk}", namespace))
    session = getattr(request, "session", None)
    if required or session is None:
        raise Unauthorized
    # This loads the session, which drops a session key that the server did not issue.
    visitor = await _load_user(request)
    if session.session_key is None or not await session.aexists(session.session_key):
        # The response of this request can still set the cookie. A stream is too late for it.
        await session.acreate()
        if not await session.aexists(session.session_key):
            raise Unauthorized  # Nothing is kept on the server, so no key tells visitors apart.
    return Actor(visitor, scope_of(f"session:{session.session_key}", namespace))


async def ask_hook(hook: GetUser, request: HttpRequest) -> Any:
    """Call a `get_user` hook, which may be a plain function. Its user has been loaded.

    Raises Unauthorized if a row that it looked for is not there, such as that of a wrong token.
    """
    try:
        return await _ask_hook(hook, request)
    except ObjectDoesNotExist:
        raise Unauthorized from None


async def _ask_hook(hook: GetUser, request: HttpRequest) -> Any:
    if iscoroutinefunction(hook):
        user = await hook(request)
    else:
        # A plain function may use the ORM, so it runs in a thread.
        user = await sync_to_async(hook)(request)
    if not isinstance(user, LazyObject) and isawaitable(user):
        user = await user
    if isinstance(user, LazyObject):
        # Django's request.user asks the database when it is first read.
        await sync_to_async(lambda: user.is_authenticated)()
    return user


async def enforce_csrf(request: HttpRequest) -> None:
    """Raise Forbidden for an unsafe request that another site's page could have made."""
    authorization = request.headers.get("Authorization", "").lower()
    has_token = authorization.startswith("bearer ")
    if request.method in SAFE_METHODS or has_token or not request.COOKIES:
        return
    try:
        is_refused = await sync_to_async(_fails_csrf)(request)
    except (MultiPartParserError, SuspiciousOperation):
        # Django looks for the token in the form first.
        raise BadRequest(_("The form could not be read.")) from None
    if is_refused:
        raise Forbidden("The CSRF token is missing or wrong: send it as X-CSRFToken.")


def _fails_csrf(request: HttpRequest) -> bool:
    # The middleware exempts these views because API tokens need no CSRF token, so run it here.
    middleware = CsrfViewMiddleware(lambda _: HttpResponse())
    middleware.process_request(request)
    return middleware.process_view(request, HttpResponse, (), {}) is not None
