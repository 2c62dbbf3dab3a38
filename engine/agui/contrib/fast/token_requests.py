"""Run the middleware of requests with an API token and no cookies on the event loop.

Django runs its middleware in a thread, because some of it asks the database. For these requests
none does, so their hooks can run on the event loop. A middleware that is not named here, such as
one of yours, sends all requests the usual way.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.core.signals import request_started
from django.db import close_old_connections, reset_queries
from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve
from django.utils.deprecation import MiddlewareMixin
from django.utils.module_loading import import_string

from agui.contrib.fast.guard import Changed, find
from agui.http.tokens import bearer_token
from agui.http.views import AgentView

logger = logging.getLogger("agui.fast")

Hook = Callable[..., Any] | None
GetResponse = Callable[[HttpRequest], Any]

AXES = "axes.middleware.AxesMiddleware"
# These middlewares have only process_request and process_response, which wait for nothing unless
# the session is used. CSRF's process_view lets the views of agents pass: they are exempt.
CSRF = "django.middleware.csrf.CsrfViewMiddleware"
BY_HOOKS = {
    CSRF,
    "csp.middleware.CSPMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csp.ContentSecurityPolicyMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.security.SecurityMiddleware",
}
OTHER_HOOKS = ("process_view", "process_exception", "process_template_response")
# The first serves files, and the second chooses a thread.
WITHOUT_EFFECT = {
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "agui.server.middleware.in_one_thread",
}


# Answers with an error's own page what a part of the chain raises.
convert_exception_to_response: Any = find(
    "django.core.handlers.exception:convert_exception_to_response", "get_response"
)


def keep_on_loop(handler: ASGIHandler) -> None:
    """Make Django's handler answer such requests without a thread, if it knows all middleware.

    Raises Changed.
    """
    find("django.core.handlers.asgi:ASGIHandler.get_response_async", "self", "request")
    usual: GetResponse | None = getattr(handler, "_middleware_chain", None)
    if usual is None:
        raise Changed("has no ASGIHandler._middleware_chain")
    unknown = [path for path in settings.MIDDLEWARE if not _is_known(path)]
    if unknown:
        logger.info("Not patching requests with API tokens: unknown middleware %s", unknown)
        return
    short = _chain()

    async def choose(request: HttpRequest) -> Any:
        get_response = short if _is_for_agent(request) else usual
        return await get_response(request)

    handler._middleware_chain = choose  # type: ignore[attr-defined]
    # Both receivers look after the connections of the request's thread, which is new and has none.
    request_started.disconnect(close_old_connections)
    request_started.disconnect(reset_queries)


def _is_known(path: str) -> bool:
    if path in WITHOUT_EFFECT or path == AXES:
        return True
    if path not in BY_HOOKS:
        return False
    middleware = import_string(path)
    others = {hook for hook in OTHER_HOOKS if hasattr(middleware, hook)}
    if path == CSRF:
        others.discard("process_view")
    return middleware.__call__ is MiddlewareMixin.__call__ and not others


def _chain() -> GetResponse:
    """Build what Django builds of the middleware, without threads between its parts."""
    chain: GetResponse = convert_exception_to_response(_call_view)
    for path in reversed(settings.MIDDLEWARE):
        if path == AXES:
            chain = _layer(None, partial(_lock_out, import_string(path)), chain)
        elif path in BY_HOOKS:
            middleware = import_string(path)(chain)
            before = getattr(middleware, "process_request", None)
            after = getattr(middleware, "process_response", None)
            chain = _layer(before, after, chain)
    return chain


def _layer(before: Hook, after: Hook, get_response: GetResponse) -> GetResponse:
    """Call the hooks of a middleware around what is below it."""

    async def pass_through(request: HttpRequest) -> Any:
        response = before(request) if before else None
        if response is None:
            response = await get_response(request)
        if after is None:
            return response
        if _may_block(request):
            return await sync_to_async(after)(request, response)
        return after(request, response)

    return convert_exception_to_response(pass_through)


def _may_block(request: HttpRequest) -> bool:
    """Whether there is a session to save, or a failed attempt to sign in to answer."""
    session = getattr(request, "session", None)
    has_session = session is not None and not session.is_empty()
    return has_session or hasattr(request, "axes_locked_out")


def _lock_out(axes: Any, request: HttpRequest, response: HttpResponseBase) -> Any:
    return axes(lambda _: response)(request)


def _is_for_agent(request: HttpRequest) -> bool:
    if "HTTP_COOKIE" in request.META or bearer_token(request) is None:
        return False
    try:
        match = resolve(request.path_info)
    except Exception:
        return False  # Django's handler meets the same exception and answers it.
    if not (isinstance(match.func, AgentView) and match.func.csrf_exempt):
        return False
    request.resolver_match = match
    return True


async def _call_view(request: HttpRequest) -> Any:
    match: Any = request.resolver_match
    response = await match.func(request, *match.args, **match.kwargs)
    if hasattr(response, "render"):
        response = await sync_to_async(response.render)()
    return response
