"""Stored messages as a client knows them.

A stored message can't hold all that a client's message says. The engine compares the two in their
wire form when a message arrives, stores the difference as an annotation, and adds it again when a
client reads the message. Lists are compared item by item, and a difference is stored by its index.
The bytes of a file are never in the difference: the stored message has them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, TypeAlias

from pydantic_ai.messages import (
    BinaryContent,
    FileUrl,
    ModelMessage,
    ModelRequest,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.blocking.executor import stop_if_given_up
from agui.errors import Unprocessable
from agui.stores.annotations import annotation
from agui.stores.tree import results_first

# The size of what a message may hold that the model does not read, such as the names of files.
MAX_EXTRA_BYTES = 16_000

Wire: TypeAlias = dict[str, Any]
"""A message in its wire form, or a part of one: camelCase, and absent rather than null."""


def wire_messages(messages: Iterable[ModelMessage]) -> list[Wire]:
    """Turn stored messages into AG-UI's, as they were streamed or sent, with tools' activities."""
    thread = WireThread()
    shown: dict[str, Wire] = {}
    for message in results_first(messages):
        stop_if_given_up()
        activities: dict[str | None, list[Wire]] = defaultdict(list)
        for activity in annotation(message, "activities") or ():
            activities[activity["after"]].append(activity)
        for after, sent in [(None, None), *_wire_message(message)]:
            if sent:
                thread.add(sent)
            for activity_message in new_activities(activities[after], shown):
                thread.add(activity_message)
    return thread.messages()


def _wire_message(message: ModelMessage) -> Iterator[tuple[str, Wire | None]]:
    """Yield each message with its id; None is a message that is hidden from clients."""
    extras = annotation(message, "extras") or {}
    # Activities of tools are stored apart. An activity here is pydantic-ai's note for the model.
    hidden = {"system", "developer", "activity"}
    if not conf.get().send_reasoning:
        hidden.add("reasoning")
    # A prompt beside other parts is not the user's: a tool has shown the model something, or has
    # asked it to try again.
    if not all(isinstance(part, UserPromptPart) for part in message.parts):
        hidden.add("user")
    index = CallIndex.from_message(message)
    for dumped in _dump_with_ids(message):
        if dumped.role in hidden:
            yield dumped.id, None
        else:
            yield dumped.id, _as_sent(dumped, index, extras.get(dumped.id, {}))


def _dump_with_ids(message: ModelMessage) -> list[Any]:
    """Turn a stored message into AG-UI's, with the ids under which a client knows them."""
    messages = dump(message, annotation(message, "cuts") or ())
    for dumped, message_id in zip(messages, annotation(message, "ids") or (), strict=False):
        dumped.id = message_id
    return messages


def call_metadata(message: ModelMessage) -> dict[str, Wire]:
    """Find what a client was told about tool calls beside their results, by tool call id."""
    extras = annotation(message, "extras")
    if not extras:
        return {}
    by_call = {}
    for dumped in _dump_with_ids(message):
        if dumped.role == "tool":
            by_call[dumped.tool_call_id] = extras.get(dumped.id, {}).get("metadata") or {}
    return by_call


def to_wire(model: Any) -> Wire:
    """Dump a model of AG-UI in its wire form."""
    dumped: Wire = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


@dataclass
class CallIndex:
    """The calls and results of a stored message by tool call id: an answer may have thousands."""

    calls: dict[str, ToolCallPart]
    results: dict[str, ToolReturnPart]

    @classmethod
    def from_message(cls, message: ModelMessage) -> "CallIndex":
        index = cls({}, {})
        for part in message.parts:
            if isinstance(part, ToolCallPart):
                index.calls[part.tool_call_id] = part
            elif isinstance(part, ToolReturnPart):
                index.results.setdefault(part.tool_call_id, part)
        return index

    def result_of(self, dumped: Any) -> ToolReturnPart | None:
        """Find the stored result of an AG-UI message."""
        return self.results.get(getattr(dumped, "tool_call_id", None) or "")


def dump(message: ModelMessage, cuts: Sequence[int]) -> list[Any]:
    """Turn a stored message into AG-UI's; at the parts `cuts` a further message begins."""
    if not cuts:
        return AGUIAdapter.dump_messages([message])
    pieces: list[Any] = []
    for start, end in pairwise([0, *cuts, len(message.parts)]):
        parts: Any = message.parts[start:end]
        pieces.append(replace(message, parts=parts))
    return AGUIAdapter.dump_messages(pieces)


def extra_of(sent: Any, dumped: Any, index: CallIndex) -> Wire:
    """Find what a client's message says and its stored form does not.

    Raises Unprocessable if that is too much.
    """
    wire = to_wire(sent)
    for name, field in type(sent).model_fields.items():
        if field.alias != name:
            wire.pop(name, None)  # An unknown property that is spelled like a Python attribute
    has_parts = isinstance(wire.get("content"), list)
    extra = missing(wire, {**_as_stored(dumped, index, has_parts), "id": sent.id})
    if has_parts and not isinstance(dumped.content, list):
        extra.setdefault("content", {})
    if len(json.dumps(extra)) > MAX_EXTRA_BYTES:
        raise Unprocessable(
            f"A message has more than {MAX_EXTRA_BYTES} bytes beside its text and its files."
        )
    return extra


def _as_sent(dumped: Any, index: CallIndex, extra: Wire) -> Wire:
    """Turn a stored message into the wire form in which it was streamed or sent."""
    has_parts = isinstance(extra.get("content"), dict)
    wire = completed(_as_stored(dumped, index, has_parts), extra)
    result = index.result_of(dumped)
    outcome = outcome_of(result) if result else None
    if outcome:
        wire["metadata"] = {**wire.get("metadata", {}), "outcome": outcome}
    return wire


def _as_stored(dumped: Any, index: CallIndex, has_parts: bool) -> Wire:
    """Turn a stored message into its wire form, without the difference to what was sent.

    `has_parts` is whether the content was sent as a list of parts.
    """
    wire = to_wire(dumped)
    # A model's signatures are for histories that clients keep. This history is on the server.
    wire.pop("encryptedValue", None)
    for call in wire.get("toolCalls", ()):
        call.pop("encryptedValue", None)
        stored = index.calls.get(call["id"])
        if stored and stored.args and isinstance(stored.args, str):
            # The adapter's JSON may differ from the text that was streamed.
            call["function"]["arguments"] = stored.args
    if has_parts:
        result = index.result_of(dumped)
        if result:
            wire["content"] = _as_prompt(result.content) or wire["content"]
        if isinstance(wire["content"], str):
            wire["content"] = [{"type": "text", "text": wire["content"]}]
    content = wire.get("content")
    for part in content if isinstance(content, list) else ():
        if part.get("source", {}).get("type") == "url":
            part["source"].pop("mimeType", None)  # The adapter's guess
    return wire


def _as_prompt(content: Any) -> Any:
    """Write a tool's result as a user's content; None if it is not only texts and files."""
    items = content if isinstance(content, list) else [content]
    if not all(isinstance(item, str | BinaryContent | FileUrl) for item in items):
        return None
    [dumped] = AGUIAdapter.dump_messages([ModelRequest([UserPromptPart(items)])])
    return to_wire(dumped)["content"]


class WireThread:
    """The messages of a thread in the order in which a client has them."""

    def __init__(self) -> None:
        self._groups: list[list[Wire]] = []
        """Each group is a message and the results that belong to it."""
        self._callers: dict[str, list[Wire]] = {}

    def add(self, message: Wire) -> None:
        """Add a message. A result goes to the results of the same answer, past other messages."""
        if message["role"] == "tool" and self._groups:
            self._callers.get(message["toolCallId"], self._groups[-1]).append(message)
            return
        self._groups.append([message])
        for call in message.get("toolCalls", ()):
            self._callers[call["id"]] = self._groups[-1]

    def messages(self) -> list[Wire]:
        return list(chain.from_iterable(self._groups))


def new_activities(activities: Iterable[Wire], shown: dict[str, Wire]) -> list[Wire]:
    """List the activities that a client has not seen yet, and update those that it has."""
    new = []
    for activity in activities:
        message = {
            "id": activity["id"],
            "role": "activity",
            "activityType": activity["activityType"],
            "content": activity["content"],
        }
        if activity["id"] not in shown:
            shown[activity["id"]] = message
            new.append(message)
        elif activity["replaces"]:
            shown[activity["id"]].update(message)
    return new


def outcome_of(result: ToolReturnPart) -> str | None:
    """Say how a tool call ended for a client: 'failed', 'denied', or None for a success."""
    if result.outcome == "success":
        return None
    if result.outcome == "denied":
        return "denied"
    return "failed"


def missing(sent: Wire, stored: Wire) -> Wire:
    """Find what has to be added to the stored message to make it what was sent."""
    difference: Wire = {}
    for name, value in sent.items():
        inner: Any = stored.get(name)
        if name == "value" and sent.get("type") == "data":
            continue  # Base64 has several forms of the same bytes
        if isinstance(value, dict) and isinstance(inner, dict):
            nested = missing(value, inner)
        elif _are_pairs(value, inner):
            nested = {}
            for index, item in enumerate(value):
                of_item = missing(item, inner[index])
                if of_item:
                    nested[str(index)] = of_item
        else:
            if name not in stored or inner != value:
                difference[name] = value
            continue
        if nested:
            difference[name] = nested
    return difference


def completed(stored: Wire, difference: Wire) -> Wire:
    """Add the difference that `missing` has found."""
    whole = dict(stored)
    for name, value in difference.items():
        inner = stored.get(name)
        if isinstance(value, dict) and isinstance(inner, dict):
            whole[name] = completed(inner, value)
        elif isinstance(value, dict) and isinstance(inner, list):
            items = []
            for index, item in enumerate(inner):
                items.append(completed(item, value.get(str(index), {})))
            whole[name] = items
        else:
            whole[name] = value
    return whole


def _are_pairs(values: Any, others: Any) -> bool:
    """Whether these are two lists of objects with the same length."""
    if not isinstance(values, list) or not isinstance(others, list) or len(values) != len(others):
        return False
    return all(isinstance(item, dict) for item in [*values, *others])
