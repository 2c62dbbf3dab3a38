"""One open session with an MCP server."""

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from contextvars import Context
from functools import partial
from typing import Any

import httpx2
from fastmcp.client.transports import (
    ClientTransport,
    SSETransport,
    StdioTransport,
    StreamableHttpTransport,
)
from mcp.types import Tool
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ToolReturn
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ToolsetTool
from pydantic_core import SchemaValidator, core_schema

from agui import conf
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.incoming import ask_plain, weigh
from agui.contrib.mcp.servers import Server

logger = logging.getLogger("agui.mcp")

Headers = tuple[tuple[str, str], ...]
TIMEOUT = httpx2.Timeout(30.0, read=300.0)
"""The library's own."""
ANYTHING = SchemaValidator(core_schema.any_schema())

# The event loop itself keeps only weak references to its tasks.
_tasks: set[asyncio.Task[Any]] = set()


class Session:
    """One open session. A task of its own holds it, because it must not belong to one run."""

    def __init__(self, server: Server, headers: Headers) -> None:
        settings = conf.part(McpSettings)
        self.is_refused = False
        """Whether the server has refused the user's token."""
        self._toolset: MCPToolset[Any] = MCPToolset(
            self._transport(server, headers),
            id=server.name,
            tool_error_behavior="error",
            cache_tools=False,
            init_timeout=None,  # Who asks for the first list of tools waits as long as it wants.
            read_timeout=max(settings.timeout_seconds, settings.call_seconds),
        )
        self.calls = 0
        self._is_retired = False
        self._closing = asyncio.Event()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = detach(self._hold())

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._toolset)
                if not self.opened.done():
                    self.opened.set_result(None)
                await self._closing.wait()
        except Exception as error:
            if self.opened.done():
                logger.debug("Connection to MCP server %r broke", self._toolset.id, exc_info=True)
            else:
                self.opened.set_exception(error)
        finally:
            self.opened.cancel()

    async def list_tools(self) -> list[Tool]:
        await asyncio.shield(self.opened)
        return await self._toolset.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        with self._at_work():
            return await self._toolset.direct_call_tool(name, arguments)

    async def call_with_app(self, name: str, arguments: dict[str, Any], uri: str) -> ToolReturn:
        """Call a tool that has an app. `metadata["mcp_app"]` of the result is what the app gets."""
        tool_def = ToolDefinition(name=name, metadata={"meta": {"ui": {"resourceUri": uri}}})
        tool = ToolsetTool(
            toolset=self._toolset, tool_def=tool_def, max_retries=0, args_validator=ANYTHING
        )
        context: Any = None  # Only a hook would read it.
        with self._at_work():
            result = await self._toolset.call_tool(name, arguments, context, tool)
        return result if isinstance(result, ToolReturn) else ToolReturn(result)

    async def call_for_app(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool that is for apps. Returns the server's CallToolResult."""
        with self._at_work():
            return await self._toolset.call_tool_for_app(name, arguments)

    async def read_for_app(self, uri: str) -> dict[str, Any]:
        with self._at_work():
            return await self._toolset.read_resource_for_app(uri)

    @contextmanager
    def _at_work(self) -> Iterator[None]:
        self.calls += 1
        try:
            yield
        finally:
            self.calls -= 1
            if self._is_retired:
                self.retire()

    def retire(self) -> None:
        """Close the session as soon as no call waits for its answer."""
        self._is_retired = True
        if not self.calls:
            self._closing.set()
            if not self.opened.done():
                self.task.cancel()

    def _transport(self, server: Server, headers: Headers) -> ClientTransport:
        if server.url is None:
            # The library passes on PATH, HOME and the like from our environment, and no key.
            return StdioTransport(
                str(server.command),
                list(server.args),
                env=dict(server.env),
                cwd=server.cwd,
                keep_alive=False,
            )
        merged = {name.lower(): value for name, value in (*server.headers, *headers)}
        kind = SSETransport if server.type == "sse" else StreamableHttpTransport
        return kind(
            server.url, headers=merged, httpx_client_factory=partial(self._client, server.auth)
        )

    def _client(
        self,
        sign_in: str | None,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
        **options: Any,
    ) -> httpx2.AsyncClient:
        # A token belongs to this address only, so no proxy is asked. Redirects are the library's.
        return httpx2.AsyncClient(
            headers=headers,
            timeout=timeout or TIMEOUT,
            auth=auth,
            trust_env=sign_in is None,
            event_hooks={"request": [ask_plain], "response": [self._look_at, weigh]},
        )

    async def _look_at(self, response: httpx2.Response) -> None:
        if response.status_code == 401:
            self.is_refused = True


def detach(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start a task in a context of its own: it outlives the run that needs it first."""
    task = asyncio.get_running_loop().create_task(coroutine, context=Context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task
