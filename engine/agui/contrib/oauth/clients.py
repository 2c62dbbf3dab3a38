"""Who may connect: clients with a metadata document, and those that register themselves.

A client metadata document is a file at an https address, which is the client's id (CIMD). The
toolkit fetches it with limits on its address, its size and the time; here is who may make it do
that, and what of a document counts. Registering (RFC 7591) is off by default, because a host does
it anew for each connection.
"""

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.decorators import login_not_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.request import validate_host
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST
from oauth2_provider.cimd import CIMDError, SafeMetadataFetcher, is_cimd_client_id
from oauth2_provider.models import get_application_model
from oauth2_provider.settings import oauth2_settings

from agui import conf
from agui.contrib.oauth.conf import OauthSettings
from agui.errors import BadRequest, TooLarge
from agui.http.bodies import read_object
from agui.http.throttle import take_place
from agui.tools.questions import one_line

DOCUMENTS_OF_A_USER = "20/hour"
REGISTRATIONS = "30/hour"
MAX_REDIRECT_URIS = 20
MAX_URI_CHARS = 500
MAX_NAME_CHARS = 100
NETLOC = re.compile(r"[A-Za-z0-9._:\[\]-]*")
"""What stands in a policy as it is: no other directive, no user, no letters that look alike."""
LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")


def is_local(uri: str) -> bool:
    """Whether a redirect goes to a program on the person's own machine."""
    parts = urlsplit(uri)
    return parts.scheme not in ("http", "https") or (parts.hostname or "") in LOCAL_NAMES


def is_acceptable(uri: Any) -> bool:
    """Whether codes may be sent to an address: by https, or to the person's own machine."""
    if not isinstance(uri, str) or len(uri) > MAX_URI_CHARS:
        return False
    if not uri.isprintable() or " " in uri or "\\" in uri or "#" in uri:
        return False
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    if (
        not NETLOC.fullmatch(parts.netloc)
        or parts.scheme not in oauth2_settings.ALLOWED_REDIRECT_URI_SCHEMES
    ):
        return False
    return parts.scheme != "http" or is_local(uri)


def acceptable_uris(uris: Any) -> list[str]:
    """Choose the addresses of a client to which codes may be sent."""
    if not isinstance(uris, list):
        return []
    return [uri for uri in uris if is_acceptable(uri)][:MAX_REDIRECT_URIS]


def readable_name(name: Any) -> str:
    """Return the name of an app on one line, in what every database takes."""
    if not isinstance(name, str):
        return ""
    return one_line(name.encode(errors="ignore").decode(), MAX_NAME_CHARS)


# --- Clients with a metadata document


def may_fetch(client_id: str, user: Any) -> bool:
    """Take one of a user's places if the document of a new client has to be fetched."""
    if not is_cimd_client_id(client_id):
        return True
    if get_application_model().objects.filter(client_id=client_id).exists():
        return True
    return not take_place("oauth-documents", f"user:{user.pk}", DOCUMENTS_OF_A_USER)


class AllowedDocument:
    """Lets documents be fetched for signed-in people, from the hosts that the project accepts."""

    def has_permission(self, request: Any, client_id: str) -> bool:
        # A stranger can ask for tokens, but only who has been at the consent page has a code. A
        # project's own page of the toolkit has other rules.
        page = urlsplit(request.uri).path.rstrip("/")
        if page not in (reverse("agui_oauth:authorize"), "/authorize"):
            return False
        hosts = conf.part(OauthSettings).client_hosts
        if hosts is None:
            return True
        try:
            host = urlsplit(client_id).hostname or ""
        except ValueError:
            return False
        return validate_host(host, hosts)


class DocumentFetcher(SafeMetadataFetcher):
    """Reads of a document what counts for this server, and leaves out the rest."""

    def fetch(self, client_id: str) -> tuple[dict[str, Any], int]:
        try:
            document, max_age = super().fetch(client_id)
        except ValueError as error:
            # An id that is no address. The toolkit would log a traceback.
            raise CIMDError(str(error)) from error
        return self.adapt(document), max_age

    def adapt(self, document: dict[str, Any]) -> dict[str, Any]:
        adapted = {**document, "client_name": readable_name(document.get("client_name"))}
        # ChatGPT prefers private_key_jwt and can do without (django-oauth-toolkit #1845).
        methods = document.get("token_endpoint_auth_methods_supported")
        if isinstance(methods, list) and "none" in methods:
            adapted["token_endpoint_auth_method"] = "none"  # noqa: S105
        grants = document.get("grant_types")
        if isinstance(grants, list):
            if "authorization_code" not in grants:
                raise CIMDError("the client of the document asks for no codes")
            adapted["grant_types"] = ["authorization_code"]
        # The toolkit refuses a client for one address that can't be used.
        adapted["redirect_uris"] = acceptable_uris(document.get("redirect_uris"))
        if not adapted["redirect_uris"]:
            raise CIMDError("no redirect URI of the document can be used")
        return adapted


# --- Clients that register themselves


@csrf_exempt
@login_not_required
@require_POST
def register(request: HttpRequest) -> HttpResponse:
    """POST the metadata of a client to get an id for it. The same metadata gets the same id."""
    if not conf.part(OauthSettings).registration:
        return _error("not_found", "Clients can't register here: use a metadata document.", 404)
    try:
        metadata = read_object(request)
    except (BadRequest, TooLarge) as error:
        return _error("invalid_client_metadata", str(error), error.status)
    uris = acceptable_uris(metadata.get("redirect_uris"))
    if not uris:
        return _error("invalid_redirect_uri", "No redirect URI can be used.")
    name = readable_name(metadata.get("client_name"))
    models = get_application_model()
    client = _public_client(name, uris)
    same = models.objects.filter(
        name=client.name,
        redirect_uris=client.redirect_uris,
        registration_source=client.registration_source,
    ).first()
    if same is None:
        if take_place("oauth-registrations", "all", REGISTRATIONS):
            return _error("temporarily_unavailable", "Too many registrations: try later.", 429)
        try:
            client.full_clean()
        except ValidationError:
            return _error("invalid_client_metadata", "The metadata can't be used.")
        client.save()
    registered = same or client
    response = {
        "client_id": registered.client_id,
        "client_id_issued_at": int(registered.created.timestamp()),
        "client_name": name,
        "redirect_uris": uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    return JsonResponse(response, status=201, headers={"Cache-Control": "no-store"})


def _public_client(name: str, uris: Iterable[str]) -> Any:
    model = get_application_model()
    return model(
        name=name,
        redirect_uris=" ".join(uris),
        client_type=model.CLIENT_PUBLIC,
        # The toolkit would make up a secret, and take half a second to hash it.
        client_secret="",
        hash_client_secret=False,
        authorization_grant_type=model.GRANT_AUTHORIZATION_CODE,
        registration_source=model.RegistrationSource.DCR,
    )


def _error(code: str, description: str, status: int = 400) -> HttpResponse:
    body = {"error": code, "error_description": description}
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
