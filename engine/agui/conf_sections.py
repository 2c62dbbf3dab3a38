"""The sections of AGUI: what they have in common, those of the core, and the errors in them."""

import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, ClassVar, get_args

from django.utils.module_loading import import_string
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, ValidationInfo

from agui.money import Dollars

# The context of validation in which nothing is imported.
WITHOUT_IMPORTS = "without imports"
RATE = r"^[1-9][0-9]{0,8}/(second|minute|hour|day)$"

SECRET_NAMES = [
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "authorization",
    "cookie",
    "api_key",
    "access_key",
    "private_key",
]


class Section(BaseModel):
    """A dictionary in AGUI, or AGUI itself."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, alias_generator=str.upper, defer_build=True
    )

    environment: ClassVar[Mapping[str, str]] = {}
    """Variables of the environment, by field. They apply where the dictionary has no key."""
    has_secrets: ClassVar[bool] = False
    """Whether an error must not quote a wrong value."""

    @classmethod
    def collect_environment(cls) -> dict[str, Any]:
        """Read the variables that are set, by key."""
        values: dict[str, Any] = {}
        for name, variable in cls.environment.items():
            text = os.environ.get(variable)
            if text:
                values[name.upper()] = _parse(text, cls.model_fields[name].annotation)
        return values


def _parse(text: str, annotation: Any) -> Any:
    adapter: TypeAdapter[Any] = TypeAdapter(annotation)
    try:
        return adapter.validate_strings(text)
    except ValidationError:
        return text  # Validating the section reports it.


def imported(path: str) -> str:
    try:
        import_string(path)
    except ImportError as error:
        raise ValueError(
            f"{path!r} can't be imported ({error}): name an object that exists, by its dotted path"
        ) from None
    return path


def imported_variable(path: str) -> str:
    if not isinstance(import_string(imported(path)), ContextVar):
        raise ValueError(f"{path!r} is no context variable: name a contextvars.ContextVar")
    return path


def by_import(check: Callable[[Any, Any], Any]) -> Callable[[Any, Any, ValidationInfo], Any]:
    """Mark a validator that imports what a setting names.

    It runs when an agent is needed (agents/discovery.py), and not at start-up.
    """

    def checked(cls: Any, value: Any, info: ValidationInfo) -> Any:
        if info.context == WITHOUT_IMPORTS:
            return value
        return check(cls, value)

    return checked


class Limits(Section):
    """Limits of one run; None means no limit."""

    requests: int | None = Field(25, gt=0, description="Requests to the model in one run.")
    tool_calls: int | None = Field(50, gt=0, description="Successful tool calls in one run.")
    total_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model reads and writes in one run."
    )
    input_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model reads in one run."
    )
    output_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model writes in one run."
    )
    request_input_tokens: int | None = Field(
        None, gt=0, description="Tokens that the model reads in one request."
    )
    count_tokens: bool = Field(
        False,
        description="Asks the provider to count before each request, and stops one that would "
        "pass a limit.",
    )
    cost: Dollars | None = Field(
        None, gt=0, description="The cost of one run; needs a model with a known price."
    )


class Throttle(Section):
    """Limits of the runs that a user starts, such as "20/minute"; None means no limit.

    The units are "/second", "/minute", "/hour" and "/day".
    """

    user: str | None = Field(
        None, pattern=RATE, description="For one user, over all tokens and sessions."
    )
    token: str | None = Field(None, pattern=RATE, description="For one API token.")


class Retention(Section):
    """The age at which `manage.py prune_agent_data` deletes data; None means never."""

    conversations_days: int | None = Field(
        None, gt=0, description="The age of a conversation's last message."
    )
    runs_days: int | None = Field(None, gt=0, description="The age of a run's record.")
    audit_days: int | None = Field(None, gt=0, description="The age of a tool call's record.")


def explain(error: Any, model: type[Section]) -> str:
    """Write pydantic's error about a key of AGUI as a sentence with its cure."""
    is_unknown = error["type"] == "extra_forbidden"
    # Pydantic also reports the branches of a union as locations: these are no keys.
    keys = []
    for key in error["loc"]:
        if is_unknown or isinstance(key, int) or key.isupper():
            keys.append(str(key))
    name = "AGUI" + "".join(f"[{key}]" if key.isdigit() else f"[{key!r}]" for key in keys)
    has_secrets = False
    for key in keys[:-1]:
        field = model.model_fields.get(key.lower())
        section = _section_in(field.annotation) if field else None
        if section:
            model = section
            has_secrets |= section.has_secrets
    if is_unknown:
        part = _part_with_key(keys)
        if part:
            return f"{name} belongs to the part {part!r}: add it to INSTALLED_APPS, or remove it."
        known_keys = ", ".join(field.upper() for field in model.model_fields)
        return f"{name} is not a setting. Remove it, or use one of: {known_keys}."
    problem = error["msg"].removeprefix("Value error, ")
    if has_secrets:
        return f"{name}: {problem}."
    return f"{name} = {error['input']!r}: {problem}."


def _part_with_key(keys: list[str]) -> str | None:
    """Name the part of the engine whose section this is. It is not in INSTALLED_APPS."""
    [key, *others] = keys
    name = f"agui.contrib.{key.lower()}"
    if others or not key.isidentifier() or find_spec(name) is None:
        return None
    return name


def _section_in(annotation: Any) -> type[Section] | None:
    """Find the section in a field's annotation: in `Section | None`, or in `dict[str, Section]`."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    for argument in get_args(annotation):
        section = _section_in(argument)
        if section:
            return section
    return None
