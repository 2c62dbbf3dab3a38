"""Lists of the admin that stay fast with many rows: nothing is counted to its end, no row costs a query."""

from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.models import DELETION, LogEntry
from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, Model, QuerySet, Subquery
from django.http import HttpRequest
from django.template.defaultfilters import truncatechars
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.safestring import SafeString

from agui.later import Later
from agui.money import dollars

if TYPE_CHECKING:
    from agui.admin import transcript
else:
    transcript = Later("agui.admin.transcript")

MAX_ROWS = 10_000
RECENT_ROWS = 1000


class ShortPaginator(Paginator):
    """Counts no further than anybody leafs."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        return self.object_list.order_by().values("pk")[:MAX_ROWS].count()


class RecordAdmin(admin.ModelAdmin):
    """What nobody writes by hand."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = ShortPaginator
    heavy: ClassVar[list[str]] = []
    """Columns that no list needs."""

    class Media:
        css = {"all": ["agui/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.heavy)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Model]) -> Any:
        # By its key alone: titles and names are to go with what they are of.
        kind = ContentType.objects.get_for_model(self.model)
        return LogEntry.objects.bulk_create(
            LogEntry(
                user_id=request.user.pk,  # type: ignore[misc]
                content_type=kind,
                object_id=row.pk,
                object_repr=f"{self.opts.verbose_name} {row.pk}",
                action_flag=DELETION,
            )
            for row in queryset
        )

    @admin.display(description="owner")
    def who(self, row: Any) -> SafeString | str:
        # A session's key is as good as a password.
        return link(row.owner) if row.owner_id else f"visitor {row.scope.partition(':')[2][:4]}…"


class UserByName(admin.ModelAdmin):
    """Finds a user by name, where the project has users in its admin; else by the number of the row."""

    raw_id_fields = ["user"]

    def get_autocomplete_fields(self, request: HttpRequest) -> Any:
        users = self.admin_site._registry.get(get_user_model())
        return ["user"] if users and users.get_search_fields(request) else []


class MadeOnce(UserByName):
    """What is added here, and never changed."""

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if context["original"] is not None:  # There is nothing to save
            context |= {
                "show_save": False,
                "show_save_and_continue": False,
                "show_save_and_add_another": False,
            }
        return super().render_change_form(request, context, *args, **kwargs)


@admin.display(description="tokens")
def tokens_of_usage(row: Any) -> str:
    """Show how many tokens went in and came out, together."""
    return f"{row.usage.get('input_tokens', 0) + row.usage.get('output_tokens', 0):,}"


def moment(column: str) -> Any:
    """Show a time to the second, in little space."""

    @admin.display(description=column.replace("_", " "), ordering=column)
    def show(row: Any) -> str:
        return f"{timezone.localtime(getattr(row, column)):%Y-%m-%d %H:%M:%S}"

    return show


def used(key: str) -> Any:
    """Show a number of what pydantic-ai counts."""

    @admin.display(description=key.replace("_", " "))
    def show(row: Any) -> str:
        return f"{row.usage.get(key, 0):,}"

    return show


@admin.display(description="cost")
def cost_of_usage(row: Any) -> str:
    """Show the cost that pydantic-ai has counted."""
    found = row.usage.get("cost")
    return dollars(None if found is None else Decimal(found))


@admin.display(description="cost", ordering="cost")
def cost(row: Any) -> str:
    """Show what is known of a cost: a part of it, where the price of some requests is not."""
    text = dollars(row.cost)
    return f"{text} and more" if row.cost is not None and row.unpriced else text


def json_of(column: str, title: str) -> Any:
    """A field of a form: a column of JSON over several lines."""

    @admin.display(description=title)
    def shown(_: admin.ModelAdmin, row: Any) -> SafeString | None:
        value = getattr(row, column)
        return None if value is None else format_html("<pre>{}</pre>", transcript.pretty(value))

    return shown


def recent(column: str) -> type[admin.SimpleListFilter]:
    """Filter by the values of a column, but offer only those that the newest rows have: to know all is to read all."""

    class RecentFilter(admin.SimpleListFilter):
        title = column.replace("_", " ")
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            found = {
                *model_admin.model.objects.values_list(column, flat=True)[:RECENT_ROWS],
                self.value(),
            }
            return [(value, value) for value in sorted(filter(None, found))]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            return queryset.filter(**{column: self.value()}) if self.value() else queryset

    return RecentFilter


def of(model: type[Model], **columns: str) -> type[admin.SimpleListFilter]:
    """Filter by a row of another table that has the same values: `?of_<model>=<pk>`, as links write
    it.

    `columns` names those of that table, by ours. Not by the values: a scope may hold a session's
    key.
    """

    class OfFilter(admin.SimpleListFilter):
        title = str(model._meta.verbose_name)
        parameter_name = f"of_{model._meta.model_name}"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            return [(self.value() or "", "the chosen one")] if self.value() else []

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            try:
                row = (
                    model._default_manager.filter(pk=self.value()).values(*columns.values()).first()
                )
            except (ValueError, ValidationError):
                row = None
            if row is None:
                return queryset.none()
            return queryset.filter(**{ours: row[theirs] for ours, theirs in columns.items()})

    return OfFilter


def link(row: Model | None) -> SafeString | str:
    if row is None:
        return "-"
    try:
        page = reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])
    except NoReverseMatch:
        return str(row)  # A project may keep its users out of the admin
    return format_html('<a href="{}">{}</a>', page, truncatechars(str(row), 60))


def link_list(model: type[Model], text: str, **filters: str | int | UUID) -> SafeString:
    page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    query = urlencode({name: str(value) for name, value in filters.items()})
    return format_html('<a href="{}?{}">{}</a>', page, query, text)


def count_of(model: type[Model], **by: Any) -> Subquery:
    [column] = by
    return Subquery(
        model._base_manager.filter(**by).values(column).annotate(n=Count("pk")).values("n")
    )
