"""Search among many tools, if there are more than AGUI["SEARCH_TOOLS_ABOVE"].

The model then searches for a tool instead of reading all of them. pydantic-ai has the search: the
provider's own if it has one, otherwise a tool `search_tools`. This module decides when the model
searches. Tools with `defer_loading=False` are always shown.
"""

import logging
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset

from agui import conf
from agui.tools.schema import ToolSpec

logger = logging.getLogger("agui.tools")

SEARCH_TOOLS = "search_tools"
# In a tool's metadata: False if the model must see the tool from the start.
DEFER_KEY = "defer_loading"
CURE = f"pydantic-ai's search among many tools has the name {SEARCH_TOOLS!r}: rename yours"


def defer_many(tool_defs: list[ToolDefinition]) -> list[ToolDefinition]:
    """Let the model search if the user may call many tools, otherwise show it all of them."""
    limit = conf.get().search_tools_above
    if limit is None or len(tool_defs) <= limit:
        return tool_defs
    if any(tool.name == SEARCH_TOOLS for tool in tool_defs):
        logger.warning(
            "Not deferring %d tools for search: rename the one that is called %r",
            len(tool_defs),
            SEARCH_TOOLS,
        )
        return tool_defs
    return list(map(_deferred, tool_defs))


def _deferred(tool: ToolDefinition) -> ToolDefinition:
    if tool.defer_loading or (tool.metadata or {}).get(DEFER_KEY) is False:
        return tool
    deferred = copy(tool)
    deferred.defer_loading = True
    return deferred


def check_reserved(spec: ToolSpec, others: Iterable[ToolSpec]) -> None:
    """Refuse a tool with the name of the search, if there may be a search. Raises ValueError."""
    if spec.name != SEARCH_TOOLS and not spec.defer_loading:
        return
    specs = [spec, *others]
    if all(other.name != SEARCH_TOOLS for other in specs):
        return
    if any(other.defer_loading for other in specs):
        raise ValueError(f"Tool {SEARCH_TOOLS!r}: {CURE}, or leave out defer_loading=True.")
    if conf.get().search_tools_above is not None:
        raise ValueError(
            f'Tool {SEARCH_TOOLS!r}: {CURE}, or set AGUI["SEARCH_TOOLS_ABOVE"] = None.'
        )


def check_toolsets(toolsets: Sequence[AbstractToolset[Any]]) -> None:
    """Refuse a tool with the name of the search in toolsets. Raises ImproperlyConfigured."""
    for toolset in toolsets:
        has_search = isinstance(toolset, FunctionToolset) and SEARCH_TOOLS in toolset.tools
        if has_search and _is_possible(toolsets):
            raise ImproperlyConfigured(
                f"A toolset of the agent has a tool {SEARCH_TOOLS!r}. {CURE}, or set "
                'AGUI["SEARCH_TOOLS_ABOVE"] = None and use no defer_loading=True.'
            )


def reserved_names(agent: Agent[Any, Any]) -> set[str]:
    """List the names that no tool of a client may have."""
    if _is_possible(agent.toolsets):
        return {SEARCH_TOOLS}
    return set()


def _is_possible(toolsets: Sequence[AbstractToolset[Any]]) -> bool:
    if conf.get().search_tools_above is not None:
        return True
    for toolset in toolsets:
        if not isinstance(toolset, FunctionToolset):
            continue
        if any(tool.defer_loading for tool in toolset.tools.values()):
            return True
    return False
