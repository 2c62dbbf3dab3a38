"""The messages that a run has added to its thread."""

from collections.abc import Collection, Container, Sequence
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart, ToolReturnPart

from agui.stores.annotations import answered


def added(
    history: Sequence[ModelMessage],
    captured: Sequence[ModelMessage],
    delivered: Container[ModelMessage] = (),
) -> list[ModelMessage]:
    """Select the messages that a run has added to its history.

    The user's own messages among them are those that were `delivered` to the run.

    Their positions don't tell, because pydantic-ai merges requests that follow each other, and
    leaves out old messages.
    """
    before = {message.run_id for message in history}
    answered_before = answered(history)
    new: list[ModelMessage] = []
    for message in captured:
        if message.run_id is None or message.run_id in before:
            continue
        if isinstance(message, ModelResponse) or message in delivered:
            new.append(message)
            continue
        results = []
        for part in message.parts:
            if isinstance(part, ToolReturnPart) and (
                new or part.tool_call_id not in answered_before
            ):
                results.append(part)
        if results:
            new.append(replace(message, parts=results))
    return new


def without_open_calls(
    messages: Sequence[ModelMessage], started: Collection[str]
) -> list[ModelMessage]:
    """Drop the tool calls that never began, and those that the model had not finished.

    Calls that have begun stay, so that the model knows about them.
    """
    begun = answered(messages).union(started)
    kept: list[ModelMessage] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            parts = []
            for part in message.parts:
                if not isinstance(part, ToolCallPart) or part.tool_call_id in begun:
                    parts.append(part)
            message = replace(message, parts=parts)
        if message.parts:
            kept.append(message)
    return kept
