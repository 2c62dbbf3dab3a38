"""Secret arguments, which nobody may read afterwards.

Their JSON Schema says `format: password` or `writeOnly`.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from agui.tools.foreign_schemas import resolve

REDACTED = "[redacted]"
# In a path: any item of a list, or any name that the schema does not know.
ANY = "*"
# A schema may contain itself, so the search ends at this depth and after this many steps.
MAX_DEPTH = 8
MAX_STEPS = 5000

Path = tuple[str, ...]
Tree: TypeAlias = "dict[str | None, Tree]"
"""Paths by their first names. END is the end of a path."""
END = None


def secret_paths(schema: dict[str, Any]) -> list[Path]:
    """Find a tool's secret arguments, each as the names that lead to it."""
    paths: dict[Path, None] = {}
    waiting: list[tuple[Any, Path]] = [(schema, ())]
    seen: set[tuple[int, Path]] = set()
    for _ in range(MAX_STEPS):
        if not waiting:
            break
        part, path = waiting.pop()
        # A definition may refer to itself beside thousands of alternatives.
        if not isinstance(part, dict) or (id(part), path) in seen:
            continue
        seen.add((id(part), path))
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
    tree: Tree = {}
    for path in paths:
        branch = tree
        for name in path:
            branch = branch.setdefault(name, {})
        branch[END] = {}
    return _hide(value, [tree])


def _hide(value: Any, branches: list[Tree]) -> Any:
    branches = [branch for branch in branches if branch]
    if not branches or value is None:
        return value
    # An empty path leads to the value itself.
    if any(END in branch for branch in branches):
        return REDACTED
    if isinstance(value, dict):
        return {name: _hide(item, _within(branches, str(name))) for name, item in value.items()}
    if isinstance(value, list | tuple):
        item_branches = _within(branches, ANY)
        return [_hide(item, item_branches) for item in value]
    return value


def _within(branches: list[Tree], name: str) -> list[Tree]:
    return [branch[key] for branch in branches for key in {ANY, name} if key in branch]
