"""The redaction of secrets, by their names, in arguments and in the texts of exceptions."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic_ai.messages import ToolCallPart

from agui.tools.secret_arguments import REDACTED, Path, hide

# A name and what leads to its value, in the text of an exception: `api_key=`, `"apiKey": "`,
# `Authorization: Bearer `.
NAMED = re.compile(r"""(?i)(?<![\w-])([\w-]++)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?""")
# Rather than search a long text for many secrets, all of it is replaced.
MAX_COMPARED_CHARS = 10_000_000
VALUE = re.compile(r"""[^\s"'&,;)\]}\[]+""")


def redact_text(
    text: str, call: ToolCallPart, names: Iterable[str], paths: Iterable[Path] = ()
) -> str:
    """Redact the text of an exception.

    The values of secret arguments are replaced, as are secrets that are written as `name=value`.
    """
    try:
        arguments = call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        arguments = {}
    secrets = set(_secrets(arguments, redact(hide(arguments, paths), names)))
    if len(secrets) * len(text) > MAX_COMPARED_CHARS:
        return REDACTED
    # One secret may contain another, so the longest is replaced first; or a part of "[redacted]".
    mark = next(filter(lambda char: char not in text, map(chr, range(0xE000, 0xF900))), "\0")
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, mark)
    text = re.sub(f"{mark}+", REDACTED, text)
    text = _redact_named(text, names)
    return re.sub(r"(://[^\s/:@]*:)[^\s/@]+@", rf"\1{REDACTED}@", text)


def _redact_named(text: str, names: Iterable[str]) -> str:
    """Replace the values of `name=value` in a text, if the name is secret."""
    is_secret = secret_test(names)
    redacted = ""
    end = 0
    for named in NAMED.finditer(text):
        # A name may be inside a value that was just replaced.
        if named.start() < end or not is_secret(named[1]):
            continue
        value = VALUE.match(text, named.end())
        if value:
            redacted += text[end : named.end()] + REDACTED
            end = value.end()
    return redacted + text[end:]


def _secrets(value: Any, redacted: Any) -> Iterator[str]:
    """Yield the texts and numbers that redaction has replaced."""
    if isinstance(value, dict) and isinstance(redacted, dict):
        for key, item in value.items():
            yield from _secrets(item, redacted[key])
    elif isinstance(value, list | tuple) and isinstance(redacted, list):
        for item, cleaned in zip(value, redacted, strict=True):
            yield from _secrets(item, cleaned)
    elif redacted == REDACTED:
        yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif value not in (None, True, False, ""):
        yield str(value)


def redact(arguments: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Replace the values of arguments with a secret name, at any depth.

    A name is secret if it contains one of `names`, in any spelling.
    """
    is_secret = secret_test(names)

    def clean(value: Any) -> Any:
        if isinstance(value, list | tuple):
            return list(map(clean, value))
        if not isinstance(value, dict):
            return value
        cleaned = {}
        for key, item in value.items():
            cleaned[key] = REDACTED if is_secret(str(key)) else clean(item)
        return cleaned

    cleaned: dict[str, Any] = clean(arguments)
    return cleaned


def secret_test(names: Iterable[str]) -> Callable[[str], bool]:
    """Build the test of whether a name contains one of `names`, in any spelling."""
    secrets = set(map(_letters, names)) - {""}

    def is_secret(name: str) -> bool:
        letters = _letters(name)
        return any(secret in letters for secret in secrets)

    return is_secret


def _letters(name: str) -> str:
    """Reduce a name to its letters and digits: "API-Key" and "api_key" are "apikey"."""
    return "".join(filter(str.isalnum, name.casefold()))
