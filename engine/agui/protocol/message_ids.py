"""The ids under which a client knows the messages of a thread."""

from collections import defaultdict, deque
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from ag_ui.core import AssistantMessage, Message
from pydantic_ai.messages import (
    BaseToolCallPart,
    FilePart,
    ModelMessage,
    ModelResponse,
    NativeToolReturnPart,
    TextPart,
)

from agui.protocol.outbound import CallIndex, dump, extra_of
from agui.stores.annotations import annotate

Queues = dict[tuple[str, str | None], deque[tuple[str, Message | None]]]
"""Ids with the messages that a client sent, by role and tool call."""


class MessageIds:
    """The ids under which a client knows messages, in the order in which it learned them."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.last = ""
        """The id of the last message; '' if there is none."""
        self._queues: Queues = defaultdict(deque)
        self._extras: dict[str, dict[str, Any]] = {}
        messages = list(messages)
        for message, following in zip_longest(messages, messages[1:]):
            # pydantic-ai drops an empty answer if another one follows.
            if count_parts(message) or not isinstance(following, AssistantMessage):
                self.add(message.role, message.id, getattr(message, "tool_call_id", None), message)

    def add(
        self,
        role: str,
        message_id: str,
        tool_call_id: str | None = None,
        sent: Message | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Add the id of a message.

        `sent` is the message itself, if the client sent it; `extra` is what the client was told
        beside the message.
        """
        self.last = message_id
        self._queues[role, tool_call_id].append((message_id, sent))
        if extra:
            self._extras[message_id] = extra

    def extend(self, message_id: str, extra: dict[str, Any]) -> None:
        """Add to what the client was told beside a message."""
        before = self._extras.get(message_id, {})
        metadata = {**before.get("metadata", {}), **extra["metadata"]}
        self._extras[message_id] = {**before, **extra, "metadata": metadata}

    def stamp(self, messages: Iterable[ModelMessage]) -> None:
        """Annotate each message with its ids, and with what its stored form can't hold.

        Raises Unprocessable if that is too much.
        """
        queues = {key: deque(ids) for key, ids in self._queues.items()}
        for message in messages:
            cuts = _cuts(message, queues)
            index_of_calls = CallIndex.from_message(message)
            ids: list[str] = []
            extras: dict[str, Any] = {}
            # The messages of a role have the same order here as in the queue.
            for dumped in dump(message, cuts):
                known = queues.get((dumped.role, getattr(dumped, "tool_call_id", None)))
                message_id, sent = known.popleft() if known else (dumped.id, None)
                ids.append(message_id)
                if sent is None:
                    extra = self._extras.get(message_id)
                else:
                    extra = extra_of(sent, dumped, index_of_calls)
                if extra:
                    extras[message_id] = extra
            annotations = {"ids": ids, "cuts": cuts, "extras": extras}
            annotate(message, **{name: value for name, value in annotations.items() if value})


def _cuts(message: ModelMessage, queues: Queues) -> list[int]:
    """Find where messages of the client begin in the answer to which pydantic-ai joined them."""
    answers = (sent for _, sent in queues.get(("assistant", None), ()) if sent is not None)
    if isinstance(message, ModelResponse) and any(isinstance(p, FilePart) for p in message.parts):
        return _cuts_at_files(message)
    cuts: list[int] = []
    remaining = 0
    for index, part in enumerate(message.parts):
        if not isinstance(part, TextPart | BaseToolCallPart):
            continue
        if not remaining:
            cuts.append(index)
            # Without a further answer of the client, the rest is one message.
            remaining = count_parts(next(answers, None)) or len(message.parts)
        remaining -= 1
    return cuts[1:]


def _cuts_at_files(answer: ModelResponse) -> list[int]:
    """Find the texts that follow a file: they were streamed as messages of their own."""
    cuts: list[int] = []
    has_text = has_file = False
    for index, part in enumerate(answer.parts):
        if isinstance(part, FilePart):
            has_file = has_text
        elif isinstance(part, TextPart):
            if has_file:
                cuts.append(index)
            has_text, has_file = True, False
        elif not isinstance(part, NativeToolReturnPart):
            # Here the adapter begins a new message anyway.
            has_text = has_file = False
    return cuts


def count_parts(message: Message | None) -> int:
    """Count the parts that pydantic-ai makes of an answer. Any other message is one part."""
    if isinstance(message, AssistantMessage):
        return bool(message.content) + len(message.tool_calls or ())
    return int(message is not None)
