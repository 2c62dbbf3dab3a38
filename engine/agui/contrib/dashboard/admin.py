"""The dashboard, as a page of the admin."""

from datetime import date
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.db.models import F, Sum
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from agui import clock
from agui.contrib.dashboard.figures import total
from agui.contrib.dashboard.models import RunSpan
from agui.contrib.dashboard.page import (
    MAX_ROWS,
    charts_of,
    count_text,
    tables_of,
    tiles_of,
)
from agui.contrib.dashboard.periods import RANGES, figures_of, periods_of
from agui.contrib.dashboard.rollup import midnight
from agui.money import dollars
from agui.sentences import fill, wording

SPENDING = "agui.contrib.spending"

admin.site.index_template = admin.site.index_template or "admin/agui_dashboard/index.html"


@admin.register(RunSpan)
class DashboardAdmin(admin.ModelAdmin):
    """The dashboard, instead of a list of rows. Users who may view runs may see it."""

    class Media:
        css = {"all": ["agui_dashboard/dashboard.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False  # The index of the admin has a button for it, and no table

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.changelist_view)
        return [path("", view, name="agui_dashboard_runspan_changelist")]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        if not request.user.has_perm("agui.view_run"):
            raise PermissionDenied
        span = request.GET.get("range")
        if span not in RANGES:
            span = "24h"
        periods = periods_of(span, clock.now())
        parts = figures_of(periods)
        whole = total(parts)
        users = top_users(request.user, midnight(periods[0].begin).date())
        context = {
            **self.admin_site.each_context(request),
            "title": wording("Dashboard"),
            "media": self.media,
            "ranges": [(name, text, name == span) for name, text in RANGES.items()],
            "tiles": tiles_of(whole),
            "charts": charts_of(periods, parts),
            "tables": tables_of(whole, users),
        }
        return TemplateResponse(request, "admin/agui_dashboard/dashboard.html", context)


def top_users(viewer: Any, since: date) -> list[list[str]] | None:
    """Return rows of the users who have spent most since a day.

    None if the project doesn't count spending, or if this viewer may not see it. Anonymous visitors
    are left out.
    """
    if not apps.is_installed(SPENDING) or not viewer.has_perm("agui_spending.view_spending"):
        return None
    spending = apps.get_model("agui_spending", "Spending")._default_manager
    rows = spending.filter(day__gte=since).exclude(owner=None).order_by()
    sums = rows.values_list("owner").annotate(
        tokens=Sum("input_tokens") + Sum("output_tokens"),
        dollars=Sum("cost"),
        unpriced=Sum("unpriced"),
    )
    # On PostgreSQL, null would come before all amounts.
    most = list(sums.order_by(F("dollars").desc(nulls_last=True), "-tokens")[:MAX_ROWS])
    names = get_user_model()._default_manager.in_bulk([owner for owner, *_ in most])
    table = []
    for owner, tokens, cost, unpriced in most:
        name = names[owner].get_username() if owner in names else "-"
        cost_text = dollars(cost)
        if cost is not None and unpriced:
            cost_text = fill(wording("{amount} and more"), amount=cost_text)
        table.append([name, count_text(tokens), cost_text])
    return table
