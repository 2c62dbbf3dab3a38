"""A user at the endpoint, and readers of the event stream."""

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import uuid4

from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import AsyncClient
from django.urls import resolve
from pydantic_ai.models import Model

from agui.testing.script import ScriptedModel


class Frame(NamedTuple):
    """One event as it was sent, with the id that a client resumes from."""

    id: str
    event: dict[str, Any]


async def read_frames(response: HttpResponseBase) -> AsyncGenerator[Frame]:
    """Read a stream as it arrives, without its comments. Use `aclosing` when leaving early."""
    if not isinstance(response, StreamingHttpResponse):
        raise AssertionError(
            f"Not a stream but {response.status_code}: {getattr(response, 'content', b'')!r}"
        )
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
        end: dict[str, Any] = next(
            (event for event in own if event["type"] == "TOOL_CALL_RESULT"), {}
        )
        outcome = end.get("metadata", {}).get("outcome", "success") if end else None
        return ToolUse(
            start["toolCallName"],
            json.loads(arguments or "{}"),
            _value(end.get("content")),
            outcome,
        )

    @property
    def results(self) -> list[Any]:
        """What tools answered: first calls that an approval let go on, then the others in the order of the calls."""
        begun = [event["toolCallId"] for event in self.events if event["type"] == "TOOL_CALL_START"]
        told = {
            event["toolCallId"]: event
            for event in self.events
            if event["type"] == "TOOL_CALL_RESULT"
        }
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

    What the model was asked is in `chat.model.requests`; without a script, the agent's own model
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
        told = {
            "threadId": self.thread,
            "runId": uuid4().hex,
            "protocolVersion": "1.0",
            "messages": messages,
            **body,
        }
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
        return await self.send(
            resume=[{"interruptId": one, "status": "resolved", "payload": payload} for one in ids]
        )
