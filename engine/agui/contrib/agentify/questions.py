"""The questions that the written tools ask: they name the row, and list what will change."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import models
from django.db.models.deletion import Collector, ProtectedError, RestrictedError
from django.utils.translation import gettext
from pydantic_ai import ApprovalRequired, RunContext

from agui.contrib.agentify.shown import id_text, row_name, shown
from agui.contrib.agentify.values import MAX_ITEMS
from agui.deps import AgentDeps
from agui.sentences import fill, wording
from agui.tools.approval import needs_confirmation
from agui.tools.questions import one_line
from agui.tools.schema import X_CONFIRM_KEY, X_DESTRUCTIVE_KEY, ToolSpec

Context = RunContext[AgentDeps]
Choices = Mapping[str, Callable[[Context], Any]]
HARMLESS = ("create_", "change_")
EMPTY = wording("(empty)")


def question(
    text: str,
    rows_of: Callable[[Context], Any] | None = None,
    id_name: str = "",
    fields: Sequence[str] = (),
    related: Choices | None = None,
) -> Callable[..., None]:
    """Build a tool's `args_validator`, which asks the user about a row and the new values.

    The tool's argument `id_name` is the id of a row of `rows_of`, and "{row}" in `text` is that
    row's name. A new row has none. `related` has the rows that an argument may choose from.
    """

    def ask(ctx: Context, /, **arguments: Any) -> None:
        name = ctx.tool_name or ""
        spec = ToolSpec(name, ask, text, destructive=True)
        if ctx.tool_call_approved or not needs_confirmation(spec):
            return
        lines = [text]
        if rows_of:
            queryset = rows_of(ctx)
            row = _find(queryset, arguments.pop(id_name))
            name_of_row = row.name if isinstance(row, Missing) else row_name(row)
            lines = [text.replace("{row}", name_of_row), *_lines_of_row(row, fields)]
            if isinstance(row, models.Model) and name.startswith("delete_"):
                lines += _lines_of_deletion(row)
        lines += _lines_of_arguments(ctx, arguments, related or {})
        # A client shows what destroys in red.
        destroys = not name.startswith(HARMLESS)
        raise ApprovalRequired({X_DESTRUCTIVE_KEY: destroys, X_CONFIRM_KEY: lines})

    return ask


class Missing:
    """An id without a row in the user's reach."""

    def __init__(self, queryset: models.QuerySet[Any], pk: Any) -> None:
        self.name = f"{one_line(queryset.model._meta.verbose_name)} {id_text(pk)}"


def _find(queryset: models.QuerySet[Any], pk: Any) -> models.Model | Missing:
    return queryset.filter(pk=pk).first() or Missing(queryset, pk)


def _lines_of_row(row: models.Model | Missing, fields: Iterable[str]) -> list[str]:
    if isinstance(row, Missing):
        # The user is asked in any case. After a yes, the tool tells the model.
        return [fill(gettext("There is no {row}, so nothing will change."), row=row.name)]
    lines = []
    for path in fields:
        name, _, label = path.partition(".")
        lines += _line(name, _text(row, name, label))
    return lines


def _text(row: Any, name: str, label: str) -> str:
    """Write the value of a field, or the related row."""
    field = row._meta.get_field(name)
    if field.many_to_many:
        return ""
    if not label:
        return shown(getattr(row, field.attname))
    try:
        related = getattr(row, name)
    except ObjectDoesNotExist:
        return ""
    return f"{shown(getattr(related, label))} ({id_text(related.pk)})" if related else ""


def _line(name: str, text: str) -> list[str]:
    """Write a line for a value, if there is one."""
    return [f"{one_line(name.rstrip('_').replace('_', ' '))}: {text}"] if text else []


def _lines_of_arguments(ctx: Context, arguments: dict[str, Any], related: Choices) -> list[str]:
    lines = []
    for name, value in arguments.items():
        if value is None or name == "empty":
            continue
        text = _names(related[name](ctx), value) if name in related else shown(value)
        lines += _line(name, text or str(EMPTY))
    for name in arguments.get("empty") or ():
        lines += _line(name, str(EMPTY))
    return ["", gettext("New values:"), *lines] if lines else []


def _names(queryset: models.QuerySet[Any], value: Any) -> str:
    """Name the rows with these ids."""
    if not isinstance(value, list):
        row = _find(queryset, value)
        return row.name if isinstance(row, Missing) else row_name(row)
    rows = {row.pk: row for row in queryset.filter(pk__in=value[:MAX_ITEMS])}
    names = []
    for pk in value[:MAX_ITEMS]:
        names.append(row_name(rows[pk]) if pk in rows else Missing(queryset, pk).name)
    listed = ", ".join(names)
    if len(value) > MAX_ITEMS:
        return fill(wording("{names} and {count} more"), names=listed, count=len(value) - MAX_ITEMS)
    return listed


def _lines_of_deletion(row: models.Model) -> list[str]:
    """List the other rows that are deleted with a row."""
    collector = Collector(using=row._state.db or "default", origin=row)
    try:
        collector.collect([row])
    except (ProtectedError, RestrictedError):
        return []
    counts: dict[str, int] = {}
    for model, instances in collector.data.items():
        if model is not type(row):
            counts[str(model._meta.verbose_name_plural)] = len(instances)
    for queryset in collector.fast_deletes:
        name = str(queryset.model._meta.verbose_name_plural)
        counts[name] = counts.get(name, 0) + queryset.count()
    deleted = gettext("This also deletes {count} {name}.")
    return [fill(deleted, count=count, name=name) for name, count in counts.items() if count]
