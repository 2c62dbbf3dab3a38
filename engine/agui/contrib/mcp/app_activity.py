"""The activity that shows the app of another server, beside what the model reads of its result.

The page gets the same content as from pydantic-ai's own toolsets (`mcp-apps`), and the words that
stand for the app where it is not drawn.
"""

import logging
from typing import Any

from mcp.types import Tool
from pydantic_ai import RunContext
from pydantic_core import to_json

from agui import conf
from agui.contrib.mcp.app_policy import app_uri
from agui.contrib.mcp.servers import Server
from agui.deps import AgentDeps
from agui.events.progress import show_activity
from agui.tools.questions import one_line

logger = logging.getLogger("agui.mcp")

ACTIVITY = "mcp-apps"
MAX_TITLE_CHARS = 200


async def show_app(
    ctx: RunContext[AgentDeps],
    server: Server,
    tool: Tool,
    arguments: dict[str, Any],
    result: dict[str, Any],
) -> None:
    """Show a result in the app of its tool. The thread keeps it, so it may not be too large."""
    content = {
        "serverId": server.name,
        "serverHash": server.name,
        "resourceUri": app_uri(tool),
        "toolInput": arguments,
        "result": result,
        "title": one_line(tool.title or tool.name, MAX_TITLE_CHARS),
        "text": words_of(result),
    }
    size = len(to_json(content))
    if size > conf.get().max_result_bytes:
        logger.warning(
            "Not showing the app of tool %r of MCP server %r: its result has %s bytes, and "
            "AGUI['MAX_RESULT_BYTES'] is %s",
            tool.name,
            server.name,
            size,
            conf.get().max_result_bytes,
        )
        return
    await show_activity(ctx, ACTIVITY, content)


def words_of(result: dict[str, Any]) -> str:
    """Return the texts of a CallToolResult."""
    blocks = [block for block in result.get("content") or () if block.get("type") == "text"]
    return "\n".join(str(block.get("text", "")) for block in blocks)
