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
from django.utils import timezone

from agui.contrib.dashboard.models import RunSpan
from agui.contrib.dashboard.page import (
    MAX_ROWS,
    RANGES,
    charts_of,
    count_text,
    figures_of,
    places_of,
    tables_of,
    tiles_of,
)
from agui.contrib.dashboard.rollup import midnight, total
from agui.money import dollars

SPENDING = "agui.contrib.spending"

admin.site.index_template = admin.site.index_template or "admin/agui_dashboard/index.html"


@admin.register(RunSpan)
class DashboardAdmin(admin.ModelAdmin):
    """The dashboard in the place of a list. Users who may view runs may see it."""

    class Media:
        css = {"all": ["agui_dashboard/dashboard.css"]}

    def has_module_permission(self, request: HttpRequest) -> bool:
        return False  # The index has a button, and no table

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
        span = request.GET.get("range", "24h")
        span = span if span in RANGES else "24h"
        places = places_of(span, timezone.now())
        parts = figures_of(places)
        whole = total(parts)
        context = {
            **self.admin_site.each_context(request),
            "title": "Dashboard",
            "media": self.media,
            "ranges": [(name, text, name == span) for name, text in RANGES.items()],
            "tiles": tiles_of(whole),
            "charts": charts_of(places, parts),
            "tables": tables_of(whole, top_users(request.user, midnight(places[0].begin).date())),
        }
        return TemplateResponse(request, "admin/agui_dashboard/dashboard.html", context)


def top_users(viewer: Any, since: date) -> list[list[str]] | None:
    """Say who has spent most since a day; None if that can't be told, or not to this viewer.

    Visitors have no name to tell.
    """
    if not apps.is_installed(SPENDING) or not viewer.has_perm("agui_spending.view_spending"):
        return None
    spending = apps.get_model("agui_spending", "Spending").objects
    rows = spending.filter(day__gte=since).exclude(owner=None).order_by()
    sums = rows.values_list("owner").annotate(
        tokens=Sum("input_tokens") + Sum("output_tokens"),
        dollars=Sum("cost"),
        unpriced=Sum("unpriced"),
    )
    most = list(sums.order_by(F("dollars").desc(nulls_last=True), "-tokens")[:MAX_ROWS])
    names = get_user_model()._default_manager.in_bulk([owner for owner, *_ in most])
    return [
        [
            names[owner].get_username() if owner in names else "-",
            count_text(tokens),
            dollars(cost) + (" and more" if cost is not None and unpriced else ""),
        ]
        for owner, tokens, cost, unpriced in most
    ]
