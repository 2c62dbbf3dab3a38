"""AG-UI's events as the parts of a pydantic-ai response."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import anyio
import jsonpatch
from ag_ui.core import (
    BaseEvent,
    Interrupt,
    ReasoningEncryptedValueEvent,
    ReasoningMessageContentEvent,
    RunErrorEvent,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    StateDeltaEvent,
    StateSnapshotEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
    TokenUsage,
    ToolCallArgsEvent,
    ToolCallResultEvent,
    ToolCallStartEvent,
)
from jsonpatch import JsonPatchException
from jsonpointer import JsonPointerException
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelResponseStreamEvent
from pydantic_ai.models import StreamedResponse
from pydantic_ai.usage import RequestUsage

from agui import clock
from agui.contrib.client.errors import AGUIProtocolError, AGUIRunError, AGUIStatusError
from agui.contrib.client.outgoing import INTERRUPT, MESSAGE_ID, PROVIDER
from agui.contrib.client.request_state import RequestState
from agui.contrib.client.transport import AGUIClient

NO_WAY_TO_ANSWER = (
    "The remote agent asks before it goes on: add AGUIInterrupts() to the agent's capabilities."
)


@dataclass
class Call:
    """A call of a tool, while its arguments arrive."""

    name: str
    args: str = ""


@dataclass
class AGUIStreamedResponse(StreamedResponse):
    """A run while it arrives.

    Calls of the client's tools come at once, and the server's own calls with their results.
    """

    client: AGUIClient
    events: AsyncGenerator[BaseEvent]
    request: RequestState
    on_event: Callable[[BaseEvent], object] | None = None
    is_over: bool = False
    timestamp: datetime = datetime.min
    model_name: str = PROVIDER
    provider_name: str = PROVIDER
    _first: list[BaseEvent] = field(default_factory=list)
    _waiting: anyio.CancelScope | None = None
    _texts: set[str] = field(default_factory=set)
    """The ids of the agent's own messages."""
    _calls: dict[str, Call] = field(default_factory=dict)
    """The server's own calls that have no result yet."""

    @property
    def provider_url(self) -> str:
        return self.client.name

    async def open(self) -> None:
        """Wait for the first event. Raises AGUIError: another model may still answer."""
        try:
            self._first = [await anext(self.events)]
        except AGUIStatusError:
            # The server has begun no run for this client: a run of the thread belongs to another.
            self.is_over = True
            raise
        self.timestamp = clock.utc_now()
        self._update_details()

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in self._all():
            if self.on_event:
                self.on_event(event)
            # The words of a subagent are no part of the answer.
            if getattr(event, "subagent_run_id", None) is None:
                for part_event in self._handle(event):
                    yield part_event

    async def _all(self) -> AsyncIterator[BaseEvent]:
        for event in self._first:
            yield event
        while following := await self._next():
            yield following

    async def _next(self) -> BaseEvent | None:
        """Return the next event; None after the last, and if the stream is closed meanwhile."""
        event: BaseEvent | None = None
        with anyio.CancelScope() as self._waiting:
            event = await anext(self.events, None)
        self._waiting = None
        return event

    async def close_stream(self) -> None:
        """Cancel the run if it goes on and the server can do that, and close the connection."""
        if not self.is_over:
            self.is_over = True
            await self.client.stop(self.request.thread_id, self.request.run_id)
        if self._waiting:
            # Another task is reading, and closes the connection itself.
            self._waiting.cancel()
        else:
            await self.events.aclose()

    def _update_details(self) -> None:
        request = self.request
        self.provider_details = {
            "thread_id": request.thread_id,
            "run_id": request.run_id,
            "state": request.state,
        }
        self.provider_response_id = request.run_id

    def _handle(self, event: BaseEvent) -> Iterator[ModelResponseStreamEvent]:
        match event:
            case TextMessageStartEvent(role="assistant" | None):
                self._texts.add(event.message_id)
            case TextMessageStartEvent():
                # The message is not the agent's.
                self._texts.discard(event.message_id)
            case TextMessageContentEvent() if event.message_id in self._texts:
                yield from self._parts_manager.handle_text_delta(
                    vendor_part_id=("text", event.message_id),
                    content=event.delta,
                    id=event.message_id,
                )
            case ReasoningMessageContentEvent():
                yield from self._think(event.message_id, content=event.delta)
            case ReasoningEncryptedValueEvent(subtype="message"):
                yield from self._think(event.entity_id, signature=event.encrypted_value)
            case ToolCallStartEvent() | ToolCallArgsEvent() | ToolCallResultEvent():
                yield from self._call(event)
            case StateSnapshotEvent() | StateDeltaEvent():
                self.request.state = self._changed_state(event)
                self._update_details()
            case RunFinishedEvent():
                self.is_over = True
                yield from self._finish(event)
            case RunErrorEvent():
                self.is_over = True
                raise AGUIRunError(self.client.name, event.message, event.code or "")

    def _think(self, message_id: str, **delta: Any) -> Iterator[ModelResponseStreamEvent]:
        yield from self._parts_manager.handle_thinking_delta(
            vendor_part_id=("thought", message_id), id=message_id, provider_name=PROVIDER, **delta
        )

    def _call(
        self, event: ToolCallStartEvent | ToolCallArgsEvent | ToolCallResultEvent
    ) -> Iterator[ModelResponseStreamEvent]:
        call_id = event.tool_call_id
        if isinstance(event, ToolCallStartEvent):
            if event.tool_call_name in self.request.own_tools:
                yield from self._parts_manager.handle_tool_call_delta_events(
                    vendor_part_id=call_id, tool_name=event.tool_call_name, tool_call_id=call_id
                )
            else:
                self._calls[call_id] = Call(event.tool_call_name)
            self.request.calls[call_id] = event.tool_call_name
        elif isinstance(event, ToolCallArgsEvent):
            if call_id in self._calls:
                self._calls[call_id].args += event.delta
            else:
                yield from self._parts_manager.handle_tool_call_delta_events(
                    vendor_part_id=call_id, args=event.delta
                )
        else:
            yield from self._result(event)

    def _result(self, event: ToolCallResultEvent) -> Iterator[ModelResponseStreamEvent]:
        call_id = event.tool_call_id
        if call_id in self.request.answered:
            # The server repeats the client's own result.
            return
        call = self._calls.pop(call_id, None)
        if call:
            yield self._native(call_id, call)
        elif self._parts_manager.get_part_by_vendor_id(call_id):
            raise AGUIProtocolError(
                self.client.name,
                f"The server ran {self.request.calls[call_id]!r}, a tool of the client: "
                "rename one of both.",
            )
        content: Any = event.content
        if not isinstance(content, str):
            content = [part.model_dump(mode="json", by_alias=True) for part in content]
        part = m.NativeToolReturnPart(
            self.request.calls.get(call_id, "unknown"),
            content,
            call_id,
            provider_name=PROVIDER,
            provider_details={MESSAGE_ID: event.message_id},
        )
        yield self._parts_manager.handle_part(vendor_part_id=None, part=part)

    def _native(self, call_id: str, call: Call) -> ModelResponseStreamEvent:
        part = m.NativeToolCallPart(call.name, call.args or None, call_id, provider_name=PROVIDER)
        return self._parts_manager.handle_part(vendor_part_id=None, part=part)

    def _changed_state(self, event: StateSnapshotEvent | StateDeltaEvent) -> Any:
        if isinstance(event, StateSnapshotEvent):
            return event.snapshot
        patch = []
        for operation in event.delta:
            patch.append(operation.model_dump(mode="json", by_alias=True, exclude_unset=True))
        try:
            return jsonpatch.apply_patch(self.request.state, patch)
        except (JsonPatchException, JsonPointerException, TypeError) as error:
            raise AGUIProtocolError(
                self.client.name, f"A STATE_DELTA does not fit the state: {error}"
            ) from error

    def _finish(self, event: RunFinishedEvent) -> Iterator[ModelResponseStreamEvent]:
        self._usage = read_usage(event.usage or [])
        if isinstance(event.outcome, RunFinishedCancelledOutcome):
            raise AGUIRunError(self.client.name, "The run was cancelled.", "cancelled")
        if isinstance(event.outcome, RunFinishedInterruptOutcome):
            if not self.request.may_ask:
                raise AGUIRunError(self.client.name, NO_WAY_TO_ANSWER, "interrupt")
            for interrupt in event.outcome.interrupts:
                yield self._ask(interrupt)
        for call_id, call in self._calls.items():
            # The result comes with the next run.
            yield self._native(call_id, call)
        parts = self._parts_manager.get_parts()
        has_calls = any(isinstance(part, m.ToolCallPart) for part in parts)
        self.finish_reason = "tool_call" if has_calls else "stop"

    def _ask(self, interrupt: Interrupt) -> ModelResponseStreamEvent:
        """Add the call that an interrupt asks about, or one that stands for the interrupt."""
        call = self._calls.pop(interrupt.tool_call_id or "", None)
        if call and interrupt.tool_call_id:
            call_id = interrupt.tool_call_id
        else:
            name = (interrupt.metadata or {}).get("toolName") or interrupt.reason
            call = Call(str(name), json.dumps({"message": interrupt.message or ""}))
            call_id = interrupt.id
        details = interrupt.model_dump(mode="json", by_alias=True, exclude_none=True)
        part = m.ToolCallPart(
            call.name,
            call.args or None,
            call_id,
            provider_name=PROVIDER,
            provider_details={INTERRUPT: details},
        )
        return self._parts_manager.handle_part(vendor_part_id=None, part=part)


def read_usage(entries: list[TokenUsage]) -> RequestUsage:
    """Add up what a run has used, over all of its models."""
    usage = RequestUsage()
    for entry in entries:
        usage += RequestUsage(
            input_tokens=entry.input_tokens or 0,
            output_tokens=entry.output_tokens or 0,
            cache_read_tokens=entry.cached_input_tokens or 0,
            cache_write_tokens=entry.cache_write_input_tokens or 0,
            output_reasoning_tokens=entry.reasoning_tokens or 0,
        )
    return usage
