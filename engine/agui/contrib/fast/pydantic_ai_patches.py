"""Monkeypatches that speed up pydantic-ai; delete each once upstream ships it.

Each patch is guarded for itself. The template's docs/upstream.md proposes the changes.
"""

import dataclasses
import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import anyio
from pydantic_ai import RunContext
from pydantic_ai.tools import ToolDefinition

from agui.contrib.fast.guard import Changed, find, guarded

# Classes with many fields, and the fields from which they compute something when they are made.
COPIED: dict[str, set[str]] = {
    "pydantic_ai:RunContext": set(),
    "pydantic_ai.tools:ToolDefinition": {"tool_kind", "unless_tool_kind"},
    "pydantic_ai.toolsets.combined:_CombinedToolsetTool": set(),
}
# The same, by the classes themselves, as far as this pydantic-ai has them.
computed_by_type: dict[type[Any], set[str]] = {}
# Modules that copy such objects.
REPLACING = (
    "pydantic_ai._agent_graph",
    "pydantic_ai.models",
    "pydantic_ai.tool_manager",
    "pydantic_ai.toolsets._tool_search",
    "pydantic_ai.toolsets.function",
    "pydantic_ai.toolsets.prepared",
)
LOCKING = ("pydantic_ai.result:AgentStream", "pydantic_ai._utils:PeekableAsyncStream")


def make_faster() -> None:
    """Apply all patches."""
    with guarded("Agent._build_toolset_list", "pydantic_ai"):
        leave_out_empty_toolsets()
    for copied in (RunContext, ToolDefinition):
        with guarded(f"copies of {copied.__name__}", "pydantic_ai"):
            make_copies_fast(copied)
    for path, computed in COPIED.items():
        with guarded(f"copies of {path}", "pydantic_ai"):
            learn_fields(path, computed)
    for module in REPLACING:
        with guarded(f"{module}.replace", "pydantic_ai"):
            make_replacing_fast(module)
    for path in LOCKING:
        with guarded(f"locks of {path}", "pydantic_ai"):
            make_locks_fast(path)


def leave_out_empty_toolsets() -> None:
    """Let agents leave out their own toolset while that is empty.

    pydantic-ai asks each toolset in a task of its own, four times before each request.
    """
    path = "pydantic_ai:Agent._build_toolset_list"
    build = find(path)
    if hasattr(build, "__wrapped__"):
        return
    find(path, "self", "cap_toolsets", "ignore_overrides")

    @functools.wraps(build)
    def build_without_empty(self: Any, *args: Any, **kwargs: Any) -> Any:
        own, *others = build(self, *args, **kwargs)
        return others if others and not getattr(own, "tools", True) else [own, *others]

    find("pydantic_ai:Agent")._build_toolset_list = build_without_empty


def copy_fields(context: Any) -> Any:
    """Make a shallow copy, as `copy.copy` does of any object with a `__dict__`."""
    new = object.__new__(type(context))
    new.__dict__.update(context.__dict__)
    return new


def make_copies_fast(copied: type[Any]) -> None:
    """Give a class a `__copy__`. Raises Changed if it has one, or keeps its fields in slots.

    pydantic-ai copies RunContext for each capability before each step: a hundred times in a short
    answer. `copy.copy` finds out each time how a class without `__copy__` is copied.
    """
    own = getattr(copied, "__copy__", None)
    if own is None and "__slots__" not in vars(copied):
        copied.__copy__ = copy_fields
    elif own is not copy_fields:
        raise Changed(f"has {copied.__name__}.__copy__ or its __slots__")


def learn_fields(path: str, computed: set[str]) -> None:
    """Let `replace` copy the objects of a class by their fields.

    Raises Changed if the class computes other fields than these, or keeps them in slots.
    """
    copied = find(path)
    is_plain = bool(computed) == hasattr(copied, "__post_init__")
    if not is_plain or "__slots__" in vars(copied):
        raise Changed(f"makes a {copied.__name__} in another way")
    if not all(field.init for field in dataclasses.fields(copied)):
        raise Changed(f"computes fields of {copied.__name__}")
    computed_by_type[copied] = computed


def replace(instance: Any, /, **changes: Any) -> Any:
    """Copy as `dataclasses.replace` does, and faster if the object's class is known."""
    computed = computed_by_type.get(type(instance))
    if computed is None or not computed.isdisjoint(changes):
        return dataclasses.replace(instance, **changes)
    new = copy_fields(instance)
    new.__dict__.update(changes)
    return new


def make_replacing_fast(module: str) -> None:
    """Let a module use `replace` for the contexts of a run, and for the tools of each request."""
    used = find(f"{module}:replace")
    if used is dataclasses.replace:
        vars(import_module(module))["replace"] = replace
    elif used is not replace:
        raise Changed(f"has a {module}.replace of its own")


def make_locks_fast(path: str) -> None:
    """Let the streams of a class take their locks at once, if nobody else has them.

    By default anyio's locks let every other task run before they are taken: 50 turns of the event
    loop in a short answer.
    """
    stream = find(path)
    init: Callable[..., None] = stream.__init__
    if hasattr(init, "__wrapped__"):
        return

    @functools.wraps(init)
    def init_with_fast_locks(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        for key, value in vars(self).items():
            if isinstance(value, anyio.Lock):
                setattr(self, key, anyio.Lock(fast_acquire=True))

    stream.__init__ = init_with_fast_locks
