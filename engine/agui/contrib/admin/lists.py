"""Lists of the admin that stay fast with many rows.

They count no further than MAX_ROWS, and make no query for a single row.
"""

import json
from collections.abc import Iterable
from decimal import Decimal
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
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

from agui.contrib.admin.agents import AgentFilter, agent_column
from agui.contrib.admin.names import name_of, translate_names
from agui.lazy_import import LazyImport
from agui.money import dollars
from agui.namespaces import owner_of, split_scope
from agui.sentences import fill, wording

if TYPE_CHECKING:
    import agui.contrib.admin.transcript as transcript
else:
    transcript = LazyImport("agui.contrib.admin.transcript")

translate_names()

USERNAME = get_user_model().USERNAME_FIELD
MAX_ROWS = 10_000
RECENT_ROWS = 1000


class ShortPaginator(Paginator):
    """Counts no further than anybody turns pages."""

    object_list: QuerySet[Any]

    @cached_property
    def count(self) -> int:
        return self.object_list.order_by().values("pk")[:MAX_ROWS].count()


class RecordAdmin(admin.ModelAdmin):
    """Rows that only the engine writes."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = ShortPaginator
    heavy: ClassVar[list[str]] = []
    """Large columns that the list does not read."""
    scope_field = "scope"
    """The path of a row's scope, which names its owner and its agent."""

    class Media:
        css = {"all": ["agui_admin/admin.css"]}

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return super().get_queryset(request).defer(*self.heavy)

    def get_list_display(self, request: HttpRequest) -> list[Any]:
        columns = list(super().get_list_display(request))
        position = columns.index("who")
        return [*columns[:position], *agent_column(), *columns[position:]]

    def get_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [*super().get_fields(request, obj), *agent_column()]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> list[Any]:
        return [*super().get_readonly_fields(request, obj), *agent_column()]

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [AgentFilter, *super().get_list_filter(request)]

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Model]) -> Any:
        return self._log(request, queryset, DELETION)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        return self._log(request, [obj], CHANGE, json.dumps(message))

    def _log(
        self, request: HttpRequest, rows: Iterable[Model], action: int, message: str = ""
    ) -> Any:
        # Log the key alone: titles and names have to go with their rows.
        content_type = ContentType.objects.get_for_model(self.model)
        entries = []
        for row in rows:
            entry = LogEntry(
                user_id=request.user.pk,  # type: ignore[misc]
                content_type=content_type,
                object_id=row.pk,
                object_repr=f"{self.opts.verbose_name} {row.pk}",
                action_flag=action,
                change_message=message,
            )
            entries.append(entry)
        return LogEntry.objects.bulk_create(entries)

    @admin.display(description=wording("agent"))
    def agent(self, row: Any) -> str:
        namespace, _ = split_scope(attrgetter(self.scope_field.replace("__", "."))(row))
        return namespace

    @admin.display(description=wording("owner"))
    def who(self, row: Any) -> SafeString | str:
        if row.owner_id:
            return link(row.owner)
        # Show the beginning only: a session's key is as good as a password.
        _, _, key = owner_of(row.scope).partition(":")
        return fill(wording("visitor {key}"), key=f"{key[:4]}…")


class UserByName(admin.ModelAdmin):
    """A form that finds users by name. Without users in the project's admin, it takes a number."""

    raw_id_fields = ["user"]

    def get_autocomplete_fields(self, request: HttpRequest) -> Any:
        user_admin = self.admin_site._registry.get(get_user_model())
        if user_admin and user_admin.get_search_fields(request):
            return ["user"]
        return []


class MadeOnce(UserByName):
    """Rows that are added in the admin and never changed."""

    def render_change_form(
        self, request: HttpRequest, context: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if context["original"] is not None:  # An existing row has nothing to save.
            context |= {
                "show_save": False,
                "show_save_and_continue": False,
                "show_save_and_add_another": False,
            }
        return super().render_change_form(request, context, *args, **kwargs)


@admin.display(description=wording("tokens"))
def tokens_of_usage(row: Any) -> str:
    """Show the sum of input and output tokens."""
    tokens = row.usage.get("input_tokens", 0) + row.usage.get("output_tokens", 0)
    return f"{tokens:,}"


def moment(column: str) -> Any:
    """Show a time to the second, in little space."""

    @admin.display(description=name_of(column), ordering=column)
    def show(row: Any) -> str:
        time = timezone.localtime(getattr(row, column))
        return f"{time:%Y-%m-%d %H:%M:%S}"

    return show


def used(key: str) -> Any:
    """Show one number of pydantic-ai's usage."""

    @admin.display(description=name_of(key))
    def show(row: Any) -> str:
        return f"{row.usage.get(key, 0):,}"

    return show


@admin.display(description=wording("cost"))
def cost_of_usage(row: Any) -> str:
    """Show the cost in pydantic-ai's usage."""
    amount = row.usage.get("cost")
    return dollars(None if amount is None else Decimal(amount))


@admin.display(description=wording("cost"), ordering="cost")
def cost(row: Any) -> str:
    """Show a cost, or the known part of it if some requests have no known price."""
    text = dollars(row.cost)
    if row.cost is not None and row.unpriced:
        return fill(wording("{amount} and more"), amount=text)
    return text


def json_of(column: str, title: Any) -> Any:
    """Show a column of JSON in a form, over several lines."""

    @admin.display(description=title)
    def show(_: admin.ModelAdmin, row: Any) -> SafeString | None:
        value = getattr(row, column)
        if value is None:
            return None
        return format_html("<pre>{}</pre>", transcript.pretty(value))

    return show


def recent(column: str) -> type[admin.SimpleListFilter]:
    """Filter by the values of a column that its newest rows have.

    Finding all values would read the whole table.
    """

    class RecentFilter(admin.SimpleListFilter):
        title = name_of(column)
        parameter_name = column

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            rows = model_admin.model.objects.values_list(column, flat=True)
            values = {*rows[:RECENT_ROWS], self.value()}
            return [(value, value) for value in sorted(filter(None, values))]

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            if not self.value():
                return queryset
            return queryset.filter(**{column: self.value()})

    return RecentFilter


def row_filter(model: type[Model], **columns: str) -> type[admin.SimpleListFilter]:
    """Filter by a row of another table with the same values: `?of_<model>=<pk>` in a link.

    `columns` maps columns of this table to those of the other. The link names the row and not its
    values, because a scope may hold a session's key.
    """

    class RowFilter(admin.SimpleListFilter):
        title = model._meta.verbose_name
        parameter_name = f"of_{model._meta.model_name}"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
            value = self.value()
            return [(value, str(wording("the chosen one")))] if value else []

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
            try:
                rows = model._default_manager.filter(pk=self.value())
                row = rows.values(*columns.values()).first()
            except (ValueError, ValidationError):
                row = None
            if row is None:
                return queryset.none()
            values = {column: row[other_column] for column, other_column in columns.items()}
            return queryset.filter(**values)

    return RowFilter


def link(row: Model | None) -> SafeString | str:
    """Link to a row's page in the admin."""
    if row is None:
        return "-"
    try:
        page = change_page(row)
    except NoReverseMatch:
        return str(row)  # A project may have no users in its admin.
    return format_html('<a href="{}">{}</a>', page, truncatechars(str(row), 60))


def change_page(row: Model) -> str:
    """The address of a row in the admin. Raises NoReverseMatch if the admin does not have it."""
    return reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk])


def link_list(model: type[Model], text: Any, of: Model | None = None, **filters: int) -> SafeString:
    """Link to the list of a table, with filters. For `of`, a row, it has a `row_filter`."""
    page = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist")
    if of is not None:
        filters[f"of_{of._meta.model_name}"] = of.pk
    return format_html('<a href="{}?{}">{}</a>', page, urlencode(filters), text)


def count_of(model: type[Model], **by: Any) -> Subquery:
    """Count the rows of another table that a row has, by their one common column."""
    [column] = by
    groups = model._base_manager.filter(**by).values(column)
    return Subquery(groups.annotate(n=Count("pk")).values("n"))
