"""The tools of other MCP servers, as a run gets them: under the server's name, after approval."""

import asyncio
import hashlib
import logging
import re
from collections.abc import Awaitable, Callable, Collection, Sequence
from copy import copy
from dataclasses import dataclass
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar

from django.utils.module_loading import import_string
from mcp.types import Tool
from pydantic_ai import ApprovalRequired, CustomEvent, RunContext
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import InstructionPart
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agui import clock, conf
from agui.blocking.executor import in_database, run_in_thread
from agui.contrib.mcp import pins
from agui.contrib.mcp.accounts import clients, tokens
from agui.contrib.mcp.app_activity import show_app
from agui.contrib.mcp.app_policy import app_uri, is_for
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.connections import Connection, ServerAway, TokenRefused, connect
from agui.contrib.mcp.servers import Server, check_headers, configured_servers
from agui.contrib.mcp.sessions import Headers
from agui.deps import AgentDeps
from agui.tools.audit import AuditEvent, record_event, resolve_audit_logger
from agui.tools.questions import one_line
from agui.tools.schema import X_DESTRUCTIVE_KEY, X_SUMMARY_KEY

logger = logging.getLogger("agui.mcp")

ANY_ARGUMENTS = SchemaValidator(
    core_schema.dict_schema(core_schema.str_schema(), core_schema.any_schema())
)
MAX_NAME_CHARS = 64
MAX_TITLE_CHARS = 100
NOT_CONNECTED = (
    "The user's account at {server!r} is not connected now. Nothing was done. Tell the user to "
    "connect it at {page}"
)
HELD = "The definition is new or has changed: an operator has to accept it. Nothing was called."
AWAY = "Out of reach now, with all their tools: {}. If one is needed, say so."


@dataclass(kw_only=True)
class ServersAway(CustomEvent):
    """Names the servers that this run goes on without, as CUSTOM `servers_away`."""

    servers: list[str]


def mcp_toolset(taken: Collection[str] = ()) -> "McpToolset":
    """Return the tools of AGUI["MCP"]["CONFIG"], except those with a taken name."""
    return McpToolset(configured_servers(), taken)


Narrowed = TypeVar("Narrowed", bound="McpToolset")
R = TypeVar("R")
Work = Callable[[Connection], Awaitable[R]]
"""What is done with a connection to a server."""


class McpToolset(AbstractToolset[AgentDeps]):
    """The tools of some servers. Each run has a copy, which keeps what belongs to the run."""

    audience = "model"

    def __init__(self, servers: Sequence[Server], taken: Collection[str] = ()) -> None:
        self.servers = servers
        self._taken = frozenset(taken)
        self._headers: dict[str, Headers] = {}
        self._calls: dict[str, tuple[Server, Tool]] = {}
        self._accepted: dict[str, tuple[list[Tool] | None, list[Tool]]] = {}
        self._away: list[str] = []

    @property
    def id(self) -> str:
        return "mcp"

    async def for_run(self, ctx: RunContext[AgentDeps]) -> "McpToolset":
        mine = copy(self)
        mine._headers = {}
        mine._calls = {}
        mine._accepted = {}
        mine._away = []
        return mine

    async def get_tools(self, ctx: RunContext[AgentDeps]) -> dict[str, ToolsetTool[AgentDeps]]:
        lists = await asyncio.gather(*(self._list(server, ctx) for server in self.servers))
        tools: dict[str, ToolsetTool[AgentDeps]] = {}
        away = []
        for server, listed in zip(self.servers, lists, strict=True):
            if listed is None:
                away.append(server.name)
            for tool in listed or ():
                if not is_for(tool, self.audience):
                    continue
                name = tool_name(server.name, tool.name)
                if name in self._taken or name in tools:
                    logger.warning(
                        "Leaving out tool %r of MCP server %r: another tool has the name %r",
                        tool.name,
                        server.name,
                        name,
                    )
                    continue
                self._calls[name] = server, tool
                tools[name] = self._tool(name, server, tool, ctx.max_retries)
        if away != self._away:
            self._away = away
            if away:
                await ctx.emit(ServersAway(servers=away))
        return tools

    def narrowed(self, kind: type[Narrowed], name: str) -> Narrowed | None:
        """Return one server's tools alone, as another kind; None if it may show no apps."""
        servers = [each for each in self.servers if each.name == name and each.apps]
        return kind(servers, self._taken) if servers else None

    async def server_tools(self, ctx: RunContext[AgentDeps]) -> list[Tool]:
        """List the tools of these servers, as they have them."""
        lists = await asyncio.gather(*(self._list(server, ctx) for server in self.servers))
        return [tool for listed in lists for tool in listed or ()]

    async def use(self, server: Server, user: Any, work: Work[R]) -> R:
        """Work with a server whose tools were listed, as the user. Raises ToolFailed."""
        if server.auth is None:
            return await work(connect(server, self._headers[server.name]))
        headers = await _headers_of(user, server)
        for _ in range(2):
            if headers is None:
                break
            try:
                return await work(connect(server, headers))
            except TokenRefused:
                headers = await tokens.headers_after_refusal(user, server, headers)
        raise ToolFailed(NOT_CONNECTED.format(server=server.name, page=clients.page_address()))

    async def _list(self, server: Server, ctx: RunContext[AgentDeps]) -> list[Tool] | None:
        """List the server's tools for this user; None if it is away."""
        try:
            listed = await self._ask(server, ctx.deps.user)
        except ServerAway:
            return None
        except Exception:
            logger.exception(
                "Leaving out the tools of MCP server %r: the user's headers failed", server.name
            )
            return None
        return await self._pinned(server, listed, ctx)

    async def _ask(self, server: Server, user: Any) -> list[Tool]:
        """List the server's tools for this user. Raises ServerAway."""
        if server.name not in self._headers:
            async with asyncio.timeout(conf.part(McpSettings).timeout_seconds):
                headers = await _headers_of(user, server)
            if headers is None:
                return []
            self._headers[server.name] = headers
        try:
            return await connect(server, self._headers[server.name]).tools()
        except TokenRefused:
            headers = await tokens.headers_after_refusal(
                user, server, self._headers.pop(server.name)
            )
            if headers is None:
                return []
            self._headers[server.name] = headers
            return await connect(server, headers).tools()

    async def _pinned(
        self, server: Server, listed: list[Tool], ctx: RunContext[AgentDeps]
    ) -> list[Tool]:
        """Leave out what an operator has to accept first."""
        before, accepted = self._accepted.get(server.name, (None, []))
        if before is not listed:
            accepted, held = await in_database(pins.choose, server, listed)
            self._accepted[server.name] = listed, accepted
            for name in held:
                await _record_held(tool_name(server.name, name), ctx.deps)
        return accepted

    def _tool(
        self, name: str, server: Server, tool: Tool, max_retries: int
    ) -> ToolsetTool[AgentDeps]:
        needs_approval = waits_for_approval(name, tool)
        title = tool.title
        if not title and tool.annotations:
            title = tool.annotations.title
        summary = f"{one_line(title or tool.name, MAX_TITLE_CHARS)} ({server.name})"
        definition = ToolDefinition(
            name=name,
            description=tool.description or tool.title,
            parameters_json_schema={**tool.input_schema, "type": "object"},
            kind="unapproved" if needs_approval else "function",
            toolset_id=self.id,
            metadata={X_DESTRUCTIVE_KEY: needs_approval, X_SUMMARY_KEY: summary},
        )

        def ask(ctx: RunContext[AgentDeps], /, **arguments: Any) -> None:
            if not ctx.tool_call_approved:
                raise ApprovalRequired()

        return ToolsetTool(
            toolset=self,
            tool_def=definition,
            max_retries=max_retries,
            args_validator=ANY_ARGUMENTS,  # The server checks the arguments.
            args_validator_func=ask if needs_approval else None,
        )

    async def get_instructions(self, ctx: RunContext[AgentDeps]) -> InstructionPart | None:
        if not self._away:
            return None
        return InstructionPart(content=AWAY.format(", ".join(self._away)), dynamic=True)

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[AgentDeps],
        tool: ToolsetTool[AgentDeps],
    ) -> Any:
        server, own = self._calls[name]
        user, uri = ctx.deps.user, app_uri(own)
        if server.apps is None or uri is None:
            return await self.use(server, user, lambda one: one.call(own.name, tool_args))
        result, for_app = await self.use(
            server, user, lambda one: one.call_with_app(own.name, tool_args, uri)
        )
        await show_app(ctx, server, own, tool_args, for_app)
        return result


async def _record_held(name: str, deps: AgentDeps) -> None:
    """Write into the audit trail that a tool is not offered."""
    event = AuditEvent(
        user_id=deps.user.pk,
        thread_id=deps.thread_id,
        run_id=deps.run_id,
        tool_call_id="",
        tool_name=name,
        arguments={},
        started_at=clock.now(),
        duration_ms=0,
        outcome="denied",
        error=HELD,
        scope=deps.scope,
    )
    await record_event(resolve_audit_logger(), event)


def tool_name(server: str, name: str) -> str:
    """Return a name that every provider accepts, and that no tool of another server has."""
    full = f"{server}_{re.sub(r'[^A-Za-z0-9_-]', '_', name)}"
    if len(full) > MAX_NAME_CHARS:
        digest = hashlib.sha256(name.encode()).hexdigest()
        return f"{full[: MAX_NAME_CHARS - 9]}_{digest[:8]}"
    return full


def waits_for_approval(name: str, tool: Tool) -> bool:
    """Return whether the user has to approve a call: not if the server says that it is harmless."""
    hints = tool.annotations
    if hints and (hints.read_only_hint is True or hints.destructive_hint is False):
        return False
    exempt = conf.get().auto_confirm
    if isinstance(exempt, bool):
        return not exempt
    return name not in exempt


async def _headers_of(user: Any, server: Server) -> Headers | None:
    """Return the headers that this user sends to the server; None without an account there.

    They are a token of the user, or what AGUI["MCP"]["HEADERS"] returns.
    """
    if server.auth is not None:
        return await tokens.headers_of(user, server)
    path = conf.part(McpSettings).headers
    if path is None or server.url is None:
        return ()
    function = import_string(path)
    if iscoroutinefunction(function):
        headers = await function(user, server.name)
    else:
        headers = await run_in_thread(function, user, server.name)
    if isawaitable(headers):
        headers = await headers
    return tuple(sorted(check_headers(headers or {}).items()))
