"""Stored messages as a client knows them, with what it said beside all that a model's message can
hold.

What is missing there is told apart when a message comes, kept beside it, and put back when it is
asked for. Both sides are messages as they go over the wire. The items of two lists are compared in
pairs, and what one is missing is noted by its index. The bytes of a file are never noted: the
model's message has them.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

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

# What one message may bring that the model does not read: the names of its files, where it was
# written, ...
MAX_EXTRA_BYTES = 16_000


def wire_messages(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Turn stored messages into AG-UI's, exactly as they were streamed or sent, with what tools have shown."""
    wire = Wire()
    shown: dict[str, dict[str, Any]] = {}
    for message in messages:
        stop_if_given_up()
        activities: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
        for activity in annotation(message, "activities") or ():
            activities[activity["after"]].append(activity)
        for after, told in [(None, None), *_wire_message(message)]:
            if told:
                wire.add(told)
            for new in new_activities(activities[after], shown):
                wire.add(new)
    return wire.messages()


def _wire_message(message: ModelMessage) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Each message with its id; None for one that a client is not told."""
    extras = annotation(message, "extras") or {}
    # What tools have shown is no part of a message: an activity here is a note of pydantic-ai's for
    # the model.
    hidden = {"system", "developer", "activity"} | (
        set() if conf.get().send_reasoning else {"reasoning"}
    )
    if not all(isinstance(part, UserPromptPart) for part in message.parts):
        # A prompt beside anything else is not the user's: a tool has shown the model something, or
        # it is to try again.
        hidden.add("user")
    dumped, parts = dump(message, annotation(message, "cuts") or ()), Parts.of(message)
    for one, message_id in zip(dumped, annotation(message, "ids") or (), strict=False):
        one.id = message_id
    for one in dumped:
        yield one.id, None if one.role in hidden else tell(one, parts, extras.get(one.id, {}))


def told_of_calls(message: ModelMessage) -> dict[str, dict[str, Any]]:
    """What a client was told of tool calls besides their results, by tool call id."""
    extras = annotation(message, "extras") or {}
    dumped = dump(message, annotation(message, "cuts") or ()) if extras else []
    named = zip(dumped, annotation(message, "ids") or (), strict=False)
    return {
        one.tool_call_id: extras.get(known, {}).get("metadata") or {}
        for one, known in named
        if one.role == "tool"
    }


def to_wire(model: Any) -> dict[str, Any]:
    """Dump a model of AG-UI as it goes over the wire: camelCase, absent rather than null."""
    dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


@dataclass
class Parts:
    """The calls and results of a stored message by the ids of the calls: an answer may have thousands."""

    calls: dict[str, ToolCallPart]
    results: dict[str, ToolReturnPart]

    @classmethod
    def of(cls, message: ModelMessage) -> "Parts":
        calls = {
            part.tool_call_id: part for part in message.parts if isinstance(part, ToolCallPart)
        }
        results = {
            part.tool_call_id: part
            for part in reversed(message.parts)
            if isinstance(part, ToolReturnPart)
        }
        return cls(calls, results)

    def result_of(self, dumped: Any) -> ToolReturnPart | None:
        """The result that a message of AG-UI is, or None."""
        return self.results.get(getattr(dumped, "tool_call_id", None) or "")


def dump(message: ModelMessage, cuts: Sequence[int]) -> list[Any]:
    """Turn a stored message into AG-UI's; `cuts` are the parts at which another one begins."""
    edges = pairwise([0, *cuts, len(message.parts)])
    pieces: list[Any] = [replace(message, parts=message.parts[start:end]) for start, end in edges]  # type: ignore[arg-type]
    return AGUIAdapter.dump_messages(pieces if cuts else [message])


def extra_of(sent: Any, dumped: Any, parts: Parts) -> dict[str, Any]:
    """What a client's message says that its stored form does not. Raises Unprocessable if it is too much."""
    misspelt = {name for name, field in type(sent).model_fields.items() if field.alias != name}
    wire = {name: value for name, value in to_wire(sent).items() if name not in misspelt}
    has_parts = isinstance(wire.get("content"), list)
    extra = missing(wire, {**_told(dumped, parts, has_parts), "id": sent.id})
    if has_parts and not isinstance(dumped.content, list):
        extra.setdefault("content", {})
    if len(json.dumps(extra)) > MAX_EXTRA_BYTES:
        raise Unprocessable(
            f"A message has more than {MAX_EXTRA_BYTES} bytes beside its text and its files."
        )
    return extra


def tell(dumped: Any, parts: Parts, extra: dict[str, Any]) -> dict[str, Any]:
    """A stored message as it was streamed or sent."""
    told = completed(_told(dumped, parts, isinstance(extra.get("content"), dict)), extra)
    if (result := parts.result_of(dumped)) and (outcome := outcome_of(result)):
        told["metadata"] = {**told.get("metadata", {}), "outcome": outcome}
    return told


def _told(dumped: Any, parts: Parts, has_parts: bool) -> dict[str, Any]:
    wire = to_wire(dumped)
    # Signatures and the like, for histories held by clients. Ours stays on the server.
    wire.pop("encryptedValue", None)
    for call in wire.get("toolCalls", ()):
        call.pop("encryptedValue", None)
        written = parts.calls[call["id"]].args if call["id"] in parts.calls else None
        if written and isinstance(written, str):
            call["function"]["arguments"] = written  # Tidied up it would not be what was streamed
    if has_parts and (result := parts.result_of(dumped)):
        wire["content"] = _as_prompt(result.content) or wire["content"]
    if has_parts and isinstance(wire["content"], str):
        wire["content"] = [{"type": "text", "text": wire["content"]}]
    for part in wire.get("content", ()):
        if isinstance(part, dict) and part.get("source", {}).get("type") == "url":
            part["source"].pop("mimeType", None)  # A guess, unless it was sent
    return wire


def _as_prompt(content: Any) -> Any:
    """A tool's result as a message of the user would have it, or None if it is more than texts and files."""
    items = content if isinstance(content, list) else [content]
    if not all(isinstance(item, str | BinaryContent | FileUrl) for item in items):
        return None
    [dumped] = AGUIAdapter.dump_messages([ModelRequest([UserPromptPart(items)])])
    return to_wire(dumped)["content"]


class Wire:
    """The messages of a thread in the order in which a client has them."""

    def __init__(self) -> None:
        self._groups: list[list[dict[str, Any]]] = []
        """Each is a message and the results that belong to it."""
        self._callers: dict[str, list[dict[str, Any]]] = {}

    def add(self, told: dict[str, Any]) -> None:
        """Add a message; a result beside those of the same answer, whatever a client was told meanwhile."""
        if told["role"] == "tool" and self._groups:
            self._callers.get(told["toolCallId"], self._groups[-1]).append(told)
            return
        self._groups.append([told])
        for call in told.get("toolCalls", ()):
            self._callers[call["id"]] = self._groups[-1]

    def messages(self) -> list[dict[str, Any]]:
        return [told for group in self._groups for told in group]


def new_activities(
    notes: Iterable[dict[str, Any]], shown: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    """What is new to a client of these; one that it has changes where it is."""
    new = []
    for note in notes:
        told = {
            "id": note["id"],
            "role": "activity",
            "activityType": note["activityType"],
            "content": note["content"],
        }
        if note["id"] not in shown:
            new.append(shown.setdefault(note["id"], told))
        elif note["replaces"]:
            shown[note["id"]].update(told)
    return new


def outcome_of(result: ToolReturnPart) -> str | None:
    """How a tool call ended for a client: 'failed', 'denied', or None for a success."""
    return (
        None
        if result.outcome == "success"
        else "denied"
        if result.outcome == "denied"
        else "failed"
    )


def missing(sent: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """What has to be put into `known` to make it what was sent."""
    found = {}
    for name, value in sent.items():
        inner: Any = known.get(name)
        if name == "value" and sent.get("type") == "data":
            continue  # Base64 has several forms of the same bytes
        if isinstance(value, dict) and isinstance(inner, dict):
            rest = missing(value, inner)
        elif _are_pairs(value, inner):
            pairs = enumerate(zip(value, inner, strict=True))
            rest = {str(index): lost for index, pair in pairs if (lost := missing(*pair))}
        else:
            rest = {}
            if name not in known or inner != value:
                found[name] = value
        if rest:
            found[name] = rest
    return found


def completed(known: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Put back what `missing` has found."""
    whole = dict(known)
    for name, value in found.items():
        inner = known.get(name)
        if isinstance(value, dict) and isinstance(inner, dict):
            whole[name] = completed(inner, value)
        elif isinstance(value, dict) and isinstance(inner, list):
            whole[name] = [
                completed(item, value.get(str(index), {})) for index, item in enumerate(inner)
            ]
        else:
            whole[name] = value
    return whole


def _are_pairs(one: Any, other: Any) -> bool:
    lists = isinstance(one, list) and isinstance(other, list) and len(one) == len(other)
    return lists and all(isinstance(item, dict) for item in [*one, *other])
