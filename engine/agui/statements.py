"""The statements that every turn executes, as Django's ORM makes them.

They stand in one place, so that a part can execute them in another way that does the same.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from django.db.models import Model

M = TypeVar("M", bound=Model)


def insert(row: Model) -> None:
    row.save(force_insert=True)


def insert_all(rows: Sequence[Model]) -> None:
    """Insert rows of one model, without signals."""
    if rows:
        type(rows[0])._base_manager.bulk_create(rows)


def update(model: type[Model], columns: Mapping[str, Any], /, **where: Any) -> int:
    """Update the rows with these values; returns how many they are."""
    return model._base_manager.filter(**where).update(**columns)


def select(model: type[M], /, **where: Any) -> list[M]:
    """Read the rows with these values, in no order, of those that the model's manager finds."""
    return list(model._default_manager.filter(**where))


def fetch(model: type[M], sql: str, params: Sequence[Any]) -> list[M]:
    """Read rows with SQL. Columns that the model does not have become attributes."""
    return list(model._base_manager.raw(sql, params))
