"""What has changed from one JSON value to another, as a JSON Patch (RFC 6902), if that is quick and
small.

Items of lists are compared at their places, but for those that are the same at both ends: jsonpatch
looks for moves, and takes 20 seconds for a chart of 60,000 values.
"""

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

Operation = dict[str, Any]

MAX_OPERATIONS = 200
# A patch up to this size is sent however small the value is.
SMALL_CHARS = 2000


def difference(old: Any, new: Any) -> list[Operation] | None:
    """Compare two values of JSON. None says that the new one is better sent whole."""
    try:
        patch = list(islice(_changes(old, new, ""), MAX_OPERATIONS + 1))
    except RecursionError:
        return None
    if len(patch) > MAX_OPERATIONS:
        return None
    size = len(json.dumps(patch))
    return patch if size <= SMALL_CHARS or size < len(json.dumps(new)) else None


def _changes(old: Any, new: Any, path: str) -> Iterator[Operation]:
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _changed_keys(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _changed_items(old, new, path)
    elif not _are_same(old, new):
        yield {"op": "replace", "path": path, "value": new}


def _changed_keys(old: dict[str, Any], new: dict[str, Any], path: str) -> Iterator[Operation]:
    for key in old:
        where = f"{path}/{key.replace('~', '~0').replace('/', '~1')}"
        if key in new:
            yield from _changes(old[key], new[key], where)
        else:
            yield {"op": "remove", "path": where}
    for key in new:
        if key not in old:
            yield {
                "op": "add",
                "path": f"{path}/{key.replace('~', '~0').replace('/', '~1')}",
                "value": new[key],
            }


def _changed_items(old: list[Any], new: list[Any], path: str) -> Iterator[Operation]:
    shorter = min(len(old), len(new))
    start = next(
        (place for place in range(shorter) if not _are_same(old[place], new[place])), shorter
    )
    ends = range(1, shorter - start + 1)
    end = next(
        (place - 1 for place in ends if not _are_same(old[-place], new[-place])), shorter - start
    )
    for place in range(start, shorter - end):
        yield from _changes(old[place], new[place], f"{path}/{place}")
    for place in reversed(range(shorter - end, len(old) - end)):
        yield {"op": "remove", "path": f"{path}/{place}"}
    for place in range(shorter - end, len(new) - end):
        yield {"op": "add", "path": f"{path}/{place}", "value": new[place]}


def _are_same(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON. For Python, 1 and True are, at any depth."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            _are_same(value, other[key]) for key, value in one.items()
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_are_same, one, other))
    return bool(one == other)
