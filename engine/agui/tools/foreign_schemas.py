"""The size of JSON Schemas that a client or another server wrote, once each `$ref` is followed.

A dozen definitions that refer to each other fit into 4 kB and stand for millions of schemas. A
library that replaces each `$ref` with its definition would build all of them.
"""

from collections.abc import Iterable, Iterator
from typing import Any

# The number of values in all schemas of a request.
MAX_VALUES = 50_000
MAX_DEPTH = 50
MAX_POINTER_CHARS = 500


def are_small(schemas: Iterable[Any]) -> bool:
    """Whether the schemas together have few values.

    A definition counts once for each `$ref` that leads to it.
    """
    steps = iter(range(MAX_VALUES))
    return all(_is_small(schema, steps) for schema in schemas)


def _is_small(schema: Any, steps: Iterator[int]) -> bool:
    """Walk a schema, and return False if the steps do not suffice."""
    resolved: dict[str, Any] = {}
    waiting: list[tuple[Any, frozenset[str]]] = [(schema, frozenset())]
    while waiting:
        if next(steps, None) is None:
            return False
        # `within` are the definitions that led to the value.
        value, within = waiting.pop()
        if isinstance(value, list):
            waiting.extend((item, within) for item in value)
        elif isinstance(value, dict):
            waiting.extend((item, within) for item in value.values())
            pointer = value.get("$ref")
            # A definition that contains itself counts once.
            if isinstance(pointer, str) and pointer not in within:
                if len(pointer) > MAX_POINTER_CHARS or len(within) == MAX_DEPTH:
                    return False
                # Each reference to a long list puts all of its items there.
                if len(waiting) > MAX_VALUES:
                    return False
                if pointer not in resolved:
                    resolved[pointer] = resolve(schema, pointer)
                waiting.append((resolved[pointer], within | {pointer}))
    return True


def resolve(schema: Any, pointer: str) -> Any:
    """Find what a JSON Pointer (RFC 6901) names in a schema; None if it names nothing there."""
    if not pointer.startswith("#"):
        return None
    for token in pointer[1:].split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        if isinstance(schema, dict):
            schema = schema.get(key)
        elif isinstance(schema, list) and key.isdecimal() and int(key) < len(schema):
            schema = schema[int(key)]
        else:
            return None
    return schema
