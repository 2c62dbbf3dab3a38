"""Convert what a tool returns to the form that MCP clients get."""

import base64
import logging
from typing import Any

from mcp import types
from pydantic_ai.messages import BinaryContent, ToolReturnPart
from pydantic_core import to_jsonable_python

logger = logging.getLogger("agui.mcp")

TEXTS = ("text/", "application/json", "application/xml", "application/yaml")


def call_result(
    content: Any, *, is_error: bool = False, schema: dict[str, Any] | None = None
) -> types.CallToolResult:
    """Return what the model would read: files unchanged, everything else as a text.

    `schema` is the output schema that clients know. A result that does not fit it is an error: the
    client would refuse it, and say nothing of it.
    """
    items = content if isinstance(content, list) else [content]
    if any(isinstance(item, BinaryContent) for item in items):
        blocks = [_block(item) for item in items]
        return types.CallToolResult(content=blocks, is_error=is_error)
    structured = None
    if not is_error:
        data = to_jsonable_python(content, fallback=str, bytes_mode="base64")
        if isinstance(data, dict):
            structured = data
    if schema and structured is None and not is_error:
        logger.warning("A tool's result is no object, as its return type says: %s", type(content))
        is_error = True
    return types.CallToolResult(
        content=[_block(content)], structured_content=structured, is_error=is_error
    )


def _block(part: Any) -> types.ContentBlock:
    if not isinstance(part, BinaryContent):
        text = ToolReturnPart("", part, tool_call_id="").model_response_str()
        return types.TextContent(type="text", text=text)
    if part.is_image:
        return types.ImageContent(type="image", data=_base64(part), mime_type=part.media_type)
    if part.is_audio:
        return types.AudioContent(type="audio", data=_base64(part), mime_type=part.media_type)
    uri = part.identifier if "://" in part.identifier else f"file:{part.identifier}"
    return types.EmbeddedResource(type="resource", resource=resource_contents(uri, part))


def resource_contents(
    uri: str, file: BinaryContent
) -> types.TextResourceContents | types.BlobResourceContents:
    """Return a file as the contents of a resource: a text as a text, if it can be read as one."""
    if file.media_type.startswith(TEXTS):
        try:
            text = file.data.decode()
            return types.TextResourceContents(uri=uri, mime_type=file.media_type, text=text)
        except UnicodeDecodeError:
            pass
    return types.BlobResourceContents(uri=uri, mime_type=file.media_type, blob=_base64(file))


def _base64(file: BinaryContent) -> str:
    return base64.b64encode(file.data).decode()
