"""The events and objects by which clients learn about messages that wait.

AG-UI has no standard for them yet, so they are CUSTOM events, and this module has all of them.
"""

import json
from typing import Any

from pydantic_ai.messages import ModelMessage

from agui.contrib.queue.models import QueuedMessage
from agui.protocol.outbound import wire_messages
from agui.protocol.types import CustomEvent
from agui.stores.tree import prompt_id


def to_json(row: QueuedMessage, position: int | None = None) -> dict[str, Any]:
    """Describe a message for the routes. Only a message that waits has a position."""
    return {
        "message_id": row.message_id,
        "message": json.loads(row.data) if row.data else None,
        "mode": row.mode,
        "state": row.state,
        "position": position,
        "created_at": row.created_at.isoformat(),
    }


def queued(row: QueuedMessage, position: int) -> CustomEvent:
    """A message waits at a position, which counts from 0."""
    return CustomEvent(name="message_queued", value=_value(row, position))


def changed(row: QueuedMessage, position: int) -> CustomEvent:
    """A message that waits was edited or moved."""
    return CustomEvent(name="message_changed", value=_value(row, position))


def removed(message_id: str) -> CustomEvent:
    """The user has taken a message back."""
    return CustomEvent(name="message_removed", value={"messageId": message_id})


def delivered(message: ModelMessage, after: str, *, mode: str) -> CustomEvent:
    """The model reads a message. Its place in the thread is here, after the message `after`."""
    value = {
        "messageId": prompt_id(message),
        "message": wire_messages([message])[0],
        "mode": mode,
        "after": after or None,
    }
    return CustomEvent(name="message_delivered", value=value)


def _value(row: QueuedMessage, position: int) -> dict[str, Any]:
    message = json.loads(row.data)
    return {
        "messageId": row.message_id,
        "message": message,
        "mode": row.mode,
        "position": position,
    }
