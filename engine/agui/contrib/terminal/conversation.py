"""The client's copy of a thread. It follows the events, and is sent whole with each run.

This project's server reads only the new messages, but other servers know only what they are sent.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any
from uuid import uuid4

import jsonpatch
import jsonpointer

from agui.contrib.terminal.waiting import Waiting
from agui.protocol.types import BaseEvent, EventType, RunAgentInput

PROTOCOL_VERSION = "1.0"
# After these errors, the thread waits for the same answers as before.
ANSWER_AGAIN = ("invalid_resume", "interrupt_pending")


class Conversation:
    """One thread, with its messages in AG-UI's JSON."""

    def __init__(self, thread_id: str | None = None) -> None:
        self.thread_id = thread_id or str(uuid4())
        self.messages: list[dict[str, Any]] = []
        self.state: Any = {}
        self.interrupts: list[dict[str, Any]] = []
        """The questions that the thread waits for, according to the server."""
        self.run_id = ""
        """The last run whose events were read."""
        self.waiting = Waiting()
        self.read: set[str] = set()
        """The ids of messages that were delivered to a run."""

    @classmethod
    def from_server(cls, thread: dict[str, Any]) -> "Conversation":
        """Take up a thread as GET threads/<id>/ answers it."""
        conversation = cls(thread["thread_id"])
        conversation.messages = _without("activity", thread["messages"])
        conversation.state = thread.get("state") or {}
        conversation.interrupts = thread.get("pending") or []
        return conversation

    def say(self, text: str) -> None:
        self._message("user", str(uuid4()))["content"] = text

    def add_result(self, call_id: str, content: str) -> None:
        message = self._message("tool", str(uuid4()))
        message.update(toolCallId=call_id, content=content)

    def next_run(
        self, tools: Sequence[dict[str, Any]] = (), resume: Sequence[dict[str, Any]] | None = None
    ) -> RunAgentInput:
        """Return what to send now. `resume` has the answers to all that the thread waits for."""
        body: dict[str, Any] = {
            "threadId": self.thread_id,
            "runId": str(uuid4()),
            "protocolVersion": PROTOCOL_VERSION,
            "messages": _without("reasoning", self.messages),
            "state": self.state,
            "tools": list(tools),
            "context": [],
            "forwardedProps": {},
        }
        if resume:
            body["resume"] = resume
        return RunAgentInput.model_validate(body)

    def call(self, call_id: str | None) -> dict[str, Any] | None:
        """Return a tool call, {"id", "function": {"name", "arguments"}}."""
        for call in self._calls():
            if call["id"] == call_id:
                return call
        return None

    def open_calls(self, names: Collection[str]) -> list[dict[str, Any]]:
        """List the calls of these tools that have no result, and wait for no approval."""
        settled = {interrupt.get("toolCallId") for interrupt in self.interrupts}
        for message in self.messages:
            if message["role"] == "tool":
                settled.add(message.get("toolCallId"))
        calls = []
        for call in self._calls():
            if call["function"]["name"] in names and call["id"] not in settled:
                calls.append(call)
        return calls

    def _calls(self) -> Iterator[dict[str, Any]]:
        for message in self.messages:
            yield from message.get("toolCalls") or ()

    def _message(self, role: str, message_id: str) -> dict[str, Any]:
        """Find a message, or add it."""
        for message in reversed(self.messages):
            if message["id"] == message_id and message["role"] == role:
                return message
        self.messages.append({"id": message_id, "role": role})
        return self.messages[-1]

    def apply(self, event: BaseEvent) -> None:
        """Learn from an event."""
        data: Any = event
        match event.type:
            case EventType.RUN_STARTED:
                self.run_id = data.run_id
            case EventType.CUSTOM:
                self._apply_custom(data.name, data.value)
            case EventType.TEXT_MESSAGE_START:
                message = self._message(data.role or "assistant", data.message_id)
                message.setdefault("content", "")
            case EventType.TEXT_MESSAGE_CONTENT:
                messages = reversed(self.messages)
                message = next(message for message in messages if message["id"] == data.message_id)
                message["content"] = message.get("content", "") + data.delta
            case EventType.TOOL_CALL_START:
                function = {"name": data.tool_call_name, "arguments": ""}
                owner = self._message("assistant", data.parent_message_id or data.tool_call_id)
                calls = owner.setdefault("toolCalls", [])
                calls.append({"id": data.tool_call_id, "type": "function", "function": function})
            case EventType.TOOL_CALL_ARGS if call := self.call(data.tool_call_id):
                call["function"]["arguments"] += data.delta
            case EventType.TOOL_CALL_RESULT:
                content = {"toolCallId": data.tool_call_id, "content": as_json(data.content)}
                self._message("tool", data.message_id).update(content)
            case EventType.STATE_SNAPSHOT:
                self.state = data.snapshot
            case EventType.STATE_DELTA:
                self.state = patched(self.state, data.delta)
            case EventType.MESSAGES_SNAPSHOT:
                self.messages = _without("activity", as_json(data.messages))
            case EventType.RUN_FINISHED:
                self.interrupts = as_json(getattr(data.outcome, "interrupts", None) or [])
            case EventType.RUN_ERROR if data.code not in ANSWER_AGAIN:
                self.interrupts = []

    def _apply_custom(self, name: str, value: Any) -> None:
        """Learn what becomes of messages that were sent while the agent works."""
        match name, value:
            case (
                "message_queued" | "message_changed",
                {"message": {"id": str() as key} as message, "mode": mode, "position": int(place)},
            ) if key not in self.read:
                self.waiting.put(message, mode, place)
            case "message_removed", {"messageId": key}:
                self.waiting.remove(key)
            case "message_delivered", {"message": {"id": str() as key, "role": "user"} as message}:
                self.waiting.remove(key)
                self.read.add(key)
                self._message("user", key).update(message)


def _without(role: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [message for message in messages if message["role"] != role]


def as_json(value: Any) -> Any:
    """Return a value of an event in AG-UI's JSON."""
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    return value


def patched(value: Any, delta: Any) -> Any:
    """Apply a JSON Patch. Ignore one that does not fit, as AG-UI's own client does."""
    try:
        return jsonpatch.apply_patch(value, as_json(delta))
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException):
        return value
