"""Requests to addresses that a remote server has named: bounded, and to the Internet only."""

import asyncio
import socket
from typing import Any

import httpx2
from django.conf import settings

from agui import conf
from agui.addresses import is_loopback, is_public
from agui.contrib.mcp.conf import McpSettings

MAX_BYTES = 256_000
CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 10.0
TOTAL_SECONDS = 20.0
"""The time for a whole answer, of which a server could send a byte now and then."""
HEADERS = {"User-Agent": "agui-django", "Accept": "application/json", "Accept-Encoding": "identity"}
PORTS = {"https": 443, "http": 80}


class NotAllowed(httpx2.TransportError):
    """The project does not send requests to this address, or takes no such answer."""


def open_client(server_url: str, auth: httpx2.Auth | None = None) -> httpx2.AsyncClient:
    """Return a client for what one server names. It follows no redirect and asks no proxy."""
    return httpx2.AsyncClient(
        transport=OutsideTransport(server_url),
        auth=auth,
        headers=HEADERS,
        timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        follow_redirects=False,
    )


class OutsideTransport(httpx2.AsyncBaseTransport):
    """Reaches the origin that the project has named itself, and public addresses by https."""

    def __init__(self, server_url: str) -> None:
        self._home = _origin_of(httpx2.URL(server_url))
        self._inner = httpx2.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                return await self._answer(request)
        except TimeoutError:
            raise httpx2.ReadTimeout("The whole answer took too long.") from None

    async def _answer(self, request: httpx2.Request) -> httpx2.Response:
        hosts = [request.url.host]
        if _origin_of(request.url) != self._home:
            hosts = await _addresses_of(request.url)
        failure: httpx2.HTTPError = NotAllowed("The host has no address.")
        for host in hosts:
            # A second question for the host's address could have another answer.
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=host),
                headers=request.headers,
                stream=request.stream,
                extensions={**request.extensions, "sni_hostname": request.url.host},
            )
            try:
                return await _read(await self._inner.handle_async_request(pinned))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        raise failure

    async def aclose(self) -> None:
        await self._inner.aclose()


def _origin_of(url: httpx2.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port or PORTS.get(url.scheme)


def may_open(url: str, server_url: str) -> bool:
    """Whether a user may be sent to an address that a server has named."""
    parsed = httpx2.URL(url)
    if parsed.userinfo:
        return False
    return _origin_of(parsed) == _origin_of(httpx2.URL(server_url)) or _is_secure(parsed)


def _is_secure(url: httpx2.URL) -> bool:
    return url.scheme == "https" or (url.scheme == "http" and settings.DEBUG)


async def _addresses_of(url: httpx2.URL) -> list[str]:
    """Find the addresses of a host. Raises NotAllowed if one of them is not public."""
    if not _is_secure(url) or url.userinfo:
        raise NotAllowed("The address is no plain https address.")
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(
            url.host, url.port or PORTS[url.scheme], type=socket.SOCK_STREAM
        )
    except (OSError, UnicodeError):
        raise NotAllowed("The host is unknown.") from None
    addresses = list(dict.fromkeys(str(answer[4][0]) for answer in answers))
    if url.host not in conf.part(McpSettings).auth_hosts:
        for address in addresses:
            if not is_public(address) and not (settings.DEBUG and is_loopback(address)):
                raise NotAllowed("The host has a private address.")
    return addresses


def refuse_compressed(response: httpx2.Response) -> None:
    """Raise NotAllowed for an answer that may be larger than what arrives."""
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise NotAllowed("The answer is compressed, which nobody has asked for.")


async def _read(response: httpx2.Response) -> httpx2.Response:
    """Read a whole answer, up to a size."""
    body = b""
    try:
        refuse_compressed(response)
        stream: Any = response.stream
        async for chunk in stream:
            body += chunk
            if len(body) > MAX_BYTES:
                raise NotAllowed("The answer is too long.")
    finally:
        await response.aclose()
    return httpx2.Response(response.status_code, headers=response.headers, content=body)
