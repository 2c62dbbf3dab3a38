"""Another company's MCP server at which users have accounts: the official library's server, with its sign-in."""

import json
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode

import httpx2
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken, AuthorizationCode, AuthorizationParams, RefreshToken, TokenError
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from tests.mcp_server import READ_ONLY, once_more
from tests.serving import serving

LIFETIME = 3600


class Accounts:
    """The sign-in of the server. `who` signs in next; `requests` has each request with its form."""

    def __init__(self) -> None:
        self.who = "ada"
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.revoked: list[str] = []
        self.calls: list[tuple[str, str]] = []

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = secrets.token_urlsafe(24)
        about = {"client_id": client.client_id, "scopes": params.scopes or [], "subject": self.who}
        asked = params.model_dump(exclude={"state", "scopes"})
        self.codes[code] = AuthorizationCode(code=code, expires_at=time.time() + 60, **asked, **about)
        return f"{params.redirect_uri}?{urlencode({'code': code, 'state': params.state or ''})}"

    async def load_authorization_code(self, client: Any, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: AuthorizationCode) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._issue(client, authorization_code)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: RefreshToken, scopes: list[str]) -> OAuthToken:
        if self.refresh.pop(refresh_token.token, None) is None:
            raise TokenError("invalid_grant")
        return self._issue(client, refresh_token)

    def _issue(self, client: Any, grant: Any) -> OAuthToken:
        access, refresh = f"access-{secrets.token_urlsafe(24)}", f"refresh-{secrets.token_urlsafe(24)}"
        about = {name: getattr(grant, name) for name in ("client_id", "scopes", "resource", "subject")}
        self.access[access] = AccessToken(token=access, **about)
        self.refresh[refresh] = RefreshToken(token=refresh, **about)
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=LIFETIME)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.revoked.append(token.token)
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def end_all(self) -> None:
        """End all connections, as an administrator of the server may."""
        self.access.clear()
        self.refresh.clear()


class RemoteSite:
    """The server, on a port of its own. `around` changes what it answers."""

    def __init__(self) -> None:
        self.url = ""
        self.accounts = Accounts()
        self.around: Callable[[Any, Any, Any], Any] | None = None
        self.requests: list[tuple[str, dict[str, str], dict[str, str]]] = []
        self.server: Any = None

    @property
    def mcp_url(self) -> str:
        return f"{self.url}/mcp"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        form = {}
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
            form = dict(parse_qsl(message["body"].decode()))
        self.requests.append((scope["path"], headers, form))
        if self.around is not None and await self.around(scope, message, send):
            return
        application = self.server.streamable_http_app(json_response=True, stateless_http=True)
        async with self.server.session_manager.run():
            await application(scope, once_more(message, receive), send)

    def build(self) -> MCPServer:
        server = MCPServer(
            "remote",
            log_level="ERROR",
            auth_server_provider=self.accounts,
            auth=AuthSettings(
                issuer_url=AnyHttpUrl(self.url),
                resource_server_url=AnyHttpUrl(self.mcp_url),
                validate_token_resource=True,
                client_registration_options=ClientRegistrationOptions(enabled=True),
                revocation_options=RevocationOptions(enabled=True),
            ),
        )

        @server.tool(annotations=READ_ONLY)
        def whoami() -> str:
            """Say whose account this is."""
            token = get_access_token()
            assert token
            self.accounts.calls.append(("whoami", str(token.subject)))
            return str(token.subject)

        return server

    def answer(self, status: int, path: str = "", body: bytes = b"", **headers: str) -> None:
        """Answer so from now on, in the server's place, what is asked of this path, or of any."""

        async def around(scope: Any, message: Any, send: Any) -> bool:
            if path and scope["path"] != path:
                return False
            return await respond(send, status, body, **headers)

        self.around = around

    def answer_method(self, method: str, body_of: Callable[[Any], dict[str, Any]]) -> None:
        """Answer a method of MCP so from now on, in the server's place: `body_of` has the request."""

        async def around(scope: Any, message: Any, send: Any) -> bool:
            if f'"{method}"'.encode() not in message["body"]:
                return False
            return await respond(send, 200, **body_of(json.loads(message["body"])))

        self.around = around

    def before_token(self, act: Callable[[], Awaitable[Any]]) -> None:
        """Do something before a token is given."""

        async def around(scope: Any, message: Any, send: Any) -> bool:
            if scope["path"] == "/token":
                await act()
            return False

        self.around = around

    @property
    def paths(self) -> list[str]:
        return [path for path, _, _ in self.requests]

    async def consent(self, address: str) -> str:
        """Sign in as `accounts.who` in a browser and agree; returns where the browser is sent."""
        async with httpx2.AsyncClient() as browser:
            answer = await browser.get(address)
        assert answer.status_code == 302, answer.text
        return str(answer.headers["Location"])


@asynccontextmanager
async def remote_site() -> AsyncIterator[RemoteSite]:
    site = RemoteSite()
    async with serving(site) as url:
        site.url = url
        site.server = site.build()
        yield site


async def respond(send: Any, status: int, body: bytes = b"", **headers: str) -> bool:
    """Answer in the server's place."""
    pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": status, "headers": pairs})
    await send({"type": "http.response.body", "body": body})
    return True
