"""Annotations of stored messages, and the tool calls that messages answer."""

from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ToolReturnPart

# The engine's key in the metadata of stored messages and requests.
METADATA_KEY = "agui"


def annotate(message: ModelMessage, **values: Any) -> None:
    """Keep values of the engine with a message. The model never sees them."""
    metadata = message.metadata or {}
    message.metadata = {**metadata, METADATA_KEY: {**metadata.get(METADATA_KEY, {}), **values}}


def annotation(message: ModelMessage, name: str) -> Any:
    """Read a value that `annotate` kept, or None."""
    return (message.metadata or {}).get(METADATA_KEY, {}).get(name)


def answered(messages: Sequence[ModelMessage]) -> set[str]:
    """Collect the ids of the tool calls whose results are in these messages."""
    call_ids = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolReturnPart):
                call_ids.add(part.tool_call_id)
    return call_ids


def times_of(messages: Iterable[ModelMessage]) -> dict[str, str]:
    """When each message was sent, by the id under which a client knows it: ISO 8601, in UTC."""
    times: dict[str, str] = {}
    for message in messages:
        parts = [getattr(part, "timestamp", None) for part in message.parts[:1]]
        sent = next(filter(None, parts), message.timestamp)
        if sent:
            times |= dict.fromkeys(annotation(message, "ids") or (), sent.isoformat())
    return times
