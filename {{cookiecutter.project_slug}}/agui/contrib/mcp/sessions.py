"""Connections to MCP servers: each is opened once for a process and event loop, when a run first
needs it.

A server that can't be reached, or not in time, is away: runs go on without its tools, and it is
tried again later. Where AGUI["MCP"]["HEADERS"] gives a user headers of their own, the connection is
theirs, too.
"""

import asyncio
import logging
import time
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from contextvars import Context
from typing import Any
from weakref import WeakKeyDictionary

from fastmcp.client.transports import (
    ClientTransport,
    SSETransport,
    StdioTransport,
    StreamableHttpTransport,
)
from fastmcp.exceptions import McpError, ToolError  # type: ignore[attr-defined,unused-ignore]
from mcp.types import INVALID_PARAMS, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import BinaryContent
from pydantic_core import to_json

from agui import conf
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.servers import Server
from agui.tools.foreign_schemas import are_small

logger = logging.getLogger("agui.mcp")

# After so long a server that was away is tried again.
RETRY_SECONDS = 30.0
# After so long one is asked again what tools it has, and with that whether it is still there: one
# of this machine, and one elsewhere.
NEAR_SECONDS = 1.0
FAR_SECONDS = 60.0
# After so long without a call, a user's own connection is closed.
IDLE_SECONDS = 300.0
MAX_ERROR_CHARS = 2000

Headers = tuple[tuple[str, str], ...]


class ServerAway(Exception):
    """The server can't be reached now, or not in time."""


class Session:
    """One open connection, held by a task of its own: what opens it must not belong to one run."""

    def __init__(self, server: Server, headers: Headers) -> None:
        settings = conf.part(McpSettings)
        self._toolset: MCPToolset[Any] = MCPToolset(
            _transport(server, headers),
            id=server.name,
            tool_error_behavior="error",
            cache_tools=False,
            init_timeout=settings.timeout_seconds,
            read_timeout=max(settings.timeout_seconds, settings.call_seconds),
        )
        self.calls = 0
        self._is_retired = False
        self._closing = asyncio.Event()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.task = _detach(self._hold())

    async def _hold(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._toolset)
                if not self.opened.done():
                    self.opened.set_result(None)
                await self._closing.wait()
        except Exception as error:
            if self.opened.done():
                logger.debug("A connection broke when it was closed", exc_info=True)
            else:
                self.opened.set_exception(error)
        finally:
            self.opened.cancel()

    async def list_tools(self) -> list[Tool]:
        await asyncio.shield(self.opened)
        return await self._toolset.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        self.calls += 1
        try:
            return await self._toolset.direct_call_tool(name, arguments)
        finally:
            self.calls -= 1
            if self._is_retired:
                self.retire()

    def retire(self) -> None:
        """Close it as soon as nobody waits for an answer any more."""
        self._is_retired = True
        if not self.calls:
            self._closing.set()
            if not self.opened.done():
                self.task.cancel()


class Connection:
    """The way to a server with certain headers: its session, if it is open, and since when it is away."""

    def __init__(self, server: Server, headers: Headers) -> None:
        self.server = server
        self._headers = headers
        self._session: Session | None = None
        self._tools: list[Tool] = []
        self._listed_at = self._away_until = float("-inf")
        self._listing: asyncio.Task[bool] | None = None
        self._calls = 0
        self.used_at = time.monotonic()

    @property
    def is_idle(self) -> bool:
        return (
            not self._calls
            and not self._listing
            and time.monotonic() - self.used_at >= IDLE_SECONDS
        )

    async def tools(self) -> list[Tool]:
        """What tools the server has now. Raises ServerAway."""
        self.used_at = time.monotonic()
        if self.used_at < self._away_until:
            raise ServerAway(self.server.name)
        keep_seconds = FAR_SECONDS if self.server.url else NEAR_SECONDS
        if self._session is None or self.used_at - self._listed_at > keep_seconds:
            # One attempt for all who ask, and none of them ends it.
            if self._listing is None:
                self._listing = _detach(self._list())
            if not await asyncio.shield(self._listing):
                raise ServerAway(self.server.name)
        return self._tools

    async def _list(self) -> bool:
        try:
            async with asyncio.timeout(conf.part(McpSettings).timeout_seconds):
                self._tools = self._usable(await self._ask())
        except Exception as error:
            self._be_away(self._session, error)
            return False
        finally:
            self._listing = None
        self._listed_at = time.monotonic()
        return True

    def _usable(self, tools: list[Tool]) -> list[Tool]:
        usable = []
        for tool in tools:
            if are_small([tool.input_schema]):
                usable.append(tool)
            else:
                words = "The tool %r of the MCP server %r is left out: with each $ref followed, it has too many schemas."
                logger.warning(words, tool.name, self.server.name)
        return usable

    async def _ask(self) -> list[Tool]:
        if session := self._session:
            try:
                return await session.list_tools()
            except Exception as error:
                logger.info(
                    "The MCP server %r has left (%r): it is entered again", self.server.name, error
                )
                self._lose(session)
        self._session = Session(self.server, self._headers)
        return await self._session.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool. Raises ToolFailed with what the model may know; the log has the rest."""
        self._calls += 1
        try:
            return await self._call(name, arguments)
        finally:
            self._calls -= 1
            self.used_at = time.monotonic()

    async def _call(self, name: str, arguments: dict[str, Any]) -> Any:
        session = None
        try:
            await self.tools()  # Opens what is not open
            if (session := self._session) is None:
                raise ServerAway(self.server.name)
            async with asyncio.timeout(conf.part(McpSettings).call_seconds):
                return _as_result(await session.call(name, arguments))
        except ServerAway as error:
            raise ToolFailed(
                f"The server {self.server.name!r} is out of reach. Tell the user."
            ) from error
        except ToolError as error:
            raise ToolFailed(str(error)[:MAX_ERROR_CHARS] or "The tool failed.") from error
        except Exception as error:
            if isinstance(error, McpError) and error.error.code == INVALID_PARAMS:
                raise ToolFailed(error.error.message[:MAX_ERROR_CHARS]) from error
            self._lose(session)
            logger.warning(
                "The call of %r failed on the MCP server %r: %r", name, self.server.name, error
            )
            raise ToolFailed(
                f"The server {self.server.name!r} did not answer, and may still be at work. Tell the user."
            ) from error

    def _be_away(self, session: Session | None, error: Exception) -> None:
        logger.warning("The MCP server %r is away: %r", self.server.name, error)
        self._lose(session)
        self._away_until = time.monotonic() + RETRY_SECONDS

    def _lose(self, session: Session | None) -> None:
        if session is not None:
            session.retire()
            if session is self._session:
                self._session = None

    async def aclose(self) -> None:
        if listing := self._listing:
            listing.cancel()
            await asyncio.wait([listing])
        if session := self._session:
            self._session = None
            session.retire()
            await asyncio.wait([session.task])


_connections: WeakKeyDictionary[
    asyncio.AbstractEventLoop, dict[tuple[Server, Headers], Connection]
] = WeakKeyDictionary()
# The loop itself keeps only weak references to its tasks.
_tasks: set[asyncio.Task[Any]] = set()


def connect(server: Server, headers: Headers = ()) -> Connection:
    """Find the connection to a server, for this event loop and these headers; nothing is opened yet.

    Not to be kept: a user's own is closed when it is idle, and another takes its place.
    """
    for loop in [loop for loop in _connections if loop.is_closed()]:
        del _connections[loop]  # Its connections refer to it, so that nothing else would forget it
    mine = _connections.setdefault(asyncio.get_running_loop(), {})
    if (server, headers) not in mine:
        mine[server, headers] = Connection(server, headers)
        if headers:
            _close_later(mine, (server, headers))
    return mine[server, headers]


def _close_later(
    mine: dict[tuple[Server, Headers], Connection], key: tuple[Server, Headers]
) -> None:
    def close() -> None:
        if key in mine and mine[key].is_idle:
            _detach(mine.pop(key).aclose())
        elif key in mine:
            _close_later(mine, key)

    asyncio.get_running_loop().call_later(IDLE_SECONDS, close, context=Context())


async def close_all() -> None:
    """Close the connections of this event loop."""
    mine = _connections.pop(asyncio.get_running_loop(), {})
    await asyncio.gather(*(connection.aclose() for connection in mine.values()))


def _detach(coroutine: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    # In a context of its own: what is opened in it outlives the run, and another run goes on with
    # it.
    task = asyncio.get_running_loop().create_task(coroutine, context=Context())
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)
    return task


def _transport(server: Server, headers: Headers) -> ClientTransport:
    if server.url is None:
        # Of our environment it gets PATH, HOME and the like, and no key.
        return StdioTransport(
            str(server.command),
            list(server.args),
            env=dict(server.env),
            cwd=server.cwd,
            keep_alive=False,
        )
    kind: Any = SSETransport if server.type == "sse" else StreamableHttpTransport
    merged = {name.lower(): value for name, value in (*server.headers, *headers)}
    transport: ClientTransport = kind(server.url, headers=merged)
    return transport


def _as_result(result: Any) -> Any:
    """Keep files and texts. All else becomes a text: stored as it is, it could look like a file of the server's."""
    if isinstance(result, list) and any(isinstance(part, BinaryContent) for part in result):
        return [_as_result(part) for part in result]
    return result if isinstance(result, str | BinaryContent) else to_json(result).decode()
