"""The tools of a registry, as a run gets them."""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset

from agui.tools.definitions import CHANGED_KEY
from agui.tools.registry import ToolBinding

ToolsByName = dict[str, ToolsetTool[Any]]
Described = tuple[ToolsByName, FunctionToolset[Any]]


class ListedToolset(AbstractToolset[Any]):
    """Tools that are listed anew for each run."""

    names: Set[str]
    """The names of the tools of all users: no tool of a client may have one of these."""

    @abstractmethod
    async def bindings(self, user: Any) -> list[ToolBinding]:
        """List the tools that this user may call, for the catalog."""


def known_names(toolsets: Iterable[AbstractToolset[Any]]) -> set[str]:
    """Collect the names of tools that are known before a run, without those of other servers."""
    names: set[str] = set()
    for toolset in toolsets:
        if isinstance(toolset, FunctionToolset):
            names |= toolset.tools.keys()
        elif isinstance(toolset, ListedToolset):
            names |= toolset.names
    return names


def check_names(toolsets: Iterable[AbstractToolset[Any]]) -> None:
    """Refuse two tools of one name, among those that are known before a run.

    Raises ImproperlyConfigured.
    """
    labels: dict[str, str] = {}
    for toolset in toolsets:
        for name in known_names([toolset]):
            if name in labels:
                raise ImproperlyConfigured(
                    f"Two tools have the name {name!r}: one of {labels[name]} and one of "
                    f"{toolset.label}. Rename one, or write AgentConfig(toolsets=[....prefixed("
                    '"shop")]).'
                )
            labels[name] = toolset.label


class AsksAnew(WrapperToolset[Any]):
    """Calls a tool as if nobody had approved it, if the question was about other arguments."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        tools = await super().get_tools(ctx)
        for name, tool in tools.items():
            if tool.args_validator_func is not None:
                validate = partial(_validate_anew, tool.args_validator_func)
                tools[name] = replace(tool, args_validator_func=validate)
        return tools

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        return await super().call_tool(name, tool_args, _as_asked(ctx), tool)


def _validate_anew(validate: Callable[..., Any], ctx: RunContext[Any], /, **arguments: Any) -> Any:
    return validate(_as_asked(ctx), **arguments)


def _as_asked(ctx: RunContext[Any]) -> RunContext[Any]:
    if (ctx.tool_call_metadata or {}).get(CHANGED_KEY):
        return replace(ctx, tool_call_approved=False)
    return ctx


class Toolset(FunctionToolset[Any]):
    """Tools that are described once, not before each request, unless they have a `prepare`."""

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        fixed, changing = await self._described(ctx)
        if not changing.tools:
            return dict(fixed)
        described = fixed | await self._describe(changing, ctx)
        return {name: described[name] for name in self.tools if name in described}

    async def _described(self, ctx: RunContext[Any]) -> Described:
        """Describe the fixed tools, and collect those that may change."""
        # A project may add tools later, and the description has the run's number of retries.
        key = len(self.tools), ctx.max_retries
        if key not in self._cache:
            fixed: FunctionToolset[Any] = FunctionToolset()
            changing: FunctionToolset[Any] = FunctionToolset()
            for tool in self.tools.values():
                toolset = changing if tool.prepare else fixed
                toolset.add_tool(tool)
            self._cache[key] = await self._describe(fixed, ctx), changing
        return self._cache[key]

    async def _describe(self, toolset: FunctionToolset[Any], ctx: RunContext[Any]) -> ToolsByName:
        tools = await toolset.get_tools(ctx)
        for name, tool in tools.items():
            # pydantic-ai adds the toolset's id before each request to definitions without it.
            definition = replace(tool.tool_def, toolset_id=self.id)
            tools[name] = replace(tool, toolset=self, tool_def=definition)
        return tools

    @cached_property
    def _cache(self) -> dict[Any, Described]:
        return {}
