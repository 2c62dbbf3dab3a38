"""A language model that answers as a script says."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import uuid4

from pydantic_ai import messages as m
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.usage import RequestUsage
from pydantic_core import to_jsonable_python


@dataclass(frozen=True)
class Part:
    """A part of an answer: the parts manager's method that takes its deltas, and these."""

    method: str
    deltas: Sequence[dict[str, str]]


@dataclass(frozen=True)
class Pause:
    """What happens between two parts."""

    until: asyncio.Event | None = None
    reached: asyncio.Event | None = None
    error: BaseException | None = None

    async def happen(self) -> None:
        if self.reached:
            self.reached.set()
        if self.until:
            await self.until.wait()
        if self.error:
            raise self.error


Step: TypeAlias = Part | Pause


def say(text: str, chunks: int = 1) -> Part:
    """Answer with text, streamed in so many deltas."""
    return Part("handle_text_delta", [{"content": chunk} for chunk in _split(text, chunks)])


def think(text: str, chunks: int = 1) -> Part:
    """Show reasoning, streamed in so many deltas."""
    return Part("handle_thinking_delta", [{"content": chunk} for chunk in _split(text, chunks)])


def call(
    _name: str, /, *, _id: str = "", _json: str | None = None, _chunks: int = 2, **arguments: Any
) -> Part:
    """Call a tool. `_id` fixes the call's id; `_json` replaces the arguments by raw, even broken, text."""
    start = {"tool_name": _name, "tool_call_id": _id or f"call-{uuid4().hex}"}
    chunks = _split(json.dumps(arguments) if _json is None else _json, _chunks)
    return Part("handle_tool_call_delta_events", [start, *({"args": chunk} for chunk in chunks)])


def fail(error: BaseException) -> Pause:
    """Raise: a refused request when no part was streamed before, else a stream that breaks off."""
    return Pause(error=error)


def wait(event: asyncio.Event, reached: asyncio.Event | None = None) -> Pause:
    """Hold the stream until the event is set; set `reached` as soon as the model has got here."""
    return Pause(until=event, reached=reached)


def _split(text: str, count: int) -> list[str]:
    count = max(1, min(count, len(text)))
    return [text[len(text) * i // count : len(text) * (i + 1) // count] for i in range(count)]


@dataclass(frozen=True)
class Response:
    """An answer with the details that a list of steps can't say."""

    steps: Sequence[Step] = ()
    finish_reason: m.FinishReason | None = None
    usage: RequestUsage = field(
        default_factory=lambda: RequestUsage(input_tokens=10, output_tokens=5)
    )


@dataclass(frozen=True)
class Request:
    """What the model was asked."""

    messages: list[m.ModelMessage]
    tools: dict[str, ToolDefinition]
    instructions: str
    settings: ModelSettings

    @property
    def prompt(self) -> str:
        """The newest text of the user."""
        parts = [
            part
            for message in self.messages
            for part in message.parts
            if isinstance(part, m.UserPromptPart)
        ]
        content = parts[-1].content if parts else ""
        return (
            content
            if isinstance(content, str)
            else " ".join(item for item in content if isinstance(item, str))
        )

    @property
    def tool_results(self) -> dict[str, Any]:
        """The results in the last message, by tool name, as JSON values."""
        parts = [part for part in self.messages[-1].parts if isinstance(part, m.ToolReturnPart)]
        return {part.tool_name: to_jsonable_python(part.content) for part in parts}


class ScriptedModel(Model[Any]):
    """Plays a script, one answer for each request to the model, and keeps what it was asked in `requests`."""

    model_name = system = "scripted"
    hands_on_addresses = True

    def __init__(self, script: Iterable[Step | Sequence[Step] | Response]) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self._script = iter(script)

    async def request(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> m.ModelResponse:
        async with self.request_stream(
            messages, model_settings, model_request_parameters
        ) as stream:
            async for _ in stream:
                pass
            return stream.get()

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[m.ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        tools = {tool.name: tool for tool in parameters.declared_function_tools}
        instructions = m.InstructionPart.join(parameters.instruction_parts or []) or ""
        self.requests.append(
            Request(list(messages), tools, instructions, settings or ModelSettings())
        )
        stream = _ScriptedStream(parameters, self._next_answer())
        await stream.open()
        yield stream

    def _next_answer(self) -> Response:
        answer = next(self._script, None)
        if answer is None:
            raise AssertionError(
                f"The model got request number {len(self.requests)}: add an answer to its script."
            )
        return (
            answer
            if isinstance(answer, Response)
            else Response([answer] if isinstance(answer, Step) else answer)
        )


@dataclass
class _ScriptedStream(StreamedResponse):
    answer: Response
    model_name: str = "scripted"
    provider_name: None = None
    provider_url: None = None
    timestamp: datetime = datetime.min

    async def open(self) -> None:
        """Do what comes before the first part: a provider answers with an HTTP status first."""
        self.timestamp = datetime.now(UTC)
        # A copy: the run adds to it, and a script may repeat an answer.
        self._usage, self.finish_reason = replace(self.answer.usage), self.answer.finish_reason
        self._steps = list(self.answer.steps)
        while self._steps and isinstance(first := self._steps[0], Pause):
            del self._steps[0]
            await first.happen()

    async def _get_event_iterator(self) -> AsyncIterator[m.ModelResponseStreamEvent]:
        for key, step in enumerate(self._steps):
            if isinstance(step, Pause):
                await step.happen()
                continue
            for delta in step.deltas:
                for event in getattr(self._parts_manager, step.method)(vendor_part_id=key, **delta):
                    yield event

    async def close_stream(self) -> None:
        """Do nothing: there is no connection to close."""
