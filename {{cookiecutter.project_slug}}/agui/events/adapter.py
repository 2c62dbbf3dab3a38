"""pydantic-ai's translation of a run's events into AG-UI's, with errors masked and coded."""

import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from typing import Any

from ag_ui.core import (
    ReasoningMessageContentEvent,
    ReasoningMessageStartEvent,
    RunErrorEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    ToolCallResultEvent,
)
from django.conf import settings
from pydantic_ai import CustomEvent
from pydantic_ai.exceptions import RunCancelled, RunTimedOut
from pydantic_ai.messages import (
    FunctionToolResultEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.ui.ag_ui import AGUIAdapter, AGUIEventStream

from agui.deps import AgentDeps
from agui.errors import RunFailed
from agui.events.failures import cause_of, describe, error_code, hint_of
from agui.events.run_state import RunState
from agui.protocol.files import part_without_bytes
from agui.protocol.types import FROM_TOOLS, OF_SUBAGENTS, BaseEvent, EventType

logger = logging.getLogger("agui.runs")

# What a tool says of its own call, and nothing else.
OF_A_CALL = (EventType.CUSTOM, EventType.STEP_STARTED, EventType.STEP_FINISHED)


@dataclass
class Adapter(AGUIAdapter[AgentDeps, Any]):
    """pydantic-ai's adapter, with our words for errors."""

    shared: RunState | None = None

    def build_event_stream(self) -> "EventStream":
        stream = EventStream(self.run_input, include_usage=self.include_usage)
        stream.shared = self.shared
        return stream


class EventStream(AGUIEventStream[AgentDeps, Any]):
    """pydantic-ai's events, but nothing of an exception reaches a client."""

    shared: RunState | None = None
    # What was started last. Some providers go on with a text or a thought after they began
    # something else.
    text_id: str = ""
    reasoning_id: str = ""
    is_thinking: bool = False

    async def handle_text_start(
        self, part: TextPart, follows_text: bool = False
    ) -> AsyncIterator[BaseEvent]:
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
            yield ReasoningMessageContentEvent(
                message_id=self.reasoning_id, delta=delta.content_delta
            )

    def handle_thinking_end(
        self, part: ThinkingPart, followed_by_thinking: bool = False
    ) -> AsyncIterator[BaseEvent]:
        self.is_thinking = False
        return super().handle_thinking_end(part, followed_by_thinking)

    def _noted(self, event: BaseEvent) -> BaseEvent:
        if isinstance(event, TextMessageStartEvent):
            self.text_id = event.message_id
            if self.shared:
                self.shared.text.last = event.message_id
        elif isinstance(event, ReasoningMessageStartEvent):
            self.reasoning_id = event.message_id
        return event

    async def handle_custom_event(self, event: CustomEvent) -> AsyncIterator[BaseEvent]:
        async for one in super().handle_custom_event(event):
            if self._may_send(one):
                if event.tool_call_id and one.type in OF_A_CALL:
                    one.metadata = {"toolCallId": event.tool_call_id, **(one.metadata or {})}
                yield one

    async def handle_function_tool_result(
        self, event: FunctionToolResultEvent
    ) -> AsyncIterator[BaseEvent]:
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
                    shared.setup.key if shared else "",
                    cause=shared.outcome.cause if shared else "",
                    hint=hint_of(failure.code, error),
                    details=failure.details,
                )
            yield event

    async def on_cancelled(self, cancelled: RunCancelled) -> AsyncIterator[BaseEvent]:
        # Stopped by a limit of ours: that is a failure, not somebody's wish.
        failed = isinstance(cancelled, RunTimedOut) or (self.shared and self.shared.outcome.failure)
        async for event in self.on_error(cancelled) if failed else super().on_cancelled(cancelled):
            yield event

    def _masked(self, error: Exception) -> RunFailed:
        shared = self.shared
        code = (shared and shared.outcome.failure) or error_code(
            error, shared.unfinished.captured if shared else ()
        )
        if shared:
            shared.outcome.failure, shared.outcome.cause = code, cause_of(error)
        if not isinstance(error, RunFailed | RunCancelled):
            key = shared.setup.key if shared else self.run_id
            cause = shared.outcome.cause if shared else cause_of(error)
            # A provider's error is told by its words. The traceback is for our own mistakes, and
            # for developers.
            trace = error if code == "internal_error" or settings.DEBUG else None
            logger.error(
                "Run %s of thread %s failed: %s: %s",
                key,
                self.thread_id,
                code,
                cause,
                exc_info=trace,
            )
        return RunFailed(code, **(error.details if isinstance(error, RunFailed) else {}))
