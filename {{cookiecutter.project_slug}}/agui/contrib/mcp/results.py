"""Convert a tool's result to the form that MCP clients get."""

import base64
from typing import Any

from mcp import types
from pydantic_ai.messages import BinaryContent, ToolReturnPart
from pydantic_core import to_jsonable_python


def call_result(content: Any, *, is_error: bool = False) -> types.CallToolResult:
    """Return what the model would read: files unchanged, everything else as a text."""
    if isinstance(content, list) and any(isinstance(item, BinaryContent) for item in content):
        blocks = [_block(item) for item in content]
        return types.CallToolResult(content=blocks, is_error=is_error)
    structured = None
    if not is_error:
        data = to_jsonable_python(content, fallback=str, bytes_mode="base64")
        if isinstance(data, dict):
            structured = data
    return types.CallToolResult(
        content=[_block(content)],
        structured_content=structured,
        is_error=is_error,
    )


def _block(part: Any) -> types.ContentBlock:
    if not isinstance(part, BinaryContent):
        text = ToolReturnPart("", part, tool_call_id="").model_response_str()
        return types.TextContent(type="text", text=text)
    data = base64.b64encode(part.data).decode()
    if part.is_image:
        return types.ImageContent(type="image", data=data, mime_type=part.media_type)
    if part.is_audio:
        return types.AudioContent(type="audio", data=data, mime_type=part.media_type)
    resource = types.BlobResourceContents(
        uri=f"file:{part.identifier}", blob=data, mime_type=part.media_type
    )
    return types.EmbeddedResource(type="resource", resource=resource)
