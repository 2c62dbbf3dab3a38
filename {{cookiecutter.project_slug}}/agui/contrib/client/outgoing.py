"""What a request says: pydantic-ai's history as AG-UI's messages, and answers to interrupts as
`resume`.

All of the history goes with each request, as .NET's client sends it: a server that keeps threads
reads what is new, one that keeps none reads it all.
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

# What our parts of a response say of themselves.
PROVIDER = "ag-ui"
INTERRUPT = "interrupt"
MESSAGE_ID = "message_id"


def interrupt_of(part: Any) -> dict[str, Any] | None:
    """The interrupt, as AG-UI's JSON, that a call of a remote agent waits for; None for any other part."""
    details = getattr(part, "provider_details", None) or {}
    ours = isinstance(part, m.ToolCallPart) and part.provider_name == PROVIDER
    interrupt: dict[str, Any] | None = details.get(INTERRUPT) if ours else None
    return interrupt


def is_result(part: Any) -> bool:
    """Whether it was given here, to a call."""
    return isinstance(part, m.ToolReturnPart) or (
        isinstance(part, m.RetryPromptPart) and part.tool_name is not None
    )


def parts_of(history: Sequence[m.ModelMessage]) -> Iterator[Any]:
    return (part for message in history for part in message.parts)


def last_response(history: Sequence[m.ModelMessage]) -> m.ModelResponse | None:
    return next((one for one in reversed(history) if isinstance(one, m.ModelResponse)), None)


def to_messages(
    history: Sequence[m.ModelMessage], thread_id: str, instructions: str = ""
) -> list[Message]:
    """Translate all of a history; each call is followed by its result, whoever gave it and whenever it came."""
    return list(_Outgoing(history, thread_id).messages(instructions))


class _Outgoing:
    def __init__(self, history: Sequence[m.ModelMessage], thread_id: str) -> None:
        self.history = history
        self.thread_id = thread_id
        # By call id, in order: some providers use an id again.
        self.results: dict[str, deque[ToolMessage]] = defaultdict(deque)
        asked: set[str] = set()
        for part in parts_of(history):
            if interrupt_of(part):
                asked.add(part.tool_call_id)
            elif isinstance(part, m.NativeToolReturnPart) or (
                is_result(part) and part.tool_call_id not in asked
            ):
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
        """An id that is the same whenever this history is sent."""
        return str(uuid5(NAMESPACE_URL, f"{self.thread_id}/{name}"))

    def _request(self, message: m.ModelRequest) -> Iterator[Message]:
        for index, part in enumerate(message.parts):
            if isinstance(part, m.SystemPromptPart):
                yield SystemMessage(id=self._id(f"{part.timestamp}/{index}"), content=part.content)
            elif isinstance(part, m.UserPromptPart):
                yield self._user(part, self._id(f"{part.timestamp}/{index}"))
            elif isinstance(part, m.RetryPromptPart) and part.tool_name is None:
                yield UserMessage(
                    id=self._id(f"{part.timestamp}/{index}"), content=part.model_response()
                )

    def _user(self, part: m.UserPromptPart, message_id: str) -> Message:
        dumped = AGUIAdapter.dump_messages([m.ModelRequest(parts=[part])])
        content = dumped[0].content if dumped else ""
        return UserMessage(id=message_id, content=content)

    def _response(self, message: m.ModelResponse) -> Iterator[Message]:
        said: AssistantMessage | None = None
        for index, part in enumerate(message.parts):
            if isinstance(part, m.ThinkingPart):
                yield from self._finished(said)
                said = None
                signature = part.signature if part.provider_name == PROVIDER else None
                message_id = part.id or self._id(f"{message.timestamp}/{index}")
                yield ReasoningMessage(
                    id=message_id, content=part.content, encrypted_value=signature
                )
            elif isinstance(part, m.TextPart):
                yield from self._finished(said)
                said = AssistantMessage(
                    id=part.id or self._id(f"{message.timestamp}/{index}"), content=part.content
                )
            elif isinstance(part, BaseToolCallPart) and not _is_question_alone(part):
                said = said or AssistantMessage(id=self._id(f"{message.timestamp}/{index}"))
                said.tool_calls = [*(said.tool_calls or ()), _tool_call(part)]
        yield from self._finished(said)

    def _finished(self, said: AssistantMessage | None) -> Iterator[Message]:
        if said:
            yield said
            for call in said.tool_calls or ():
                if self.results[call.id]:
                    yield self.results[call.id].popleft()


def _is_question_alone(part: BaseToolCallPart) -> bool:
    """Whether a call only stands for an interrupt: the server knows of no such call."""
    interrupt = interrupt_of(part)
    return interrupt is not None and interrupt.get("toolCallId") != part.tool_call_id


def _tool_call(part: BaseToolCallPart) -> ToolCall:
    return ToolCall(
        id=part.tool_call_id,
        function=FunctionCall(name=part.tool_name, arguments=part.args_as_json_str()),
    )


def _tool_message(part: Any) -> ToolMessage:
    if isinstance(part, m.RetryPromptPart):
        content, failed = part.model_response(), True
    else:
        content, failed = part.model_response_str(), part.outcome != "success"
    details = getattr(part, "provider_details", None) or {}
    return ToolMessage(
        id=details.get(MESSAGE_ID) or f"{part.tool_call_id}-result",
        tool_call_id=part.tool_call_id,
        content=content,
        error=content if failed else None,
    )


def to_resume(history: Sequence[m.ModelMessage]) -> list[ResumeEntry]:
    """The answers in the last request to what the response before it asked."""
    response, request = last_response(history), history[-1]
    if response is None or not isinstance(request, m.ModelRequest):
        return []
    calls = {part.tool_call_id: part for part in parts_of([response]) if interrupt_of(part)}
    answers = [
        part
        for part in request.parts
        if isinstance(part, BaseToolReturnPart) and part.tool_call_id in calls
    ]
    return [_entry(calls[part.tool_call_id], part) for part in answers]


def _entry(call: Any, answer: BaseToolReturnPart[Any]) -> ResumeEntry:
    interrupt = interrupt_of(call) or {}
    if interrupt["reason"] != "tool_call":
        if answer.outcome == "success":
            return ResumeEntry(
                interrupt_id=interrupt["id"], status="resolved", payload=answer.content
            )
        return ResumeEntry(interrupt_id=interrupt["id"], status="cancelled")
    if answer.outcome != "success":
        payload: dict[str, Any] = {"approved": False}
        if _takes(interrupt, "reason"):
            payload["reason"] = answer.model_response_str()
    else:
        content: Any = answer.content
        approved_args = content["args"]
        edited = {} if approved_args == call.args_as_dict() else {"editedArgs": approved_args}
        payload = {"approved": True, **edited}
    return ResumeEntry(interrupt_id=interrupt["id"], status="resolved", payload=payload)


def _takes(interrupt: dict[str, Any], name: str) -> bool:
    """Whether an answer may have a property: some servers refuse what their schema does not name."""
    schema = interrupt.get("responseSchema") or {}
    return schema.get("additionalProperties") is not False or name in schema.get("properties", {})
