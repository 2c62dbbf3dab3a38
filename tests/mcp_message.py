"""A request of the newest MCP protocol, from a client that says with it what it can do."""

from typing import Any

VERSION = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = {"extensions": {f"{META}tasks": {}}}


def message_of_2026(
    method: str, name: str, params: dict[str, Any], capabilities: Any
) -> tuple[dict[str, Any], dict[str, str]]:
    """The body and the headers. `name` is what the method is about: a tool, or a task."""
    meta = {f"{META}protocolVersion": VERSION, f"{META}clientCapabilities": capabilities}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"_meta": meta, **params}}
    headers = {"Accept": "application/json", "MCP-Protocol-Version": VERSION}
    return body, headers | {"Mcp-Method": method, "Mcp-Name": name}
