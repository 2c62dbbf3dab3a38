"""Gives a time zone to the times that a model writes without one, as Django does for a form."""

import dataclasses
from collections.abc import Mapping
from datetime import datetime
from typing import Any, get_args, get_type_hints

from django.conf import settings
from django.utils import timezone
from pydantic import BaseModel, NaiveDatetime


def make_arguments_aware(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Make the naive datetimes in a tool's arguments aware, except where a hint asks for NaiveDatetime."""
    if not settings.USE_TZ:
        return arguments
    changed = {name: make_aware(value) for name, value in arguments.items()}
    if all(changed[name] is arguments[name] for name in arguments):
        return arguments
    hints = get_type_hints(function, include_extras=True)
    return {
        name: arguments[name] if _is_naive(hints.get(name)) else changed[name] for name in arguments
    }


def make_aware(value: Any) -> Any:
    """Take naive datetimes as times in TIME_ZONE, at any depth. Values without one come back as they are."""
    if isinstance(value, datetime):
        return timezone.make_aware(value) if timezone.is_naive(value) else value
    if isinstance(value, BaseModel):
        fields = {name: field.annotation for name, field in type(value).model_fields.items()}
        changed = _changed_fields(value, fields)
        return value.model_copy(update=changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changed = _changed_fields(
            value, {field.name: field.type for field in dataclasses.fields(value) if field.init}
        )
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, dict):
        made = {key: make_aware(item) for key, item in value.items()}
        return made if any(made[key] is not value[key] for key in value) else value
    if isinstance(value, list | tuple | set | frozenset):
        items = [make_aware(item) for item in value]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _changed_fields(value: Any, annotations: Mapping[str, Any]) -> dict[str, Any]:
    aware = {
        name: make_aware(getattr(value, name))
        for name, hint in annotations.items()
        if not _is_naive(hint)
    }
    return {name: new for name, new in aware.items() if new is not getattr(value, name)}


def _is_naive(hint: Any) -> bool:
    return hint is NaiveDatetime or any(_is_naive(argument) for argument in get_args(hint))
