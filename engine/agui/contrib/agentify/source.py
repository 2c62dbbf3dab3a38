"""Writes Python as ruff formats it: one line if it fits, otherwise one line for each item."""

import json
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

WIDTH = 100


def quoted(value: Any) -> str:
    """Write a text or a number as a literal."""
    if not isinstance(value, str):
        return repr(value)
    text = json.dumps(value)
    # Like ruff, prefer the quotes that need no backslash.
    if '"' in value and "'" not in value and "\\" not in value:
        return f"'{value}'"
    return text


def call(start: str, items: Sequence[str], end: str, indent: int = 0) -> list[str]:
    """Write `start(items)`: `start` ends with the bracket that `end` begins with.

    An item may have several lines.
    """
    space = " " * indent
    line = f"{space}{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH and "\n" not in line:
        return [line]
    lines = [f"{space}{start}"]
    for item in items:
        first, *others = item.split("\n")
        lines.append(f"{space}    {first}")
        lines += [f"{space}    {other}" for other in others]
        lines[-1] += ","
    return [*lines, f"{space}{end}"]


def inner(start: str, items: Sequence[str], end: str, indent: int = 4) -> str:
    """Write a call as an item of another one that begins `indent` - 4 to the right."""
    # A comma follows the item.
    lines = call(start, items, f"{end},", indent)
    lines[-1] = lines[-1].removesuffix(",")
    return "\n".join(line[indent:] for line in lines)


def paragraph(text: str, indent: int = 0, width: int = WIDTH) -> list[str]:
    """Wrap a text."""
    space = " " * indent
    return textwrap.wrap(
        text,
        width,
        initial_indent=space,
        subsequent_indent=space,
        break_long_words=False,
        break_on_hyphens=False,
    )


def docstring(
    summary: str, arguments: Iterable[tuple[str, str]] = (), indent: int = 4
) -> list[str]:
    """Write a docstring whose first paragraph is short, and describes the arguments."""
    space = " " * indent
    arguments = list(arguments)
    whole = f'{space}"""{summary}"""'
    if not arguments and len(whole) <= WIDTH:
        return [whole]
    lines = paragraph(f'"""{summary}', indent)
    if not arguments and len(lines) == 1:
        # The quotes alone don't fit, and ruff would put them there nevertheless.
        lines = paragraph(f'"""{summary}', indent, WIDTH - 10)
    if arguments:
        lines += ["", f"{space}Args:"]
        for name, text in arguments:
            first, *others = paragraph(f"{name}: {text}", indent + 4)
            lines += [first, *(f"    {other}" for other in others)]
    return [*lines, f'{space}"""']


def imports(modules: dict[str, set[str]]) -> list[str]:
    """Write `from module import names` for each module, sorted."""
    lines = []
    for module in sorted(modules, key=_import_order):
        names = sorted(modules[module], key=_name_order)
        start = f"from {module} import "
        line = f"{start}{', '.join(names)}"
        if len(line) <= WIDTH:
            lines.append(line)
        else:
            lines += call(f"{start}(", names, ")")
    return lines


def _import_order(module: str) -> str:
    return module.lower()


def _name_order(name: str) -> tuple[int, str]:
    """Constants come first, then classes, then functions."""
    if name.isupper() and len(name) > 1:
        return (0, name)
    return (1, name) if name[:1].isupper() else (2, name)


def listing(name: str, items: Sequence[str], kind: str = "") -> list[str]:
    """Write a list of texts, one a line if they don't fit."""
    if kind and not items:
        name = f"{name}: {kind}"
    return call(f"{name} = [", [quoted(item) for item in items], "]")
