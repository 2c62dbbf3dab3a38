"""The issuer and the resources: which URL means which MCP endpoint.

People type the address of an endpoint in several forms: with and without the last slash, or /mcp.
All of them name one resource. Tokens hold its canonical form, which is compared exactly.
"""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from asgiref.sync import markcoroutinefunction
from django.db import connections, transaction
from django.http import HttpRequest, HttpResponseBase
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from agui import conf
from agui.contrib.mcp.views import McpView
from agui.contrib.oauth.conf import OauthSettings
from agui.namespaces import FIRST_AGENT, mounted_agents

RESOURCE_DOCUMENT = ".well-known/oauth-protected-resource"
SERVER_DOCUMENT = ".well-known/oauth-authorization-server"


def site_url(request: HttpRequest) -> str:
    """Return the issuer, which has no path and no last slash."""
    configured = conf.part(OauthSettings).site_url
    # `get_host` refuses a host that is not in ALLOWED_HOSTS.
    return configured or f"{request.scheme}://{request.get_host()}"


def canonical_resource(request: HttpRequest, namespace: str) -> str:
    """Return the resource that the tokens of an agent are for."""
    return site_url(request) + reverse(f"{namespace}:mcp")


def resource_of(request: HttpRequest, url: str = "") -> str | None:
    """Return the canonical resource that a URL names; None if it names no MCP endpoint.

    Some hosts name none, or the site: that is the endpoint of a site which has a single one.
    """
    site = site_url(request)
    path = url.removeprefix(site)
    if path in ("", "/"):
        names = list(_endpoints())
        return site + names[0] if len(names) == 1 else None
    if path == url or not path.startswith("/"):
        return None
    view = endpoint_at(path)
    return canonical_resource(request, view.namespace) if view else None


def _endpoints() -> Iterator[str]:
    """List the paths of all MCP endpoints."""
    for name in mounted_agents():
        with suppress(NoReverseMatch):
            yield reverse(f"{name}:mcp")


def endpoint_at(path: str) -> McpView | None:
    """Return the MCP endpoint that is served at exactly this path."""
    try:
        view = resolve(path).func
    except Resolver404:
        return None
    if view is root_mcp:
        return root_mcp.endpoint
    return view if isinstance(view, McpView) else None


def document_url(request: HttpRequest) -> str:
    """Return where the document of the endpoint is that a request has come to."""
    return f"{site_url(request)}/{RESOURCE_DOCUMENT}{request.path}"


class RootMcp:
    """The MCP endpoint of the first agent, at /mcp: some hosts find no other path."""

    # The endpoint checks all of this itself.
    csrf_exempt, login_required = True, False

    def __init__(self) -> None:
        self.__name__ = self.__qualname__ = type(self).__name__
        markcoroutinefunction(self)
        for database in connections:
            transaction.non_atomic_requests(database)(self)

    @property
    def endpoint(self) -> McpView:
        endpoint: Any = resolve(reverse(f"{FIRST_AGENT}:mcp")).func
        return endpoint

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        return await self.endpoint(request)

    def max_body_bytes(self) -> int:
        return self.endpoint.max_body_bytes()


root_mcp = RootMcp()
