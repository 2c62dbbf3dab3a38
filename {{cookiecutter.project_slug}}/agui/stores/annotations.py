"""What the engine keeps with a stored message, and what a message says of tool calls."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart

# Our own key in the metadata of stored messages and requests.
METADATA_KEY = "agui"


def annotate(message: ModelMessage, **values: Any) -> None:
    """Keep something of ours with a message; the model never sees it."""
    metadata = message.metadata or {}
    message.metadata = {**metadata, METADATA_KEY: {**metadata.get(METADATA_KEY, {}), **values}}


def annotation(message: ModelMessage, name: str) -> Any:
    """What `annotate` kept, or None."""
    return (message.metadata or {}).get(METADATA_KEY, {}).get(name)


def answered(messages: Sequence[ModelMessage]) -> set[str]:
    return {
        part.tool_call_id
        for message in messages
        for part in message.parts
        if isinstance(part, ToolReturnPart)
    }
