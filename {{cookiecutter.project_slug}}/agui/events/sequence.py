"""The parts of an answer, texts, thoughts and tool calls, one after the other."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agui.events.stream import RunEvents
from agui.protocol.messages import (
    TERMINAL,
    BaseEvent,
    EventType,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningStartEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)

STARTS = (EventType.TEXT_MESSAGE_START, EventType.REASONING_MESSAGE_START, EventType.TOOL_CALL_START)
PIECES = (EventType.TEXT_MESSAGE_CONTENT, EventType.REASONING_MESSAGE_CONTENT, EventType.TOOL_CALL_ARGS)
ENDS = (EventType.TEXT_MESSAGE_END, EventType.REASONING_MESSAGE_END, EventType.TOOL_CALL_END)
# After these, the answer is over.
BEYOND = (EventType.TOOL_CALL_RESULT, *TERMINAL)


async def in_sequence(events: AsyncGenerator[BaseEvent], run: RunEvents) -> AsyncGenerator[BaseEvent]:
    """Keep one part open at a time.

    Some providers go on with a part after they began another one. pydantic-ai has ended it by then, and a client
    refuses what comes for it, but takes up a part that is started again.
    """
    starts: dict[str, BaseEvent] = {}
    spans: set[str] = set()
    current: Part | None = None
    async with aclosing(events):
        async for event in events:
            wanted = current
            is_of_current = current is not None and event.type in (*PIECES, *ENDS) and current.id == part_id(event)
            if event.type in STARTS:
                starts[part_id(event)] = event
                wanted = Part(event)
            elif event.type in PIECES and not is_of_current:
                start = starts[part_id(event)]
                is_thought = start.type is EventType.REASONING_MESSAGE_START
                wanted = Part(start, needs_span=is_thought and part_id(event) not in spans)
            elif event.type in BEYOND or (event.type in ENDS and is_of_current):
                wanted = None
            if wanted is not current:
                for one in [*(current.last if current else ()), *(wanted.first if wanted else ())]:
                    yield one
                current = wanted
                run.open_text = current.id if current and isinstance(current.start, TextMessageStartEvent) else ""
            if event.type is EventType.REASONING_START:
                spans.add(part_id(event))
            elif event.type is EventType.REASONING_END:
                spans.discard(part_id(event))
            if event.type not in (*STARTS, *ENDS):
                yield event


@dataclass(frozen=True)
class Part:
    """A text, a thought or a tool call on its way."""

    start: BaseEvent
    needs_span: bool = False
    """Whether it is a thought that goes on after its span has ended."""

    @property
    def id(self) -> str:
        return part_id(self.start)

    @property
    def first(self) -> list[BaseEvent]:
        return [ReasoningStartEvent(message_id=self.id), self.start] if self.needs_span else [self.start]

    @property
    def last(self) -> list[BaseEvent]:
        if isinstance(self.start, ToolCallStartEvent):
            return [ToolCallEndEvent(tool_call_id=self.id)]
        if isinstance(self.start, TextMessageStartEvent):
            return [TextMessageEndEvent(message_id=self.id)]
        span = [ReasoningEndEvent(message_id=self.id)] if self.needs_span else []
        return [ReasoningMessageEndEvent(message_id=self.id), *span]


def part_id(event: Any) -> str:
    """The id of a call or of a message."""
    found: str = event.tool_call_id if hasattr(event, "tool_call_id") else event.message_id
    return found
