"""An MCP server whose tools bring an app, for tests of the host: over HTTP in the test's process, or as a script."""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult, TextContent, ToolAnnotations

URI = "ui://shop/orders.html"
OTHER_URI = "ui://shop/other.html"
MIME = "text/html;profile=mcp-app"
READ_ONLY = ToolAnnotations(read_only_hint=True)
HTML = "<!doctype html><title>Orders</title><script>parent.postMessage({}, '*')</script>"


class Shop:
    """What the server has done, and what it offers."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.html: Any = HTML
        self.csp: Any = None
        self.mime = MIME
        self.reads = 0


def build_app_server(shop: Shop, name: str = "shop") -> MCPServer:
    server = MCPServer(name, log_level="ERROR")
    with_app = {"ui": {"resourceUri": URI}}
    for_apps = {"ui": {"resourceUri": OTHER_URI, "visibility": ["app"]}}
    for_model = {"ui": {"visibility": ["model"]}}

    @server.tool(annotations=READ_ONLY, meta=with_app, title="Orders")
    def orders(customer: str) -> CallToolResult:
        """List the orders of a customer."""
        text = TextContent(type="text", text=f"2 orders of {customer}")
        return CallToolResult(content=[text], structured_content={"count": 2}, _meta={"secret": "for the app"})

    @server.tool(annotations=READ_ONLY, meta=for_apps)
    def refresh() -> dict[str, int]:
        """Count the calls."""
        shop.done.append("refresh")
        return {"calls": len(shop.done)}

    @server.tool(annotations=ToolAnnotations(destructive_hint=True), meta=for_apps)
    def cancel(number: int) -> str:
        """Cancel an order."""
        shop.done.append(f"cancel {number}")
        return f"cancelled {number}"

    @server.tool(annotations=READ_ONLY, meta=for_apps)
    def broken() -> CallToolResult:
        """Fail."""
        return CallToolResult(content=[TextContent(type="text", text="no luck")], is_error=True)

    @server.tool(annotations=READ_ONLY, meta=for_model)
    def secrets() -> str:
        """Say what is for the model alone."""
        shop.done.append("secrets")
        return "for the model"

    def resource(uri: str, mime: str, text: Any, csp: Any = None) -> None:
        @server.resource(uri, mime_type=mime, meta={"ui": {"csp": csp}} if csp else None)
        def read() -> str:
            shop.reads += 1
            return text() if callable(text) else text

    resource(URI, shop.mime, lambda: shop.html() if callable(shop.html) else shop.html, shop.csp)
    resource(OTHER_URI, MIME, HTML)
    resource("ui://shop/data.json", "application/json", '{"a": 1}')
    resource("file:///etc/shop.conf", "text/plain", "of the server")
    return server


if __name__ == "__main__":
    shop = Shop()
    if "APP_HTML" in os.environ:
        shop.html = Path(os.environ["APP_HTML"]).read_text
        shop.csp = json.loads(os.environ["APP_CSP"])
    asyncio.run(build_app_server(shop).run_stdio_async())
