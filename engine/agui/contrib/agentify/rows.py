"""Functions to find, show and save rows, for tools that `manage.py agentify` has written."""

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any, TypeVar

from django.apps import apps
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied, ValidationError
from django.db import DataError, IntegrityError, models, transaction
from django.db.models.deletion import ProtectedError, RestrictedError
from pydantic_ai import ModelRetry
from pydantic_ai.tools import ToolDefinition

from agui.contrib.agentify.questions import Context, question
from agui.contrib.agentify.secrets import has_secret_key, is_key_of_secret, names_secret
from agui.contrib.agentify.shown import row_name
from agui.contrib.agentify.values import MAX_CHARS, MAX_CHARS_ALONE, MAX_ITEMS, plain
from agui.tools.secret_arguments import REDACTED

__all__ = [
    "act",
    "as_json",
    "check_staff",
    "delete",
    "for_staff",
    "get",
    "is_staff",
    "list_rows",
    "model",
    "narrow",
    "pick",
    "pick_many",
    "plain",
    "question",
    "read",
    "save",
    "search",
    "url_of",
]

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
    rows = {row.pk: row for row in queryset.filter(pk__in=pks)}
    for pk in pks:
        if pk not in rows:
            raise ModelRetry(f"There is no {_name_of(queryset.model)} {pk!r}.")
    return list(rows.values())


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
    result: Row = {"id": _id_of(row)}
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
        url = str(row.get_absolute_url())
    except Exception:  # The project's method may fail for a row that has no page yet.
        return ""
    return "" if names_secret(row, url) else url


def _id_of(row: models.Model) -> Any:
    """Return a row's id. A file that was written by an older version may ask for a token's."""
    return REDACTED if has_secret_key(type(row)) else plain(row.pk)


def _shown(row: models.Model, name: str, label: str, max_chars: int) -> Any:
    field = row._meta.get_field(name)
    if field.is_relation and is_key_of_secret(field):
        return REDACTED
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
        return _id_of(row)
    return {"id": _id_of(row), label: plain(getattr(row, label))}


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
    """Call a method of a row, and return its result and what the row is then."""
    try:
        with transaction.atomic():
            result = action()
    except ValidationError as error:
        raise ModelRetry(" ".join(_mistakes(error))) from error
    current = type(row)._base_manager.filter(pk=row.pk).first()
    after = {"id": _id_of(row)} if current is None else as_json(current, shown)
    return {"result": _result(row, result), "row": after}


def _result(row: models.Model, value: Any) -> Any:
    """Return a method's result as JSON: rows by name, and never a secret of the row."""
    if isinstance(value, models.QuerySet):
        value = list(value[:MAX_ITEMS])
    if isinstance(value, models.Model):
        return row_name(value)
    if isinstance(value, list | tuple):
        return [_result(row, item) for item in value[:MAX_ITEMS]]
    result = plain(value, MAX_CHARS_ALONE)
    return REDACTED if names_secret(row, str(result)) else result


def delete(row: models.Model) -> str:
    """Delete a row. The model reads which rows still need it, if any do."""
    name = f"{_name_of(type(row))} {row.pk!r}"
    try:
        with transaction.atomic():
            row.delete()
    except (ProtectedError, RestrictedError, IntegrityError) as error:
        raise ModelRetry(f"Other rows need the {name}, so it can't be deleted.") from error
    return f"Deleted: {name}."
