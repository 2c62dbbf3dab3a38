"""Requests of MCP clients: of the newest protocol, with what a client can do, and of the older ones."""

import json
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


def call_tool(live: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool of a live project, as an older client that can't ask its user."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    status, text = live.client(live.token).fetch("POST", "/agent/mcp/", body, headers)
    assert status == 200, text
    return json.loads(text)["result"]
