"""What this project is at a remote server's sign-in: which client, under which addresses."""

from typing import Any
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata
from pydantic import AnyUrl, ValidationError

from agui import clock, conf
from agui.blocking.executor import in_database
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.models import RemoteClient
from agui.contrib.mcp.sealing import Unreadable, seal, unseal
from agui.contrib.mcp.servers import Server, oauth_servers
from agui.namespaces import mounted_agents

REGISTRATION = "registration"


def path_of(route: str, **parameters: Any) -> str:
    """Return the path of a route of this part; '' if the project has mounted no agent."""
    for agent in mounted_agents():
        try:
            return reverse(f"{agent}:{route}", kwargs=parameters)
        except NoReverseMatch:
            continue
    return ""


def site_of(request: HttpRequest) -> str:
    # `get_host` refuses a host that is not in ALLOWED_HOSTS.
    return conf.part(McpSettings).site_url or f"{request.scheme}://{request.get_host()}"


def redirect_uri(site: str, server: Server) -> str:
    """Return where users come back to. Each server has its own, against mix-ups (RFC 9700)."""
    return site + path_of("mcp-account-callback", server=server.name)


def page_address() -> str:
    """Return the address of the page, as the model can tell it to the user."""
    return (conf.part(McpSettings).site_url or "") + path_of("mcp-accounts")


def document_url(site: str) -> str | None:
    """Return this project's client id, where a server takes the address of a document."""
    path = path_of("mcp-account-client").rstrip("/")
    return site + path if site.startswith("https://") else None


def document(site: str) -> dict[str, Any]:
    """Write the client id metadata document."""
    uris = [redirect_uri(site, server) for server in oauth_servers()]
    about = _metadata(site, uris)
    about.token_endpoint_auth_method = "none"  # noqa: S105
    return {
        "client_id": document_url(site),
        **about.model_dump(mode="json", exclude_none=True),
    }


def metadata_of(site: str, server: Server) -> OAuthClientMetadata:
    return _metadata(site, [redirect_uri(site, server)])


def _metadata(site: str, uris: list[str]) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        redirect_uris=[AnyUrl(uri) for uri in uris],
        client_name=urlsplit(site).hostname,
        application_type="web",
    )


class Registration:
    """Keeps the client of this project at one server, for all users: mcp's TokenStorage."""

    def __init__(self, server: Server, redirect: str) -> None:
        self._server = server
        self._redirect = redirect

    async def get_tokens(self) -> None:
        return None

    async def set_tokens(self, tokens: Any) -> None:
        raise NotImplementedError

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        own = self._server.oauth
        if own is None:
            return await in_database(self._load)
        method = "client_secret_post" if own.client_secret else "none"
        return OAuthClientInformationFull(
            client_id=own.client_id,
            client_secret=own.client_secret,
            token_endpoint_auth_method=own.auth_method or method,
        )

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        await in_database(self._store, client_info)

    def _load(self) -> OAuthClientInformationFull | None:
        row = RemoteClient.objects.filter(**self._key).first()
        if row is None:
            return None
        try:
            value = unseal(row.pk, REGISTRATION, row.registration)
            client = OAuthClientInformationFull.model_validate(value)
        except (Unreadable, ValidationError):
            return None
        ends = client.client_secret_expires_at
        return None if ends and ends <= clock.timestamp() else client

    def _store(self, client_info: OAuthClientInformationFull) -> None:
        row, _ = RemoteClient.objects.get_or_create(**self._key)
        sealed = seal(row.pk, REGISTRATION, client_info.model_dump(mode="json", exclude_none=True))
        RemoteClient.objects.filter(pk=row.pk).update(registration=sealed)

    @property
    def _key(self) -> dict[str, Any]:
        return {"server": self._server.name, "redirect_uri": self._redirect}


async def forget(server: Server, redirect: str) -> None:
    """Register anew next time: the server no longer knows this project."""
    rows = RemoteClient.objects.filter(server=server.name, redirect_uri=redirect)
    await in_database(rows.delete)
