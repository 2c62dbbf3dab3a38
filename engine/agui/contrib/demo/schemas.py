"""The JSON Schemas of a tool's arguments, as the offline demo model reads them.

A client's tools have schemas of any size, with definitions that refer to each other, so the model
reads only a bounded part of each.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from types import NoneType
from typing import Any, TypeAlias

from pydantic_ai.tools import ToolDefinition

Schema: TypeAlias = dict[str, Any]
Properties: TypeAlias = dict[str, list[Schema]]
"""The types that each argument of a tool can have."""

FORMATS = {
    "date": r"\d{4}-\d\d-\d\d",
    "date-time": r"\d{4}-\d\d-\d\d([T ].+)?",
    "email": r"[^\s@]+@\S+",
    "uri": r"\w+:\S+",
}
JSON_TYPES: dict[str, Any] = {
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": NoneType,
    "object": dict,
}
JSON_WORDS = {"yes": "true", "no": "false", "none": "null"}
SAMPLES = {
    "integer": "1",
    "number": "1.5",
    "boolean": "true",
    "array": "[...]",
    "object": "{...}",
}
FORMAT_SAMPLES = {
    "date": "2026-12-31",
    "date-time": "2026-12-31T12:00",
    "email": "a@example.com",
    "uri": "https://example.com",
}
UNREADABLE = (ValueError, RecursionError)  # the second is for JSON of a thousand brackets

MAX_PROPERTIES = 50
MAX_SCHEMAS = 300
MAX_CHOICES = 100
MAX_NAME_CHARS = 100


def properties_of(tool: ToolDefinition) -> tuple[Properties, list[str]]:
    """Read a tool's arguments, and list the required ones."""
    schema = tool.parameters_json_schema
    definitions = _object(schema.get("$defs"))
    steps = iter(range(MAX_SCHEMAS))
    properties: Properties = {}
    for name, argument in _object(schema.get("properties")).items():
        if len(properties) == MAX_PROPERTIES:
            break
        if len(name) <= MAX_NAME_CHARS:
            properties[name] = _variants(argument, definitions, steps) or [{"type": "string"}]
    required = set(map(str, schema.get("required") or ()))
    return properties, [name for name in properties if name in required]


def _object(value: Any) -> Schema:
    if isinstance(value, dict):
        return value
    return {}


def _variants(
    schema: Any, definitions: Schema, steps: Iterator[int], within: frozenset[str] = frozenset()
) -> list[Schema]:
    """List the plain schemas that a schema allows; text last, because everything is text.

    `steps` are those that may still be taken for this tool, `within` are the definitions that led
    here.
    """
    if next(steps, None) is None:
        return []
    if not isinstance(schema, dict):
        return [{"type": "string"}]
    pointer = schema.get("$ref")
    if isinstance(pointer, str):
        name = pointer.rpartition("/")[2]
        # A type may contain itself: follow it once.
        target = None if name in within else definitions.get(name)
        return _variants(target, definitions, steps, within | {name})
    nested = _nested(schema)
    if isinstance(nested, list):
        variants = []
        for item in nested[:MAX_CHOICES]:
            variants += _variants(item, definitions, steps, within)
        return sorted(variants, key=is_text)
    plain: Schema = {}
    for name in ("type", "format"):
        if isinstance(schema.get(name), str):
            plain[name] = schema[name]
    if schema.get("type") == "array":
        plain["items"] = _variants(schema.get("items"), definitions, steps, within)
    choices = schema.get("enum")
    if "const" in schema:
        choices = [schema["const"]]
    if isinstance(choices, list):
        _add_choices(plain, choices[:MAX_CHOICES])
    return [plain]


def _nested(schema: Schema) -> Any:
    """Find the alternatives of a schema, if it has any."""
    kinds = schema.get("type")
    if isinstance(kinds, list):
        return [{**schema, "type": kind} for kind in kinds[:MAX_CHOICES]]
    return schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")


def _add_choices(plain: Schema, choices: Sequence[Any]) -> None:
    """Add the values of an enum, and index them under "said" by their plain spelling."""
    plain["enum"] = []
    plain["said"] = {}
    for value in choices:
        if isinstance(value, str | int | float):
            plain["enum"].append(value)
            plain["said"].setdefault(plain_name(str(value)[:MAX_NAME_CHARS]), value)


def plain_name(name: str) -> str:
    """Reduce a name to what all its spellings have in common."""
    return re.sub("[_ -]", "", name).lower()


def is_text(schema: Schema) -> bool:
    return (
        schema.get("type") == "string"
        and "enum" not in schema
        and schema.get("format") not in FORMATS
    )


def fit(text: str, variants: Iterable[Schema]) -> Any:
    """Convert a text to the first type that takes it.

    A text that fits no type is returned as it is: the tool's own check refuses it.
    """
    for schema in variants:
        with suppress(*UNREADABLE):
            return convert(text, schema)
    return text


def convert(text: str, schema: Schema) -> Any:
    """Read the text as the schema says. Raises ValueError."""
    kind = schema.get("type")
    if "enum" in schema:
        spelling = plain_name(text)
        if spelling not in schema["said"]:
            raise ValueError(text)
        return schema["said"][spelling]
    if kind == "array":
        return [fit(item.strip(), schema["items"]) for item in re.split(r",|\band\b", text)]
    if kind in JSON_TYPES:
        value = json.loads(JSON_WORDS.get(text.lower(), text))
        # In Python, a bool is an int.
        is_of_kind = isinstance(value, bool) == (kind == "boolean")
        if not is_of_kind or not isinstance(value, JSON_TYPES[kind]):
            raise ValueError(text)
        return value
    pattern = FORMATS.get(schema.get("format", ""))
    if pattern and not re.fullmatch(pattern, text):
        raise ValueError(text)
    return text


def example_of(tool: ToolDefinition) -> str:
    """Write a message that calls the tool, with made-up arguments."""
    properties, required = properties_of(tool)
    names = list(required)
    if len(required) == 1:
        optional = [name for name in properties if name not in required]
        names += optional[:1]
    words = [tool.name]
    for name in names:
        words.append(f"{name}={_sample(properties[name])}")
    return " ".join(words)


def _sample(variants: Sequence[Schema]) -> str:
    for schema in variants:
        kind = schema.get("type", "")
        if kind == "null":
            continue
        if schema.get("enum"):
            return str(schema["enum"][0])[:MAX_NAME_CHARS]
        return SAMPLES.get(kind) or FORMAT_SAMPLES.get(schema.get("format", "")) or '"..."'
    return '"..."'
