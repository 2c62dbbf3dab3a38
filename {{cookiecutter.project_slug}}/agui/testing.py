"""A scripted language model and readers of the event stream: what tests of an agent need.

    model = ScriptedModel([
        call("add_task", title="Milk"),         # answers the model's first request
        [think("Done?"), say("Added it.")],     # answers the second, which holds the tool's result
    ])
    assert event_types(await collect(response))[-1] == "RUN_FINISHED"
    assert model.requests[1].tool_results == {"add_task": {"id": 1}}

An answer is a step, a list of steps, or a Response. A script may be endless: `itertools.repeat(say("Hi"))`.
`Chat` is all of it at once: a user at the endpoint, with a script in the place of the model.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import AsyncClient
from django.urls import resolve
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


def call(_name: str, /, *, _id: str = "", _json: str | None = None, _chunks: int = 2, **arguments: Any) -> Part:
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
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(input_tokens=10, output_tokens=5))


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
        parts = [part for message in self.messages for part in message.parts if isinstance(part, m.UserPromptPart)]
        content = parts[-1].content if parts else ""
        return content if isinstance(content, str) else " ".join(item for item in content if isinstance(item, str))

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
        async with self.request_stream(messages, model_settings, model_request_parameters) as stream:
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
        self.requests.append(Request(list(messages), tools, instructions, settings or ModelSettings()))
        stream = _ScriptedStream(parameters, self._next_answer())
        await stream.open()
        yield stream

    def _next_answer(self) -> Response:
        answer = next(self._script, None)
        if answer is None:
            raise AssertionError(f"The model got request number {len(self.requests)}: add an answer to its script.")
        return answer if isinstance(answer, Response) else Response([answer] if isinstance(answer, Step) else answer)


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


class Frame(NamedTuple):
    """One event as it was sent, with the id that a client resumes from."""

    id: str
    event: dict[str, Any]


async def read_frames(response: HttpResponseBase) -> AsyncGenerator[Frame]:
    """Read a stream as it arrives, without its comments. Use `aclosing` when leaving early."""
    if not isinstance(response, StreamingHttpResponse):
        raise AssertionError(f"Not a stream but {response.status_code}: {getattr(response, 'content', b'')!r}")
    received = b""
    async with aclosing(aiter(response)) as body:  # type: ignore[type-var]
        async for chunk in body:
            *frames, received = (received + chunk).split(b"\n\n")
            for frame in frames:
                lines = (line.partition(":") for line in frame.decode().split("\n"))
                fields = {name: value.removeprefix(" ") for name, _, value in lines}
                if "data" in fields:
                    yield Frame(fields.get("id", ""), json.loads(fields["data"]))


async def collect(response: HttpResponseBase) -> list[dict[str, Any]]:
    """Read a stream to its end, as a list of events."""
    async with aclosing(read_frames(response)) as frames:
        return [frame.event async for frame in frames]


def event_types(events: Iterable[dict[str, Any]]) -> list[str]:
    return [event["type"] for event in events]


class ToolUse(NamedTuple):
    """A tool call as a client sees it."""

    name: str
    arguments: Any
    result: Any  # A text, an object or a list; None while the call waits for somebody
    outcome: str | None  # 'success', 'failed' or 'denied'; None while it waits


def _value(content: str | None) -> Any:
    """Read an object or a list: a client is sent its JSON, and texts as they are."""
    with suppress(ValueError):
        return json.loads(content) if content and content[0] in "{[" else content
    return content


@dataclass(frozen=True)
class Answer:
    """What a client was sent in one run."""

    events: list[dict[str, Any]]

    @property
    def text(self) -> str:
        """What the agent said."""
        texts: dict[str, str] = {}
        for event in self.events:
            if event["type"] == "TEXT_MESSAGE_CONTENT":
                texts[event["messageId"]] = texts.get(event["messageId"], "") + event["delta"]
        return "\n\n".join(texts.values())

    @property
    def calls(self) -> list[ToolUse]:
        """The tool calls that the agent began, in order."""
        return [self._call(event) for event in self.events if event["type"] == "TOOL_CALL_START"]

    def _call(self, start: dict[str, Any]) -> ToolUse:
        own = [event for event in self.events if event.get("toolCallId") == start["toolCallId"]]
        arguments = "".join(event["delta"] for event in own if event["type"] == "TOOL_CALL_ARGS")
        end: dict[str, Any] = next((event for event in own if event["type"] == "TOOL_CALL_RESULT"), {})
        outcome = end.get("metadata", {}).get("outcome", "success") if end else None
        return ToolUse(start["toolCallName"], json.loads(arguments or "{}"), _value(end.get("content")), outcome)

    @property
    def results(self) -> list[Any]:
        """What tools answered: first calls that an approval let go on, then the others in the order of the calls."""
        begun = [event["toolCallId"] for event in self.events if event["type"] == "TOOL_CALL_START"]
        told = {event["toolCallId"]: event for event in self.events if event["type"] == "TOOL_CALL_RESULT"}
        order = [*(key for key in told if key not in begun), *(key for key in begun if key in told)]
        return [_value(told[key]["content"]) for key in order]

    @property
    def interrupts(self) -> list[dict[str, Any]]:
        """What waits for the user: approvals and questions."""
        return list(self.events[-1].get("outcome", {}).get("interrupts", []))

    @property
    def error(self) -> str | None:
        """The code with which the run failed."""
        return self.events[-1].get("code")

    @property
    def activities(self) -> dict[str, Any]:
        """What tools have shown, by its type, as it was shown first."""
        shown = (event for event in reversed(self.events) if event["type"] == "ACTIVITY_SNAPSHOT")
        return {event["activityType"]: event["content"] for event in shown}


class Chat:
    """A signed-in user at the agent's endpoint, and a script in the place of the model.

        chat = Chat(ada, call("delete_finished_tasks"), say("Deleted."))
        answer = await chat.send("Tidy up")
        assert answer.interrupts[0]["message"].startswith("Delete all")
        answer = await chat.approve()
        assert answer.text == "Deleted."

    What the model was asked is in `chat.model.requests`; without a script, the agent's own model answers.
    A test needs `@pytest.mark.django_db(transaction=True)`.
    """

    def __init__(
        self, user: Any, *script: Any, model: Model | None = None, url: str = "/agent/", thread: str = ""
    ) -> None:
        self.user, self.url, self.thread = user, url, thread or uuid4().hex
        self.model: Any = model or (ScriptedModel(script) if script else None)
        self.http = AsyncClient()
        self.answer = Answer([{}])

    async def send(self, text: str = "", **body: Any) -> Answer:
        """Say something; `body` has other fields of AG-UI's RunAgentInput, such as `state` and `tools`."""
        self.answer = Answer(await collect(await self.post(text, **body)))
        return self.answer

    async def post(self, text: str = "", **body: Any) -> Any:
        """Do the same for the response alone: one that refuses the run has a status, and `.json()`."""
        if self.user is not None and not self.http.cookies:
            await self.http.aforce_login(self.user)
        messages = [{"id": uuid4().hex, "role": "user", "content": text}] if text else []
        told = {"threadId": self.thread, "runId": uuid4().hex, "protocolVersion": "1.0", "messages": messages, **body}
        view: Any = resolve(self.url).func
        # The run begins before the response does, and keeps the model.
        with view.agent.override(model=self.model) if self.model else nullcontext():
            return await self.http.post(self.url, json.dumps(told), content_type="application/json")

    async def approve(self, **edited: Any) -> Answer:
        """Agree to all that waits; `edited` takes the place of the model's arguments."""
        return await self.resume({"approved": True, **({"editedArgs": edited} if edited else {})})

    async def deny(self, reason: str = "") -> Answer:
        """Refuse all that waits."""
        return await self.resume({"approved": False, **({"reason": reason} if reason else {})})

    async def resume(self, payload: Any) -> Answer:
        """Answer all that waits with the same words: an approval's, or what a question asks for."""
        ids = [interrupt["id"] for interrupt in self.answer.interrupts]
        return await self.send(resume=[{"interruptId": one, "status": "resolved", "payload": payload} for one in ids])
