"""How much of a tool's result is kept and sent to the model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import BinaryContent, RunContext, ToolReturn
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailedError, ToolRetryError
from pydantic_ai.messages import MULTI_MODAL_CONTENT_TYPES
from pydantic_core import to_json

from agui import conf
from agui.deps import AgentDeps


@dataclass
class BoundResults(AbstractCapability[AgentDeps]):
    """Cuts results, and what a failing tool says, to AGUI["MAX_RESULT_BYTES"]."""

    async def wrap_tool_execute(
        self, ctx: RunContext[AgentDeps], *, handler: Callable[..., Any], **call: Any
    ) -> Any:
        try:
            return bounded(await handler(call["args"]))
        except (ToolFailedError, ToolRetryError) as error:
            part = error.tool_failed if isinstance(error, ToolFailedError) else error.tool_retry
            if isinstance(part.content, str):
                part.content = _cut(part.content)
            raise


def bounded(result: Any) -> Any:
    """The result itself, or with the beginning of what is too large. Files have a limit of their own."""
    if not isinstance(result, ToolReturn):
        return _bounded(result)
    value, content = _bounded(result.return_value), _bounded(result.content)
    if value is result.return_value and content is result.content:
        return result
    return replace(result, return_value=value, content=content)


def _bounded(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return _cut(value)
    items = list(value) if isinstance(value, list | tuple) else [value]
    others = [item for item in items if not isinstance(item, MULTI_MODAL_CONTENT_TYPES)]
    files: list[Any] = [item for item in items if isinstance(item, MULTI_MODAL_CONTENT_TYPES)]
    is_small = all(map(_is_small, files))
    text = to_json(others, fallback=str, inf_nan_mode="constants", bytes_mode="base64").decode()
    cut = _cut(text)
    if cut is text and is_small:
        return value
    words = [
        f"[A file of {len(file.data)} bytes: too large to be read.]"
        for file in files
        if not _is_small(file)
    ]
    # As a list only where it has to be one, for the files.
    kept = [*(others if cut is text else [cut]), *words, *filter(_is_small, files)]
    return kept if len(kept) > 1 else kept[0]


def _is_small(file: Any) -> bool:
    return not isinstance(file, BinaryContent) or len(file.data) <= conf.get().max_read_bytes


def _cut(text: str) -> str:
    """The text itself, or its beginning with a word on the rest."""
    limit = conf.get().max_result_bytes
    if len(text) <= limit // 4:
        return text  # Whatever its characters are
    data = text.encode(errors="replace")
    if len(data) <= limit:
        return text
    note = (
        f"\n[Cut off: the result has {len(data)} bytes, and {limit} are the limit. Ask for less.]"
    )
    return data[:limit].decode(errors="ignore") + note
