"""Compare what a transcript expects with what came.

A mapping names the fields that it cares for, and a field that is null is not there. `...` is anything: a value, some
characters of a text, some items of a list. `$name` is anything at its first sight, and the same from then on.
"""

import json
import re
from pprint import pformat
from typing import Any

NAME = re.compile(r"\$([a-z][a-z0-9_]*)")


class Only(dict[str, Any]):
    """A mapping that names all fields."""


def bind(value: Any, names: dict[str, Any]) -> Any:
    """Put in the values of the names that are known."""
    if isinstance(value, dict):
        bound = {bind(key, names): bind(item, names) for key, item in value.items()}
        return Only(bound) if isinstance(value, Only) else bound
    if isinstance(value, list):
        return [bind(item, names) for item in value]
    if not isinstance(value, str):
        return value
    if (whole := NAME.fullmatch(value)) and whole[1] in names:
        return names[whole[1]]
    return NAME.sub(lambda found: str(names.get(found[1], found[0])), value)


def compare(wanted: Any, actual: Any, names: dict[str, Any], at: str = "") -> str:
    """Return the first mistake, or nothing; learn new names."""
    if isinstance(wanted, dict) and isinstance(actual, dict):
        return _compare_mappings(wanted, actual, names, at)
    if isinstance(wanted, list) and isinstance(actual, list | tuple):
        return _compare_lists(wanted, list(actual), names, at)
    if isinstance(wanted, str):
        return _compare_texts(wanted, actual, names, at)
    is_same = wanted == actual and isinstance(wanted, bool) == isinstance(actual, bool)
    return "" if is_same else f"{at or 'It'} is {_short(actual)}, and not {_short(wanted)}"


def _compare_mappings(wanted: dict[str, Any], actual: dict[str, Any], names: dict[str, Any], at: str) -> str:
    if isinstance(wanted, Only) and (more := actual.keys() - wanted.keys()):
        return f"{at or 'It'} also has {sorted(more)}"
    for key, value in wanted.items():
        key = _named_key(key, wanted, actual, names)
        place = f"{at}.{key}" if at else str(key)
        if mistake := compare(value, actual.get(key), names, place):
            return mistake
    return ""


def _named_key(key: Any, wanted: dict[str, Any], actual: dict[str, Any], names: dict[str, Any]) -> Any:
    """Let a key that is a new name stand for the only key that the mapping does not name."""
    others = actual.keys() - wanted.keys()
    if isinstance(key, str) and NAME.fullmatch(key) and key not in actual and len(others) == 1:
        names[key[1:]] = key = others.pop()
    return key


def _compare_lists(wanted: list[Any], actual: list[Any], names: dict[str, Any], at: str) -> str:
    if "..." not in wanted:
        if len(wanted) != len(actual):
            return f"{at or 'It'} has {len(actual)} items, and not {len(wanted)}"
        for number, (item, found) in enumerate(zip(wanted, actual, strict=True)):
            if mistake := compare(item, found, names, f"{at}[{number}]"):
                return mistake
        return ""
    first = wanted.index("...")
    head, rest = wanted[:first], wanted[first + 1 :]
    if mistake := _compare_lists(head, actual[:first], names, at):
        return mistake
    if not rest:
        return ""
    mistake = f"{at or 'It'} has nothing after its first {first} items that is {_short(rest)}"
    for start in range(first, len(actual) + 1):
        tried = dict(names)
        if not _compare_lists(rest, actual[start:], tried, at):
            names.update(tried)
            return ""
    return mistake


def _compare_texts(wanted: str, actual: Any, names: dict[str, Any], at: str) -> str:
    mistake = f"{at or 'It'} is {_short(actual)}, and not {_short(wanted)}"
    if wanted == "...":
        return mistake if actual is None else ""
    if (whole := NAME.fullmatch(wanted)) and actual is not None:
        if whole[1] in names:
            return compare(names[whole[1]], actual, {}, at)
        names[whole[1]] = actual
        return ""
    if not isinstance(actual, str):
        return mistake
    pieces = re.split(r"(\.\.\.|\$[a-z][a-z0-9_]*)", bind(wanted, names))
    pattern, new = "", []
    for piece in pieces:
        is_name = NAME.fullmatch(piece)
        new += [piece[1:]] if is_name else []
        pattern += "(.+)" if is_name else "(?:.*)" if piece == "..." else re.escape(piece)
    fits = re.fullmatch(pattern, actual, re.DOTALL)
    if not fits:
        return mistake
    names.update(zip(new, fits.groups(), strict=True))
    return ""


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    return repr(text if len(text) < 300 else f"{text[:300]}…") if isinstance(value, str) else text[:300]


def both(wanted: Any, actual: Any) -> str:
    """What a step expects, and what came of it."""
    shown = [pformat(value, width=150, compact=True, sort_dicts=False) for value in (wanted, actual)]
    return "expected:\n{}\nactual:\n{}".format(*shown)
