"""Time zones for the times that a model writes without one, as Django adds them in a form."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from operator import is_
from typing import Any, get_args, get_type_hints

from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel, NaiveDatetime


def make_arguments_aware(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make the naive datetimes in a tool's arguments aware, unless a hint is NaiveDatetime."""
    if not settings.USE_TZ:
        return arguments
    changed = _changed_items(arguments)
    if not changed:
        return arguments
    hints = get_type_hints(function, include_extras=True)
    for name in list(changed):
        if _is_naive(hints.get(name)):
            del changed[name]
    return {**arguments, **changed}


def make_aware(value: Any) -> Any:
    """Read naive datetimes as times in TIME_ZONE, at any depth.

    A value without naive datetimes is returned as it is.
    """
    if isinstance(value, datetime) and timezone.is_naive(value):
        return timezone.make_aware(value)
    if isinstance(value, BaseModel):
        fields: dict[str, Any] = {}
        for name, field in type(value).model_fields.items():
            fields[name] = field.annotation
        changed = _changed_fields(value, fields)
        return value.model_copy(update=changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: field.type for field in dataclasses.fields(value) if field.init}
        changed = _changed_fields(value, fields)
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, dict):
        changed = _changed_items(value)
        return {**value, **changed} if changed else value
    if isinstance(value, list | tuple | set | frozenset):
        items = list(map(make_aware, value))
        if all(map(is_, items, value)):
            return value
        if hasattr(value, "_fields"):  # A NamedTuple
            return type(value)(*items)
        return type(value)(items)
    return value


def _changed_items(value: dict[Any, Any]) -> dict[Any, Any]:
    changed = {}
    for key, item in value.items():
        aware = make_aware(item)
        if aware is not item:
            changed[key] = aware
    return changed


def _changed_fields(value: Any, annotations: Mapping[str, Any]) -> dict[str, Any]:
    names = [name for name, hint in annotations.items() if not _is_naive(hint)]
    return _changed_items({name: getattr(value, name) for name in names})


def _is_naive(hint: Any) -> bool:
    return hint is NaiveDatetime or any(_is_naive(argument) for argument in get_args(hint))
