"""Where the events of the process that died and those of the next one are joined, to one stream
that is well-formed.

What was begun is ended, and a snapshot of the messages takes back what the next process does again:
a text of which half was streamed, a tool call that nobody has made.
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

# What begins something, what ends it, and where the name of it is.
SPANS: dict[str, tuple[str, Any, str]] = {
    "TEXT_MESSAGE_START": ("TEXT_MESSAGE_END", TextMessageEndEvent, "messageId"),
    "REASONING_START": ("REASONING_END", ReasoningEndEvent, "messageId"),
    "REASONING_MESSAGE_START": ("REASONING_MESSAGE_END", ReasoningMessageEndEvent, "messageId"),
    "TOOL_CALL_START": ("TOOL_CALL_END", ToolCallEndEvent, "toolCallId"),
    "STEP_STARTED": ("STEP_FINISHED", StepFinishedEvent, "stepName"),
}


async def go_on(
    events: AsyncGenerator[BaseEvent], *, run: Ordered, earlier: Sequence[ModelMessage]
) -> AsyncGenerator[BaseEvent]:
    """Begin with what joins these events to those in the log, if there are any, instead of with RUN_STARTED."""
    async with aclosing(events):
        async for event in events:
            if event.type is EventType.RUN_STARTED and run.log.frames:
                for one in await _joint(run, await _load(run), earlier):
                    yield one
            else:
                yield event


async def finish(run: Ordered) -> None:
    """End the log of a run that has ended, or that no worker can bring to its end."""
    if not run.log.running:
        return
    conversation = await _load(run)
    for event in [*await _joint(run, conversation), _last(run.row, conversation)]:
        run.log.append(encode(run.log.key, len(run.log.frames) + 1, event))
    live.logs.close(run.log)


async def _load(run: Ordered) -> Conversation:
    thread_id = run.row.thread_id
    return await run.store.load(thread_id, scope=run.row.scope) or Conversation(
        conversation_id=thread_id
    )


async def _joint(
    run: Ordered, conversation: Conversation, earlier: Sequence[ModelMessage] = ()
) -> list[BaseEvent]:
    closing = left_open(run.log.frames)
    if len(run.log.frames) < 2:
        return closing
    messages = await run_in_thread(
        wire_messages, [*conversation.messages, *earlier], pool="reading"
    )
    return [*closing, MessagesSnapshotEvent.model_validate({"messages": messages})]


def left_open(frames: Iterable[bytes]) -> list[BaseEvent]:
    """What ends all that these frames have begun and not ended, the last first."""
    ends = {end: start for start, (end, _, _) in SPANS.items()}
    begun: dict[tuple[str, str], BaseEvent] = {}
    for frame in frames:
        event = json.loads(frame.partition(b"data: ")[2])
        if span := SPANS.get(event["type"]):
            _, closing, key = span
            begun[event["type"], event[key]] = closing.model_validate({key: event[key]})
        elif start := ends.get(event["type"]):
            begun.pop((start, event[SPANS[start][2]]), None)
    return list(reversed(begun.values()))


def _last(row: Run, conversation: Conversation) -> BaseEvent:
    """The terminal event of a run that has been recorded, but could not say so any more."""
    outcome: Any
    if row.status == Run.Status.FINISHED:
        outcome = RunFinishedSuccessOutcome()
    elif row.status == Run.Status.PAUSED and (
        asked := open_interrupts(conversation.deferred_tool_requests)
    ):
        outcome = RunFinishedInterruptOutcome(interrupts=[one.interrupt for one in asked])
    elif row.status == Run.Status.PAUSED:
        calls = (
            conversation.deferred_tool_requests.calls if conversation.deferred_tool_requests else []
        )
        outcome = RunFinishedSuccessOutcome(
            pending_tool_call_ids=[call.tool_call_id for call in calls]
        )
    elif row.status == Run.Status.CANCELLED:
        outcome = RunFinishedCancelledOutcome()
    else:
        return run_error(row.code or "interrupted", str(row.pk), row.cause)
    return RunFinishedEvent(thread_id=row.thread_id, run_id=row.run_id, outcome=outcome)
