"""A tool, as MCP clients list it."""

from typing import Any

from mcp import MCPError, types
from pydantic_ai.toolsets import ToolsetTool

from agui.contrib.mcp.cards import meta_of_tool
from agui.deps import AgentDeps
from agui.tools.registry import ToolBinding

PAGE_SIZE = 100


def describe_tool(
    binding: ToolBinding, tool: ToolsetTool[AgentDeps], *, may_wait: bool = False
) -> types.Tool:
    """Describe a tool. One that `may_wait` for our page can't promise what its results are."""
    spec = binding.spec
    return types.Tool(
        name=spec.name,
        title=str(spec.label),
        description=tool.tool_def.description,
        input_schema=tool.tool_def.parameters_json_schema,
        output_schema=None if may_wait else output_schema(binding),
        annotations=types.ToolAnnotations(
            title=str(spec.label),
            read_only_hint=spec.read_only,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.read_only or spec.idempotent,
            open_world_hint=spec.open_world,
        ),
        meta=meta_of_tool(binding),
    )


def output_schema(binding: ToolBinding) -> dict[str, Any] | None:
    """Return the schema of a tool's results, if all of them are objects with known fields."""
    schema = binding.parsed.function_schema.return_schema
    if schema.get("type") == "object" and schema.get("properties"):
        return schema
    return None


def page_of(items: list[Any], cursor: str | None) -> tuple[list[Any], str | None]:
    """Return a page of a list, and the cursor of the next one. Raises MCPError for a wrong one."""
    start = 0
    if cursor is not None:
        if not cursor.isdecimal() or len(cursor) > 9 or int(cursor) >= len(items):
            raise MCPError(types.INVALID_PARAMS, "There is no such page.")
        start = int(cursor)
    end = start + PAGE_SIZE
    return items[start:end], str(end) if end < len(items) else None
