"""The arguments of a call as fields of a form without scripts, and what a person has changed there.

A field that was not touched leaves its argument exactly as the client has sent it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import ToolCallPart

from agui.tools.audit import storable
from agui.tools.definitions import all_arguments
from agui.tools.foreign_schemas import resolve
from agui.tools.questions import INVISIBLE
from agui.tools.registry import ToolBinding
from agui.tools.schema import prettify
from agui.tools.secret_arguments import hide, secret_paths

LONG_CHARS = 60
MAX_ROWS = 12


@dataclass(frozen=True)
class Field:
    """An argument on the page."""

    name: str
    key: str
    """The field's name in the form."""
    label: str
    kind: str
    """text, number, choice or json."""
    text: str
    """The value as the page shows it."""
    choices: tuple[str, ...] = ()
    is_nullable: bool = False
    is_editable: bool = True
    error: str = ""

    @property
    def rows(self) -> int:
        lines = self.text.count("\n") + 1 + len(self.text) // LONG_CHARS
        return min(lines, MAX_ROWS)

    @property
    def has_hidden(self) -> bool:
        """Whether the value has characters that nobody sees."""
        return bool(INVISIBLE.search(self.text))


class Misfits(Exception):
    """What a person has written does not fit the tool."""

    def __init__(self, fields: list[Field]) -> None:
        self.fields = fields


def fields_of(
    binding: ToolBinding, arguments: dict[str, Any], editable: bool | Iterable[str]
) -> list[Field]:
    """List the arguments that the tool gets, with its defaults. The secret ones are hidden."""
    schema = binding.input_schema
    properties = schema.get("properties") or {}
    whole = _with_defaults(binding, arguments)
    shown = hide(whole, secret_paths(schema))
    fields = []
    names = [name for name in properties if name in shown]
    names += [name for name in shown if name not in properties]
    for index, name in enumerate(names):
        part, is_nullable = _plain(properties.get(name), schema)
        kind, choices = _kind_of(part)
        is_open = editable is True or (editable is not False and name in editable)
        is_secret = shown[name] != whole[name]
        field = Field(
            name,
            f"argument-{index}",
            str(part.get("title") or prettify(name)),
            kind,
            _written(shown[name], kind),
            choices,
            is_nullable,
            is_open and not is_secret and name in properties,
        )
        if kind == "text" and not isinstance(shown[name], str | None):
            # The tool itself will say what is wrong with it.
            field = replace(field, kind="json", text=_written(shown[name], "json"))
        fields.append(field)
    return fields


def _with_defaults(binding: ToolBinding, arguments: dict[str, Any]) -> dict[str, Any]:
    try:
        validated = binding.validate(arguments)
    except ValidationError:
        return arguments
    part = ToolCallPart(binding.spec.name, arguments, tool_call_id="")
    whole: dict[str, Any] = json.loads(all_arguments(part, validated))
    return whole


def _plain(part: Any, schema: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Resolve a schema, and tell whether it allows null beside one other kind of value."""
    if not isinstance(part, dict):
        return {}, False
    pointer = part.get("$ref")
    if isinstance(pointer, str):
        target = resolve(schema, pointer)
        if isinstance(target, dict):
            part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    alternatives = part.get("anyOf")
    if not isinstance(alternatives, list):
        return part, False
    others = [each for each in alternatives if each != {"type": "null"}]
    if len(others) != 1 or len(others) == len(alternatives):
        return part, False
    inner, _ = _plain(others[0], schema)
    own = {key: value for key, value in part.items() if key != "anyOf"}
    return {**inner, **own}, True


def _kind_of(part: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    values = part.get("enum")
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return "choice", tuple(values)
    if part.get("type") == "boolean":
        return "choice", ("true", "false")
    if part.get("type") == "string":
        return "text", ()
    if part.get("type") in ("integer", "number"):
        return "number", ()
    return "json", ()


def _written(value: Any, kind: str) -> str:
    if value is None and kind != "json":
        return ""
    if isinstance(value, str) and kind != "json":
        return _lines(value)
    indent = 2 if isinstance(value, dict | list) else None
    return _lines(json.dumps(value, ensure_ascii=False, indent=indent))


def _lines(text: str) -> str:
    # A form sends each end of a line in one way, and no characters that a page can't have.
    written: str = storable(text.replace("\r\n", "\n").replace("\r", "\n"))
    return written


def edited_arguments(
    binding: ToolBinding, fields: list[Field], arguments: dict[str, Any], form: Mapping[str, str]
) -> dict[str, Any] | None:
    """Read a form; returns None if nothing was changed. Raises Misfits."""
    edited = dict(arguments)
    read = []
    for field in fields:
        text = _lines(form.get(field.key, field.text))
        if field.is_editable and text != field.text:
            field = replace(field, text=text)
            try:
                edited[field.name] = _value_of(field)
            except (ValueError, RecursionError):
                field = replace(field, error="?")
        read.append(field)
    if any(field.error for field in read):
        raise Misfits(read)
    if edited == arguments and list(edited) == list(arguments):
        return None
    try:
        binding.validate(edited)
    except ValidationError as error:
        wrong = {str(each["loc"][0]): each["msg"] for each in error.errors() if each["loc"]}
        raise Misfits([replace(field, error=wrong.get(field.name, "")) for field in read]) from None
    return edited


def _value_of(field: Field) -> Any:
    """Read the text of a field. Raises ValueError."""
    if field.text == "" and field.is_nullable:
        return None
    if field.kind == "text":
        return field.text
    if field.kind == "choice":
        if field.text not in field.choices:
            raise ValueError
        return field.text == "true" if field.choices == ("true", "false") else field.text
    value = json.loads(field.text, parse_constant=_refuse)
    if field.kind == "number" and type(value) not in (int, float):
        raise ValueError
    return value


def _refuse(name: str) -> Any:
    raise ValueError(name)
