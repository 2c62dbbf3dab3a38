"""Convert pydantic-ai's history to AG-UI's messages, and answers to `resume`.

Each request has the whole history, as with .NET's client. A server that keeps threads reads only
the new messages.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from ag_ui.core import (
    AssistantMessage,
    FunctionCall,
    Message,
    ReasoningMessage,
    ResumeEntry,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from pydantic_ai import messages as m
from pydantic_ai.messages import BaseToolCallPart, BaseToolReturnPart
from pydantic_ai.ui.ag_ui import AGUIAdapter

# The provider of this client's parts of a response, and the keys of their details.
PROVIDER = "ag-ui"
INTERRUPT = "interrupt"
MESSAGE_ID = "message_id"


def interrupt_of(part: Any) -> dict[str, Any] | None:
    """Return the interrupt, in AG-UI's JSON, that a call of a remote agent waits for.

    None for any other part.
    """
    if not isinstance(part, m.ToolCallPart) or part.provider_name != PROVIDER:
        return None
    return (part.provider_details or {}).get(INTERRUPT)


def is_result(part: Any) -> bool:
    """Return whether a part is the result of a call that was executed here."""
    if isinstance(part, m.RetryPromptPart):
        return part.tool_name is not None
    return isinstance(part, m.ToolReturnPart)


def parts_of(history: Sequence[m.ModelMessage]) -> Iterator[Any]:
    for message in history:
        yield from message.parts


def last_response(history: Sequence[m.ModelMessage]) -> m.ModelResponse | None:
    for message in reversed(history):
        if isinstance(message, m.ModelResponse):
            return message
    return None


def to_messages(
    history: Sequence[m.ModelMessage], thread_id: str, instructions: str = ""
) -> list[Message]:
    """Translate a history. The result of each call follows its message, whenever it came."""
    return list(_Outgoing(history, thread_id).messages(instructions))


class _Outgoing:
    def __init__(self, history: Sequence[m.ModelMessage], thread_id: str) -> None:
        self.history = history
        self.thread_id = thread_id
        # Some providers use the id of a call again, so it may have several results.
        self.results: dict[str, deque[ToolMessage]] = defaultdict(deque)
        asked: set[str] = set()
        for part in parts_of(history):
            if interrupt_of(part):
                asked.add(part.tool_call_id)
                continue
            is_native = isinstance(part, m.NativeToolReturnPart)
            if is_native or (is_result(part) and part.tool_call_id not in asked):
                self.results[part.tool_call_id].append(_tool_message(part))

    def messages(self, instructions: str) -> Iterator[Message]:
        if instructions:
            yield SystemMessage(id=self._id("instructions"), content=instructions)
        for message in self.history:
            if isinstance(message, m.ModelRequest):
                yield from self._request(message)
            else:
                yield from self._response(message)

    def _id(self, name: str) -> str:
        """Return an id that is the same each time this history is sent."""
        return str(uuid5(NAMESPACE_URL, f"{self.thread_id}/{name}"))

    def _part_id(self, dated: Any, index: int) -> str:
        """Return the id of a part, by the time of the part or of its message."""
        return self._id(f"{dated.timestamp}/{index}")

    def _request(self, message: m.ModelRequest) -> Iterator[Message]:
        for index, part in enumerate(message.parts):
            if isinstance(part, m.SystemPromptPart):
                yield SystemMessage(id=self._part_id(part, index), content=part.content)
            elif isinstance(part, m.UserPromptPart):
                yield self._user(part, self._part_id(part, index))
            elif isinstance(part, m.RetryPromptPart) and part.tool_name is None:
                yield UserMessage(id=self._part_id(part, index), content=part.model_response())

    def _user(self, part: m.UserPromptPart, message_id: str) -> Message:
        dumped = AGUIAdapter.dump_messages([m.ModelRequest(parts=[part])])
        content = dumped[0].content if dumped else ""
        return UserMessage(id=message_id, content=content)

    def _response(self, message: m.ModelResponse) -> Iterator[Message]:
        current: AssistantMessage | None = None
        for index, part in enumerate(message.parts):
            if isinstance(part, m.ThinkingPart):
                yield from self._finished(current)
                current = None
                signature = part.signature if part.provider_name == PROVIDER else None
                yield ReasoningMessage(
                    id=part.id or self._part_id(message, index),
                    content=part.content,
                    encrypted_value=signature,
                )
            elif isinstance(part, m.TextPart):
                yield from self._finished(current)
                message_id = part.id or self._part_id(message, index)
                current = AssistantMessage(id=message_id, content=part.content)
            elif isinstance(part, BaseToolCallPart) and not _is_question_alone(part):
                current = current or AssistantMessage(id=self._part_id(message, index))
                current.tool_calls = [*(current.tool_calls or ()), _tool_call(part)]
        yield from self._finished(current)

    def _finished(self, message: AssistantMessage | None) -> Iterator[Message]:
        """Yield a message with the results of its calls."""
        if message is None:
            return
        yield message
        for call in message.tool_calls or ():
            if self.results[call.id]:
                yield self.results[call.id].popleft()


def _is_question_alone(part: BaseToolCallPart) -> bool:
    """Return whether a call only stands for an interrupt, and the server knows no such call."""
    interrupt = interrupt_of(part)
    return interrupt is not None and interrupt.get("toolCallId") != part.tool_call_id


def _tool_call(part: BaseToolCallPart) -> ToolCall:
    return ToolCall(
        id=part.tool_call_id,
        function=FunctionCall(name=part.tool_name, arguments=part.args_as_json_str()),
    )


def _tool_message(part: Any) -> ToolMessage:
    if isinstance(part, m.RetryPromptPart):
        content = part.model_response()
        has_failed = True
    else:
        content = part.model_response_str()
        has_failed = part.outcome != "success"
    details = getattr(part, "provider_details", None) or {}
    return ToolMessage(
        id=details.get(MESSAGE_ID) or f"{part.tool_call_id}-result",
        tool_call_id=part.tool_call_id,
        content=content,
        error=content if has_failed else None,
    )


def to_resume(history: Sequence[m.ModelMessage]) -> list[ResumeEntry]:
    """Return the last request's answers to the interrupts of the response before it."""
    response, request = last_response(history), history[-1]
    if response is None or not isinstance(request, m.ModelRequest):
        return []
    calls = {part.tool_call_id: part for part in parts_of([response]) if interrupt_of(part)}
    entries = []
    for part in request.parts:
        if isinstance(part, BaseToolReturnPart) and part.tool_call_id in calls:
            entries.append(_entry(calls[part.tool_call_id], part))
    return entries


def _entry(call: Any, answer: BaseToolReturnPart[Any]) -> ResumeEntry:
    interrupt = interrupt_of(call) or {}
    interrupt_id = interrupt["id"]
    has_answer = answer.outcome == "success"
    payload: Any = answer.content
    if interrupt["reason"] != "tool_call":
        if not has_answer:
            return ResumeEntry(interrupt_id=interrupt_id, status="cancelled")
    elif has_answer:
        payload = _approval(call, payload["args"])
    else:
        payload = _denial(interrupt, answer)
    return ResumeEntry(interrupt_id=interrupt_id, status="resolved", payload=payload)


def _approval(call: Any, arguments: Any) -> dict[str, Any]:
    if arguments == call.args_as_dict():
        return {"approved": True}
    return {"approved": True, "editedArgs": arguments}


def _denial(interrupt: dict[str, Any], answer: BaseToolReturnPart[Any]) -> dict[str, Any]:
    if not _accepts(interrupt, "reason"):
        return {"approved": False}
    return {"approved": False, "reason": answer.model_response_str()}


def _accepts(interrupt: dict[str, Any], name: str) -> bool:
    """Return whether an answer may have a property: some servers refuse unknown ones."""
    schema = interrupt.get("responseSchema") or {}
    return schema.get("additionalProperties") is not False or name in schema.get("properties", {})
