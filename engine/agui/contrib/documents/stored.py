"""Documents as the thread keeps them: one text, not the pieces in which it was streamed."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage

from agui.stores.annotations import annotate, annotation


def join_pieces(messages: Sequence[ModelMessage]) -> None:
    for message in messages:
        activities = annotation(message, "activities") or []
        if any(row["activityType"] == "document" for row in activities):
            annotate(message, activities=[_joined(row) for row in activities])


def _joined(row: dict[str, Any]) -> dict[str, Any]:
    # The row's content is the run's own, which still grows: make another one.
    content = row["content"]
    if row["activityType"] != "document" or "text" not in content:
        return row
    return {**row, "content": {**content, "text": ["".join(content["text"])]}}
