"""What is kept of connections, in the tables of django-oauth-toolkit: for its users, and how long.

Rows without a resource belong to other clients of the project, and are left alone.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.db.models import Q
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
    refresh_token_expire_timedelta,
)

from agui import clock
from agui.contrib.oauth.models import TokenFamily
from agui.part_values import Outdated, PersonalData

UNUSED = timedelta(days=1)
HIDDEN = {
    *("id", "user", "application", "token", "token_checksum", "token_family", "id_token"),
    *("source_refresh_token", "access_token", "code", "code_challenge", "nonce", "claims"),
}


class AppData(PersonalData):
    """Rows of the toolkit, each with the app that it belongs to."""

    def extra(self, row: Any) -> dict[str, Any]:
        return {"app": str(row.application or "")}


def personal_data(user_id: Any) -> Iterable[PersonalData]:
    """Return the user's rows, if there are any."""
    models = {
        "oauth_codes": get_grant_model(),
        "oauth_access_tokens": get_access_token_model(),
        "oauth_refresh_tokens": get_refresh_token_model(),
    }
    for name, model in models.items():
        rows = _of_hosts(model).filter(user=user_id).select_related("application")
        if rows.exists():
            yield AppData(name, rows, HIDDEN)


def outdated() -> Iterable[Outdated]:
    now = clock.now()
    # A refresh token is kept for as long after its end, because its reuse says that it was stolen.
    over = now - (refresh_token_expire_timedelta() or timedelta(days=60))
    unused = get_application_model().objects.filter(
        registration_source__in=("cimd", "dcr"),
        updated__lt=now - UNUSED,
        grant=None,
        accesstoken=None,
        refreshtoken=None,
    )
    yield Outdated("MCP hosts that nobody has connected", unused)
    yield Outdated("codes of MCP hosts", _of_hosts(get_grant_model()).filter(expires__lt=now))
    access = Q(expires__lt=over) | Q(expires__lt=now, refresh_token=None)
    yield Outdated("access tokens of MCP hosts", _of_hosts(get_access_token_model()).filter(access))
    unrevoked = Q(access_token=None) | Q(access_token__expires__lt=over)
    refresh = Q(revoked__lt=over) | Q(unrevoked, revoked=None)
    rows = _of_hosts(get_refresh_token_model()).filter(refresh)
    yield Outdated("refresh tokens of MCP hosts", rows)
    held = TokenFamily.objects.filter(held_at__lt=now - UNUSED)
    yield Outdated("answers to MCP hosts", held.order_by("pk"))


def _of_hosts(model: Any) -> Any:
    return model.objects.exclude(resource=[]).order_by("pk")
