"""A history, made fit for the model that reads it. The store keeps what was said.

Histories are imported, gateways repeat ids, and users change the model. What one provider has sent,
another one refuses, and would refuse it in every later turn. So a model gets each tool call once,
with one result and an id that its provider accepts, no blank texts, and the user's words first.
"""

import re
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from operator import is_
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryPromptPart,
    SystemPromptPart,
    TextContent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models import Model
from pydantic_ai.models.wrapper import WrapperModel

# The ids that every provider accepts.
ANY_ID = re.compile("[a-zA-Z0-9_-]{1,64}")
ODD = re.compile("[^a-zA-Z0-9_-]")
# Some providers want the user's words first.
BEGINNING = "[The assistant spoke first.]"


def fitting(messages: Sequence[ModelMessage], model: Model) -> list[ModelMessage]:
    """Make a history fit for a model. What is fit stays the same object."""
    history = FittingHistory(model)
    for message in messages:
        if isinstance(message, ModelResponse):
            history.add_response(message)
        else:
            history.add_request(message)
    return history.messages


class FittingHistory:
    """The messages that a model gets."""

    def __init__(self, model: Model) -> None:
        while isinstance(model, WrapperModel):
            model = model.wrapped
        self._model = model
        # OpenAI's two APIs have one address, and the Responses take no longer ids.
        names = {kind.__name__ for kind in type(model).__mro__}
        self._is_responses = "OpenAIResponsesModel" in names
        self.messages: list[ModelMessage] = []
        self._has_begun = False
        """Whether there are words of the user."""
        self._used: set[str] = set()
        self._native: set[str] = set()
        """The ids of the calls of the provider's own tools."""
        self._seen: Counter[str] = Counter()
        self._open: dict[str, deque[str]] = {}
        """The new ids of the last answer's calls that have no result yet, by their stored ids."""
        self._answer = -1
        """The position of the last answer."""

    def add_response(self, response: ModelResponse) -> None:
        self._drop_open_calls()
        is_of_responses = (response.provider_response_id or "").startswith("resp_")
        is_own = (
            response.provider_name == self._model.system
            and response.provider_url == self._model.base_url
            and is_of_responses is self._is_responses
        )
        parts: list[Any] = []
        for part in response.parts:
            if isinstance(part, TextPart | ThinkingPart) and is_blank(part):
                has_signature = isinstance(part, ThinkingPart) and part.signature
                if not (is_own and has_signature):
                    continue
            if isinstance(part, ToolCallPart):
                stored_id = part.tool_call_id
                call_id = self._free_id(stored_id, is_own)
                self._open.setdefault(stored_id, deque()).append(call_id)
                part = renamed(part, call_id)
            elif isinstance(part, NativeToolCallPart):
                self._native.add(part.tool_call_id)
            elif isinstance(part, NativeToolReturnPart) and part.tool_call_id not in self._native:
                continue
            parts.append(part)
        if not parts:
            return
        if not self._has_begun:
            self.messages.append(ModelRequest([UserPromptPart(BEGINNING)]))
            self._has_begun = True
        self._answer = len(self.messages)
        self.messages.append(with_parts(response, parts))

    def add_request(self, request: ModelRequest) -> None:
        parts: list[Any] = []
        part: Any
        for part in request.parts:
            is_retry = isinstance(part, RetryPromptPart) and part.tool_name
            if is_retry or isinstance(part, ToolReturnPart):
                call_ids = self._open.get(part.tool_call_id)
                if not call_ids:
                    continue  # The call has its result, or there is no such call.
                part = renamed(part, call_ids.popleft())
            elif isinstance(part, UserPromptPart):
                part = without_blanks(part)
                if not part.content:
                    continue
            self._has_begun = self._has_begun or not isinstance(part, SystemPromptPart)
            parts.append(part)
        if parts or request.instructions:
            self.messages.append(with_parts(request, parts))

    def _free_id(self, stored_id: str, is_own: bool) -> str:
        """Return an id that no other call has, always the same one for the same history."""
        if self._model.base_url is None:
            return stored_id  # Code of the project gets its own ids back.
        call_id = stored_id
        if not is_own and not ANY_ID.fullmatch(stored_id):
            call_id = ""
        while not call_id or call_id in self._used:
            self._seen[stored_id] += 1
            name = f"{stored_id} {self._seen[stored_id]}"
            call_id = f"call_{sha256(name.encode(errors='replace')).hexdigest()[:24]}"
        self._used.add(call_id)
        return call_id

    def _drop_open_calls(self) -> None:
        """Drop the calls of the last answer that no result follows."""
        without_result: set[str] = set()
        for call_ids in self._open.values():
            without_result.update(call_ids)
        self._open = {}
        if not without_result:
            return
        answer = self.messages[self._answer]
        parts: list[Any] = []
        for part in answer.parts:
            if not isinstance(part, ToolCallPart) or part.tool_call_id not in without_result:
                parts.append(part)
        if parts:
            self.messages[self._answer] = with_parts(answer, parts)
        else:
            del self.messages[self._answer]


def renamed(part: Any, call_id: str) -> Any:
    """Return a call or a result with this id, and a name that every provider accepts."""
    name = ODD.sub("_", part.tool_name)[:64] or "_"
    if call_id == part.tool_call_id and name == part.tool_name:
        return part
    return replace(part, tool_call_id=call_id, tool_name=name)


def with_parts(message: Any, parts: list[Any]) -> Any:
    """Return the message with these parts; the message itself if it has them already."""
    if len(parts) == len(message.parts) and all(map(is_, parts, message.parts)):
        return message
    return replace(message, parts=parts)


def is_blank(part: TextPart | ThinkingPart | UserPromptPart) -> bool:
    """Whether a part has neither words nor files."""
    if isinstance(part, UserPromptPart):
        return not without_blanks(part).content
    return not part.content.strip()


def without_blanks(prompt: UserPromptPart) -> UserPromptPart:
    """Drop the blank texts of a prompt."""
    if isinstance(prompt.content, str):
        if prompt.content.strip():
            return prompt
        return replace(prompt, content="")
    content: list[Any] = []
    for item in prompt.content:
        text = item.content if isinstance(item, TextContent) else item
        if not isinstance(text, str) or text.strip():
            content.append(item)
    if len(content) == len(prompt.content):
        return prompt
    return replace(prompt, content=content)
