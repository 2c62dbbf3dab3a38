"""The page on which users connect their accounts at remote servers, and the way back to it.

Both need the session of the user: a state that somebody else's browser has begun is none here.
"""

import logging
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asgiref.sync import sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from agui.actor import Actor
from agui.blocking.executor import in_database
from agui.contrib.mcp.models import RemoteAccount
from agui.contrib.mcp.page import PersonView, strict_policy
from agui.contrib.mcp.servers import Server, oauth_servers
from agui.errors import BadRequest, NotFound
from agui.http.throttle import throttle
from agui.http.views import AgentView
from agui.lazy_import import LazyImport

if TYPE_CHECKING:
    from agui.contrib.mcp.accounts import clients, signing_in, tokens
else:
    # These modules need the library, which is an extra.
    clients = LazyImport("agui.contrib.mcp.accounts.clients")
    signing_in = LazyImport("agui.contrib.mcp.accounts.signing_in")
    tokens = LazyImport("agui.contrib.mcp.accounts.tokens")

logger = logging.getLogger("agui.mcp")

SESSION_KEY = "agui_mcp_accounts"
ANSWER = ("code", "iss", "error")


class AccountsView(PersonView):
    """A page about accounts. It has no script, and its form may lead to a server's sign-in."""

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        response = await super().__call__(request, **kwargs)
        targets = ["https:", "http:"] if settings.DEBUG else ["https:"]
        response.headers["Content-Security-Policy"] = strict_policy(*targets)
        return response

    def is_on(self) -> bool:
        return bool(oauth_servers())

    async def page(
        self, request: HttpRequest, actor: Actor, status: int = 200, **context: Any
    ) -> HttpResponse:
        context |= {"user": actor.user, "page": clients.path_of("mcp-accounts")}
        return await sync_to_async(render)(
            request, "agui_mcp/accounts.html", context, status=status
        )


class AccountsPage(AccountsView):
    """GET the accounts of the user, POST a server: `do` is `connect` or `disconnect`."""

    methods = frozenset({"GET", "POST"})

    async def answer(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        if request.method != "POST":
            return await self._show(request, actor)
        form = await sync_to_async(lambda: request.POST)()
        server = _named(form.get("server", ""))
        do = form.get("do")
        if do == "connect":
            await throttle(request, actor)
            return await self._connect(request, actor, server)
        if do != "disconnect":
            raise BadRequest("do is connect or disconnect.")
        await in_database(tokens.disconnect, actor.user, server)
        return _see(clients.path_of("mcp-accounts"))

    async def _show(self, request: HttpRequest, actor: Actor, **context: Any) -> HttpResponse:
        rows = await in_database(_rows, actor)
        servers = [(server, _host(server), rows.get(server.name)) for server in oauth_servers()]
        return await self.page(request, actor, servers=servers, **context)

    async def _connect(
        self, request: HttpRequest, actor: Actor, server: Server
    ) -> HttpResponseBase:
        try:
            begun = await signing_in.begin(server, clients.site_of(request))
        except signing_in.SignInFailed as failure:
            notice = _words(failure.code)
            return await self._show(request, actor, status=502, notice=notice)
        session = await sync_to_async(_session_of)(request)
        await in_database(tokens.begin, actor.user, server, session, begun.state, begun.attempt)
        return _see(begun.address)


class CallbackPage(AccountsView):
    """GET what a server answers about a sign-in. Only the user who has begun it can finish it."""

    async def answer(self, request: HttpRequest, actor: Actor, **kwargs: Any) -> HttpResponseBase:
        server = _named(kwargs["server"])
        session = await sync_to_async(_session_of)(request)
        state = request.GET.get("state", "")
        used = None
        if request.method == "GET":  # A HEAD changes nothing.
            used = await in_database(tokens.use_state, actor.user, server, session, state)
        if used is None:
            return await self.page(request, actor, 404, notice=_words("unknown_state"))
        row_id, attempt = used
        answer = {name: request.GET[name] for name in ANSWER if name in request.GET}
        try:
            grant = await signing_in.finish(attempt, answer)
        except signing_in.SignInFailed as failure:
            logger.warning("A sign-in at MCP server %r failed: %s", server.name, failure.code)
            if failure.code == "unknown_client":
                await clients.forget(server, attempt.redirect_uri)
            status = 200 if failure.code == "denied" else 400
            return await self.page(request, actor, status, notice=_words(failure.code))
        if not await in_database(tokens.store, row_id, grant):
            await signing_in.revoke(grant)
        return _see(clients.path_of("mcp-accounts"))


class ClientDocument(AgentView):
    """GET what this project says about itself to servers that take its address as a client id."""

    is_public = True  # Servers read it, which have no account here.

    async def _check_and_respond(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        self.check_method(request)
        if not oauth_servers():
            raise NotFound("No server wants accounts.")
        return JsonResponse(clients.document(clients.site_of(request)))


def _rows(actor: Actor) -> dict[str, RemoteAccount]:
    return {row.server: row for row in RemoteAccount.objects.filter(user=actor.user)}


def _named(name: str) -> Server:
    for server in oauth_servers():
        if server.name == name:
            return server
    raise NotFound("There is no such server.")


def _host(server: Server) -> str:
    return urlsplit(server.url or "").hostname or ""


def _session_of(request: HttpRequest) -> str:
    """Return what only this browser's session has, with any kind of session."""
    session: Any = request.session
    if SESSION_KEY not in session:
        session[SESSION_KEY] = secrets.token_urlsafe(32)
    return str(session[SESSION_KEY])


def _see(address: str) -> HttpResponse:
    return HttpResponse(status=303, headers={"Location": address})


def _words(code: str) -> str:
    """Say why an account was not connected. No word of the server is repeated."""
    words = {
        "unreachable": _("The service can't be reached now. Try again later."),
        "no_sign_in": _("The service does not say where you can sign in."),
        "no_pkce": _("The service's sign-in is not safe enough."),
        "unsafe_address": _("The service's sign-in is not safe enough."),
        "unknown_state": _("This sign-in has ended, or was begun elsewhere. Begin it again here."),
        "other_issuer": _("The answer came from another service. Nothing was connected."),
        "denied": _("You did not allow it. Nothing was connected."),
    }
    return words.get(code) or _("The service refused the sign-in. Nothing was connected.")
