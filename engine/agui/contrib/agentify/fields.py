"""The fields of a model: what their values are, and which of them a tool may take."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.core import validators
from django.db import models
from django.utils import translation

MAX_CHOICES = 50
MAX_CHOICE_CHARS = 60
MAX_ABOUT_CHARS = 120

# The type of a parameter, by the Django field that a field is, or is a subclass of.
# A subclass comes before its base.
TYPES: list[tuple[type[Any], str]] = [
    (models.BooleanField, "bool"),
    (models.FloatField, "float"),
    (models.DecimalField, "Decimal"),
    (models.IntegerField, "int"),
    (models.AutoField, "int"),
    (models.DateTimeField, "datetime"),
    (models.DateField, "date"),
    (models.TimeField, "time"),
    (models.DurationField, "timedelta"),
    (models.UUIDField, "UUID"),
    (models.JSONField, "Any"),
    (models.FileField, "file"),
    (models.GenericIPAddressField, "str"),
    (models.CharField, "str"),
    (models.TextField, "str"),
]
# Names that a related row may be shown by, the best first.
LABELS = [
    "name",
    "title",
    "username",
    "full_name",
    "label",
    "number",
    "reference",
    "code",
    "subject",
    "slug",
    "email",
    "model",
]


@dataclass(frozen=True)
class FieldInfo:
    """A field as the writers of source see it."""

    name: str
    type: str
    """"int", "str" and so on; "many" for many related rows; "file"."""
    about: str = ""
    """Its name for people, if that says more than its name."""
    choices: tuple[Any, ...] = ()
    limits: dict[str, Any] = field(default_factory=dict)
    """Arguments of pydantic's Field."""
    required: bool = False
    """A new row needs a value."""
    can_be_empty: bool = False
    creatable: bool = True
    """The tool that creates a row takes it."""
    changeable: bool = True
    """The tool that changes a row takes it."""
    custom: bool = False
    """Its class is not Django's: it may not be searched or compared."""
    related: Any = None
    """The model of the related rows."""
    label: str = ""
    """The field of the related row that is shown; "" shows the id only."""
    adds_itself: bool = False
    """Django sets the value when the row is created."""

    @property
    def editable(self) -> bool:
        return self.creatable or self.changeable

    @property
    def is_text(self) -> bool:
        return self.type == "str" and not self.choices and not self.related and not self.custom

    @property
    def shown(self) -> str:
        return f"{self.name}.{self.label}" if self.label else self.name


def type_of(model_field: Any) -> str:
    """Return the type of a field's values; "" if it is unknown."""
    if model_field.many_to_many:
        return "many"
    while model_field.is_relation:
        model_field = model_field.target_field
    if hasattr(model_field, "base_field") and hasattr(model_field, "size"):
        inner = type_of(model_field.base_field)
        return f"list[{inner}]" if inner and inner != "file" else ""
    if isinstance(model_field, models.GeneratedField):
        return type_of(model_field.output_field)
    for kind, name in TYPES:
        if isinstance(model_field, kind):
            return name
    return ""


def is_custom(model_field: Any) -> bool:
    """Whether a field's class comes from somewhere else than Django."""
    return not type(model_field).__module__.startswith("django.")


def choices_of(model_field: Any) -> tuple[Any, ...]:
    """Return a field's choices if they are few and plain."""
    flat = [value for value, _ in getattr(model_field, "flatchoices", None) or ()]
    values = [value for value in flat if value not in (None, "")]
    if len(values) > MAX_CHOICES or is_custom(model_field):
        return ()
    for value in values:
        is_short = isinstance(value, str) and 0 < len(value) <= MAX_CHOICE_CHARS
        if not is_short and type(value) is not int:
            return ()
    # An Enum's member is written as its value.
    return tuple(dict.fromkeys(int(v) if isinstance(v, int) else str(v) for v in values))


def limits_of(model_field: Any, kind: str) -> dict[str, Any]:
    """Read what pydantic can check before the row does."""
    limits: dict[str, Any] = {}
    # The lengths of a subclass may be those of another form of the value.
    if is_custom(model_field) or model_field.is_relation:
        return limits
    if kind == "str":
        if not model_field.blank:
            limits["min_length"] = 1
        if model_field.max_length:
            limits["max_length"] = model_field.max_length
    elif kind == "Decimal":
        limits["max_digits"] = model_field.max_digits
        limits["decimal_places"] = model_field.decimal_places
    elif isinstance(
        model_field,
        models.PositiveIntegerField
        | models.PositiveSmallIntegerField
        | models.PositiveBigIntegerField,
    ):
        limits["ge"] = 0
    if kind in ("int", "float"):
        limits.update(_bounds(model_field._validators))
    return {name: value for name, value in limits.items() if value is not None}


def _bounds(checks: Iterable[Any]) -> dict[str, Any]:
    bounds: dict[str, Any] = {}
    for check in checks:
        limit = getattr(check, "limit_value", None)
        if type(limit) not in (int, float):
            continue
        if type(check) is validators.MinValueValidator:
            bounds["ge"] = limit
        elif type(check) is validators.MaxValueValidator:
            bounds["le"] = limit
    return bounds


def about(model_field: Any) -> str:
    """Return what a field is called or how it is explained, if that is plain English."""
    with translation.override(None):
        text = str(getattr(model_field, "help_text", "") or model_field.verbose_name or "")
    text = " ".join(text.split())
    unreadable = not text.isascii() or "<" in text or "\\" in text or '"' in text or "{" in text
    if unreadable or len(text) > MAX_ABOUT_CHARS:
        text = model_field.name.replace("_", " ")
    return text[:1].upper() + text[1:].rstrip(".")


def label_of(model: type[models.Model], is_secret: Any) -> str:
    """Find the field by which a related row is shown."""
    by_name = {model_field.name: model_field for model_field in model._meta.fields}
    username = getattr(model, "USERNAME_FIELD", "")
    for name in [username, *LABELS]:
        model_field = by_name.get(name)
        is_text = isinstance(model_field, models.CharField | models.TextField)
        if is_text and not is_secret(model_field):
            return str(name)
    return ""
