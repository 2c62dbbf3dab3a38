"""What tools show, as a client has it, and JSON Patches (RFC 6902) of it.

A patch that adds to the ends of lists costs no more than what it adds, so that a long text can
grow piece by piece. Any other patch costs what the whole content costs.
"""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import jsonpatch
from jsonpointer import resolve_pointer

from agui.events.differences import Operation


@dataclass
class Activity:
    """Something that a tool shows, as a client has it now."""

    type: str
    content: Any
    messages_before: int
    """The number of the run's messages that a client had before the activity."""
    replaces: bool
    """Whether the activity replaces one that an earlier run has shown under the same id."""
    is_sent: bool = True
    """Whether the content is that of an event, which must not change any more."""

    def replace(self, content: Any) -> Any:
        """Put another content in the place of this one, which is returned."""
        old, self.content = self.content, content
        self.is_sent = True
        return old

    def append(self, operations: Sequence[Operation]) -> bool:
        """Apply a patch if it only adds to the ends of lists; otherwise return False."""
        if self.is_sent and ends_of(self.content, operations):
            self.content = deepcopy(self.content)
            self.is_sent = False
        return append(self.content, operations)


def append(value: Any, operations: Sequence[Operation]) -> bool:
    """Change a value by a patch that only adds to the ends of lists; False if it does more."""
    ends = ends_of(value, operations)
    for end, operation in zip(ends, operations, strict=False):
        # A copy, because a later patch may change it, and an event has it.
        end.append(deepcopy(operation["value"]))
    return bool(ends)


def ends_of(value: Any, operations: Sequence[Operation]) -> list[list[Any]]:
    """Find the list that each operation adds to the end of; none if one of them does more."""
    ends = []
    for operation in operations:
        path = operation["path"]
        if operation["op"] != "add" or not path.endswith("/-"):
            return []
        end = resolve_pointer(value, path.removesuffix("/-"), None)
        if not isinstance(end, list):
            return []
        ends.append(end)
    return ends


def patched(value: Any, operations: Sequence[Operation]) -> Any:
    """Apply any patch to a copy of a value. Raises what jsonpatch raises if it does not fit."""
    return jsonpatch.apply_patch(value, list(operations))
