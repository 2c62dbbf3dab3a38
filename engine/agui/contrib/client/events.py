"""From server-sent events to AG-UI's events, without unknown ones and without chunks."""

import json
import logging
from collections.abc import Iterator
from typing import Any

from ag_ui.core import (
    BaseEvent,
    Event,
    EventType,
    ReasoningMessageChunkEvent,
    ReasoningMessageContentEvent,
    ReasoningMessageEndEvent,
    ReasoningMessageStartEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallArgsEvent,
    ToolCallChunkEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from pydantic import TypeAdapter, ValidationError

logger = logging.getLogger("agui.client")

EVENT: TypeAdapter[BaseEvent] = TypeAdapter(Event)
KNOWN = {kind.value for kind in EventType}
OUTCOMES = ("success", "interrupt", "cancelled")


class UnreadableEventError(ValueError):
    """The data is no event, or the fields of an event are wrong."""


def parse_event(data: str) -> BaseEvent | None:
    """Read one event; None for an unknown type. Raises UnreadableEventError."""
    try:
        raw = json.loads(data)
    except (ValueError, RecursionError):
        raise UnreadableEventError(f"An event is not JSON: {data[:200]!r}") from None
    if not isinstance(raw, dict) or not isinstance(raw.get("type"), str):
        raise UnreadableEventError(f"An event has no type: {data[:200]!r}")
    if raw["type"] not in KNOWN:
        logger.info("Ignoring event of unknown type %r", raw["type"])
        return None
    _forget_unknown_outcome(raw)
    try:
        return EVENT.validate_python(raw)
    except ValidationError as error:
        raise UnreadableEventError(f"{raw['type']}: {_first(error)}") from None


def _forget_unknown_outcome(raw: dict[str, Any]) -> None:
    # A later version of AG-UI may have more outcomes. The run has finished in any case.
    outcome = raw.get("outcome")
    if raw["type"] != "RUN_FINISHED" or not isinstance(outcome, dict):
        return
    if outcome.get("type") not in OUTCOMES:
        logger.info("Ignoring run outcome of unknown type %r", outcome.get("type"))
        del raw["outcome"]


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    path = ".".join(map(str, first["loc"]))
    return f"{path}: {first['msg']}"


class Chunks:
    """Turns *_CHUNK events into those that they abbreviate: a start, a content and an end."""

    def __init__(self) -> None:
        self._end: BaseEvent | None = None
        self._key = ("", "")

    def expand(self, event: BaseEvent) -> Iterator[BaseEvent]:
        """Yield the events of a chunk, or another event unchanged. Raises UnreadableEventError."""
        if isinstance(event, TextMessageChunkEvent):
            yield from self._text(event)
        elif isinstance(event, ReasoningMessageChunkEvent):
            yield from self._reasoning(event)
        elif isinstance(event, ToolCallChunkEvent):
            yield from self._call(event)
        else:
            yield from self._open(("", ""), None)
            yield event

    def _open(
        self, key: tuple[str, str], end: BaseEvent | None, start: BaseEvent | None = None
    ) -> Iterator[BaseEvent]:
        if key == self._key:
            return
        if self._end:
            yield self._end
        self._key, self._end = key, end
        if start:
            yield start

    def _id(self, kind: str, given: str | None) -> str:
        if given:
            return given
        open_kind, open_id = self._key
        if open_kind != kind:
            raise UnreadableEventError(f"The first {kind}_CHUNK has no id.")
        return open_id

    def _text(self, event: TextMessageChunkEvent) -> Iterator[BaseEvent]:
        key = self._id("TEXT_MESSAGE", event.message_id)
        start = TextMessageStartEvent(message_id=key, role=event.role or "assistant")
        yield from self._open(("TEXT_MESSAGE", key), TextMessageEndEvent(message_id=key), start)
        if event.delta:
            yield TextMessageContentEvent(message_id=key, delta=event.delta)

    def _reasoning(self, event: ReasoningMessageChunkEvent) -> Iterator[BaseEvent]:
        key = self._id("REASONING_MESSAGE", event.message_id)
        start = ReasoningMessageStartEvent(message_id=key)
        yield from self._open(
            ("REASONING_MESSAGE", key), ReasoningMessageEndEvent(message_id=key), start
        )
        if event.delta:
            yield ReasoningMessageContentEvent(message_id=key, delta=event.delta)

    def _call(self, event: ToolCallChunkEvent) -> Iterator[BaseEvent]:
        key = self._id("TOOL_CALL", event.tool_call_id)
        if ("TOOL_CALL", key) != self._key and not event.tool_call_name:
            raise UnreadableEventError("The first TOOL_CALL_CHUNK has no name.")
        start = ToolCallStartEvent(
            tool_call_id=key,
            tool_call_name=event.tool_call_name or "",
            parent_message_id=event.parent_message_id,
        )
        yield from self._open(("TOOL_CALL", key), ToolCallEndEvent(tool_call_id=key), start)
        if event.delta:
            yield ToolCallArgsEvent(tool_call_id=key, delta=event.delta)
