"""Many tools: past AGUI["SEARCH_TOOLS_ABOVE"] of them, the model searches for one instead of
reading all.

pydantic-ai searches: with the provider's own search where it has one, else with a tool
`search_tools`. Here it is decided when, and which tools the model sees from the start: those with
`defer_loading=False`.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import Agent, FunctionToolset, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset

from agui import conf
from agui.tools.schema import ToolSpec

logger = logging.getLogger("agui.tools")

SEARCH_TOOLS = "search_tools"
# In a tool's metadata, False: never to be searched for.
DEFER_KEY = "defer_loading"
CURE = f"pydantic-ai's search among many tools has the name {SEARCH_TOOLS!r}: rename yours"


@dataclass
class SearchManyTools(AbstractCapability[Any]):
    """Decides before each request, over the tools of all toolsets that this user has."""

    async def prepare_tools(
        self, ctx: RunContext[Any], tool_defs: list[ToolDefinition]
    ) -> list[ToolDefinition]:
        limit = conf.get().search_tools_above
        if limit is None or len(tool_defs) <= limit:
            return tool_defs
        if any(tool.name == SEARCH_TOOLS for tool in tool_defs):
            logger.warning(
                "The model is shown all %d tools: one of them is called %r.",
                len(tool_defs),
                SEARCH_TOOLS,
            )
            return tool_defs
        return [_deferred(tool) for tool in tool_defs]


def _deferred(tool: ToolDefinition) -> ToolDefinition:
    if tool.defer_loading or (tool.metadata or {}).get(DEFER_KEY) is False:
        return tool
    return replace(tool, defer_loading=True)


def check_reserved(spec: ToolSpec, others: Iterable[ToolSpec]) -> None:
    """Refuse a tool with the name of the search, where there may be one. Raises ValueError."""
    if spec.name != SEARCH_TOOLS and not spec.defer_loading:
        return
    specs = [spec, *others]
    if not any(one.name == SEARCH_TOOLS for one in specs):
        return
    if any(one.defer_loading for one in specs):
        raise ValueError(f"Tool {SEARCH_TOOLS!r}: {CURE}, or leave out defer_loading=True.")
    if conf.get().search_tools_above is not None:
        raise ValueError(
            f'Tool {SEARCH_TOOLS!r}: {CURE}, or set AGUI["SEARCH_TOOLS_ABOVE"] = None.'
        )


def check_toolsets(toolsets: Sequence[AbstractToolset[Any]]) -> None:
    """Refuse such a tool in other toolsets. Raises ImproperlyConfigured."""
    own = [
        one for one in toolsets if isinstance(one, FunctionToolset) and SEARCH_TOOLS in one.tools
    ]
    if own and _is_possible(toolsets):
        raise ImproperlyConfigured(
            f'A toolset of the agent has a tool {SEARCH_TOOLS!r}. {CURE}, or set AGUI["SEARCH_TOOLS_ABOVE"] = None '
            "and use no defer_loading=True."
        )


def reserved_names(agent: Agent[Any, Any]) -> set[str]:
    """Names that no tool of a client may have."""
    return {SEARCH_TOOLS} if _is_possible(agent.toolsets) else set()


def _is_possible(toolsets: Sequence[AbstractToolset[Any]]) -> bool:
    if conf.get().search_tools_above is not None:
        return True
    known = [one for one in toolsets if isinstance(one, FunctionToolset)]
    return any(tool.defer_loading for toolset in known for tool in toolset.tools.values())
