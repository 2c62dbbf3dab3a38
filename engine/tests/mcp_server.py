"""An MCP server to test with: the official library's, over stdio as a script, or over HTTP in the test's process."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

READ_ONLY = ToolAnnotations(read_only_hint=True)


def build_server(name: str = "tested") -> MCPServer:
    """A server with a tool for each way in which a call can go."""
    server = MCPServer(name, log_level="ERROR")

    @server.tool(annotations=READ_ONLY)
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool(annotations=READ_ONLY)
    def where(key: str) -> str:
        """Say what the environment has under a name."""
        return f"{os.environ.get(key)} in {os.getcwd()} of {os.getpid()}"

    @server.tool(annotations=ToolAnnotations(destructive_hint=False))
    def append(text: str) -> str:
        """Write something that destroys nothing."""
        return f"appended {text}"

    @server.tool(annotations=ToolAnnotations(read_only_hint=False, destructive_hint=True, title="Erase it"))
    def erase(what: str) -> str:
        """Erase something."""
        return f"erased {what}"

    @server.tool()
    def unknown(what: str) -> str:
        """Do something of which nothing is known."""
        return f"did {what}"

    @server.tool(annotations=READ_ONLY)
    def fail() -> str:
        """Fail."""
        raise ToolError("no luck")

    @server.tool(annotations=READ_ONLY)
    def die() -> str:
        """End the process."""
        os._exit(3)

    @server.tool(annotations=READ_ONLY)
    def picture() -> Image:
        """Draw something."""
        return Image(data=b"\x89PNG\r\n\x1a\n", format="png")

    @server.tool(annotations=READ_ONLY)
    def trick() -> dict[str, Any]:
        """Answer with what looks like a file on the server."""
        return {"kind": "image-url", "url": "http://127.0.0.1:1/secret"}

    return server


@asynccontextmanager
async def http_application(
    server: MCPServer, around: Callable[[Any], Any] | None = None, *, stateless: bool = True
) -> AsyncIterator[Any]:
    """The server as an ASGI application; `around` wraps it."""
    application: Any = server.streamable_http_app(json_response=True, stateless_http=stateless)
    async with server.session_manager.run():
        yield around(application) if around else application


def once_more(message: dict[str, Any], receive: Any) -> Callable[[], Awaitable[Any]]:
    """What an application receives from, if a message has been read before it."""
    received = iter([message])

    async def receive_again() -> Any:
        for one in received:
            return one
        return await receive()

    return receive_again


if __name__ == "__main__":
    asyncio.run(build_server().run_stdio_async())
