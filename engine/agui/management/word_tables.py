"""Read the tables of words of the chat's modules, without JavaScript.

A table is `export const NAME = {...}`: names with texts, or with the forms that a number may need.
The words of another table, as in `...TIME_WORDS`, are read where that table is.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

Text: TypeAlias = "str | dict[str, str]"
Table: TypeAlias = dict[str, Text]

STATIC = Path(__file__).resolve().parent.parent
LANGUAGES = STATIC / "static/agui/words/languages"
BEGIN = re.compile(r"^export const (?:\w+_WORDS|STRINGS) = (?=\{)", re.MULTILINE)
TOKEN = re.compile(
    r"""
    \s+ | //[^\n]* | /\*.*?\*/          # Nothing that counts
    | (?P<mark>[{}:,+]|\.{3})
    | (?P<name>[A-Za-z_$][\w$]*)
    | "(?P<double>(?:[^"\\\n]|\\.)*)" | '(?P<single>(?:[^'\\\n]|\\.)*)' | `(?P<back>[^`\\$]*)`
    """,
    re.VERBOSE | re.DOTALL,
)
ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)")
ESCAPED = {"n": "\n", "t": "\t"}


class Unreadable(Exception):
    """A table is not written as the engine's are."""


def english() -> Table:
    """Read the words of all modules of the chat, those of parts included."""
    words: Table = {}
    for module in sorted(STATIC.rglob("static/agui*/**/*.js")):
        if module.parent != LANGUAGES:
            words.update(read_table(module))
    return words


def engine_table(language: str) -> Path | None:
    """Find the engine's table of a language, as the chat does: "de-AT" has the German one."""
    path = LANGUAGES / f"{re.split('[-_]', language)[0].lower()}.js"
    if not path.is_file():
        return None
    return path


def read_table(module: Path) -> Table:
    """Read the words of a module; none if it has no table. Raises Unreadable."""
    source = module.read_text("utf-8")
    words: Table = {}
    for begin in BEGIN.finditer(source):
        tokens = _tokens(source, begin.end(), module)
        next(tokens)
        words.update(_read_object(tokens, module))
    return words


def _tokens(source: str, position: int, module: Path) -> Iterator[tuple[str, str]]:
    while position < len(source):
        token = TOKEN.match(source, position)
        if token is None:
            line = source.count("\n", 0, position) + 1
            raise Unreadable(f"{module}, line {line}: only texts and their names can be read.")
        position = token.end()
        if token.lastgroup:
            yield token.lastgroup, token[token.lastgroup]


def _read_object(tokens: Iterator[tuple[str, str]], module: Path) -> Table:
    """Read up to the brace that closes an object."""
    words: Table = {}
    name = ""
    text: Text | None = None
    for kind, value in tokens:
        if kind == "mark" and value in ",}":
            if text is not None:
                words[name] = text
            name, text = "", None
            if value == "}":
                return words
        elif kind == "mark" and value == "{":
            text = {form: str(each) for form, each in _read_object(tokens, module).items()}
        elif kind == "mark":
            continue
        elif not name:
            name = value
        elif kind == "name" or isinstance(text, dict):
            raise Unreadable(f"{module}: the value of {name!r} is no text.")
        else:
            text = f"{text or ''}{ESCAPE.sub(_unescape, value)}"
    raise Unreadable(f"{module}: a table has no end.")


def _unescape(escape: re.Match[str]) -> str:
    code = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return ESCAPED.get(code, code)
