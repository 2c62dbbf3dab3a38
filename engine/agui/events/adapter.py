"""pydantic-ai's translation of a run's events into AG-UI's, with errors masked and coded."""

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
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
    BinaryContent,
    EnqueuedMessagesEvent,
    FilePart,
    FunctionToolResultEvent,
    NativeToolReturnPart,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.ui.ag_ui import AGUIAdapter, AGUIEventStream

from agui import parts
from agui.deps import AgentDeps
from agui.errors import RUN_ERRORS, WITHOUT_CAUSE, RunFailed
from agui.events.failures import cause_of, describe, error_code, hint_of
from agui.events.run_state import RunState
from agui.protocol.files import files_in, part_without_bytes
from agui.protocol.types import FROM_TOOLS, OF_SUBAGENTS, BaseEvent, EventType
from agui.stores.tree import prompt_id

logger = logging.getLogger("agui.runs")

# The events of a tool that belong to its call, and get the call's id.
OF_A_CALL = (EventType.CUSTOM, EventType.STEP_STARTED, EventType.STEP_FINISHED)


@dataclass
class Adapter(AGUIAdapter[AgentDeps, Any]):
    """pydantic-ai's adapter, with our words for errors."""

    shared: RunState = field(kw_only=True)

    def build_event_stream(self) -> "EventStream":
        stream = EventStream(self.run_input, include_usage=self.include_usage)
        stream.shared = self.shared
        return stream


class EventStream(AGUIEventStream[AgentDeps, Any]):
    """pydantic-ai's events, with errors masked: clients see nothing of an exception."""

    shared: RunState
    # The text and the thought that began last. Some providers go on with them after they began
    # another part.
    text_id: str = ""
    reasoning_id: str = ""
    is_thinking: bool = False

    async def handle_text_start(
        self, part: TextPart, follows_text: bool = False
    ) -> AsyncIterator[BaseEvent]:
        async for event in super().handle_text_start(part, follows_text):
            self._remember_start(event)
            yield event

    async def handle_text_delta(self, delta: TextPartDelta) -> AsyncIterator[BaseEvent]:
        yield TextMessageContentEvent(message_id=self.text_id, delta=delta.content_delta)

    async def handle_thinking_start(
        self, part: ThinkingPart, follows_thinking: bool = False
    ) -> AsyncIterator[BaseEvent]:
        self.is_thinking = True
        self.reasoning_id = ""
        async for event in super().handle_thinking_start(part, follows_thinking):
            self._remember_start(event)
            yield event

    async def handle_thinking_delta(self, delta: ThinkingPartDelta) -> AsyncIterator[BaseEvent]:
        if self.is_thinking:
            async for event in super().handle_thinking_delta(delta):
                self._remember_start(event)
                yield event
        elif self.reasoning_id and delta.content_delta:
            yield ReasoningMessageContentEvent(
                message_id=self.reasoning_id, delta=delta.content_delta
            )

    def handle_thinking_end(
        self, part: ThinkingPart, followed_by_thinking: bool = False
    ) -> AsyncIterator[BaseEvent]:
        self.is_thinking = False
        return super().handle_thinking_end(part, followed_by_thinking)

    def _remember_start(self, event: BaseEvent) -> None:
        if isinstance(event, TextMessageStartEvent):
            self.text_id = self.shared.text_id = event.message_id
        elif isinstance(event, ReasoningMessageStartEvent):
            self.reasoning_id = event.message_id

    async def handle_file(self, part: FilePart) -> AsyncIterator[BaseEvent]:
        for event in await self._keep([part.content], part):
            yield event

    async def _keep(self, files: Sequence[BinaryContent], source: Any) -> list[BaseEvent]:
        """Let parts keep the files that the model or a tool has made, and show them."""
        events: list[BaseEvent] = []
        for part in parts.installed() if files else ():
            events += await part.files_made(self.shared, files, source)
        return events

    async def handle_builtin_tool_return(
        self, part: NativeToolReturnPart
    ) -> AsyncIterator[BaseEvent]:
        # A provider may send the result of a call that it has not sent.
        with suppress(KeyError):
            async for event in super().handle_builtin_tool_return(part):
                yield event

    async def handle_enqueued_messages(
        self, event: EnqueuedMessagesEvent
    ) -> AsyncIterator[BaseEvent]:
        delivered = self.shared.delivered
        messages = [kept for kept in delivered.restore(event.messages) if kept in delivered]
        for message in messages:
            yield delivered.event(message, self.shared.ids.last)
            self.shared.ids.last = prompt_id(message)
        if not messages:
            async for translated in super().handle_enqueued_messages(event):
                yield translated

    async def handle_custom_event(self, event: CustomEvent) -> AsyncIterator[BaseEvent]:
        async for translated in super().handle_custom_event(event):
            if not self._may_send(translated):
                continue
            if event.tool_call_id and translated.type in OF_A_CALL:
                metadata = translated.metadata or {}
                translated.metadata = {"toolCallId": event.tool_call_id, **metadata}
            yield translated

    async def handle_function_tool_result(
        self, event: FunctionToolResultEvent
    ) -> AsyncIterator[BaseEvent]:
        # Clients see what the thread keeps. Only the model gets files.
        plain = part_without_bytes(event.part)
        shown: list[BaseEvent] = []
        # A result without files, which may be large, is looked through once.
        if plain is not event.part or event.content:
            shown = await self._keep(_files_of(event), event.part)
            plain = part_without_bytes(event.part, self.shared.file_id)
        without_files = replace(event, part=plain)
        async for translated in super().handle_function_tool_result(without_files):
            # The events that a tool returns as metadata follow its result.
            if isinstance(translated, ToolCallResultEvent) or self._may_send(translated):
                yield translated
        for activity in shown:
            yield activity

    def _may_send(self, event: BaseEvent) -> bool:
        version = self.run_input.protocol_version if self.run_input else None
        if event.type in OF_SUBAGENTS and (version or "0.").startswith("0."):
            return False  # A client before 1.0 would reject the whole stream.
        allowed = event.type in FROM_TOOLS
        if not allowed and event.type is not EventType.REASONING_ENCRYPTED_VALUE:
            logger.warning("Dropping a tool's %s: only the run may send it", event.type)
        return allowed

    async def on_error(self, error: Exception) -> AsyncIterator[BaseEvent]:
        failure = self._mask(error)
        async for event in super().on_error(failure):
            if isinstance(event, RunErrorEvent):
                event.code = failure.code
                event.message = str(RUN_ERRORS[failure.code])
                event.metadata = describe(
                    failure.code,
                    self.shared.setup.key,
                    cause=self.shared.outcome.cause,
                    hint=hint_of(failure.code, error),
                    details=failure.details,
                )
            yield event

    async def on_cancelled(self, cancelled: RunCancelled) -> AsyncIterator[BaseEvent]:
        # A run that one of our limits has stopped did fail. Only users cancel runs.
        if isinstance(cancelled, RunTimedOut) or self.shared.outcome.failure:
            events = self.on_error(cancelled)
        else:
            events = super().on_cancelled(cancelled)
        async for event in events:
            yield event

    def _mask(self, error: Exception) -> RunFailed:
        outcome = self.shared.outcome
        code = outcome.failure or error_code(error, self.shared.unfinished.captured)
        outcome.failure = code
        outcome.cause = cause_of(error)
        if not isinstance(error, RunFailed | RunCancelled):
            # A provider's error needs no traceback. Our own mistakes do, and so do developers.
            trace = error if code in WITHOUT_CAUSE or settings.DEBUG else None
            logger.error(
                "Run %s of thread %s failed: %s: %s",
                self.shared.setup.key,
                self.thread_id,
                code,
                outcome.cause,
                exc_info=trace,
            )
        details = error.details if isinstance(error, RunFailed) else {}
        return RunFailed(code, **details)


def _files_of(event: FunctionToolResultEvent) -> list[BinaryContent]:
    """List the files that a tool has returned to the model, each once."""
    try:
        files = [*files_in(event.part.content), *files_in(event.content)]
    except RecursionError:
        return []  # A result that contains itself: the code that stores it reports that.
    return list({id(file): file for file in files}.values())
