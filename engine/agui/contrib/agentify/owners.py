"""The way from a row to the user who owns it: "customer__user"."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import models

from agui.contrib.agentify.refusal import Refused

MAX_STEPS = 3


@dataclass(frozen=True)
class Owner:
    """The way from a row to its owner."""

    path: str
    first: str
    """The field of the row with which the way begins."""
    is_forward: bool
    """Whether the row itself says who owns it, so a new row can belong to the user."""
    is_many: bool
    """Whether a row may have several owners."""

    @property
    def rest(self) -> str:
        """The way from the related row on; "" if the first field refers to the user."""
        return self.path.partition("__")[2]


def read_owner(model: type[models.Model], path: str) -> Owner:
    """Check a path from a model to the user. Raises Refused."""
    user_model = get_user_model()
    current: Any = model
    is_many = False
    steps = path.split("__")
    first: Any = None
    for step in steps:
        try:
            field = model_field(current, step)
        except FieldDoesNotExist:
            raise Refused(f"{current.__name__} has no field {step!r}.") from None
        if field is None:
            break
        first = first or field
        if not field.is_relation or field.related_model is None:
            raise Refused(
                f"{step!r} of {current.__name__} is no relation to another model: the path must "
                f"lead to {user_model.__name__}."
            )
        is_many = is_many or field.one_to_many or field.many_to_many
        current = field.related_model
    if not issubclass(user_model, current) and not issubclass(current, user_model):
        raise Refused(f"{path!r} leads to {current.__name__}, not to {user_model.__name__}.")
    is_forward = first is None or is_own(first)
    return Owner(path, steps[0], is_forward, bool(is_many))


def model_field(model: Any, name: str) -> Any:
    """Find a field or a reverse relation by its name in queries; None for a user's own `pk`."""
    if name == "pk":
        return None
    for field in model._meta.get_fields():
        if field.name == name:
            return field
    raise FieldDoesNotExist(name)


def guess_paths(model: type[models.Model], steps: int = MAX_STEPS) -> list[str]:
    """List the shortest ways over foreign keys from a model to the user."""
    user_model = get_user_model()
    waiting: list[tuple[type[models.Model], str]] = [(model, "")]
    for _ in range(steps):
        paths = []
        following = []
        for current, prefix in waiting:
            for field in current._meta.fields:
                related: Any = field.related_model
                if not field.is_relation or not isinstance(related, type) or related is current:
                    continue
                if getattr(field.remote_field, "parent_link", False):
                    continue
                path = f"{prefix}{field.name}"
                if issubclass(user_model, related):
                    paths.append(path)
                else:
                    following.append((related, f"{path}__"))
        if paths:
            return paths
        waiting = following
    return []


def is_own(field: Any) -> bool:
    """Whether a field stands in its model. Django 6.1 calls none with many values concrete."""
    is_stored = field.concrete or isinstance(field, models.ManyToManyField)
    return bool(is_stored and not field.auto_created)


def members_of(model: Any) -> list[str]:
    """List the relations by which several users may share a row of a model."""
    names = []
    for field in model._meta.get_fields():
        related: Any = field.related_model if field.is_relation else None
        if not isinstance(related, type) or getattr(field, "parent_link", False):
            continue
        if _is_shared(field, related):
            names.append(field.name)
    return names


def _is_shared(field: Any, related: Any) -> bool:
    """Whether a relation is many-to-many, a user's own key, or of rows that are called members."""
    if is_user(related):
        return not field.concrete or bool(field.many_to_many)
    return bool(
        field.one_to_many and "member" in related.__name__.lower() and guess_paths(related, 1)
    )


def is_user(model: Any) -> bool:
    return issubclass(get_user_model(), model)
