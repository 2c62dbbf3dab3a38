"""What is secret by its name: in arguments, and in an exception's words."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic_ai.messages import ToolCallPart

from agui.tools.secret_arguments import REDACTED, Path, hide

# A name and what leads to its value, in an exception's words: `api_key=`, `"apiKey": "`,
# `Authorization: Bearer `.
NAMED = re.compile(r"""(?i)(?<![\w-])([\w-]++)["']?\s*[:=]\s*["']?(?:(?:bearer|basic)\s+)?""")
VALUE = re.compile(r"""[^\s"'&,;)\]}\[]+""")


def redact_text(
    text: str, call: ToolCallPart, names: Iterable[str], paths: Iterable[Path] = ()
) -> str:
    """Replace the values of secret arguments in an exception's words, and what is written there as `name=value`."""
    try:
        arguments = call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError):
        arguments = {}
    for value in sorted(
        _secrets(arguments, redact(hide(arguments, paths), names)), key=len, reverse=True
    ):
        text = text.replace(value, REDACTED)
    is_secret = secret_test(names)
    pieces, end = [], 0
    for named in NAMED.finditer(text):
        if named.start() < end or not is_secret(named[1]):
            continue
        if written := VALUE.match(text, named.end()):
            pieces += [text[end : named.end()], REDACTED]
            end = written.end()
    text = "".join([*pieces, text[end:]])
    return re.sub(r"(://[^\s/:@]*:)[^\s/@]+@", rf"\1{REDACTED}@", text)


def _secrets(value: Any, redacted: Any) -> Iterator[str]:
    """The texts and numbers that redaction has taken out of arguments."""
    if isinstance(value, dict) and isinstance(redacted, dict):
        for key, item in value.items():
            yield from _secrets(item, redacted[key])
    elif isinstance(value, list | tuple) and isinstance(redacted, list):
        for item, cleaned in zip(value, redacted, strict=True):
            yield from _secrets(item, cleaned)
    elif redacted == REDACTED:
        yield from _texts(value)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)
    elif value not in (None, True, False, ""):
        yield str(value)


def redact(arguments: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Replace the values of arguments with one of these in their names, at any depth and however they are written."""
    is_secret = secret_test(names)

    def clean(value: Any) -> Any:
        if isinstance(value, dict):
            return {
                key: REDACTED if is_secret(str(key)) else clean(item) for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return [clean(item) for item in value]
        return value

    cleaned: dict[str, Any] = clean(arguments)
    return cleaned


def secret_test(names: Iterable[str]) -> Callable[[str], bool]:
    """Make the test of whether one of these is a part of a name, however the two are written."""
    secrets = {_letters(name) for name in names} - {""}

    def is_secret(name: str) -> bool:
        letters = _letters(name)
        return any(secret in letters for secret in secrets)

    return is_secret


def _letters(name: str) -> str:
    """Strip a name to its letters and digits: "API-Key", "apiKey" and "api_key" are "apikey"."""
    return "".join(filter(str.isalnum, name.casefold()))
