"""The MCP endpoint for tokens of connections. All other ways to sign in work as they did.

A token counts only here: it must be for exactly this endpoint. Each request asks the database, so a
connection that is revoked, or an account that is disabled, is refused at the next call.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponseBase
from oauth2_provider.models import get_access_token_model

from agui import clock
from agui.agents.endpoint import Endpoint
from agui.blocking.executor import in_database
from agui.contrib.mcp.caller import Connection
from agui.contrib.mcp.views import McpView
from agui.contrib.oauth.addresses import canonical_resource, document_url
from agui.contrib.oauth.scopes import needed_scopes, scopes, scopes_of
from agui.errors import Forbidden, Unauthorized
from agui.http.auth import ask_hook, get_user
from agui.http.tokens import bearer_token

TOO_LITTLE = "The connection does not allow this: connect again and allow more."
UNKNOWN = "The token is not for this endpoint, has expired or was revoked."


class InsufficientScope(Forbidden):
    """The connection does not allow the call. The host can ask the user for more."""

    code = "insufficient_scope"


class ConnectedMcpView(McpView):
    """The MCP endpoint of an agent, for people who have connected a host."""

    def __init__(self, endpoint: Endpoint, **access: Any) -> None:
        self._own_hook = access.get("get_user") or get_user
        super().__init__(endpoint, **{**access, "get_user": self._find_user})

    async def __call__(self, request: HttpRequest, **kwargs: Any) -> HttpResponseBase:
        response = await super().__call__(request, **kwargs)
        if response.status_code == 401:
            error = "invalid_token" if bearer_token(request) else ""
            response["WWW-Authenticate"] = _challenge(request, scopes(), error)
        return response

    async def _find_user(self, request: HttpRequest) -> Any:
        token = bearer_token(request)
        if token is not None:
            resource = canonical_resource(request, self.namespace)
            found = await in_database(_find, token, resource)
            if found is not None:
                user, connection = found
                request.mcp_connection = connection  # type: ignore[attr-defined]
                return user
        return await ask_hook(self._own_hook, request)

    def check_message(self, request: HttpRequest, message: Any) -> None:
        connection = Connection.of(request)
        if connection is None:
            return
        needed = needed_scopes(message, self.endpoint.registry)
        if not set(needed) <= connection.scopes:
            challenge = _challenge(request, needed, "insufficient_scope")
            raise InsufficientScope(TOO_LITTLE, headers={"WWW-Authenticate": challenge})


def _find(token: str, resource: str) -> tuple[Any, Connection] | None:
    """Find whose token this is. None is no token of a connection, Unauthorized an invalid one."""
    checksum = hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()
    rows = get_access_token_model().objects.select_related("application", "user")
    row = rows.filter(token_checksum=checksum).first()
    if row is None:
        return None
    # The toolkit takes a token without a resource for one that is good everywhere.
    if row.resource != [resource] or row.expires <= clock.now():
        raise Unauthorized(UNKNOWN)
    if row.application is None or row.user is None or not row.user.is_active:
        raise Unauthorized(UNKNOWN)
    application = row.application
    allowed = frozenset(row.scope.split())
    return row.user, Connection(application.client_id, str(application), allowed, scopes_of)


def _challenge(request: HttpRequest, needed: Iterable[str], error: str = "") -> str:
    """Say where a host finds how to sign in, and what to ask for."""
    values = {"error": error, "resource_metadata": document_url(request), "scope": " ".join(needed)}
    pairs = [f'{name}="{value}"' for name, value in values.items() if value]
    return f"Bearer {', '.join(pairs)}"
