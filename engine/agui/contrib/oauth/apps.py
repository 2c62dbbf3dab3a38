from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy

from agui.contrib.oauth import provider
from agui.contrib.oauth.checks import check_deployment, check_provider
from agui.contrib.oauth.conf import OauthSettings
from agui.lazy_import import LazyImport
from agui.part_values import Outdated, PersonalData
from agui.parts import Part
from agui.sentences import wording

if TYPE_CHECKING:
    from agui.actor import Actor
    from agui.contrib.oauth import kept
else:
    # This module imports models, which don't exist yet when Django imports this one.
    kept = LazyImport("agui.contrib.oauth.kept")


class OauthConfig(Part):
    name = "agui.contrib.oauth"
    label = "agui_oauth"
    verbose_name = wording("Agent: sign-in for MCP hosts")
    settings = OauthSettings
    needs = ("agui.contrib.mcp",)

    def ready(self) -> None:
        checks.register(check_provider)
        checks.register(check_deployment, deploy=True)
        try:
            is_active = provider.is_active()
        except ImproperlyConfigured:
            return  # The check of the settings says what is wrong.
        if is_active:
            settings.OAUTH2_PROVIDER = provider.merged(getattr(settings, "OAUTH2_PROVIDER", {}))
            # The library of this module is an extra.
            from oauth2_provider.settings import oauth2_settings

            oauth2_settings.reload()

    def routes(self) -> dict[str, tuple[str, str]]:
        if not provider.is_active():
            return {}
        # This one replaces the route of the part `mcp`, which comes before.
        return {"mcp": ("mcp/", "agui.contrib.oauth.mcp_view.ConnectedMcpView")}

    def personal_pages(self, agent: str) -> dict[str, Any]:
        if not provider.is_active():
            return {}
        try:
            return {reverse("agui_oauth:connections"): gettext_lazy("Connected apps")}
        except NoReverseMatch:
            return {}

    def personal_data(self, actor: "Actor") -> Iterable[PersonalData]:
        if provider.is_installed() and actor.user.pk is not None:
            yield from kept.personal_data(actor.user.pk)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        if provider.is_installed():
            yield from kept.outdated()
