"""What the tools that `manage.py agentify` has written call, to find, show and save rows."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.apps import apps
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.db import DataError, IntegrityError, models, transaction
from django.db.models.deletion import Collector, ProtectedError, RestrictedError
from pydantic_ai import ApprovalRequired, ModelRetry, RunContext
from pydantic_ai.tools import ToolDefinition

from agui.contrib.agentify.values import MAX_CHARS, MAX_CHARS_ALONE, MAX_ITEMS, plain
from agui.deps import AgentDeps
from agui.tools.approval import needs_confirmation
from agui.tools.schema import X_CONFIRM_KEY, X_DESTRUCTIVE_KEY, ToolSpec

Context = RunContext[AgentDeps]


M = TypeVar("M", bound=models.Model)
Row = dict[str, Any]


def model(label: str) -> Any:
    """Return a model of a package. The type checker knows the models of the project only."""
    return apps.get_model(label)


# --- Who may call a tool


def check_staff(ctx: Context) -> None:
    """Raise PermissionDenied if the user isn't staff."""
    if not is_staff(ctx):
        raise PermissionDenied("Only staff may use this tool.")


def is_staff(ctx: Context) -> bool:
    user = ctx.deps.user
    if not user or not user.is_active:
        return False
    return bool(getattr(user, "is_staff", getattr(user, "is_superuser", False)))


def for_staff(ctx: Context, definition: ToolDefinition) -> ToolDefinition | None:
    """Hide a tool from users who aren't staff. This is a tool's `prepare`."""
    return definition if is_staff(ctx) else None


# --- Find rows


def search(queryset: models.QuerySet[M], text: str | None, fields: Sequence[str]) -> Any:
    """Keep the rows that contain the text in one of the fields."""
    if not text:
        return queryset
    conditions = [models.Q(**{f"{name}__icontains": text}) for name in fields]
    return queryset.filter(reduce(or_, conditions))


def narrow(queryset: models.QuerySet[M], conditions: dict[str, Any]) -> Any:
    """Keep the rows that meet the conditions. A condition that is None was not given."""
    given = {lookup: value for lookup, value in conditions.items() if value is not None}
    return queryset.filter(**given)


def get(queryset: models.QuerySet[M], pk: Any) -> M:
    """Find a row. The model reads the ModelRetry if there is none, and looks again."""
    row = queryset.filter(pk=pk).first()
    if row is None:
        raise ModelRetry(f"There is no {_name_of(queryset.model)} {pk!r}. Look for its id first.")
    return row


def pick(queryset: models.QuerySet[M], pk: Any) -> M | None:
    """Find a row that another row may refer to; None if no id was given."""
    if pk is None:
        return None
    return get(queryset, pk)


def pick_many(queryset: models.QuerySet[M], pks: Sequence[Any] | None) -> list[M] | None:
    """Find the rows that another row may refer to; None if no list was given."""
    if pks is None:
        return None
    found = {row.pk: row for row in queryset.filter(pk__in=pks)}
    for pk in pks:
        if pk not in found:
            raise ModelRetry(f"There is no {_name_of(queryset.model)} {pk!r}.")
    return list(found.values())


def _name_of(model: type[models.Model]) -> str:
    return str(model._meta.verbose_name)


# --- Show rows


def list_rows(queryset: Any, shown: Sequence[str]) -> list[Row]:
    """Return rows as JSON. Related rows come with the same query."""
    related = [name.partition(".")[0] for name in shown if "." in name]
    if related:
        queryset = queryset.select_related(*related)
    return [as_json(row, shown) for row in queryset]


def as_json(row: models.Model, shown: Iterable[str], max_chars: int = MAX_CHARS) -> Row:
    """Return a row as JSON: its id and the fields in `shown`.

    "customer.name" shows the related customer's id and name.
    """
    result: Row = {"id": plain(row.pk)}
    for path in shown:
        name, _, label = path.partition(".")
        result[name] = _shown(row, name, label, max_chars)
    return result


def read(row: models.Model, shown: Iterable[str]) -> Row:
    """Return one row as JSON, with long texts and its address."""
    result = as_json(row, shown, MAX_CHARS_ALONE)
    url = url_of(row)
    if url:
        result["url"] = url
    return result


def url_of(row: Any) -> str:
    """Return the address of a row's page; "" if it has none."""
    try:
        return str(row.get_absolute_url())
    except Exception:  # The project's method may fail for a row that has no page yet.
        return ""


def _shown(row: models.Model, name: str, label: str, max_chars: int) -> Any:
    field = row._meta.get_field(name)
    if field.many_to_many:
        return [_related(item, label) for item in getattr(row, name).all()[:MAX_ITEMS]]
    if not label:
        return plain(getattr(row, getattr(field, "attname", name)), max_chars)
    try:
        return _related(getattr(row, name), label)
    except ObjectDoesNotExist:
        return None


def _related(row: models.Model | None, label: str) -> Any:
    if row is None:
        return None
    if not label:
        return plain(row.pk)
    return {"id": plain(row.pk), label: plain(getattr(row, label))}


# --- Change rows


def save(row: models.Model, values: Row, empty: Iterable[str] | None = None) -> None:
    """Set values, check the row and save it. A value that is None was not given.

    `empty` names the fields to empty. The model reads what is wrong in a ModelRetry.
    """
    related = {}
    for name, value in _values_to_set(row, values, empty or ()).items():
        if row._meta.get_field(name).many_to_many:
            related[name] = value
        else:
            setattr(row, name, value)
    hidden = [field.name for field in row._meta.fields if not field.editable]
    try:
        with transaction.atomic():
            row.full_clean(exclude=hidden)
            row.save()
            for name, rows in related.items():
                getattr(row, name).set(rows)
    except ValidationError as error:
        raise ModelRetry(" ".join(_mistakes(error))) from error
    except (IntegrityError, DataError) as error:
        raise ModelRetry("The database refuses these values.") from error


def _values_to_set(row: models.Model, values: Row, empty: Iterable[str]) -> Row:
    given = {name: value for name, value in values.items() if value is not None}
    for name in empty:
        field: Any = row._meta.get_field(name)
        if field.many_to_many:
            given[name] = []
        else:
            given[name] = None if field.null else ""
    return given


def _mistakes(error: ValidationError) -> list[str]:
    if not hasattr(error, "error_dict"):
        return [str(message) for message in error.messages]
    mistakes = []
    for name, messages in error.message_dict.items():
        for message in messages:
            mistakes.append(message if name == "__all__" else f"{name}: {message}")
    return mistakes


def act(row: models.Model, action: Callable[[], Any], shown: Sequence[str]) -> Row:
    """Call a method of a row, and return what the row is then. Its result may be anything."""
    try:
        with transaction.atomic():
            action()
    except ValidationError as error:
        raise ModelRetry(" ".join(_mistakes(error))) from error
    current = type(row)._base_manager.filter(pk=row.pk).first()
    return {"id": plain(row.pk)} if current is None else as_json(current, shown)


def delete(row: models.Model) -> str:
    """Delete a row. The model reads which rows still need it, if any do."""
    name = f"{_name_of(type(row))} {row.pk!r}"
    try:
        with transaction.atomic():
            row.delete()
    except (ProtectedError, RestrictedError, IntegrityError) as error:
        raise ModelRetry(f"Other rows need the {name}, so it can't be deleted.") from error
    return f"Deleted: {name}."


# --- Ask before a change


def question(
    text: str,
    rows_of: Callable[[Context], Any] | None = None,
    id_name: str = "",
    shown: Sequence[str] = (),
) -> Callable[..., None]:
    """Build a tool's `args_validator`, which asks the user about a row and the new values.

    The tool's argument `id_name` is the id of a row of `rows_of`. A new row has none.
    """

    def ask(ctx: Context, /, **arguments: Any) -> None:
        lines = [text]
        if rows_of:
            is_deletion = (ctx.tool_name or "").startswith("delete_")
            pk = arguments.pop(id_name)
            lines += _lines_of_row(rows_of(ctx), pk, shown, is_deletion=is_deletion)
        given = {name: value for name, value in arguments.items() if value is not None}
        if given:
            lines += ["", "New values:", *_lines(given)]
        spec = ToolSpec(ctx.tool_name or "", ask, text, destructive=True)
        if needs_confirmation(spec) and not ctx.tool_call_approved:
            raise ApprovalRequired({X_DESTRUCTIVE_KEY: True, X_CONFIRM_KEY: "\n".join(lines)})

    return ask


def _lines_of_row(
    queryset: models.QuerySet[Any], pk: Any, shown: Sequence[str], *, is_deletion: bool
) -> list[str]:
    row = queryset.filter(pk=pk).first()
    if row is None:
        # The user is asked in any case. After a yes, the tool tells the model.
        return [f"There is no {_name_of(queryset.model)} {pk!r}, so nothing will change."]
    lines = _lines(as_json(row, shown))
    return [*lines, *_lines_of_deletion(row)] if is_deletion else lines


def _lines(values: Row) -> list[str]:
    lines = []
    for name, value in values.items():
        shown = plain(value)
        if isinstance(shown, dict) and "id" in shown:
            shown = " ".join(str(item) for item in reversed(shown.values()))
        if shown not in (None, "", []):
            lines.append(f"{name.replace('_', ' ')}: {shown}")
    return lines


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
    return [f"This also deletes {count} {name}." for name, count in counts.items() if count]
