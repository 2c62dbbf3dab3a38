"""What would be faster in pydantic-ai, until it is: docs/upstream.md of the template has proposals.

Each change steps aside, with a line in the log, if pydantic-ai is not what it was written for.
"""

import dataclasses
import functools
import logging
from collections.abc import Callable
from typing import Any

import anyio
from pydantic_ai import Agent, RunContext, _agent_graph, _utils, models, result, tool_manager
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import (
    AbstractToolset,
    ToolsetTool,
    _tool_search,
    combined,
    function,
    prepared,
)

from agui.deps import AgentDeps

logger = logging.getLogger("agui.runs")

# A tool, as a CombinedToolset passes it on.
CombinedTool = getattr(combined, "_CombinedToolsetTool", ToolsetTool)
# Classes with many fields, and the fields from which they compute something when they are made.
COMPUTED: dict[type[Any], set[str]] = {
    RunContext: set(),
    ToolDefinition: {"tool_kind", "unless_tool_kind"},
    CombinedTool: set(),
}


class LeanAgent(Agent[AgentDeps, Any]):
    """An agent that leaves out its own toolset while that is empty.

    pydantic-ai asks each toolset in a task of its own, four times before each request.
    """

    def _build_toolset_list(self, *args: Any, **kwargs: Any) -> list[AbstractToolset[AgentDeps]]:
        own, *others = super()._build_toolset_list(*args, **kwargs)
        return others if others and not getattr(own, "tools", True) else [own, *others]


def make_faster() -> None:
    """Make the changes, once for a process."""
    if not hasattr(Agent, "_build_toolset_list"):
        logger.info("This pydantic-ai collects toolsets in its own way.")
    make_copies_fast(RunContext)
    make_copies_fast(ToolDefinition)
    make_replacing_fast()
    for name, module in (("AgentStream", result), ("PeekableAsyncStream", _utils)):
        make_locks_fast(getattr(module, name, None), name)


def copy_fields(context: Any) -> Any:
    """Make a shallow copy, as `copy.copy` does of any object with a `__dict__`."""
    new = object.__new__(type(context))
    new.__dict__.update(context.__dict__)
    return new


def make_copies_fast(copied: type[Any]) -> None:
    """Give a class a `__copy__`, unless it has one, or keeps its fields in slots.

    pydantic-ai copies RunContext for each capability before each step: a hundred times in a short
    answer. `copy.copy` finds out each time how a class without `__copy__` is copied.
    """
    own = getattr(copied, "__copy__", None)
    if own is None and "__slots__" not in vars(copied):
        copied.__copy__ = copy_fields
    elif own is not copy_fields:
        logger.info("This pydantic-ai copies %s in its own way.", copied.__name__)


def replace(instance: Any, /, **changes: Any) -> Any:
    """Copy as `dataclasses.replace` does, and faster if COMPUTED has the object's class."""
    computed = COMPUTED.get(type(instance))
    if computed is None or not computed.isdisjoint(changes):
        return dataclasses.replace(instance, **changes)
    new = copy_fields(instance)
    new.__dict__.update(changes)
    return new


def make_replacing_fast() -> None:
    """Let a run use `replace` for its contexts, and for the tools of each request."""
    for copied, computed in COMPUTED.items():
        is_plain = "__slots__" not in vars(copied) and bool(computed) == hasattr(
            copied, "__post_init__"
        )
        if not is_plain or not all(field.init for field in dataclasses.fields(copied)):
            logger.info("This pydantic-ai makes a %s in its own way.", copied.__name__)
            return
    for module in (_agent_graph, models, tool_manager, _tool_search, function, prepared):
        used = getattr(module, "replace", None)
        if used is dataclasses.replace:
            vars(module)["replace"] = replace
        elif used is not replace:
            logger.info("The %s of this pydantic-ai copies in its own way.", module.__name__)


def make_locks_fast(stream: type[Any] | None, name: str) -> None:
    """Let the streams of a class take their locks at once, if nobody else has them.

    By default anyio's locks let every other task run before they are taken: 50 turns of the event
    loop in a short answer.
    """
    init: Callable[..., None] | None = getattr(stream, "__init__", None)
    if stream is None or init is None:
        logger.info("This pydantic-ai has no %s: its locks stay as they are.", name)
        return
    if hasattr(init, "__wrapped__"):
        return

    @functools.wraps(init)
    def init_with_fast_locks(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        for key, value in vars(self).items():
            if isinstance(value, anyio.Lock):
                setattr(self, key, anyio.Lock(fast_acquire=True))

    stream.__init__ = init_with_fast_locks
