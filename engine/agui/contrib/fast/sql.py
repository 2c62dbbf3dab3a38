"""Plain SQL for the statements of every turn (agui/statements.py), which needs no QuerySet.

Django builds the SQL of each statement anew, which takes longer than most databases need to execute
it. The columns, the conversion of values and the signals stay Django's. What plain SQL can't do
goes Django's way: expressions other than `Now`, models with a parent, models with a `save` or a
base manager of their own, and databases other than SQLite and PostgreSQL.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from typing import Any, TypeVar
from uuid import UUID

from django.db import connections, router
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, Field, Manager, Model, TextField
from django.db.models.functions import Now
from django.db.models.signals import post_save, pre_save

from agui import statements
from agui.contrib.fast.guard import find, log_change

M = TypeVar("M", bound=Model)
Execute = Callable[[], Any]
"""Executes SQL that is complete. Until then nothing has happened."""
Reader = tuple[str, Any, list[Any]]
"""An attribute, and the expression and the converters that make its value of the database's."""

INSERT = 'INSERT INTO "{table}" ({columns}) VALUES {rows}'
UPDATE = 'UPDATE "{table}" SET {changes} WHERE {conditions}'
SELECT = 'SELECT * FROM "{table}" WHERE {conditions}'

# The fields whose texts databases keep as they are.
TEXTS = (CharField, TextField)
Query: Any = find("django.db.models.sql:Query")
mark_for_rollback: Any = find("django.db.transaction:mark_for_rollback_on_error", "using")


class NotPlain(Exception):
    """Plain SQL can't do this."""


def use_plain_sql() -> None:
    """Let all statements be plain SQL where that does the same."""
    for plan in (insert, insert_all, update, select, fetch):
        usual = getattr(statements, plan.__name__)
        if not hasattr(usual, "__wrapped__"):
            vars(statements)[plan.__name__] = _or_usual(plan, usual)


def _or_usual(plan: Callable[..., Execute], usual: Callable[..., Any]) -> Callable[..., Any]:
    """Plan a statement and execute it, or let Django do both."""

    @wraps(usual)
    def execute(*args: Any, **kwargs: Any) -> Any:
        try:
            planned = plan(*args, **kwargs)
        except NotPlain:
            return usual(*args, **kwargs)
        except (AttributeError, TypeError) as error:
            result = usual(*args, **kwargs)  # This fails, too, if a value is wrong.
            log_change(f"statements.{usual.__name__}", "django", f"is not as known: {error}")
            vars(statements)[usual.__name__] = usual
            return result
        return planned()

    return execute


def insert(row: Model) -> Execute:
    model = type(row)
    has_receivers = pre_save.has_listeners(model) or post_save.has_listeners(model)
    if has_receivers or model.save is not Model.save:
        raise NotPlain
    return insert_all([row])


def insert_all(rows: Sequence[Model]) -> Execute:
    if not rows:
        raise NotPlain
    model = type(rows[0])
    connection = connections[router.db_for_write(model, instance=rows[0])]
    key = model._meta.auto_field
    fields = [field for field in _fields(model, connection).values() if field is not key]
    if key and (len(rows) > 1 or rows[0].pk is not None):
        raise NotPlain
    if len(rows) > 1 and len(rows) > connection.ops.bulk_batch_size(fields, rows):
        raise NotPlain
    places = []
    params: list[Any] = []
    for row in rows:
        if row._state.fields_cache:  # A related row may have got its key meanwhile.
            raise NotPlain
        values = [_place(field, _to_save(field, row), connection, params) for field in fields]
        places.append(f"({', '.join(values)})")
    columns = ", ".join([f'"{field.column}"' for field in fields])
    sql = INSERT.format(table=model._meta.db_table, columns=columns, rows=", ".join(places))
    if key:
        sql += f' RETURNING "{key.column}"'

    def execute() -> None:
        with mark_for_rollback(connection.alias), connection.cursor() as cursor:
            cursor.execute(sql, params)
            if key:
                rows[0].pk = cursor.fetchone()[0]
        for row in rows:
            row._state.adding = False
            row._state.db = connection.alias

    return execute


def update(model: type[Model], columns: Mapping[str, Any], /, **where: Any) -> Execute:
    connection = connections[router.db_for_write(model)]
    params: list[Any] = []
    changes = ", ".join(_equations(model, columns, connection, params))
    conditions = _conditions(model, where, connection, params)
    sql = UPDATE.format(table=model._meta.db_table, changes=changes, conditions=conditions)

    def execute() -> int:
        with mark_for_rollback(connection.alias), connection.cursor() as cursor:
            cursor.execute(sql, params)
            return cursor.rowcount

    return execute


def select(model: type[Model], /, **where: Any) -> Execute:
    # Such a manager hides rows, as of users who have left.
    if type(model._default_manager).get_queryset is not Manager.get_queryset:
        raise NotPlain
    params: list[Any] = []
    conditions = _conditions(model, where, connections[router.db_for_read(model)], params)
    sql = SELECT.format(table=model._meta.db_table, conditions=conditions)
    return fetch(model, sql, params)


def fetch(model: type[M], sql: str, params: Sequence[Any]) -> Execute:
    connection = connections[router.db_for_read(model)]
    readers = _readers(model, connection)

    def to_row(columns: dict[str, Any]) -> M:
        values = {}
        for name, (attribute, column, converters) in readers.items():
            if name in columns:
                value = columns.pop(name)
                for convert in converters:
                    value = convert(value, column, connection)
                values[attribute] = value
        row = model.from_db(connection.alias, list(values), list(values.values()))
        vars(row).update(columns)
        return row

    def execute() -> list[M]:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            names = [column[0] for column in cursor.description]
            return [to_row(dict(zip(names, values, strict=True))) for values in cursor.fetchall()]

    return execute


def _readers(model: type[Model], connection: BaseDatabaseWrapper) -> dict[str, Reader]:
    """Return what reads each column of a model, kept with the connection that it belongs to."""
    kept: dict[type[Model], dict[str, Reader]] = vars(connection).setdefault("agui_readers", {})
    if model not in kept:
        readers: dict[str, Reader] = {}
        for field in model._meta.concrete_fields:
            column: Any = None
            converters: list[Any] = []
            if type(field) not in TEXTS:
                column = field.cached_col
                converters += connection.ops.get_db_converters(column)
                converters += column.get_db_converters(connection)
            readers[str(field.column)] = field.attname, column, converters
        kept[model] = readers
    return kept[model]


def _conditions(
    model: type[Model], where: Mapping[str, Any], connection: BaseDatabaseWrapper, params: list[Any]
) -> str:
    if type(model._base_manager) is not Manager:  # Its own manager may hide rows.
        raise NotPlain
    if not all(isinstance(value, str | int | UUID) for value in where.values()):
        raise NotPlain
    return " AND ".join(_equations(model, where, connection, params))


def _equations(
    model: type[Model],
    values: Mapping[str, Any],
    connection: BaseDatabaseWrapper,
    params: list[Any],
) -> list[str]:
    """Write "column = value" for each field, and add the values to the parameters."""
    fields = _fields(model, connection)
    equations = []
    for name, value in values.items():
        field = fields.get(model._meta.pk.attname if name == "pk" else name)
        if field is None:
            raise NotPlain
        equations.append(f'"{field.column}" = {_place(field, value, connection, params)}')
    return equations


def _to_save(field: Field, row: Model) -> Any:
    """Return the value of a new row, as `field.pre_save` does."""
    if type(field) in TEXTS:
        return getattr(row, field.attname)
    return field.pre_save(row, True)


def _place(field: Field, value: Any, connection: BaseDatabaseWrapper, params: list[Any]) -> str:
    """Write what stands for a value, and add the value to the parameters."""
    if type(value) is Now:
        sql: str = Query(field.model).get_compiler(connection=connection).compile(value)[0]
        return sql
    if type(value) is str and type(field) in TEXTS:
        params.append(value)
        return "%s"
    if hasattr(value, "resolve_expression") or isinstance(value, Model):
        raise NotPlain
    params.append(field.get_db_prep_save(value, connection))
    return "%s"


def _fields(model: type[Model], connection: BaseDatabaseWrapper) -> dict[str, Field]:
    """Return the fields of a model by their attributes, if plain SQL is enough for each."""
    is_known = connection.vendor in ("sqlite", "postgresql")
    if not is_known or not connection.features.can_return_columns_from_insert:
        raise NotPlain
    return _plain_fields(model)


@cache
def _plain_fields(model: type[Model]) -> dict[str, Field]:
    meta = model._meta
    fields = {}
    for field in meta.concrete_fields:
        has_own_sql = hasattr(field, "get_placeholder") or hasattr(field, "get_placeholder_sql")
        if field.model is not model or has_own_sql or field.generated:
            raise NotPlain
        fields[field.attname] = field
    return fields
