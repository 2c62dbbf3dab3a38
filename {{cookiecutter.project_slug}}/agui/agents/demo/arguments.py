"""The arguments that the offline demo model finds in a message, by a tool's JSON Schema.

In this order: `key=value` and `key: value`, values that only fit one type, then what is left as
text.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from types import NoneType
from typing import Any, NamedTuple, TypeAlias

from pydantic_ai.tools import ToolDefinition

from agui.agents.demo.choice import (
    QUOTED,
    Match,
    blank,
    significant_words,
    stem_of,
    stems_of,
    without_arguments,
)

Schema: TypeAlias = dict[str, Any]

# optional, but often meant
FREE_TEXT = {"title", "name", "text", "query", "message", "question", "prompt"}
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
UNREADABLE = (ValueError, RecursionError)  # the second is for JSON of a thousand brackets
JSON_WORDS = {"yes": "true", "no": "false", "none": "null"}

# A client's tools have schemas of any size, with definitions that refer to each other: so much is
# read of one.
MAX_PROPERTIES = 50
MAX_SCHEMAS = 300
MAX_CHOICES = 100
MAX_NAME_CHARS = 100
MAX_TOKENS = 200

_FLAG_VERBS = {stem_of(word) for word in ("include", "show", "only")}

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
# Possessive, and never begun in the midst of punctuation: so each character is looked at once.
_TOKEN = re.compile(rf"{QUOTED.pattern}|((?<![.!?:])(?:[.!?:]*+[^\s,;#()\"“.!?:]++)+)")
_LEADING = re.compile(
    r"^(?:[\s:,.-]|(?:to|that|about|for|of|on|with|called|named|saying|the|an|a)\b)+", re.I
)
_EVERYTHING = re.compile(r"(all|every\w*|anything|none|nothing)\b", re.I)
_LAST_WORD = re.compile(r"\b(?:and|then|also|please)\Z", re.I)


class Token(NamedTuple):
    """Something in a text that may be an argument."""

    text: str
    quoted: bool


def fill_arguments(match: Match) -> tuple[dict[str, Any], list[str]]:
    """Take a tool's arguments from the text around its name; also tell which required ones are missing."""
    properties, required = _properties(match.tool)
    values: dict[str, Any] = {}
    before, after = (_take_named(text, properties, values) for text in (match.before, match.after))
    hits = islice(_TOKEN.finditer(f"{before}\n{after}"), MAX_TOKENS)
    tokens = [Token(_content(hit), hit[0] != hit[4]) for hit in hits]
    _take_positional(tokens, {name: properties[name] for name in required}, values)
    free_text = _without_ending(_LEADING.sub("", without_arguments(after).replace("\0", "")))
    texts = [
        name
        for name, variants in properties.items()
        if any(map(_is_text, variants)) and name not in values
    ]
    if free_text and (open_texts := [name for name in texts if name in required]):
        values[open_texts[0]] = free_text
        # The 2 of "add task Buy 2 pears" belongs to the title.
        tokens = [token for token in tokens if not _NUMBER.fullmatch(token.text)]
    _take_positional(tokens, properties, values)
    if free_text and not values and not required and not _EVERYTHING.match(free_text):
        values |= {name: free_text for name in texts if name in FREE_TEXT or len(properties) == 1}
    said = {word.stem for word in significant_words(before + after)}
    flags = [
        name
        for name, variants in properties.items()
        if any(item.get("type") == "boolean" for item in variants)
    ]
    # "Show my finished tasks" sets `include_done`.
    meant = {name: set(stems_of(name)) - _FLAG_VERBS for name in flags if name not in values}
    values |= {name: True for name, stems in meant.items() if stems and stems <= said}
    return values, [name for name in required if name not in values]


def _properties(tool: ToolDefinition) -> tuple[dict[str, list[Schema]], list[str]]:
    """A tool's arguments with the types that each can have, and the names of the required ones."""
    schema = tool.parameters_json_schema
    definitions = _object(schema.get("$defs"))
    steps = iter(range(MAX_SCHEMAS))
    named = (
        (name, item)
        for name, item in _object(schema.get("properties")).items()
        if len(name) <= MAX_NAME_CHARS
    )
    properties = {
        name: _variants(item, definitions, steps) or [{"type": "string"}]
        for name, item in islice(named, MAX_PROPERTIES)
    }
    required = set(map(str, schema.get("required") or ()))
    return properties, [name for name in properties if name in required]


def _object(value: Any) -> Schema:
    return value if isinstance(value, dict) else {}


def _variants(
    schema: Any, definitions: Schema, steps: Iterator[int], within: frozenset[str] = frozenset()
) -> list[Schema]:
    """The plain schemas that a schema allows; text last, because everything is text.

    `steps` are those that may still be taken for this tool, `within` are the definitions that led
    here.
    """
    if next(steps, None) is None:
        return []
    if not isinstance(schema, dict):
        return [{"type": "string"}]
    if isinstance(schema.get("$ref"), str):
        name = schema["$ref"].rpartition("/")[2]
        # A type may contain itself: it is followed once.
        return _variants(
            None if name in within else definitions.get(name), definitions, steps, within | {name}
        )
    kinds = schema.get("type")
    nested = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
    if isinstance(kinds, list):
        nested = [{**schema, "type": kind} for kind in kinds[:MAX_CHOICES]]
    if isinstance(nested, list):
        found = [
            variant
            for item in nested[:MAX_CHOICES]
            for variant in _variants(item, definitions, steps, within)
        ]
        return sorted(found, key=_is_text)
    plain = {name: schema[name] for name in ("type", "format") if isinstance(schema.get(name), str)}
    if kinds == "array":
        plain["items"] = _variants(schema.get("items"), definitions, steps, within)
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        plain["enum"] = [
            value for value in choices[:MAX_CHOICES] if isinstance(value, str | int | float)
        ]
        plain["said"] = {
            _plain(str(value)[:MAX_NAME_CHARS]): value for value in reversed(plain["enum"])
        }
    return [plain]


def _is_text(schema: Schema) -> bool:
    return (
        schema.get("type") == "string"
        and "enum" not in schema
        and schema.get("format") not in FORMATS
    )


def _take_named(text: str, properties: dict[str, list[Schema]], values: dict[str, Any]) -> str:
    """Move `key=value` and `key: value` from the text to the values, and return what is left."""
    # Possessive: a name of many `_` would be tried in as many ways as there are sets of them.
    keys = "|".join(re.escape(name).replace("_", "[_ -]?+") for name in properties) or "(?!)"
    hits = list(re.finditer(rf"(?<![\w.-])({keys})\s*+[=:]\s*+", QUOTED.sub(blank, text), re.I))
    names = {_plain(name): name for name in properties}
    ends = [hit.start() for hit in hits] + [len(text)]
    left = text[: ends[0]]
    for hit, end in zip(hits, ends[1:], strict=True):
        name = names[_plain(hit[1])]
        value, rest = _read_value(text[hit.end() : end])
        values[name] = _fit(value, properties[name]) if isinstance(value, str) else value
        left += rest
    return left


def _plain(name: str) -> str:
    return re.sub("[_ -]", "", name).lower()


def _read_value(text: str) -> tuple[Any, str]:
    """Read a quoted text, a JSON list or object, or the rest of the line; also return what follows."""
    if quoted := QUOTED.match(text):
        return _content(quoted), text[quoted.end() :]
    if text.startswith(("[", "{")):
        with suppress(*UNREADABLE):
            value, end = json.JSONDecoder().raw_decode(text)
            return value, text[end:]
    line, _, rest = text.partition("\n")
    return _without_ending(line), rest


def _without_ending(text: str) -> str:
    """Cut the punctuation and the fill words at the end."""
    end = len(text)
    while end:
        if text[end - 1].isspace() or text[end - 1] in ",;.!?":
            end -= 1
        elif word := _LAST_WORD.search(text, max(0, end - len("please")), end):
            end = word.start()
        else:
            break
    return text[:end]


def _content(hit: re.Match[str]) -> str:
    return next(group for group in hit.groups() if group is not None)


def _take_positional(
    tokens: list[Token], properties: dict[str, list[Schema]], values: dict[str, Any]
) -> None:
    """Give each open argument the first token of its type."""
    for name, variants in properties.items():
        if name not in values and (found := _take(tokens, variants)) is not None:
            values[name] = found


def _take(tokens: list[Token], variants: Iterable[Schema]) -> Any:
    for schema in variants:
        if schema.get("type") == "array":
            return list(iter(lambda items=schema["items"]: _take(tokens, items), None)) or None  # type: ignore[misc]
        for token in tokens:
            # Any word could be a text, so a text must be quoted.
            if token.quoted or not _is_text(schema):
                with suppress(*UNREADABLE):
                    value = _convert(token.text, schema)
                    tokens.remove(token)
                    return value
    return None


def _fit(text: str, variants: Iterable[Schema]) -> Any:
    """Convert to the first type that takes the text; what fits nowhere is left to the tool's own check."""
    for schema in variants:
        with suppress(*UNREADABLE):
            return _convert(text, schema)
    return text


def _convert(text: str, schema: Schema) -> Any:
    """Read the text as the schema says. Raises ValueError."""
    kind = schema.get("type")
    if "enum" in schema:
        said = _plain(text)
        fitting = [schema["said"][said]] if said in schema["said"] else []
    elif kind == "array":
        fitting = [[_fit(item.strip(), schema["items"]) for item in re.split(r",|\band\b", text)]]
    elif kind in JSON_TYPES:
        value = json.loads(JSON_WORDS.get(text.lower(), text))
        fitting = (
            [value]
            if isinstance(value, JSON_TYPES[kind])
            and (kind == "boolean") == isinstance(value, bool)
            else []
        )
    else:
        fitting = (
            [text] if re.fullmatch(FORMATS.get(schema.get("format", ""), r"(?s:.*)"), text) else []
        )
    if not fitting:
        raise ValueError(text)
    return fitting[0]


def example_of(tool: ToolDefinition) -> str:
    """A message that calls the tool."""
    properties, required = _properties(tool)
    optional = [name for name in properties if name not in required][: len(required) == 1]
    return " ".join(
        [tool.name, *(f"{name}={_sample(properties[name])}" for name in required + optional)]
    )


def _sample(variants: Sequence[Schema]) -> str:
    schema = next((schema for schema in variants if schema.get("type") != "null"), {})
    samples = {
        "integer": "1",
        "number": "1.5",
        "boolean": "true",
        "array": "[...]",
        "object": "{...}",
    }
    formats = {
        "date": "2026-12-31",
        "date-time": "2026-12-31T12:00",
        "email": "a@example.com",
        "uri": "https://example.com",
    }
    if schema.get("enum"):
        return str(schema["enum"][0])[:MAX_NAME_CHARS]
    return samples.get(schema.get("type", "")) or formats.get(schema.get("format", "")) or '"..."'
