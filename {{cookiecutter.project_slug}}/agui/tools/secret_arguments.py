"""Arguments that nobody is to read afterwards: those whose JSON Schema says `format: password` or `writeOnly`."""

from collections.abc import Iterable, Sequence
from typing import Any

from agui.tools.foreign_schemas import resolve

REDACTED = "[redacted]"
# In a path: any item of a list, or any name that the schema does not know.
ANY = "*"
# A schema may contain itself. So deep, and after so many steps, it is not looked at.
MAX_DEPTH = 8
MAX_STEPS = 5000

Path = tuple[str, ...]


def secret_paths(schema: dict[str, Any]) -> list[Path]:
    """Where a tool's secret arguments are, each as the names that lead to it."""
    found: dict[Path, None] = {}
    waiting: list[tuple[Any, Path]] = [(schema, ())]
    for _ in range(MAX_STEPS):
        if not waiting:
            break
        part, path = waiting.pop()
        if not isinstance(part, dict):
            continue
        if part.get("format") == "password" or part.get("writeOnly") is True:
            found[path] = None
            continue
        if isinstance(pointer := part.get("$ref"), str):
            waiting.append((resolve(schema, pointer), path))
        for key in ("allOf", "anyOf", "oneOf"):
            waiting += [(one, path) for one in part.get(key) or ()]
        if len(path) < MAX_DEPTH:
            waiting += _inner(part, path)
    return list(found)


def _inner(part: dict[str, Any], path: Path) -> Iterable[tuple[Any, Path]]:
    properties = part.get("properties")
    for name, one in properties.items() if isinstance(properties, dict) else ():
        yield one, (*path, name)
    for one in (
        part.get("additionalProperties"),
        part.get("items"),
        *(part.get("prefixItems") or ()),
    ):
        yield one, (*path, ANY)


def hide(value: Any, paths: Iterable[Sequence[str]]) -> Any:
    """Replace what these paths lead to."""
    left = list(paths)
    if not left or value is None:
        return value
    if not all(left):
        return REDACTED
    if isinstance(value, dict):
        return {name: hide(one, _within(left, str(name))) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [hide(one, _within(left, ANY)) for one in value]
    return value


def _within(paths: Iterable[Sequence[str]], name: str) -> list[Sequence[str]]:
    return [path[1:] for path in paths if path[0] in (ANY, name)]
