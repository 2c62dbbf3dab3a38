"""Rows and users for the tests that `manage.py agentify` has written."""

import itertools
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from unittest import SkipTest
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.contrib.contenttypes.models import ContentType
from django.core.validators import MinValueValidator
from django.db import models, transaction

from agui.contrib.agentify.fields import choices_of, type_of
from agui.contrib.agentify.owners import is_own, model_field
from agui.testing import context

MAX_DEPTH = 6

_numbers = itertools.count(1)


class CanNotMake(Exception):
    """A row can't be made from its required fields alone."""


def as_user(user: Any) -> Any:
    """Make the `ctx` that a tool gets from this user's run."""
    return context.as_user(user, approved=True)


def make_user(is_staff: bool = False) -> Any:
    """Make a user with a name of their own."""
    user = make(get_user_model())
    if is_staff:
        name = "is_staff" if hasattr(user, "is_staff") else "is_superuser"
        try:
            setattr(user, name, True)
        except AttributeError:
            raise SkipTest(
                f"Make a user of the staff in this module: {name} can't be set."
            ) from None
        user.save()
    return user


def make_or_skip(model: Any, owner_path: str = "", owner: Any = None) -> Any:
    """Make a row. If its required fields alone don't make one, the test is skipped, and says so."""
    try:
        row = make(model, owner_path, owner)
    except CanNotMake as error:
        raise SkipTest(f"{error} Write it in this module, and these tests run.") from error
    if not model._default_manager.filter(pk=row.pk).exists():
        raise SkipTest("The model's manager hides the row that was made. Write it in this module.")
    return row


def make(model: Any, owner_path: str = "", owner: Any = None, depth: int = 0) -> Any:
    """Make a row with a value for each required field. Raises CanNotMake.

    `owner_path` is the way from the row to `owner`: "customer__user".
    """
    if owner_path == "pk":
        return owner
    first, _, rest = owner_path.partition("__")
    try:
        with transaction.atomic():
            row = model()
            _fill(row, first, rest, owner, depth)
            if hasattr(model, "add_root"):
                row = model.add_root(instance=row)
            else:
                row.save()
            if first:
                _own(row, first, rest, owner, depth)
            return model._base_manager.get(pk=row.pk)
    except CanNotMake:
        raise
    except Exception as error:
        raise CanNotMake(f"A {model.__name__} can't be made by itself ({error!r}).") from error


def _fill(row: Any, first: str, rest: str, owner: Any, depth: int) -> None:
    for field in row._meta.concrete_fields:
        is_owner = field.name == first
        is_key = field.primary_key and isinstance(field, models.AutoField)
        if is_key or isinstance(field, models.GeneratedField):
            continue
        if getattr(field.remote_field, "parent_link", False):
            continue
        if is_owner:
            setattr(row, field.name, make_related(field, rest, owner, depth))
        elif _needs_value(row, field):
            _give_value(row, field, depth)


def _give_value(row: Any, field: Any, depth: int) -> None:
    try:
        setattr(row, field.name, value_of(field, depth))
    except CanNotMake:
        # The database does without a row that only forms ask for.
        if not field.null:
            raise


def _needs_value(row: Any, field: Any) -> bool:
    if field.has_default():
        # A second row can't have the same value.
        return field.unique and not callable(field.default)
    if getattr(row, field.attname) not in (None, ""):
        return False
    if field.null and (field.blank or not field.is_relation):
        return False
    if not field.editable:
        # The app's own code would set the moment.
        return field.unique or isinstance(field, models.DateField)
    # A text that may be blank, but not twice.
    return not field.blank or field.unique


def _own(row: Any, first: str, rest: str, owner: Any, depth: int) -> None:
    """Give a row to its owner if the way there begins with a relation to many rows."""
    field = model_field(type(row), first)
    if field.concrete and not field.many_to_many:
        return
    related = field.related_model
    if field.many_to_many and is_own(field):
        other = owner if not rest else make(related, rest, owner, depth + 1)
        getattr(row, first).add(other)
        return
    if field.many_to_many:
        getattr(row, field.get_accessor_name()).add(owner)
        return
    # The other row refers to this one, and to the owner.
    other = related()
    step, _, further = rest.partition("__")
    _fill(other, step, further, owner, depth + 1)
    setattr(other, field.field.name, row)
    other.save()


def make_related(field: Any, rest: str, owner: Any, depth: int = 0) -> Any:
    if not rest:
        return owner
    step, _, further = rest.partition("__")
    last = None if further else model_field(field.related_model, step)
    if getattr(last, "unique", False) and not field.unique:
        # The owner can have no second one.
        existing = field.related_model._base_manager.filter(**{rest: owner}).first()
        if existing is not None:
            return existing
    return make(field.related_model, rest, owner, depth + 1)


def value_of(field: Any, depth: int = 0) -> Any:
    """Make up a value that no other row has. Raises CanNotMake."""
    number = next(_numbers)
    if field.is_relation:
        return _related_row(field, depth)
    choices = choices_of(field)
    if choices:
        return choices[0]
    kind = type_of(field)
    if kind == "str":
        return _text(field, number)
    lowest = _lowest(field)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    values: dict[str, Any] = {
        "bool": False,
        "int": int(lowest) + number % 30_000,
        "float": float(lowest) + number,
        "Decimal": Decimal(1),
        "date": date(2026, 1, 1) + timedelta(days=number),
        "datetime": start + timedelta(minutes=number),
        "time": time(12, number % 60),
        "timedelta": timedelta(minutes=number),
        "UUID": uuid4(),
        "Any": {"number": number},
        "file": f"file-{number}.png",
    }
    if kind in values:
        return values[kind]
    if kind.startswith("list["):
        return []
    if isinstance(field, models.BinaryField):
        return b"bytes"
    raise CanNotMake(f"There is no sample value for {field.name}, a {type(field).__name__}.")


def _related_row(field: Any, depth: int) -> Any:
    model = field.related_model
    if depth > MAX_DEPTH or not isinstance(model, type):
        raise CanNotMake(f"{field.name} needs a row that can't be made.")
    if model is ContentType:
        return ContentType.objects.get_for_model(get_user_model())
    return make(model, depth=depth + 1)


def _lowest(field: Any) -> Any:
    for check in getattr(field, "_validators", ()):
        if type(check) is MinValueValidator and isinstance(check.limit_value, int | float):
            return check.limit_value
    return 0


def _text(field: Any, number: int) -> str:
    if isinstance(field, models.EmailField):
        text = f"user{number}@example.com"
    elif isinstance(field, models.URLField):
        text = f"https://example.com/{number}"
    elif isinstance(field, models.GenericIPAddressField):
        text = f"10.0.{number // 250 % 250}.{number % 250}"
    else:
        text = f"sample-{number}"
    if field.max_length and len(text) > field.max_length:
        text = str(number)[-field.max_length :].rjust(min(field.max_length, 2), "a")
    return text


def sample_arguments(model: Any, tool: Any, related: dict[str, Any]) -> dict[str, Any]:
    """Make up the arguments that a tool needs. `related` are ids by argument.

    The test is skipped if that isn't possible.
    """
    arguments = dict(related)
    for name in tool.input_schema.get("required", ()):
        if name in arguments:
            continue
        try:
            value = value_of(model._meta.get_field(name.rstrip("_")))
        except CanNotMake as error:
            raise SkipTest(f"{error} Write it in this test, and it runs.") from error
        arguments[name] = value.pk if isinstance(value, models.Model) else value
    return arguments


def create_or_skip(model: Any, tool: Any, arguments: dict[str, Any], ctx: Any) -> Any:
    """Call the tool that creates a row. If made-up values don't do, the test is skipped."""
    name = tool.spec.name
    try:
        created = tool.prepare_call(tool.validate(arguments), ctx)()
    except Exception as error:  # The model's own code may refuse them in any way.
        raise SkipTest(
            f"{name} refuses made-up values ({error!r}). Write some in this test."
        ) from error
    if not model._default_manager.filter(pk=created["id"]).exists():
        raise SkipTest(f"The model's manager hides what {name} makes. Write values in this test.")
    return created
