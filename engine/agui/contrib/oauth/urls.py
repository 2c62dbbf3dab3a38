"""Routes at the root of the site: path("", include("agui.contrib.oauth.urls")), as the last one.

The endpoints are under oauth/. Some hosts look for them at the root, whatever the metadata says.
Each answers with and without the last slash, because a redirect loses the body of a POST.
"""

from django.urls import path

from agui.contrib.mcp.origins import open_to_pages
from agui.contrib.oauth import metadata
from agui.contrib.oauth.addresses import RESOURCE_DOCUMENT as RESOURCE
from agui.contrib.oauth.addresses import SERVER_DOCUMENT as SERVER
from agui.contrib.oauth.addresses import root_mcp
from agui.contrib.oauth.clients import register
from agui.contrib.oauth.connections import connections_page
from agui.contrib.oauth.consent import ConsentView
from agui.contrib.oauth.tokens import RevokeEndpoint, TokenEndpoint

app_name = "agui_oauth"

urlpatterns = [
    path(SERVER, metadata.authorization_server),
    path(f"{SERVER}/", metadata.authorization_server),
    path(f"{SERVER}/<path:path>", metadata.authorization_server),
    path(RESOURCE, metadata.protected_resource),
    path(f"{RESOURCE}/", metadata.protected_resource),
    path(f"{RESOURCE}/<path:path>", metadata.protected_resource),
    path("oauth/connections/", connections_page, name="connections"),
    path("oauth/revoke/", open_to_pages(RevokeEndpoint.as_view()), name="revoke"),
    path("oauth/revoke", open_to_pages(RevokeEndpoint.as_view())),
    path("mcp", root_mcp),
    path("mcp/", root_mcp),
]
for name, view in {
    "authorize": ConsentView.as_view(),
    "token": open_to_pages(TokenEndpoint.as_view()),
    "register": open_to_pages(register),
}.items():
    urlpatterns += [
        path(f"oauth/{name}", view, name=name),
        path(f"oauth/{name}/", view),
        path(name, view),
        path(f"{name}/", view),
    ]
