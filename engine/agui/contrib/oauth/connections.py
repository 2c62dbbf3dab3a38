"""The connections of a user: the apps that act for them. A person sees and revokes them here."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from agui import clock
from agui.actor import name_of
from agui.contrib.mcp.approvals import end_for_app
from agui.contrib.oauth.consent import protected
from agui.contrib.oauth.families import ending, family_of_code
from agui.contrib.oauth.scopes import scopes


@dataclass
class Connected:
    """An app that a user has connected."""

    id: int
    name: str
    host: str
    scopes: set[str]
    since: datetime

    @property
    def words(self) -> list[Any]:
        return [words for scope, words in scopes().items() if scope in self.scopes]


def connected_apps(user: Any) -> list[Connected]:
    """List the apps that have a token of the user, the newest first."""
    tokens = get_access_token_model().objects.filter(user=user).select_related("application")
    live = tokens.filter(expires__gt=clock.now()) | tokens.filter(
        refresh_token__revoked__isnull=True, refresh_token__isnull=False
    )
    found: dict[int, Connected] = {}
    for token in live.order_by("-created"):
        application = token.application
        if application is None or not token.resource:
            continue
        host = urlsplit(application.client_id).hostname or ""
        fresh = Connected(application.pk, str(application), host, set(), token.created)
        app = found.setdefault(application.pk, fresh)
        app.scopes |= set(token.scope.split())
    return list(found.values())


def revoke(user: Any, application_id: Any) -> None:
    """End a connection: its codes, its tokens, what would renew them, and what it has asked for."""
    own = {"user": user, "application_id": application_id}
    codes = get_grant_model().objects.filter(**own)
    renewing = get_refresh_token_model().objects.filter(**own, revoked__isnull=True)
    families = {family_of_code(code) for code in codes.values_list("code", flat=True)}
    families.update(renewing.values_list("token_family", flat=True))
    with ending(families - {None}):
        codes.delete()
        renewing.update(revoked=clock.now(), access_token=None)
        get_access_token_model().objects.filter(**own).delete()
    application = get_application_model().objects.filter(pk=application_id).first()
    if application is not None:
        end_for_app(user, application.client_id)


def end_if_gone(family: UUID) -> None:
    """Deny what an app has asked for, if it is not connected any more without this family."""
    tokens = get_refresh_token_model().objects.select_related("application", "user")
    token = tokens.filter(token_family=family).first()
    if token is None or token.application_id in [app.id for app in connected_apps(token.user)]:
        return
    end_for_app(token.user, token.application.client_id)


@login_required
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def connections_page(request: HttpRequest) -> HttpResponse:
    """GET the apps that act for the user, POST the id of one to revoke it."""
    if request.method == "POST":
        application_id = request.POST.get("application", "")
        if application_id.isdecimal() and len(application_id) < 19:
            revoke(request.user, int(application_id))
        return redirect("agui_oauth:connections")
    context = {"apps": connected_apps(request.user), "account": name_of(request.user)}
    return protected(render(request, "agui_oauth/connections.html", context))
