"""The documents in which hosts find the addresses: RFC 8414 of the server, RFC 9728 of a resource.

Each is at the root form and at the form with a path. Hosts try several.
"""

from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from agui import conf
from agui.contrib.mcp.origins import open_to_pages
from agui.contrib.oauth.addresses import canonical_resource, endpoint_at, site_url
from agui.contrib.oauth.conf import OauthSettings
from agui.contrib.oauth.scopes import scopes
from agui.namespaces import FIRST_AGENT

AUTH_METHODS = ["none", "client_secret_basic", "client_secret_post"]


@open_to_pages
@login_not_required
@require_safe
def authorization_server(request: HttpRequest, path: str = "") -> HttpResponse:
    """GET the metadata of the authorization server. It has no path, whatever a host looks for."""
    site = site_url(request)

    def url(name: str) -> str:
        return site + reverse(f"agui_oauth:{name}")

    document: dict[str, object] = {
        "issuer": site,
        "authorization_endpoint": url("authorize"),
        "token_endpoint": url("token"),
        "revocation_endpoint": url("revoke"),
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": AUTH_METHODS,
        "revocation_endpoint_auth_methods_supported": AUTH_METHODS,
        "scopes_supported": list(scopes()),
        "client_id_metadata_document_supported": True,
        "authorization_response_iss_parameter_supported": True,
    }
    if conf.part(OauthSettings).registration:
        document["registration_endpoint"] = url("register")
    return JsonResponse(document)


@open_to_pages
@login_not_required
@require_safe
def protected_resource(request: HttpRequest, path: str = "") -> HttpResponse:
    """GET the metadata of an MCP endpoint: that at this path, or the first agent's."""
    site = site_url(request)
    if path:
        view = endpoint_at(f"/{path}")
        if view is None:
            raise Http404
        # Hosts compare this with the address that a person has typed.
        resource, name = f"{site}/{path}", view.endpoint.config.name
    else:
        resource, name = canonical_resource(request, FIRST_AGENT), ""
    document: dict[str, object] = {
        "resource": resource,
        "authorization_servers": [site],
        "scopes_supported": list(scopes()),
        "bearer_methods_supported": ["header"],
    }
    if name:
        document["resource_name"] = name
    return JsonResponse(document)
