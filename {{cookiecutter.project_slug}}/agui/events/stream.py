"""From the events of a run to bytes: stages over one iterator, each takes one and returns one.

native events  record_tool_calls    the audit trail, and how each call ended
AG-UI events   Adapter              pydantic-ai's own translation, with errors masked and coded
               shape_events         message ids noted, interrupts in our words, the rest dropped
               in_sequence          (sequence.py) one part of the answer open at a time
               share_progress       (progress.py) what tools sent and changed, as a client can follow it
frames         encode               one numbered SSE frame an event
"""

import json
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Collection, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from ag_ui.core import (
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunStartedEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)
from django.conf import settings
from django.http import StreamingHttpResponse
from pydantic_ai import CustomEvent, DeferredToolRequests
from pydantic_ai.exceptions import RunCancelled, RunTimedOut
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.ui import NativeEvent
from pydantic_ai.ui.ag_ui import AGUIAdapter, AGUIEventStream
from pydantic_core import PydanticSerializationError

from agui import conf
from agui.agents.build import AgentDeps
from agui.errors import RUN_ERRORS, RunFailed
from agui.events.failures import cause_of, describe, error_code, hint_of
from agui.events.progress import Page
from agui.http.auth import name_of
from agui.protocol.interrupts import open_interrupts
from agui.protocol.messages import (
    FROM_TOOLS,
    OF_SUBAGENTS,
    TERMINAL,
    BaseEvent,
    EventType,
    MessageIds,
    RunAgentInput,
    outcome_of,
)
from agui.runs.drafts import Unfinished, checkpoints
from agui.runs.trim import part_without_bytes
from agui.tools.audit import AuditLogger, ToolCallTimer, record_event

logger = logging.getLogger("agui.runs")

PROTOCOL_VERSION = "1.0"
# What a tool says of its own call, and nothing else.
OF_A_CALL = (EventType.CUSTOM, EventType.STEP_STARTED, EventType.STEP_FINISHED)
REASONING = tuple(kind for kind in EventType if kind.value.startswith("REASONING_"))


@dataclass
class RunEvents:
    """What the stages of one run share."""

    key: str
    """The run's own id: of its log and of its row."""
    audit: AuditLogger
    deps: AgentDeps
    page: Page
    ids: MessageIds = field(default_factory=MessageIds)
    edited: Mapping[str, Any] = field(default_factory=dict)
    """The arguments that the user put in the place of the model's, by tool call id."""
    approved: Collection[str] = ()
    """The ids of the tool calls that the user has approved."""
    started: set[str] = field(default_factory=set)
    """The ids of the tool calls that were begun."""
    outcomes: dict[str, str] = field(default_factory=dict)
    """How each tool call ended, by its id, unless it was a success: 'failed' or 'denied'."""
    durations: dict[str, int] = field(default_factory=dict)
    """How long each tool call took, by its id, in milliseconds."""
    last_text: str = ""
    """The id of the text message that was begun last."""
    open_text: str = ""
    """The id of the text message that a client is at."""
    unfinished: Unfinished = field(default_factory=Unfinished)
    """What is not in the run's messages yet."""
    requests: DeferredToolRequests | None = None
    """What the run paused for."""
    failure: str | None = None
    """A key of RUN_ERRORS, set by whoever stopped the run for a reason."""
    cause: str = ""
    """What the provider or an exception said of it: for the log and the admin."""
    timer: ToolCallTimer = field(init=False)

    def __post_init__(self) -> None:
        self.timer = ToolCallTimer(self.deps)


@dataclass
class Adapter(AGUIAdapter[AgentDeps, Any]):
    """pydantic-ai's adapter, with our words for errors."""

    shared: RunEvents | None = None

    def build_event_stream(self) -> "EventStream":
        stream = EventStream(self.run_input, include_usage=self.include_usage)
        stream.shared = self.shared
        return stream


class EventStream(AGUIEventStream[AgentDeps, Any]):
    """pydantic-ai's events, but nothing of an exception reaches a client."""

    shared: RunEvents | None = None
    # What was started last. Some providers go on with a text or a thought after they began something else.
    text_id: str = ""
    reasoning_id: str = ""
    is_thinking: bool = False

    async def handle_text_start(self, part: TextPart, follows_text: bool = False) -> AsyncIterator[BaseEvent]:
        async for event in super().handle_text_start(part, follows_text):
            yield self._noted(event)

    async def handle_text_delta(self, delta: TextPartDelta) -> AsyncIterator[BaseEvent]:
        yield TextMessageContentEvent(message_id=self.text_id, delta=delta.content_delta)

    async def handle_thinking_start(
        self, part: ThinkingPart, follows_thinking: bool = False
    ) -> AsyncIterator[BaseEvent]:
        self.is_thinking, self.reasoning_id = True, ""
        async for event in super().handle_thinking_start(part, follows_thinking):
            yield self._noted(event)

    async def handle_thinking_delta(self, delta: ThinkingPartDelta) -> AsyncIterator[BaseEvent]:
        if self.is_thinking:
            async for event in super().handle_thinking_delta(delta):
                yield self._noted(event)
        elif self.reasoning_id and delta.content_delta:
            yield ReasoningMessageContentEvent(message_id=self.reasoning_id, delta=delta.content_delta)

    def handle_thinking_end(self, part: ThinkingPart, followed_by_thinking: bool = False) -> AsyncIterator[BaseEvent]:
        self.is_thinking = False
        return super().handle_thinking_end(part, followed_by_thinking)

    def _noted(self, event: BaseEvent) -> BaseEvent:
        if isinstance(event, TextMessageStartEvent):
            self.text_id = event.message_id
            if self.shared:
                self.shared.last_text = event.message_id
        elif isinstance(event, ReasoningMessageStartEvent):
            self.reasoning_id = event.message_id
        return event

    async def handle_custom_event(self, event: CustomEvent) -> AsyncIterator[BaseEvent]:
        async for one in super().handle_custom_event(event):
            if self._may_send(one):
                if event.tool_call_id and one.type in OF_A_CALL:
                    one.metadata = {"toolCallId": event.tool_call_id, **(one.metadata or {})}
                yield one

    async def handle_function_tool_result(self, event: FunctionToolResultEvent) -> AsyncIterator[BaseEvent]:
        # A client is shown what the thread keeps: files go to the model alone.
        shown = replace(event, part=part_without_bytes(event.part))
        async for one in super().handle_function_tool_result(shown):
            # After the result come the events that a tool returns as metadata.
            if isinstance(one, ToolCallResultEvent) or self._may_send(one):
                yield one

    def _may_send(self, event: BaseEvent) -> bool:
        version = self.run_input.protocol_version if self.run_input else None
        if event.type in OF_SUBAGENTS and (version or "0.").startswith("0."):
            return False  # A client before 1.0 would drop all of the stream
        allowed = event.type in FROM_TOOLS
        if not allowed and event.type is not EventType.REASONING_ENCRYPTED_VALUE:
            logger.warning("A tool's %s was dropped: that is for the run to say.", event.type)
        return allowed

    async def on_error(self, error: Exception) -> AsyncIterator[BaseEvent]:
        failure = self._masked(error)
        shared = self.shared
        async for event in super().on_error(failure):
            if isinstance(event, RunErrorEvent):
                event.code = failure.code
                event.metadata = describe(
                    failure.code,
                    shared.key if shared else "",
                    cause=shared.cause if shared else "",
                    hint=hint_of(failure.code, error),
                    details=failure.details,
                )
            yield event

    async def on_cancelled(self, cancelled: RunCancelled) -> AsyncIterator[BaseEvent]:
        # Stopped by a limit of ours: that is a failure, not somebody's wish.
        failed = isinstance(cancelled, RunTimedOut) or (self.shared and self.shared.failure)
        async for event in self.on_error(cancelled) if failed else super().on_cancelled(cancelled):
            yield event

    def _masked(self, error: Exception) -> RunFailed:
        shared = self.shared
        code = (shared and shared.failure) or error_code(error, shared.unfinished.captured if shared else ())
        if shared:
            shared.failure, shared.cause = code, cause_of(error)
        if not isinstance(error, RunFailed | RunCancelled):
            key = shared.key if shared else self.run_id
            cause = shared.cause if shared else cause_of(error)
            # A provider's error is told by its words. The traceback is for our own mistakes, and for developers.
            trace = error if code == "internal_error" or settings.DEBUG else None
            logger.error("Run %s of thread %s failed: %s: %s", key, self.thread_id, code, cause, exc_info=trace)
        return RunFailed(code, **(error.details if isinstance(error, RunFailed) else {}))


async def record_tool_calls(events: AsyncGenerator[NativeEvent], run: RunEvents) -> AsyncGenerator[NativeEvent]:
    """Audit each tool call, however it ended."""
    timer = run.timer
    try:
        async with aclosing(events):
            async for event in events:
                run.unfinished.note(event)
                if isinstance(event, FunctionToolCallEvent):
                    call_id = event.part.tool_call_id
                    run.started.add(call_id)
                    approver = (name_of(run.deps.user) or "a visitor") if call_id in run.approved else ""
                    timer.start(event.part, edited=run.edited.get(call_id), approved_by=approver)
                elif isinstance(event, FunctionToolResultEvent):
                    checkpoints.hurry(run.key)
                    if outcome := outcome_of(event.part):
                        run.outcomes[event.part.tool_call_id] = outcome
                    if (audit_event := timer.stop(event.part)) is not None:
                        run.durations[event.part.tool_call_id] = round(audit_event.duration_ms)
                        await record_event(run.audit, audit_event)
                yield event
    finally:
        for audit_event in timer.abandon(waiting={call.tool_call_id for call in _deferred(run.requests)}):
            await record_event(run.audit, audit_event)


def _deferred(requests: DeferredToolRequests | None) -> list[ToolCallPart]:
    return [*requests.approvals, *requests.calls] if requests else []


async def shape_events(events: AsyncGenerator[BaseEvent], run: RunEvents) -> AsyncGenerator[BaseEvent]:
    """Bring the events into the form that we promise."""
    hidden: tuple[EventType, ...] = (EventType.REASONING_ENCRYPTED_VALUE,)
    if not conf.get().send_reasoning:
        hidden = REASONING
    async with aclosing(events):
        async for event in events:
            # Signatures, outcomes and summaries are for histories that clients hold, and ours stays here; clients
            # before 1.0 don't survive an empty delta.
            is_summary = getattr(event, "activity_type", "") == "pydantic_ai_compaction"
            if event.type in hidden or is_summary or getattr(event, "delta", None) == "":
                continue
            if isinstance(event, TextMessageStartEvent):
                run.ids.add("assistant", event.message_id)
            elif isinstance(event, ReasoningMessageStartEvent):
                run.ids.add("reasoning", event.message_id)
            elif isinstance(event, ToolCallResultEvent):
                kept = _told_of_call(run, event.tool_call_id)
                run.ids.add("tool", event.message_id, event.tool_call_id, extra={"metadata": kept} if kept else None)
                outcome = run.outcomes.get(event.tool_call_id)
                event.metadata = {**kept, **({"outcome": outcome} if outcome else {})} or None
            elif isinstance(event, RunFinishedEvent) and (asked := open_interrupts(run.requests)):
                event.outcome = RunFinishedInterruptOutcome(interrupts=[one.interrupt for one in asked])
            yield event
            if event.type in TERMINAL:
                return


def _told_of_call(run: RunEvents, call_id: str) -> dict[str, Any]:
    """What a client is told of a call besides its result, now and when it reads the thread."""
    told: dict[str, Any] = {}
    if (took := run.durations.get(call_id)) is not None:
        told["duration_ms"] = took
    if call_id in run.edited:
        # As text, as in the call itself: a browser would round the numbers.
        told["editedArguments"] = json.dumps(run.edited[call_id], ensure_ascii=False)
        told["editedBy"] = name_of(run.deps.user)
    return told


def encode(key: str, number: int, event: BaseEvent) -> bytes:
    """Encode one event as a server-sent event that a reader can resume after."""
    return frame(key, number, to_data(event))


def frame(key: str, number: int, data: bytes) -> bytes:
    return b"id: %b:%d\ndata: %b\n\n" % (key.encode(), number, data)


def to_data(event: BaseEvent) -> bytes:
    try:
        data = event.model_dump_json(by_alias=True, fallback=str)
    except PydanticSerializationError:
        # Half of a surrogate pair is no UTF-8, but as an escape it is JSON.
        data = json.dumps(event.model_dump(by_alias=True), default=str)
    return data.encode()


def text_template(message_id: str) -> tuple[bytes, bytes, bytes] | None:
    """What stands before, between and after the time and the text in the data of a message's deltas.

    None if that can't be told.
    """
    time, text = 1234567890123, "the text"
    sample = to_data(TextMessageContentEvent(message_id=message_id, delta=text, timestamp=time))
    found = re.fullmatch(rb'(.*"timestamp":)%d(,.*)"%b"(.*)' % (time, text.encode()), sample)
    return (found[1], found[2], found[3]) if found else None


async def refusal(run_input: RunAgentInput, failure: RunFailed) -> AsyncGenerator[bytes]:
    """The stream of a run that may not start."""
    started = RunStartedEvent(thread_id=run_input.thread_id, run_id=run_input.run_id, protocol_version=PROTOCOL_VERSION)
    yield encode("refused", 1, started)
    yield encode("refused", 2, run_error(failure.code, details=failure.details))


def run_error(code: str, key: str = "", cause: str = "", details: Mapping[str, Any] | None = None) -> RunErrorEvent:
    """Build the last event of a run that failed; `key` is the run's own id."""
    return RunErrorEvent(
        message=RUN_ERRORS[code], code=code, metadata=describe(code, key, cause=cause, details=details)
    )


def sse_response(frames: AsyncIterable[bytes]) -> StreamingHttpResponse:
    """Stream frames to a client, past every buffer on the way."""
    return StreamingHttpResponse(
        frames,
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store, no-transform", "X-Accel-Buffering": "no"},
    )
