from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks

from agui import clock
from agui.contrib.oauth import provider
from agui.contrib.oauth.checks import check_deployment, check_provider
from agui.contrib.oauth.conf import OauthSettings
from agui.part_values import Outdated, PersonalData
from agui.parts import Part
from agui.sentences import wording

if TYPE_CHECKING:
    from agui.actor import Actor

HIDDEN = {
    *("id", "user", "application", "token", "token_checksum", "token_family", "id_token"),
    *("source_refresh_token", "access_token", "code", "code_challenge", "nonce", "claims"),
}


class AppData(PersonalData):
    """Rows of the toolkit, each with the app that it belongs to."""

    def extra(self, row: Any) -> dict[str, Any]:
        return {"app": str(row.application or "")}


class OauthConfig(Part):
    name = "agui.contrib.oauth"
    label = "agui_oauth"
    verbose_name = wording("Agent: sign-in for MCP hosts")
    settings = OauthSettings
    needs = ("agui.contrib.mcp",)

    def ready(self) -> None:
        if not provider.is_active():
            return
        from oauth2_provider.settings import oauth2_settings

        settings.OAUTH2_PROVIDER = provider.merged(getattr(settings, "OAUTH2_PROVIDER", {}))
        oauth2_settings.reload()
        checks.register(check_provider)
        checks.register(check_deployment, deploy=True)

    def routes(self) -> dict[str, tuple[str, str]]:
        if not provider.is_active():
            return {}
        # This one replaces the route of the part `mcp`, which comes before.
        return {"mcp": ("mcp/", "agui.contrib.oauth.mcp_view.ConnectedMcpView")}

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        if not provider.is_active() or actor.user.pk is None:
            return
        for name, rows in _rows().items():
            own = rows.filter(user=actor.user.pk).select_related("application")
            yield AppData(f"oauth_{name}", own, hidden=HIDDEN)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        if not provider.is_active():
            return
        from oauth2_provider.models import get_application_model, refresh_token_expire_timedelta

        now, rows = clock.now(), _rows()
        yield Outdated("codes of MCP hosts", rows["codes"].filter(expires__lt=now))
        # A revoked one is kept, because its reuse says that it was stolen.
        kept = refresh_token_expire_timedelta() or timedelta(days=60)
        refresh = rows["refresh_tokens"]
        over = refresh.filter(revoked__lt=now - kept) | refresh.filter(
            revoked=None, access_token__expires__lt=now - kept
        )
        yield Outdated("refresh tokens of MCP hosts", over)
        access = rows["access_tokens"].filter(expires__lt=now, refresh_token=None)
        yield Outdated("access tokens of MCP hosts", access)
        sources = ("dcr", "cimd")
        unused = get_application_model().objects.filter(
            registration_source__in=sources,
            updated__lt=now - timedelta(days=1),
            grant=None,
            accesstoken=None,
            refreshtoken=None,
        )
        yield Outdated("MCP hosts that nobody has connected", unused)


def _rows() -> dict[str, Any]:
    from oauth2_provider.models import (
        get_access_token_model,
        get_grant_model,
        get_refresh_token_model,
    )

    return {
        "codes": get_grant_model().objects.order_by("pk"),
        "access_tokens": get_access_token_model().objects.order_by("pk"),
        "refresh_tokens": get_refresh_token_model().objects.order_by("pk"),
    }
