"""Secret arguments, which nobody may read afterwards.

Their JSON Schema says `format: password` or `writeOnly`.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from agui.tools.foreign_schemas import resolve

REDACTED = "[redacted]"
# In a path: any item of a list, or any name that the schema does not know.
ANY = "*"
# A schema may contain itself, so the search ends at this depth and after this many steps.
MAX_DEPTH = 8
MAX_STEPS = 5000

Path = tuple[str, ...]


def secret_paths(schema: dict[str, Any]) -> list[Path]:
    """Find a tool's secret arguments, each as the names that lead to it."""
    paths: dict[Path, None] = {}
    waiting: list[tuple[Any, Path]] = [(schema, ())]
    for _ in range(MAX_STEPS):
        if not waiting:
            break
        part, path = waiting.pop()
        if not isinstance(part, dict):
            continue
        if part.get("format") == "password" or part.get("writeOnly") is True:
            paths[path] = None
            continue
        pointer = part.get("$ref")
        if isinstance(pointer, str):
            waiting.append((resolve(schema, pointer), path))
        for key in ("allOf", "anyOf", "oneOf"):
            for alternative in part.get(key) or ():
                waiting.append((alternative, path))
        if len(path) < MAX_DEPTH:
            waiting += _inner(part, path)
    return list(paths)


def _inner(part: dict[str, Any], path: Path) -> Iterable[tuple[Any, Path]]:
    properties = part.get("properties")
    if isinstance(properties, dict):
        for name, schema in properties.items():
            yield schema, (*path, name)
    items = [part.get("additionalProperties"), part.get("items"), *(part.get("prefixItems") or ())]
    for schema in items:
        yield schema, (*path, ANY)


def hide(value: Any, paths: Iterable[Sequence[str]]) -> Any:
    """Replace the values to which these paths lead."""
    paths = list(paths)
    if not paths or value is None:
        return value
    # An empty path leads to the value itself.
    if not all(paths):
        return REDACTED
    if isinstance(value, dict):
        return {name: hide(item, _within(paths, str(name))) for name, item in value.items()}
    if isinstance(value, list | tuple):
        item_paths = _within(paths, ANY)
        return [hide(item, item_paths) for item in value]
    return value


def _within(paths: Iterable[Sequence[str]], name: str) -> list[Sequence[str]]:
    return [path[1:] for path in paths if path[0] in (ANY, name)]
