"""The sign-in of a user at a remote server: from the question who they are to their tokens."""

import asyncio
import logging
import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError, PKCEParameters
from mcp.client.auth.oauth2 import OAuthContext
from mcp.client.auth.utils import validate_authorization_response_iss
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from mcp.types import LATEST_PROTOCOL_VERSION
from pydantic import BaseModel, ValidationError

from agui.contrib.mcp.accounts import clients
from agui.contrib.mcp.outside import may_open, open_client
from agui.contrib.mcp.servers import Server, check_headers

logger = logging.getLogger("agui.mcp")

BEGIN_SECONDS = 30.0
ASK = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ASK_HEADERS = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
}
# The server says by these that it won't give this user another token.
OVER = {"invalid_grant", "invalid_client", "unauthorized_client"}


class SignInFailed(Exception):
    """`code` says why, in one word of ours."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Client(BaseModel):
    """This project at one server: where it gets tokens, and as whom."""

    server_url: str
    information: OAuthClientInformationFull
    metadata: OAuthMetadata
    resource: str


class Attempt(BaseModel):
    """A sign-in that a user has begun."""

    client: Client
    redirect_uri: str
    verifier: str


class Grant(BaseModel):
    """What a user has allowed: their tokens, and who renews them."""

    client: Client
    token: OAuthToken

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token.access_token}"),)


class Begun(NamedTuple):
    address: str
    """Where the user signs in."""
    state: str
    attempt: Attempt


async def begin(server: Server, site: str) -> Begun:
    """Ask a server where a user signs in. Raises SignInFailed."""
    uri = clients.redirect_uri(site, server)
    shown, context = await _discover(server, site, uri)
    client = _client_of(server, context)
    keys, state = PKCEParameters.generate(), secrets.token_urlsafe(32)
    own = {"state": state, "code_challenge": keys.code_challenge, "resource": client.resource}
    if server.oauth and server.oauth.scopes:
        own["scope"] = " ".join(server.oauth.scopes)
    address = _with_query(shown, own)
    if not may_open(address, client.server_url):
        raise SignInFailed("unsafe_address")
    return Begun(
        address, state, Attempt(client=client, redirect_uri=uri, verifier=keys.code_verifier)
    )


async def _discover(server: Server, site: str, uri: str) -> tuple[str, OAuthContext]:
    """Let the official client find the sign-in, and register this project there if it has to.

    Returns the address that the client shows, and what it has found. Raises SignInFailed.
    """
    shown: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def show(address: str) -> None:
        shown.set_result(address)
        # The user answers another request, so this flow ends here.
        await asyncio.Event().wait()

    async def never() -> Any:
        raise OAuthFlowError("Nobody waits for the user here.")

    official = OAuthClientProvider(
        str(server.url),
        clients.metadata_of(site, server),
        clients.Registration(server, uri),
        show,
        never,
        client_metadata_url=clients.document_url(site),
    )
    asking = asyncio.create_task(_ask(server, official))
    try:
        waited: set[asyncio.Future[Any]] = {asking, shown}
        await asyncio.wait(waited, timeout=BEGIN_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if not shown.done():
            raise _failure(server, asking)
    finally:
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    return shown.result(), official.context


def _client_of(server: Server, context: OAuthContext) -> Client:
    """Keep what the official client has found. Raises SignInFailed."""
    metadata, information = context.oauth_metadata, context.client_info
    if metadata is None or information is None:
        raise SignInFailed("no_sign_in")
    if "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise SignInFailed("no_pkce")
    return Client(
        server_url=str(server.url),
        information=information,
        metadata=metadata,
        resource=context.get_resource_url(),
    )


async def _ask(server: Server, official: OAuthClientProvider) -> int:
    """Send the server what it answers with 401."""
    async with open_client(str(server.url), official) as http:
        response = await http.post(str(server.url), json=ASK, headers=ASK_HEADERS)
        return response.status_code


def _failure(server: Server, asking: "asyncio.Task[int]") -> SignInFailed:
    error = asking.exception() if asking.done() else TimeoutError()
    if error is None:
        error, code = OAuthFlowError(f"it answered {asking.result()}, not 401"), "no_sign_in"
    else:
        code = "unreachable" if isinstance(error, httpx2.HTTPError | TimeoutError) else "no_sign_in"
    logger.warning("No user can sign in at MCP server %r: %r", server.name, error)
    return SignInFailed(code)


def _with_query(address: str, values: dict[str, str]) -> str:
    parts = urlsplit(address)
    query = dict(parse_qsl(parts.query, keep_blank_values=True)) | values
    return urlunsplit(parts._replace(query=urlencode(query)))


async def finish(attempt: Attempt, answer: Mapping[str, str]) -> Grant:
    """Get tokens for what a user has brought back. Raises SignInFailed."""
    client = attempt.client
    try:
        validate_authorization_response_iss(answer.get("iss"), client.metadata)
    except OAuthFlowError:
        raise SignInFailed("other_issuer") from None
    if "error" in answer:
        raise SignInFailed("denied" if answer["error"] == "access_denied" else "refused")
    if not answer.get("code"):
        raise SignInFailed("refused")
    response = await _post(
        client,
        str(client.metadata.token_endpoint),
        grant_type="authorization_code",
        code=answer["code"],
        redirect_uri=attempt.redirect_uri,
        code_verifier=attempt.verifier,
        resource=client.resource,
    )
    if response.status_code not in (200, 201):
        code = _error_of(response)
        raise SignInFailed("unknown_client" if code == "invalid_client" else "refused")
    return Grant(client=client, token=_token_of(response))


async def renew(grant: Grant) -> Grant:
    """Get a new token. Raises SignInFailed: `over` if the server will never give one again."""
    response = await _post(
        grant.client,
        str(grant.client.metadata.token_endpoint),
        grant_type="refresh_token",
        refresh_token=grant.token.refresh_token or "",
        resource=grant.client.resource,
    )
    if response.status_code != 200:
        raise SignInFailed("over" if _error_of(response) in OVER else "refused")
    token = _token_of(response)
    # A server that does not rotate leaves it out (RFC 6749, section 6).
    token.refresh_token = token.refresh_token or grant.token.refresh_token
    return Grant(client=grant.client, token=token)


async def revoke(grant: Grant) -> None:
    """Tell the server that the tokens are no longer used, if it wants to know (RFC 7009)."""
    endpoint = grant.client.metadata.revocation_endpoint
    if endpoint is None:
        return
    kept = {"refresh_token": grant.token.refresh_token, "access_token": grant.token.access_token}
    try:
        for hint, token in kept.items():
            if token:
                await _post(grant.client, str(endpoint), token=token, token_type_hint=hint)
    except SignInFailed:
        logger.warning("Revoking tokens at %s failed", urlsplit(str(endpoint)).hostname)


async def _post(client: Client, url: str, **form: str) -> httpx2.Response:
    """Send a form as this project. Raises SignInFailed."""
    context = OAuthContext(
        client.server_url,
        client_metadata=None,  # type: ignore[arg-type]
        storage=None,  # type: ignore[arg-type]
        redirect_handler=None,
        callback_handler=None,
        client_info=client.information,
    )
    data, headers = context.prepare_token_auth({"client_id": client.information.client_id, **form})
    try:
        async with open_client(client.server_url) as http:
            return await http.post(url, data=data, headers=headers)
    except httpx2.HTTPError:
        raise SignInFailed("unreachable") from None


def _token_of(response: httpx2.Response) -> OAuthToken:
    """Read the tokens of an answer. Its errors would repeat them."""
    try:
        token = OAuthToken.model_validate_json(response.content)
        check_headers({"Authorization": token.access_token})
    except (ValidationError, ValueError):
        raise SignInFailed("refused") from None
    return token


def _error_of(response: httpx2.Response) -> str:
    try:
        return str(response.json()["error"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
