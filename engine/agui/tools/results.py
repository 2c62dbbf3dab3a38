"""The limit of a tool's result, for the store and for the model."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_ai import BinaryContent, ToolReturn
from pydantic_ai.exceptions import ToolFailedError, ToolRetryError
from pydantic_ai.messages import MULTI_MODAL_CONTENT_TYPES
from pydantic_core import to_json

from agui import conf


async def call_in_bounds(tool: Callable[[], Awaitable[Any]]) -> Any:
    """Cut a tool's result, and what a failing tool says, to AGUI["MAX_RESULT_BYTES"]."""
    try:
        return bounded(await tool())
    except (ToolFailedError, ToolRetryError) as error:
        part = error.tool_failed if isinstance(error, ToolFailedError) else error.tool_retry
        if isinstance(part.content, str):
            part.content = _cut(part.content)
        raise


def bounded(result: Any) -> Any:
    """Cut a result that is too large, or return it as it is. Files have their own limit."""
    if not isinstance(result, ToolReturn):
        return _bounded(result)
    value = _bounded(result.return_value)
    content = _bounded(result.content)
    if value is result.return_value and content is result.content:
        return result
    return replace(result, return_value=value, content=content)


def _bounded(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _cut(value)
    items = value if isinstance(value, list | tuple) else [value]
    others: list[Any] = []
    files: list[Any] = []
    words: list[Any] = []
    for item in items:
        if isinstance(item, BinaryContent) and len(item.data) > conf.get().max_read_bytes:
            words.append(f"[A file of {len(item.data)} bytes: too large to be read.]")
        elif isinstance(item, MULTI_MODAL_CONTENT_TYPES):
            files.append(item)
        else:
            others.append(item)
    text = to_json(others, fallback=str, inf_nan_mode="constants", bytes_mode="base64").decode()
    cut = _cut(text)
    if cut is text and not words:
        return value
    if cut is not text:
        others = [cut]
    kept = [*others, *words, *files]
    if len(kept) > 1:
        return kept
    return kept[0]


def _cut(text: str) -> str:
    """Return the text, or its beginning with a note if it is too long."""
    limit = conf.get().max_result_bytes
    # A character has at most four bytes.
    if len(text) <= limit // 4:
        return text
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return text
    note = (
        f"\n[Cut off: the result has {len(data)} bytes, and {limit} are the limit. Ask for less.]"
    )
    return data[:limit].decode(errors="ignore") + note
