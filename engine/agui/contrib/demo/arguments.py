"""The arguments that the offline demo model finds in a message, by a tool's JSON Schema.

In this order: `key=value` and `key: value`, values that only fit one type, then what is left as
text.
"""

import json
import re
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from agui.contrib.demo.choice import Match
from agui.contrib.demo.schemas import (
    UNREADABLE,
    Properties,
    Schema,
    convert,
    fit,
    is_text,
    plain_name,
    properties_of,
)
from agui.contrib.demo.words import (
    QUOTED,
    blank,
    significant_words,
    stem_of,
    stems_of,
    without_arguments,
)

# Arguments that are optional, but often meant.
FREE_TEXT = {"title", "name", "text", "query", "message", "question", "prompt"}
MAX_TOKENS = 200

Values = dict[str, Any]

_FLAG_VERBS = set(map(stem_of, ("include", "show", "only")))

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
COUNTS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_COUNT = re.compile(rf"\b(?:last|first|newest|latest|oldest) ({'|'.join(COUNTS)})\b", re.I)
# Possessive, and never begun in the midst of punctuation: so each character is looked at once.
_TOKEN = re.compile(rf"{QUOTED.pattern}|((?<![.!?:])(?:[.!?:]*+[^\s,;#()\"“.!?:]++)+)")
_LEADING = re.compile(
    r"^(?:[\s:,.-]|(?:to|that|about|for|of|on|with|called|named|saying|the|an|a)\b)+", re.I
)
_EVERYTHING = re.compile(r"(all|every\w*|anything|none|nothing)\b", re.I)
_LAST_WORD = re.compile(r"\b(?:and|then|also|please)\Z", re.I)


class Token(NamedTuple):
    """A part of a text that may be an argument."""

    text: str
    quoted: bool


def fill_arguments(match: Match) -> tuple[Values, list[str]]:
    """Take a tool's arguments from the text around its name, and list the missing required ones."""
    properties, required = properties_of(match.tool)
    values: Values = {}
    before = _take_named(match.before, properties, values)
    after = _take_named(match.after, properties, values)
    _set_limit(f"{before}\n{after}", properties, values)
    tokens = _tokens(f"{before}\n{after}")
    _take_positional(tokens, required, properties, values)
    free_text = _without_ending(_LEADING.sub("", without_arguments(after).replace("\0", "")))
    text_names = []
    for name, variants in properties.items():
        if name not in values and any(map(is_text, variants)):
            text_names.append(name)
    required_texts = [name for name in text_names if name in required]
    if free_text and required_texts:
        values[required_texts[0]] = free_text
        # The 2 of "add task Buy 2 pears" belongs to the title.
        tokens = [token for token in tokens if not _NUMBER.fullmatch(token.text)]
    _take_positional(tokens, properties, properties, values)
    if free_text and not values and not required and not _EVERYTHING.match(free_text):
        for name in text_names:
            if name in FREE_TEXT or len(properties) == 1:
                values[name] = free_text
    _set_flags(before + after, properties, values)
    return values, [name for name in required if name not in values]


def _set_limit(text: str, properties: Properties, values: Values) -> None:
    """Read how many rows are meant: "the last five" sets `limit`."""
    count = _COUNT.search(text)
    if count and "limit" in properties and "limit" not in values:
        values["limit"] = COUNTS.index(count[1].lower()) + 1


def _set_flags(text: str, properties: Properties, values: Values) -> None:
    """Set the flags that a text names: "show my finished tasks" sets `include_done`."""
    stems = {word.stem for word in significant_words(text)}
    for name, variants in properties.items():
        is_flag = any(schema.get("type") == "boolean" for schema in variants)
        if is_flag and name not in values:
            own_stems = set(stems_of(name)) - _FLAG_VERBS
            if own_stems and own_stems <= stems:
                values[name] = True


def _take_named(text: str, properties: Properties, values: Values) -> str:
    """Move `key=value` and `key: value` from the text to the values, and return what is left."""
    # Possessive: a name of many `_` would be tried in as many ways as there are sets of them.
    names = {}
    patterns = []
    for name in properties:
        names[plain_name(name)] = name
        patterns.append(re.escape(name).replace("_", "[_ -]?+"))
    keys = "|".join(patterns) or "(?!)"
    hits = list(re.finditer(rf"(?<![\w.-])({keys})\s*+[=:]\s*+", QUOTED.sub(blank, text), re.I))
    ends = [hit.start() for hit in hits] + [len(text)]
    remaining = text[: ends[0]]
    for hit, end in zip(hits, ends[1:], strict=True):
        name = names[plain_name(hit[1])]
        value, rest = _read_value(text[hit.end() : end])
        if isinstance(value, str):
            value = fit(value, properties[name])
        values[name] = value
        remaining += rest
    return remaining


def _read_value(text: str) -> tuple[Any, str]:
    """Read a quoted text, a JSON list or object, or the line; also return what follows."""
    quoted = QUOTED.match(text)
    if quoted:
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
            continue
        word = _LAST_WORD.search(text, max(0, end - len("please")), end)
        if not word:
            break
        end = word.start()
    return text[:end]


def _tokens(text: str) -> list[Token]:
    hits = islice(_TOKEN.finditer(text), MAX_TOKENS)
    return [Token(_content(hit), hit[0] != hit[4]) for hit in hits]


def _content(hit: re.Match[str]) -> str:
    """Find the text without its quotes: it is the only group that takes part in the match."""
    return str(hit[hit.lastindex or 0])


def _take_positional(
    tokens: list[Token], names: Iterable[str], properties: Properties, values: Values
) -> None:
    """Give each argument that has no value yet the first token of its type."""
    for name in names:
        if name not in values:
            value = _take(tokens, properties[name])
            if value is not None:
                values[name] = value


def _take(tokens: list[Token], variants: Iterable[Schema]) -> Any:
    """Take the first token that fits one of the types; None if no token does."""
    for schema in variants:
        if schema.get("type") == "array":
            return _take_all(tokens, schema["items"])
        for token in tokens:
            # Any word could be a text, so a text must be quoted.
            if token.quoted or not is_text(schema):
                with suppress(*UNREADABLE):
                    value = convert(token.text, schema)
                    tokens.remove(token)
                    return value
    return None


def _take_all(tokens: list[Token], variants: Iterable[Schema]) -> list[Any] | None:
    items = []
    item = _take(tokens, variants)
    while item is not None:
        items.append(item)
        item = _take(tokens, variants)
    return items or None
