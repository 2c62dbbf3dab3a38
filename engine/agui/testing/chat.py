"""A user at the endpoint, and readers of the event stream."""

import json
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import AsyncClient
from django.urls import resolve
from pydantic_ai.models import Model

from agui.testing.script import ScriptedModel

Event = dict[str, Any]
Result = str | dict[str, Any] | list[Any]
"""The result of a tool as a client gets it. Numbers and truth values come as their text."""


class Frame(NamedTuple):
    """One event as it was sent, with the id from which a client resumes."""

    id: str
    event: Event


async def read_frames(response: HttpResponseBase) -> AsyncGenerator[Frame]:
    """Read a stream as it arrives, without its comments. Use `aclosing` to leave early."""
    if not isinstance(response, StreamingHttpResponse):
        content = getattr(response, "content", b"")
        raise AssertionError(f"Not a stream but {response.status_code}: {content!r}")
    received = b""
    async with aclosing(aiter(response)) as body:  # type: ignore[type-var]
        async for chunk in body:
            *frames, received = (received + chunk).split(b"\n\n")
            for frame in frames:
                fields = _fields(frame.decode())
                if "data" in fields:
                    yield Frame(fields.get("id", ""), json.loads(fields["data"]))


def _fields(frame: str) -> dict[str, str]:
    fields = {}
    for line in frame.split("\n"):
        name, _, value = line.partition(":")
        fields[name] = value.removeprefix(" ")
    return fields


async def collect(response: HttpResponseBase) -> list[Event]:
    """Read a stream to its end. Return its events."""
    async with aclosing(read_frames(response)) as frames:
        return [frame.event async for frame in frames]


def event_types(events: Iterable[Event]) -> list[str]:
    """List the types of events, in order."""
    return [event["type"] for event in events]


class ToolUse(NamedTuple):
    """A tool call as a client sees it."""

    name: str
    arguments: Any
    result: Result | None
    """A text, an object or a list; None while the call waits for an answer."""
    outcome: str | None
    """"success", "failed" or "denied"; None while the call waits for an answer."""


def _value(content: str) -> Result:
    """Return the value of a result: clients get objects and lists as JSON, and texts unchanged."""
    if content and content[0] in "{[":
        with suppress(ValueError):
            value: Result = json.loads(content)
            return value
    return content


@dataclass(frozen=True)
class Answer:
    """The events that a client gets in one run."""

    events: list[Event]

    @property
    def text(self) -> str:
        """The text that the agent said."""
        texts: dict[str, str] = {}
        for event in self._of_type("TEXT_MESSAGE_CONTENT"):
            message_id = event["messageId"]
            texts[message_id] = texts.get(message_id, "") + event["delta"]
        return "\n\n".join(texts.values())

    @property
    def calls(self) -> list[ToolUse]:
        """The tool calls that the agent began, in order."""
        return [self._call(event) for event in self._of_type("TOOL_CALL_START")]

    def _call(self, start: Event) -> ToolUse:
        arguments = ""
        result: Result | None = None
        outcome = None
        for event in self.events:
            if event.get("toolCallId") != start["toolCallId"]:
                continue
            if event["type"] == "TOOL_CALL_ARGS":
                arguments += event["delta"]
            elif event["type"] == "TOOL_CALL_RESULT" and outcome is None:
                result = _value(event["content"])
                outcome = event.get("metadata", {}).get("outcome", "success")
        return ToolUse(start["toolCallName"], json.loads(arguments or "{}"), result, outcome)

    @property
    def results(self) -> list[Result]:
        """The results of tools, in the order of the calls: texts, objects and lists.

        Results of earlier calls, which an approval has let go on, come first.
        """
        begun = [event["toolCallId"] for event in self._of_type("TOOL_CALL_START")]
        results: dict[str, Result] = {}
        for event in self._of_type("TOOL_CALL_RESULT"):
            results[event["toolCallId"]] = _value(event["content"])
        earlier = [call_id for call_id in results if call_id not in begun]
        return [results[call_id] for call_id in (*earlier, *begun) if call_id in results]

    @property
    def interrupts(self) -> list[Event]:
        """The approvals and questions that wait for the user."""
        outcome = self.events[-1].get("outcome", {})
        return list(outcome.get("interrupts", []))

    @property
    def error(self) -> str | None:
        """The code with which the run failed."""
        return self.events[-1].get("code")

    @property
    def activities(self) -> dict[str, Any]:
        """The first content of each type of activity that tools have shown."""
        contents: dict[str, Any] = {}
        for event in self._of_type("ACTIVITY_SNAPSHOT"):
            contents.setdefault(event["activityType"], event["content"])
        return contents

    def _of_type(self, event_type: str) -> Iterator[Event]:
        return (event for event in self.events if event["type"] == event_type)


class Chat:
    """A signed-in user at the agent's endpoint, with a script instead of the model.

        chat = Chat(ada, call("delete_finished_tasks"), say("Deleted."))
        answer = await chat.send("Tidy up")
        assert answer.interrupts[0]["message"].startswith("Delete all")
        answer = await chat.approve()
        assert answer.text == "Deleted."

    `chat.model.requests` has what the model was asked. Without a script, the agent's own model
    answers. A test needs `@pytest.mark.django_db(transaction=True)`.
    """

    def __init__(
        self,
        user: Any,
        *script: Any,
        model: Model | None = None,
        url: str = "/agent/",
        thread: str = "",
    ) -> None:
        self.user = user
        self.url = url
        self.thread = thread or uuid4().hex
        self.model: Any = model
        if script and not model:
            self.model = ScriptedModel(script)
        self.http = AsyncClient()
        self.answer = Answer([{}])

    async def send(self, text: str = "", **body: Any) -> Answer:
        """Send a message. `body` has other fields of RunAgentInput, such as `state` and `tools`."""
        self.answer = Answer(await collect(await self.post(text, **body)))
        return self.answer

    async def post(self, text: str = "", **body: Any) -> Any:
        """Send a message, and return the response: a refusal has a status, and `.json()`."""
        if self.user is not None and not self.http.cookies:
            await self.http.aforce_login(self.user)
        messages = []
        if text:
            messages.append({"id": uuid4().hex, "role": "user", "content": text})
        run_input = {
            "threadId": self.thread,
            "runId": uuid4().hex,
            "protocolVersion": "1.0",
            "messages": messages,
            **body,
        }
        data = json.dumps(run_input)
        view: Any = resolve(self.url).func
        # The run begins before the response does, and keeps the model.
        with view.agent.override(model=self.model) if self.model else nullcontext():
            return await self.http.post(self.url, data, content_type="application/json")

    async def approve(self, **edited: Any) -> Answer:
        """Approve all open interrupts. `edited` replaces the model's arguments."""
        if edited:
            return await self.resume({"approved": True, "editedArgs": edited})
        return await self.resume({"approved": True})

    async def deny(self, reason: str = "") -> Answer:
        """Deny all open interrupts."""
        if reason:
            return await self.resume({"approved": False, "reason": reason})
        return await self.resume({"approved": False})

    async def resume(self, payload: Any) -> Answer:
        """Answer all open interrupts with the same payload: an approval, or a question's answer."""
        resume = []
        for interrupt in self.answer.interrupts:
            entry = {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}
            resume.append(entry)
        return await self.send(resume=resume)
