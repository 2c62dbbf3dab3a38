"""Join the events of a process that died to those of the next one, as one well-formed stream.

What the first process has begun is ended. A snapshot of the messages then takes back what the next
process does again, such as a text that was streamed by half, or a tool call that nobody has made.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from typing import Any

from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelMessage

from agui.blocking.executor import run_in_thread
from agui.contrib.durable.ordered import Ordered
from agui.events.frames import encode, run_error
from agui.models import Run
from agui.protocol.interrupts import open_interrupts
from agui.protocol.outbound import wire_messages
from agui.protocol.types import (
    BaseEvent,
    EventType,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
    StepFinishedEvent,
    TextMessageEndEvent,
    ToolCallEndEvent,
)
from agui.runs.live import live

# By the event that begins something: the event that ends it, and the field with its id.
SPANS: dict[str, tuple[str, Any, str]] = {
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", TextMessageEndEvent, "messageId"),
    "REASONING_START": ("REASONING_END", ReasoningEndEvent, "messageId"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", ReasoningMessageEndEvent, "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", ToolCallEndEvent, "toolCallId"),
    "STEP_STARTED": ("STEP_FINISHED", StepFinishedEvent, "stepName"),
}
ID_FIELDS = {end: field for end, _, field in SPANS.values()}


async def join_to_log(
    events: AsyncGenerator[BaseEvent], *, run: Ordered, earlier: Sequence[ModelMessage]
) -> AsyncGenerator[BaseEvent]:
    """Replace RUN_STARTED by the events that join these to the log, if it has any."""
    async with aclosing(events):
        async for event in events:
            if event.type is EventType.RUN_STARTED and run.log.frames:
                for joining in await _joint(run, await _load(run), earlier):
                    yield joining
            else:
                yield event


async def finish(run: Ordered) -> None:
    """End the log of a run that has ended, or that no worker can finish."""
    log = run.log
    if not log.running:
        return
    conversation = await _load(run)
    events = await _joint(run, conversation)
    events.append(_last(run.row, conversation))
    for event in events:
        log.append(encode(log.key, len(log.frames) + 1, event))
    live.logs.close(log)


async def _load(run: Ordered) -> Conversation:
    thread_id = run.row.thread_id
    conversation = await run.store.load(thread_id, scope=run.row.scope)
    return conversation or Conversation(conversation_id=thread_id)


async def _joint(
    run: Ordered, conversation: Conversation, earlier: Sequence[ModelMessage] = ()
) -> list[BaseEvent]:
    closing = left_open(run.log.frames)
    if len(run.log.frames) < 2:
        return closing
    stored = [*conversation.messages, *earlier]
    messages = await run_in_thread(wire_messages, stored, pool="reading")
    return [*closing, MessagesSnapshotEvent.model_validate({"messages": messages})]


def left_open(frames: Iterable[bytes]) -> list[BaseEvent]:
    """Return the events that end what these frames have begun and not ended, the last first."""
    open_spans: dict[tuple[str, str], BaseEvent] = {}
    for frame in frames:
        event = json.loads(frame.partition(b"data: ")[2])
        kind = event["type"]
        if kind in SPANS:
            end, closing, field = SPANS[kind]
            open_spans[end, event[field]] = closing.model_validate({field: event[field]})
        elif kind in ID_FIELDS:
            open_spans.pop((kind, event[ID_FIELDS[kind]]), None)
    return list(reversed(open_spans.values()))


def _last(row: Run, conversation: Conversation) -> BaseEvent:
    """Return the last event of a run whose end is in its row but not in its log."""
    outcome: Any
    if row.status == Run.Status.FINISHED:
        outcome = RunFinishedSuccessOutcome()
    elif row.status == Run.Status.PAUSED:
        outcome = _pause(conversation)
    elif row.status == Run.Status.CANCELLED:
        outcome = RunFinishedCancelledOutcome()
    else:
        return run_error(row.code or "interrupted", str(row.pk), row.cause)
    return RunFinishedEvent(thread_id=row.thread_id, run_id=row.run_id, outcome=outcome)


def _pause(conversation: Conversation) -> Any:
    requests = conversation.deferred_tool_requests
    interrupts = [opened.interrupt for opened in open_interrupts(requests)]
    if interrupts:
        return RunFinishedInterruptOutcome(interrupts=interrupts)
    call_ids = [call.tool_call_id for call in requests.calls] if requests else []
    return RunFinishedSuccessOutcome(pending_tool_call_ids=call_ids)
