"""What the client knows of a thread: it learns from events, and sends all of it with each run.

Servers differ: this project's reads only what is new of the messages, others know nothing but what
they are sent.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import uuid4

import jsonpatch
import jsonpointer

from agui.protocol.types import BaseEvent, EventType, RunAgentInput

PROTOCOL_VERSION = "1.0"
# After these errors the same questions are open.
ANSWER_AGAIN = ("invalid_resume", "interrupt_pending")


class Conversation:
    """One thread, with its messages as AG-UI has them in JSON."""

    def __init__(self, thread_id: str | None = None) -> None:
        self.thread_id = thread_id or str(uuid4())
        self.messages: list[dict[str, Any]] = []
        self.state: Any = {}
        self.interrupts: list[dict[str, Any]] = []
        """What the thread waits for, as the server told it."""

    @classmethod
    def of(cls, thread: dict[str, Any]) -> "Conversation":
        """Take up a thread of the server's, as GET threads/<id>/ tells it."""
        conversation = cls(thread["thread_id"])
        conversation.messages = [
            message for message in thread["messages"] if message["role"] != "activity"
        ]
        conversation.state = thread.get("state") or {}
        conversation.interrupts = thread.get("pending") or []
        return conversation

    def say(self, text: str) -> None:
        self.messages.append({"id": str(uuid4()), "role": "user", "content": text})

    def add_result(self, call_id: str, content: str) -> None:
        self.messages.append(
            {"id": str(uuid4()), "role": "tool", "toolCallId": call_id, "content": content}
        )

    def next_run(
        self, tools: Sequence[dict[str, Any]] = (), resume: Sequence[dict[str, Any]] | None = None
    ) -> RunAgentInput:
        """What to send now: all that was said, and the answers to all that the thread waits for."""
        body = {
            "threadId": self.thread_id,
            "runId": str(uuid4()),
            "protocolVersion": PROTOCOL_VERSION,
            "messages": [message for message in self.messages if message["role"] != "reasoning"],
            "state": self.state,
            "tools": list(tools),
            "context": [],
            "forwardedProps": {},
        }
        return RunAgentInput.model_validate({**body, "resume": resume} if resume else body)

    def call(self, call_id: str | None) -> dict[str, Any] | None:
        """A tool call, {"id", "function": {"name", "arguments"}}."""
        return next((call for call in self._calls() if call["id"] == call_id), None)

    def open_calls(self, names: Iterable[str]) -> list[dict[str, Any]]:
        """The calls of these tools that have no result yet."""
        answered = {
            message.get("toolCallId") for message in self.messages if message["role"] == "tool"
        }
        waiting = {one.get("toolCallId") for one in self.interrupts}
        known = set(names)
        calls = [call for call in self._calls() if call["function"]["name"] in known]
        return [call for call in calls if call["id"] not in answered | waiting]

    def _calls(self) -> list[dict[str, Any]]:
        return [call for message in self.messages for call in message.get("toolCalls") or ()]

    def _message(self, role: str, message_id: str) -> dict[str, Any]:
        """Find a message, or begin it."""
        for message in reversed(self.messages):
            if message["id"] == message_id and message["role"] == role:
                return message
        self.messages.append({"id": message_id, "role": role})
        return self.messages[-1]

    def apply(self, event: BaseEvent) -> None:
        """Learn from an event; of most there is nothing to keep."""
        told: Any = event
        match event.type:
            case EventType.TEXT_MESSAGE_START:
                self._message(told.role or "assistant", told.message_id).setdefault("content", "")
            case EventType.TEXT_MESSAGE_CONTENT:
                message = next(
                    one for one in reversed(self.messages) if one["id"] == told.message_id
                )
                message["content"] = message.get("content", "") + told.delta
            case EventType.TOOL_CALL_START:
                function = {"name": told.tool_call_name, "arguments": ""}
                owner = self._message("assistant", told.parent_message_id or told.tool_call_id)
                calls = owner.setdefault("toolCalls", [])
                calls.append({"id": told.tool_call_id, "type": "function", "function": function})
            case EventType.TOOL_CALL_ARGS if call := self.call(told.tool_call_id):
                call["function"]["arguments"] += told.delta
            case EventType.TOOL_CALL_RESULT:
                content = {"toolCallId": told.tool_call_id, "content": as_json(told.content)}
                self._message("tool", told.message_id).update(content)
            case EventType.STATE_SNAPSHOT:
                self.state = told.snapshot
            case EventType.STATE_DELTA:
                self.state = patched(self.state, told.delta)
            case EventType.MESSAGES_SNAPSHOT:
                self.messages = [
                    message for message in as_json(told.messages) if message["role"] != "activity"
                ]
            case EventType.RUN_FINISHED:
                self.interrupts = as_json(getattr(told.outcome, "interrupts", None) or [])
            case EventType.RUN_ERROR if told.code not in ANSWER_AGAIN:
                self.interrupts = []


def as_json(value: Any) -> Any:
    """A value of an event as AG-UI writes it."""
    if isinstance(value, list):
        return [as_json(item) for item in value]
    return value.model_dump(mode="json", by_alias=True) if hasattr(value, "model_dump") else value


def patched(value: Any, delta: Any) -> Any:
    """Apply a JSON Patch. One that does not fit is lost, as with AG-UI's own client."""
    try:
        return jsonpatch.apply_patch(value, as_json(delta))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
        return value
