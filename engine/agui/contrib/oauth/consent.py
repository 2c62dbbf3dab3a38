"""The page on which a person lets an app act for them, and the code that the app gets for it.

What the person decides about is the request in the address of the page, which is read anew when
they have decided. Only the decision itself comes from the form.
"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import csrf_protect
from oauth2_provider.exceptions import FatalClientError, OAuthToolkitError
from oauth2_provider.models import get_application_model
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.views.base import BaseAuthorizationView
from oauthlib.oauth2.rfc6749.errors import (
    CustomOAuth2Error,
    InvalidRequestError,
    OAuth2Error,
)

from agui.actor import name_of
from agui.contrib.mcp.page import strict_policy
from agui.contrib.oauth.addresses import resource_of, site_url
from agui.contrib.oauth.clients import is_local, may_fetch
from agui.contrib.oauth.scopes import READ
from agui.contrib.oauth.scopes import scopes as known_scopes
from agui.contrib.oauth.validator import HostViewMixin, check_challenge, has_zero_byte, repeated


@dataclass(frozen=True)
class Asked:
    """What an app asks a person for. It has been checked."""

    application: Any
    scopes: list[str]
    credentials: dict[str, Any]

    @property
    def redirect_uri(self) -> str:
        return str(self.credentials["redirect_uri"])


class AddressOnly(OAuthLibCore):
    """Reads what an app asks for from the address of the page, and nothing from its form."""

    def extract_body(self, request: HttpRequest) -> list[tuple[str, str]]:
        return []


@method_decorator(csrf_protect, name="dispatch")
class ConsentView(HostViewMixin, BaseAuthorizationView):
    """GET the question, POST the decision. Both ask the person to sign in first."""

    oauthlib_backend_class = AddressOnly

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return self._page(self._read(request))
        except OAuthToolkitError as error:
            return self._refuse(error)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            asked = self._read(request)
            allowed = request.POST.get("decision") == "allow"
            url, _, _, _ = self.create_authorization_response(
                request,
                scopes=" ".join(_granted(asked.scopes, request)),
                credentials=asked.credentials,
                allow=allowed,
            )
        except OAuthToolkitError as error:
            return self._refuse(error)
        return self._redirect(url, asked.application)

    def _read(self, request: HttpRequest) -> Asked:
        """Read what is asked for. Raises OAuthToolkitError."""
        if has_zero_byte(request.GET):
            raise FatalClientError(CustomOAuth2Error("invalid_request"))
        if not may_fetch(request.GET.get("client_id", ""), request.user):
            raise FatalClientError(CustomOAuth2Error("too_many_clients", status_code=429))
        scopes, credentials = self.validate_authorization_request(request)
        try:
            if name := repeated(request.GET):
                raise InvalidRequestError(description=f"{name} comes twice.")
            check_challenge(credentials["request"])
            resource = _resource(request, credentials["request"])
        except OAuth2Error as error:
            error.state = credentials["state"]
            raise OAuthToolkitError(error, redirect_uri=credentials["redirect_uri"]) from None
        application = get_application_model().objects.get(client_id=credentials["client_id"])
        return Asked(application, scopes, {**credentials, "resource": [resource]})

    def _page(self, asked: Asked) -> HttpResponse:
        application, uri = asked.application, asked.redirect_uri
        words = known_scopes()
        asked_scopes = [{"name": scope, "words": words[scope]} for scope in asked.scopes]
        context = {
            "application": application,
            "client_host": urlsplit(application.client_id).hostname or "",
            "redirect": urlsplit(uri).netloc or uri,
            "is_local": is_local(uri),
            "account": name_of(self.request.user),
            "username": self.request.user.get_username(),
            "scopes": asked_scopes,
            "always": _always(asked.scopes),
        }
        response = render(self.request, "agui_oauth/consent.html", context)
        return protected(response, form_targets=[_origin(uri)])

    def _refuse(self, error: OAuthToolkitError) -> HttpResponse:
        """Tell the app what is wrong with its request, or the person if the app is not known."""
        is_redirect, about = self.error_response(error)
        if is_redirect:
            return self._redirect(about["url"], None)
        context = {"code": error.oauthlib_error.error}
        status = error.oauthlib_error.status_code
        return protected(render(self.request, "agui_oauth/refused.html", context, status=status))

    def error_response(
        self, error: OAuthToolkitError, application: Any = None, **kwargs: Any
    ) -> tuple[bool, dict[str, Any]]:
        # The class between answers with a template of its own.
        return super(BaseAuthorizationView, self).error_response(error)

    def _redirect(self, url: str, application: Any) -> HttpResponse:
        response: HttpResponse = self.redirect(_with_issuer(url, self.request), application)
        response["Cache-Control"] = "no-store"
        return response


def _resource(request: HttpRequest, asked: Any) -> str:
    """Return the one resource that a request names. Raises invalid_target."""
    urls = [url for url in request.GET.getlist("resource") if url] or [""]
    resource = resource_of(request, urls[0]) if len(urls) == 1 else None
    if resource is None:
        raise CustomOAuth2Error(
            "invalid_target",
            description="Name one MCP endpoint of this site as the resource.",
            request=asked,
        )
    return resource


def _always(scopes: list[str]) -> list[str]:
    """Return what an app gets if the person allows anything: to read, or else all it asks for."""
    return [READ] if READ in scopes else scopes


def _granted(scopes: list[str], request: HttpRequest) -> list[str]:
    kept = {*_always(scopes), *request.POST.getlist("scope")}
    return [scope for scope in scopes if scope in kept]


def _with_issuer(url: str, request: HttpRequest) -> str:
    """Say in the address who answers, so that a client notices a mix-up (RFC 9207)."""
    parts = urlsplit(url)
    query = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] != "iss"]
    query.append(("iss", site_url(request)))
    return urlunsplit(parts._replace(query=urlencode(query)))


def _origin(uri: str) -> str:
    """Return what a policy calls the place of a redirect."""
    parts = urlsplit(uri)
    if parts.scheme in ("http", "https"):
        return f"{parts.scheme}://{parts.netloc}"
    return f"{parts.scheme}:"


def protected(response: HttpResponse, form_targets: list[str] | None = None) -> HttpResponse:
    """Give a page that decides about access its own policy: no script, no frame, no copy."""
    response["Content-Security-Policy"] = strict_policy(*(form_targets or []))
    response["X-Frame-Options"] = "DENY"
    response["Cache-Control"] = "no-store"
    response["Referrer-Policy"] = "same-origin"
    return response
