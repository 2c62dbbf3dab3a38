"""A language model that answers as a script says."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import pairwise
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
    """A part of an answer: its deltas, and the method of the parts manager that takes them."""

    method: str
    deltas: Sequence[dict[str, str]]


@dataclass(frozen=True)
class Pause:
    """An event between two parts. `wait` and `fail` make one."""

    until: asyncio.Event | None = None
    """The stream goes on when this is set."""
    reached: asyncio.Event | None = None
    """Set as soon as the model gets here."""
    error: BaseException | None = None
    """Raised here."""

    async def happen(self) -> None:
        if self.reached:
            self.reached.set()
        if self.until:
            await self.until.wait()
        if self.error:
            raise self.error


Step: TypeAlias = Part | Pause


def say(text: str, chunks: int = 1) -> Part:
    """Answer with a text, streamed in `chunks` deltas."""
    return Part("handle_text_delta", _deltas("content", text, chunks))


def think(text: str, chunks: int = 1) -> Part:
    """Show reasoning, streamed in `chunks` deltas."""
    return Part("handle_thinking_delta", _deltas("content", text, chunks))


def call(
    _name: str, /, *, _id: str = "", _json: str | None = None, _chunks: int = 2, **arguments: Any
) -> Part:
    """Call a tool.

    `_id` fixes the call's id; `_json` replaces the arguments by raw, even broken, text.
    """
    start = {"tool_name": _name, "tool_call_id": _id or f"call-{uuid4().hex}"}
    text = json.dumps(arguments) if _json is None else _json
    return Part("handle_tool_call_delta_events", [start, *_deltas("args", text, _chunks)])


def fail(error: BaseException) -> Pause:
    """Raise an error. Before the first part, it refuses the request; later it breaks the stream."""
    return Pause(error=error)


def wait(event: asyncio.Event, reached: asyncio.Event | None = None) -> Pause:
    """Hold the stream until the event is set. Set `reached` as soon as the model gets here."""
    return Pause(until=event, reached=reached)


def _deltas(field_name: str, text: str, count: int) -> list[dict[str, str]]:
    """Split a text into `count` deltas of about the same length."""
    count = max(1, min(count, len(text)))
    bounds = [len(text) * i // count for i in range(count + 1)]
    return [{field_name: text[begin:end]} for begin, end in pairwise(bounds)]


def _some_usage() -> RequestUsage:
    return RequestUsage(input_tokens=10, output_tokens=5)


@dataclass(frozen=True)
class Response:
    """An answer with details that a list of steps doesn't have."""

    steps: Sequence[Step] = ()
    finish_reason: m.FinishReason | None = None
    usage: RequestUsage = field(default_factory=_some_usage)


@dataclass(frozen=True)
class Request:
    """One request to the model."""

    messages: list[m.ModelMessage]
    tools: dict[str, ToolDefinition]
    instructions: str
    settings: ModelSettings

    @property
    def prompt(self) -> str:
        """The newest text of the user."""
        content: str | Sequence[m.UserContent] = ""
        for message in self.messages:
            for part in message.parts:
                if isinstance(part, m.UserPromptPart):
                    content = part.content
        if isinstance(content, str):
            return content
        return " ".join(item for item in content if isinstance(item, str))

    @property
    def tool_results(self) -> dict[str, Any]:
        """The results in the last message, by tool name, as JSON values."""
        results = {}
        for part in self.messages[-1].parts:
            if isinstance(part, m.ToolReturnPart):
                results[part.tool_name] = to_jsonable_python(part.content)
        return results


class ScriptedModel(Model[Any]):
    """Plays a script: one answer for each request. It keeps the requests in `requests`."""

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
        if isinstance(answer, Response):
            return answer
        if isinstance(answer, Step):
            return Response([answer])
        return Response(answer)


@dataclass
class _ScriptedStream(StreamedResponse):
    answer: Response
    model_name: str = "scripted"
    provider_name: None = None
    provider_url: None = None
    timestamp: datetime = datetime.min

    async def open(self) -> None:
        """Execute the pauses before the first part: a provider then answers with a status."""
        self.timestamp = datetime.now(UTC)
        # The run adds to its usage, and a script may repeat an answer, so this is a copy.
        self._usage = replace(self.answer.usage)
        self.finish_reason = self.answer.finish_reason
        self._steps = deque(self.answer.steps)
        while self._steps:
            first = self._steps[0]
            if not isinstance(first, Pause):
                return
            self._steps.popleft()
            await first.happen()

    async def _get_event_iterator(self) -> AsyncIterator[m.ModelResponseStreamEvent]:
        for key, step in enumerate(self._steps):
            if isinstance(step, Pause):
                await step.happen()
                continue
            add_delta = getattr(self._parts_manager, step.method)
            for delta in step.deltas:
                for event in add_delta(vendor_part_id=key, **delta):
                    yield event

    async def close_stream(self) -> None:
        """Do nothing: there is no connection to close."""
