"""The stages that every event of a run passes. Each takes an iterator of events and returns one.

native events  record_tool_calls    the audit trail, and how each call ended
               write_texts          (texts.py) the deltas of a text, which go no farther
AG-UI events   Adapter              (adapter.py) pydantic-ai's own translation, with errors masked and coded
               shape_events         message ids noted, interrupts in our words, the rest dropped
               in_sequence          one part of the answer open at a time
               share_progress       (progress.py) what tools sent and changed, as a client can follow it

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
from pydantic_ai.messages import FunctionToolCallEvent, FunctionToolResultEvent, ToolCallPart
from pydantic_ai.ui import NativeEvent

from agui import conf
from agui.actor import name_of
from agui.events.adapter import Adapter
from agui.events.progress import share_progress
from agui.events.run_state import OpenText, Outcome, RunSetup, RunState, ToolCalls, Unfinished
from agui.events.texts import Write, write_texts
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
# After these, the answer is over.
BEYOND = (EventType.TOOL_CALL_RESULT, *TERMINAL)


def pass_stages(
    native: AsyncGenerator[Any],
    adapter: Adapter,
    run: RunState,
    finished: Callable[[Any], AsyncGenerator[BaseEvent]],
    write: Write | None,
) -> AsyncGenerator[BaseEvent]:
    """Put the stages in line. Each closes the one before it; `finished` adds events before the last one.

    With `write`, texts go through it, and not through the stages that only translate them.
    """
    events = record_tool_calls(native, run.setup, run.calls, run.unfinished, run.outcome)
    if write:
        events = write_texts(events, run.text, write)
    # Typed as an iterator, made as a generator.
    translated: Any = adapter.transform_stream(events, on_complete=finished)
    shaped = shape_events(translated, run.setup, run.calls, run.ids, run.outcome)
    return share_progress(in_sequence(shaped, run.text), run.setup.page)


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
                unfinished.note(event)
                if isinstance(event, FunctionToolCallEvent):
                    call_id = event.part.tool_call_id
                    calls.started.add(call_id)
                    approver = (
                        (name_of(setup.deps.user) or "a visitor")
                        if call_id in setup.approved
                        else ""
                    )
                    timer.start(event.part, edited=setup.edited.get(call_id), approved_by=approver)
                elif isinstance(event, FunctionToolResultEvent):
                    setup.tool_ended()
                    if how := outcome_of(event.part):
                        calls.outcomes[event.part.tool_call_id] = how
                    if (audit_event := timer.stop(event.part)) is not None:
                        calls.durations[event.part.tool_call_id] = round(audit_event.duration_ms)
                        await record_event(setup.audit, audit_event)
                yield event
    finally:
        for audit_event in timer.abandon(
            waiting={call.tool_call_id for call in _deferred(outcome.requests)}
        ):
            await record_event(setup.audit, audit_event)


def _deferred(requests: DeferredToolRequests | None) -> list[ToolCallPart]:
    return [*requests.approvals, *requests.calls] if requests else []


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
            # Signatures, outcomes and summaries are for histories that clients hold, and ours stays
            # here; clients before 1.0 don't survive an empty delta.
            is_summary = getattr(event, "activity_type", "") == "pydantic_ai_compaction"
            if event.type in hidden or is_summary or getattr(event, "delta", None) == "":
                continue
            if isinstance(event, TextMessageStartEvent):
                ids.add("assistant", event.message_id)
            elif isinstance(event, ReasoningMessageStartEvent):
                ids.add("reasoning", event.message_id)
            elif isinstance(event, ToolCallResultEvent):
                kept = _told_of_call(event.tool_call_id, setup, calls)
                ids.add(
                    "tool",
                    event.message_id,
                    event.tool_call_id,
                    extra={"metadata": kept} if kept else None,
                )
                how = calls.outcomes.get(event.tool_call_id)
                event.metadata = {**kept, **({"outcome": how} if how else {})} or None
            elif isinstance(event, RunFinishedEvent) and (
                asked := open_interrupts(outcome.requests)
            ):
                event.outcome = RunFinishedInterruptOutcome(
                    interrupts=[one.interrupt for one in asked]
                )
            yield event
            if event.type in TERMINAL:
                return


def _told_of_call(call_id: str, setup: RunSetup, calls: ToolCalls) -> dict[str, Any]:
    """What a client is told of a call besides its result, now and when it reads the thread."""
    told: dict[str, Any] = {}
    if (took := calls.durations.get(call_id)) is not None:
        told["duration_ms"] = took
    if call_id in setup.edited:
        # As text, as in the call itself: a browser would round the numbers.
        told["editedArguments"] = json.dumps(setup.edited[call_id], ensure_ascii=False)
        told["editedBy"] = name_of(setup.deps.user)
    return told


async def in_sequence(
    events: AsyncGenerator[BaseEvent], text: OpenText
) -> AsyncGenerator[BaseEvent]:
    """Keep one part open at a time.

    Some providers go on with a part after they began another one. pydantic-ai has ended it by then,
    and a client refuses what comes for it, but takes up a part that is started again.
    """
    starts: dict[str, BaseEvent] = {}
    spans: set[str] = set()
    current: Part | None = None
    async with aclosing(events):
        async for event in events:
            wanted = current
            is_of_current = (
                current is not None
                and event.type in (*PIECES, *ENDS)
                and current.id == part_id(event)
            )
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
                text.current = (
                    current.id
                    if current and isinstance(current.start, TextMessageStartEvent)
                    else ""
                )
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
        return (
            [ReasoningStartEvent(message_id=self.id), self.start]
            if self.needs_span
            else [self.start]
        )

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
