from typing import Any

from django.conf import settings
from django.core import checks
from django.urls import NoReverseMatch, reverse

from agui import conf
from agui.contrib.oauth.conf import OauthSettings
from agui.contrib.oauth.provider import conflicts, is_active


def check_provider(**kwargs: Any) -> list[checks.CheckMessage]:
    """Find what keeps hosts from signing in, or what would make it unsafe."""
    if not is_active():
        return []
    messages: list[checks.CheckMessage] = []
    own = getattr(settings, "OAUTH2_PROVIDER", {})
    for name in conflicts(own):
        messages.append(
            checks.Error(
                f"OAUTH2_PROVIDER[{name!r}] is {own[name]!r}, which is not safe for MCP hosts.",
                hint="Remove it: agui.contrib.oauth sets it.",
                id="agui_oauth.E001",
            )
        )
    try:
        reverse("agui_oauth:authorize")
    except NoReverseMatch:
        messages.append(
            checks.Warning(
                "No MCP host can sign in: the routes are missing.",
                hint='Add path("", include("agui.contrib.oauth.urls")) as the last line of the '
                "urlpatterns of ROOT_URLCONF.",
                id="agui_oauth.W001",
            )
        )
    return messages


def check_deployment(**kwargs: Any) -> list[checks.CheckMessage]:
    """Find what works on a developer's machine only."""
    if not is_active():
        return []
    site_url = conf.part(OauthSettings).site_url or ""
    if site_url.startswith("https:"):
        return []
    error = checks.Error(
        f"MCP hosts sign in by https at a fixed address only, and SITE_URL is {site_url!r}.",
        hint="Set SITE_URL=https://... or AGUI['OAUTH']['SITE_URL'].",
        id="agui_oauth.E002",
    )
    return [error]
