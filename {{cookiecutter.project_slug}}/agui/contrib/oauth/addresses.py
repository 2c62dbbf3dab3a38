"""The issuer and the resources: which URL means which MCP endpoint.

People type the address of an endpoint in several forms: with and without the last slash, or /mcp.
All of them name one resource. Tokens hold its canonical form, which is compared exactly.
"""

from typing import TYPE_CHECKING

from django.http import HttpRequest
from django.urls import Resolver404, resolve, reverse

from agui import conf
from agui.contrib.oauth.conf import OauthSettings
from agui.namespaces import FIRST_AGENT

if TYPE_CHECKING:
    from agui.contrib.oauth.mcp_view import ConnectedMcpView

RESOURCE_DOCUMENT = "/.well-known/oauth-protected-resource"
SERVER_DOCUMENT = "/.well-known/oauth-authorization-server"


def site_url(request: HttpRequest) -> str:
    """Return the issuer, which has no path and no last slash."""
    configured = conf.part(OauthSettings).site_url
    # `get_host` refuses a host that is not in ALLOWED_HOSTS.
    return configured or f"{request.scheme}://{request.get_host()}"


def canonical_resource(request: HttpRequest, namespace: str) -> str:
    """Return the resource that the tokens of an agent are for."""
    return site_url(request) + reverse(f"{namespace}:mcp")


def resource_of(request: HttpRequest, url: str) -> str | None:
    """Return the canonical resource that a URL names; None if it names no MCP endpoint."""
    site = site_url(request)
    if not url.startswith(f"{site}/"):
        return None
    view = endpoint_at(url.removeprefix(site))
    return canonical_resource(request, view.namespace) if view else None


def endpoint_at(path: str) -> "ConnectedMcpView | None":
    """Return the MCP endpoint that is served at exactly this path."""
    # These modules import the agent.
    from agui.contrib.oauth.mcp_view import ConnectedMcpView, root_mcp

    try:
        view = resolve(path).func
        if view is root_mcp:
            view = resolve(reverse(f"{FIRST_AGENT}:mcp")).func
    except Resolver404:
        return None
    return view if isinstance(view, ConnectedMcpView) else None


def document_url(request: HttpRequest) -> str:
    """Return where the document of the endpoint is that a request has come to."""
    return f"{site_url(request)}{RESOURCE_DOCUMENT}{request.path}"
