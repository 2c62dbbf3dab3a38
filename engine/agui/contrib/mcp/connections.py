"""Connections to MCP servers: each is opened once for a process and event loop, on first use.

A server that can't be reached, or not in time, is away: runs go on without its tools, and it is
tried again later. If AGUI["MCP"]["HEADERS"] gives a user their own headers, the user has their own
connection.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextvars import Context
from typing import Any
from weakref import WeakKeyDictionary

from fastmcp.exceptions import McpError, ToolError
from mcp.types import INVALID_PARAMS, Tool
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.mcp import MCPError
from pydantic_ai.messages import BinaryContent
from pydantic_core import to_json

from agui import clock, conf
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.servers import Server
from agui.contrib.mcp.sessions import Headers, Session, detach
from agui.tools.foreign_schemas import MAX_VALUES, are_small

logger = logging.getLogger("agui.mcp")

RETRY_SECONDS = 30.0
"""The time at which a server that was away is tried again."""
START_SECONDS = 30.0
"""The time in which a server that is a program has to start, and to list its tools."""
NEAR_SECONDS = 1.0
FAR_SECONDS = 60.0
"""The validity of a list of tools: of a server on this machine, and of one elsewhere.

A new list also shows whether the server is still there.
"""
IDLE_SECONDS = 300.0
"""The time after its last call at which a user's own connection is closed."""
MAX_ERROR_CHARS = 2000


class ServerAway(Exception):
    """The server can't be reached now, or not in time."""


class TokenRefused(ServerAway):
    """The server does not accept the user's token. It has done nothing."""


class Connection:
    """A connection to a server with certain headers. It opens its session when it needs one."""

    def __init__(self, server: Server, headers: Headers) -> None:
        self.server = server
        self._headers = headers
        self._session: Session | None = None
        self._tools: list[Tool] = []
        self._listed_at = float("-inf")
        self._away_until = float("-inf")
        self._listing: asyncio.Task[bool] | None = None
        self._is_refused = False
        self._calls = 0
        self.used_at = clock.monotonic()
        self.kept: dict[str, Any] = {}
        """What was read of the server lately, by its address."""

    @property
    def keep_seconds(self) -> float:
        """The validity of what the server has said."""
        return FAR_SECONDS if self.server.url else NEAR_SECONDS

    @property
    def is_idle(self) -> bool:
        if self._calls or self._listing:
            return False
        return clock.monotonic() - self.used_at >= IDLE_SECONDS

    async def tools(self) -> list[Tool]:
        """Return the tools that the server has now. Raises ServerAway."""
        self.used_at = clock.monotonic()
        if self._is_refused:
            raise TokenRefused(self.server.name)
        if self.used_at < self._away_until:
            raise ServerAway(self.server.name)
        if self._session is None or self.used_at - self._listed_at > self.keep_seconds:
            # All runs that ask share one attempt, and none of them can cancel it.
            if self._listing is None:
                self._listing = detach(self._list())
            if not await asyncio.shield(self._listing):
                raise (TokenRefused if self._is_refused else ServerAway)(self.server.name)
        return self._tools

    async def _list(self) -> bool:
        seconds = conf.part(McpSettings).timeout_seconds
        if self.server.url is None and self._session is None:
            seconds = max(seconds, START_SECONDS)
        try:
            async with asyncio.timeout(seconds):
                self._tools = self._usable(await self._ask())
        except Exception as error:
            if self._session and self._session.is_refused:
                self._refuse(self._session)
            else:
                self._mark_away(self._session, error)
            return False
        finally:
            self._listing = None
        self._listed_at = clock.monotonic()
        return True

    def _usable(self, tools: list[Tool]) -> list[Tool]:
        usable = []
        for tool in tools:
            if are_small([tool.input_schema]):
                usable.append(tool)
            else:
                logger.warning(
                    "Leaving out tool %r of MCP server %r: its input schema has more than %s "
                    "values once each $ref is resolved",
                    tool.name,
                    self.server.name,
                    MAX_VALUES,
                )
        return usable

    async def _ask(self) -> list[Tool]:
        if session := self._session:
            try:
                return await session.list_tools()
            except Exception as error:
                logger.info("Reconnecting to MCP server %r after %r", self.server.name, error)
                self._drop(session)
        self._session = Session(self.server, self._headers)
        return await self._session.list_tools()

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool. Raises ToolFailed with what the model may know; the log has the rest."""
        return _as_result(
            await self._use(f"tool {name!r}", lambda session: session.call(name, arguments))
        )

    async def call_with_app(
        self, name: str, arguments: dict[str, Any], uri: str
    ) -> tuple[Any, dict[str, Any]]:
        """Call a tool that has an app: also return the result as the app gets it."""
        returned = await self._use(
            f"tool {name!r}", lambda session: session.call_with_app(name, arguments, uri)
        )
        app = (returned.metadata or {}).get("mcp_app") or {}
        return _as_result(returned.return_value), app.get("result") or {}

    async def call_for_app(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool for an app, as `call` does. Returns the server's CallToolResult."""
        result: dict[str, Any] = await self._use(
            f"tool {name!r}", lambda session: session.call_for_app(name, arguments)
        )
        return result

    async def read_for_app(self, uri: str) -> dict[str, Any]:
        """Read a resource. Raises ToolFailed. Returns the server's ReadResourceResult."""
        result: dict[str, Any] = await self._use(
            f"resource {uri[:200]!r}",
            lambda session: session.read_for_app(uri),
            conf.part(McpSettings).timeout_seconds,
        )
        return result

    async def _use(
        self,
        what: str,
        work: Callable[[Session], Awaitable[Any]],
        seconds: float | None = None,
    ) -> Any:
        self._calls += 1
        try:
            return await self._work(what, work, seconds or conf.part(McpSettings).call_seconds)
        finally:
            self._calls -= 1
            self.used_at = clock.monotonic()

    async def _work(
        self, what: str, work: Callable[[Session], Awaitable[Any]], seconds: float
    ) -> Any:
        session = None
        try:
            # This also opens the session.
            await self.tools()
            session = self._session
            if session is None:
                raise ServerAway(self.server.name)
            async with asyncio.timeout(seconds):
                return await work(session)
        except TokenRefused:
            raise
        except ServerAway as error:
            raise ToolFailed(
                f"The server {self.server.name!r} is out of reach. Tell the user."
            ) from error
        except Exception as error:
            if session is not None and session.is_refused:
                self._refuse(session)
                raise TokenRefused(self.server.name) from error
            raise self._failure(what, session, error) from error

    def _failure(self, what: str, session: Session | None, error: Exception) -> ToolFailed:
        """Return what the model may know of a failure."""
        if isinstance(error, ToolError | MCPError):
            return ToolFailed(str(error)[:MAX_ERROR_CHARS] or "The tool failed.")
        if isinstance(error, McpError) and error.error.code == INVALID_PARAMS:
            return ToolFailed(error.error.message[:MAX_ERROR_CHARS])
        self._drop(session)
        logger.warning("Using %s of MCP server %r failed: %r", what, self.server.name, error)
        return ToolFailed(
            f"The server {self.server.name!r} did not answer, and may still be at work. "
            "Tell the user."
        )

    def _refuse(self, session: Session) -> None:
        logger.info("MCP server %r has refused a user's token", self.server.name)
        self._is_refused = True
        self._drop(session)

    def _mark_away(self, session: Session | None, error: Exception) -> None:
        logger.warning(
            "Connecting to MCP server %r failed: %r; no new attempt for %s s",
            self.server.name,
            error,
            RETRY_SECONDS,
        )
        self._drop(session)
        self._away_until = clock.monotonic() + RETRY_SECONDS

    def _drop(self, session: Session | None) -> None:
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


Key = tuple[Server, Headers]
_connections: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, Connection]]
_connections = WeakKeyDictionary()


def connect(server: Server, headers: Headers = ()) -> Connection:
    """Return the connection to a server, for this event loop and these headers, without opening it.

    Don't keep it: a user's own connection is closed when it is idle, and another replaces it.
    """
    for loop in list(_connections):
        if loop.is_closed():
            # Its connections refer to the loop, so the weak key alone would not remove them.
            del _connections[loop]
    mine = _connections.setdefault(asyncio.get_running_loop(), {})
    key = server, headers
    if key not in mine:
        mine[key] = Connection(server, headers)
        if headers:
            _close_when_idle(mine, key)
    return mine[key]


def _close_when_idle(mine: dict[Key, Connection], key: Key) -> None:
    def close() -> None:
        if key in mine and mine[key].is_idle:
            detach(mine.pop(key).aclose())
        elif key in mine:
            _close_when_idle(mine, key)

    asyncio.get_running_loop().call_later(IDLE_SECONDS, close, context=Context())


async def close_all() -> None:
    """Close the connections of this event loop."""
    mine = _connections.pop(asyncio.get_running_loop(), {})
    await asyncio.gather(*(connection.aclose() for connection in mine.values()))


def _as_result(result: Any) -> Any:
    """Keep files and texts, and write everything else as a text.

    Stored as it is, another value could look like one of the server's own files.
    """
    if isinstance(result, list) and any(isinstance(part, BinaryContent) for part in result):
        return [_as_result(part) for part in result]
    if isinstance(result, str | BinaryContent):
        return result
    return to_json(result).decode()
