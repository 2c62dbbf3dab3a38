"""The stages that every event of a run passes. Each takes an iterator of events and returns one.

native events  record_tool_calls    writes the audit trail, and notes how each call ended
AG-UI events   Adapter              (adapter.py) pydantic-ai's translation, with errors masked
               shape_events         notes message ids, and drops what clients don't need
               in_sequence          keeps one block of the answer open at a time
               share_progress       (progress.py) sends what tools show and change

At the end frames.py makes one numbered frame of each event.
"""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from ag_ui.core import (
    ReasoningMessageStartEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    TextMessageStartEvent,
    ToolCallResultEvent,
)
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent
from pydantic_ai.ui import NativeEvent

from agui import conf
from agui.actor import name_of
from agui.events.adapter import Adapter
from agui.events.progress import share_progress
from agui.events.run_state import Outcome, RunSetup, RunState, ToolCalls, Unfinished
from agui.protocol.interrupts import open_interrupts
from agui.protocol.message_ids import MessageIds
from agui.protocol.outbound import outcome_of
from agui.protocol.types import (
    TERMINAL,
    BaseEvent,
    EventType,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningStartEvent,
    TextMessageEndEvent,
    ToolCallEndEvent,
    ToolCallStartEvent,
)
from agui.tools.audit import record_event

REASONING = tuple(kind for kind in EventType if kind.value.startswith("REASONING_"))
STARTS = (
    EventType.TEXT_MESSAGE_START,
    EventType.REASONING_MESSAGE_START,
    EventType.TOOL_CALL_START,
)
PIECES = (
    EventType.TEXT_MESSAGE_CONTENT,
    EventType.REASONING_MESSAGE_CONTENT,
    EventType.TOOL_CALL_ARGS,
)
ENDS = (EventType.TEXT_MESSAGE_END, EventType.REASONING_MESSAGE_END, EventType.TOOL_CALL_END)
OF_CALLS = (EventType.TOOL_CALL_START, EventType.TOOL_CALL_ARGS, EventType.TOOL_CALL_END)
STARTS_AND_ENDS = (*STARTS, *ENDS)
PIECES_AND_ENDS = (*PIECES, *ENDS)
# Activities by which pydantic-ai tells the model what has changed since its last request.
NOTES = (
    "pydantic_ai_compaction",
    "pydantic_ai_tool_availability_delta",
    "pydantic_ai_capability_load_delta",
    "pydantic_ai_model_settings_delta",
)
# The answer has ended before each of these events.
BEYOND = (EventType.TOOL_CALL_RESULT, *TERMINAL)


def pass_stages(
    native: AsyncGenerator[Any],
    adapter: Adapter,
    run: RunState,
    finished: Callable[[Any], AsyncGenerator[BaseEvent]],
) -> AsyncGenerator[BaseEvent]:
    """Put the stages in line. Each one closes the one before it.

    `finished` adds events before the last one.
    """
    events = record_tool_calls(native, run.setup, run.calls, run.unfinished, run.outcome)
    # pydantic-ai's annotation says iterator, but it is a generator, which the next stage closes.
    translated: Any = adapter.transform_stream(events, on_complete=finished)
    shaped = shape_events(translated, run.setup, run.calls, run.ids, run.outcome)
    return share_progress(in_sequence(shaped), run.setup.view)


async def record_tool_calls(
    events: AsyncGenerator[NativeEvent],
    setup: RunSetup,
    calls: ToolCalls,
    unfinished: Unfinished,
    outcome: Outcome,
) -> AsyncGenerator[NativeEvent]:
    """Audit each tool call, however it ended."""
    timer = calls.timer
    try:
        async with aclosing(events):
            async for event in events:
                unfinished.record(event)
                if isinstance(event, FunctionToolCallEvent):
                    call_id = event.part.tool_call_id
                    calls.started.add(call_id)
                    approver = ""
                    if call_id in setup.approved:
                        approver = name_of(setup.deps.user) or "a visitor"
                    timer.start(event.part, edited=setup.edited.get(call_id), approved_by=approver)
                elif isinstance(event, FunctionToolResultEvent):
                    setup.tool_ended()
                    call_id = event.part.tool_call_id
                    call_outcome = outcome_of(event.part)
                    if call_outcome:
                        calls.outcomes[call_id] = call_outcome
                    audit_event = timer.stop(event.part)
                    if audit_event is not None:
                        calls.durations[call_id] = round(audit_event.duration_ms)
                        await record_event(setup.audit, audit_event)
                yield event
    finally:
        for audit_event in timer.abandon(waiting=_deferred_ids(outcome.requests)):
            await record_event(setup.audit, audit_event)


def _deferred_ids(requests: DeferredToolRequests | None) -> set[str]:
    """The ids of the calls for which the run has paused."""
    if requests is None:
        return set()
    return {call.tool_call_id for call in (*requests.approvals, *requests.calls)}


async def shape_events(
    events: AsyncGenerator[BaseEvent],
    setup: RunSetup,
    calls: ToolCalls,
    ids: MessageIds,
    outcome: Outcome,
) -> AsyncGenerator[BaseEvent]:
    """Bring the events into the form that we promise."""
    hidden: tuple[EventType, ...] = (EventType.REASONING_ENCRYPTED_VALUE,)
    if not conf.get().send_reasoning:
        hidden = REASONING
    async with aclosing(events):
        async for event in events:
            # Drop signatures, summaries and notes: they serve histories that clients hold, and ours
            # stays on the server. Drop empty deltas, because clients before 1.0 refuse them.
            if event.type in hidden or _is_note(event) or _is_empty(event):
                continue
            if isinstance(event, TextMessageStartEvent):
                ids.add("assistant", event.message_id)
            elif isinstance(event, ReasoningMessageStartEvent):
                ids.add("reasoning", event.message_id)
            elif isinstance(event, ToolCallResultEvent):
                _add_metadata(event, setup, calls, ids)
            elif isinstance(event, RunFinishedEvent):
                questions = open_interrupts(outcome.requests)
                if questions:
                    interrupts = [question.interrupt for question in questions]
                    event.outcome = RunFinishedInterruptOutcome(interrupts=interrupts)
            yield event
            if event.type in TERMINAL:
                return


def _is_note(event: Any) -> bool:
    of_activity = event.type is EventType.ACTIVITY_SNAPSHOT
    return of_activity and event.activity_type in NOTES


def _is_empty(event: Any) -> bool:
    return event.type in PIECES and not event.delta


def _add_metadata(
    event: ToolCallResultEvent, setup: RunSetup, calls: ToolCalls, ids: MessageIds
) -> None:
    """Add what a client learns about a call, now and when it reads the thread."""
    call_id = event.tool_call_id
    metadata: dict[str, Any] = {}
    if call_id in calls.durations:
        metadata["duration_ms"] = calls.durations[call_id]
    if call_id in setup.edited:
        # The arguments are text, as in the call itself, because a browser would round the numbers.
        metadata["editedArguments"] = json.dumps(setup.edited[call_id], ensure_ascii=False)
        metadata["editedBy"] = name_of(setup.deps.user)
    extra = {"metadata": metadata.copy()} if metadata else None
    ids.add("tool", event.message_id, call_id, extra=extra)
    # The stored result has the outcome already, so `extra` does not need it.
    if call_id in calls.outcomes:
        metadata["outcome"] = calls.outcomes[call_id]
    event.metadata = metadata or None


async def in_sequence(events: AsyncGenerator[BaseEvent]) -> AsyncGenerator[BaseEvent]:
    """Keep one block open at a time: a text, a thought or a tool call.

    Some providers go on with a block after they began another. By then pydantic-ai has ended the
    first one, and a client refuses more of it. But a client accepts a block that starts again.
    """
    starts: dict[str, BaseEvent] = {}
    spans: set[str] = set()
    current: Block | None = None
    async with aclosing(events):
        async for event in events:
            following = current
            is_of_current = (
                current is not None
                and event.type in PIECES_AND_ENDS
                and current.id == block_id(event)
            )
            if event.type in STARTS:
                starts[block_id(event)] = event
                following = Block(event)
            elif event.type in PIECES and not is_of_current:
                start = starts.get(block_id(event))
                if start is None:
                    # No client can read a piece of a block that has not begun.
                    continue
                is_thought = start.type is EventType.REASONING_MESSAGE_START
                following = Block(start, needs_span=is_thought and block_id(event) not in spans)
            elif event.type in BEYOND or (event.type in ENDS and is_of_current):
                following = None
            if following is not current:
                if current is not None:
                    for closing in current.last:
                        yield closing
                if following is not None:
                    for opening in following.first:
                        yield opening
                current = following
            if event.type is EventType.REASONING_START:
                spans.add(block_id(event))
            elif event.type is EventType.REASONING_END:
                spans.discard(block_id(event))
            if event.type not in STARTS_AND_ENDS:
                yield event


@dataclass(frozen=True)
class Block:
    """A text, a thought or a tool call that is open."""

    start: BaseEvent
    needs_span: bool = False
    """Whether the block is a thought that goes on after its span has ended."""

    @property
    def id(self) -> str:
        return block_id(self.start)

    @property
    def first(self) -> list[BaseEvent]:
        """The events that begin the block."""
        if self.needs_span:
            return [ReasoningStartEvent(message_id=self.id), self.start]
        return [self.start]

    @property
    def last(self) -> list[BaseEvent]:
        """The events that end the block."""
        if isinstance(self.start, ToolCallStartEvent):
            return [ToolCallEndEvent(tool_call_id=self.id)]
        if isinstance(self.start, TextMessageStartEvent):
            return [TextMessageEndEvent(message_id=self.id)]
        events: list[BaseEvent] = [ReasoningMessageEndEvent(message_id=self.id)]
        if self.needs_span:
            events.append(ReasoningEndEvent(message_id=self.id))
        return events


def block_id(event: Any) -> str:
    """Read the id of the call or of the message that an event belongs to."""
    if event.type in OF_CALLS:
        call_id: str = event.tool_call_id
        return call_id
    key: str = event.message_id
    return key
