"""The tools of a registry, as a run gets them."""

from abc import abstractmethod
from collections.abc import Iterable, Set
from dataclasses import replace
from functools import cached_property
from typing import Any

from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool

from agui.tools.registry import ToolBinding


class ListedToolset(AbstractToolset[Any]):
    """Tools that are found out for each run."""

    names: Set[str]
    """The names of all of them, whoever is shown them: no client may bring a tool with one."""

    @abstractmethod
    async def bindings(self, user: Any) -> list[ToolBinding]:
        """What this user may call, for the catalog."""


def known_names(toolsets: Iterable[AbstractToolset[Any]]) -> set[str]:
    """The names of all tools that are known before a run: those of servers elsewhere are not."""
    found: set[str] = set()
    for toolset in toolsets:
        if isinstance(toolset, FunctionToolset):
            found |= toolset.tools.keys()
        elif isinstance(toolset, ListedToolset):
            found |= toolset.names
    return found


class Toolset(FunctionToolset[Any]):
    """Tools most of which are the same for every run: those are described once, not before each request."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        same, changing = await self._described(ctx)
        found = same | {
            name: self._own(tool) for name, tool in (await changing.get_tools(ctx)).items()
        }
        return {name: found[name] for name in self.tools if name in found}

    async def _described(self, ctx: RunContext[Any]) -> tuple[dict[str, Any], FunctionToolset[Any]]:
        key = len(self.tools), ctx.max_retries
        if key not in self._known:
            changing = {name for name, tool in self.tools.items() if tool.prepare}
            same, rest = (
                FunctionToolset(
                    [tool for name, tool in self.tools.items() if (name in changing) is is_changing]
                )
                for is_changing in (False, True)
            )
            found = await same.get_tools(ctx)
            self._known[key] = {name: self._own(tool) for name, tool in found.items()}, rest
        return self._known[key]

    def _own(self, tool: ToolsetTool[Any]) -> ToolsetTool[Any]:
        # With our id, as pydantic-ai would else add it to each of them before each request.
        return replace(tool, toolset=self, tool_def=replace(tool.tool_def, toolset_id=self.id))

    @cached_property
    def _known(self) -> dict[Any, tuple[dict[str, Any], FunctionToolset[Any]]]:
        return {}
