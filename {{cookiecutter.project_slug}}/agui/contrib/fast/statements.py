"""Rows that every turn reads and writes, with SQL that needs no QuerySet.

Django builds the SQL of each statement anew, which takes longer than most databases need to execute
it. The columns, the conversion of values and the signals stay Django's. What plain SQL can't do
goes Django's way: expressions other than `Now`, models with a parent, models with a `save` or a
base manager of their own, and databases other than SQLite and PostgreSQL.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeVar
from uuid import UUID

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import CharField, Field, Manager, Model, TextField
from django.db.models.functions import Now
from django.db.models.signals import post_save, pre_save
from django.db.models.sql import Query

M = TypeVar("M", bound=Model)

INSERT = 'INSERT INTO "{table}" ({columns}) VALUES {rows}'
UPDATE = 'UPDATE "{table}" SET {changes} WHERE {conditions}'
SELECT = 'SELECT * FROM "{table}" WHERE {conditions}'

# The fields whose texts databases keep as they are.
TEXTS = (CharField, TextField)


class NotPlain(Exception):
    """Plain SQL can't do this."""


def insert(row: Model) -> None:
    """Insert a row, as `row.save(force_insert=True)` does."""
    model = type(row)
    has_receivers = pre_save.has_listeners(model) or post_save.has_listeners(model)
    try:
        if has_receivers or model.save is not Model.save:
            raise NotPlain
        _insert([row])
    except NotPlain:
        row.save(force_insert=True)


def insert_all(rows: Sequence[Model]) -> None:
    """Insert rows of one model, as `bulk_create` does: without signals."""
    try:
        if rows:
            _insert(rows)
    except NotPlain:
        type(rows[0])._base_manager.bulk_create(rows)


def update(model: type[Model], columns: Mapping[str, Any], /, **where: Any) -> int:
    """Update the rows with these values, as `filter(**where).update(**columns)` does."""
    connection = connections[router.db_for_write(model)]
    params: list[Any] = []
    try:
        changes = ", ".join(_equations(model, columns, connection, params))
        conditions = _conditions(model, where, connection, params)
    except NotPlain:
        return model._base_manager.filter(**where).update(**columns)
    sql = UPDATE.format(table=model._meta.db_table, changes=changes, conditions=conditions)
    with transaction.mark_for_rollback_on_error(connection.alias), connection.cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.rowcount


def select(model: type[M], /, **where: Any) -> list[M]:
    """Read the rows with these values, as `filter(**where)` does, in no order."""
    params: list[Any] = []
    try:
        conditions = _conditions(model, where, connections[router.db_for_read(model)], params)
    except NotPlain:
        return list(model._base_manager.filter(**where))
    return fetch(model, SELECT.format(table=model._meta.db_table, conditions=conditions), params)


def fetch(model: type[M], sql: str, params: Sequence[Any]) -> list[M]:
    """Read rows, as `raw` does. Columns that the model does not have become attributes."""
    connection = connections[router.db_for_read(model)]
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]
    return [_to_row(model, columns, connection) for columns in rows]


def _to_row(model: type[M], columns: dict[str, Any], connection: BaseDatabaseWrapper) -> M:
    values = {}
    for field in model._meta.concrete_fields:
        if field.column in columns:
            value = columns.pop(field.column)
            if type(field) not in TEXTS:
                column = field.cached_col
                converters = connection.ops.get_db_converters(column)
                for convert in converters + column.get_db_converters(connection):
                    value = convert(value, column, connection)
            values[field.attname] = value
    row = model.from_db(connection.alias, list(values), list(values.values()))
    vars(row).update(columns)
    return row


def _insert(rows: Sequence[Model]) -> None:
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
    with transaction.mark_for_rollback_on_error(connection.alias), connection.cursor() as cursor:
        cursor.execute(sql, params)
        if key:
            rows[0].pk = cursor.fetchone()[0]
    for row in rows:
        row._state.adding = False
        row._state.db = connection.alias


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
        return Query(field.model).get_compiler(connection=connection).compile(value)[0]
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
