"""The ids under which a client knows the messages of a thread."""

from collections import defaultdict, deque
from collections.abc import Iterable
from itertools import zip_longest
from typing import Any

from ag_ui.core import AssistantMessage, Message
from pydantic_ai.messages import BaseToolCallPart, ModelMessage, TextPart

from agui.protocol.outbound import Parts, dump, extra_of
from agui.stores.annotations import annotate

Known = dict[tuple[str, str | None], deque[tuple[str, Message | None]]]
"""Ids with the messages that a client sent, by role and tool call."""


class MessageIds:
    """The ids under which a client knows messages, in the order in which it got to know them."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._known: Known = defaultdict(deque)
        self._extras: dict[str, dict[str, Any]] = {}
        messages = list(messages)
        for message, following in zip_longest(messages, messages[1:]):
            # pydantic-ai drops an empty answer when another one follows.
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
        """Note an id, and with it the message itself if the client sent it, or what it was told besides."""
        self._known[role, tool_call_id].append((message_id, sent))
        if extra:
            self._extras[message_id] = extra

    def extend(self, message_id: str, extra: dict[str, Any]) -> None:
        """Note what a client was told of a message besides."""
        known = self._extras.get(message_id, {})
        self._extras[message_id] = {
            **known,
            **extra,
            "metadata": {**known.get("metadata", {}), **extra["metadata"]},
        }

    def stamp(self, messages: Iterable[ModelMessage]) -> None:
        """Write into each message under which ids it is known, and what else the client said of it, to store it.

        Raises Unprocessable if that is too much.
        """
        left = {place: deque(known) for place, known in self._known.items()}
        for message in messages:
            cuts, parts = _cuts(message, left), Parts.of(message)
            ids: list[str] = []
            extras: dict[str, Any] = {}
            for dumped in dump(message, cuts):
                known = left.get((dumped.role, getattr(dumped, "tool_call_id", None)))
                message_id, sent = known.popleft() if known else (dumped.id, None)
                ids.append(message_id)
                if (
                    extra := self._extras.get(message_id)
                    if sent is None
                    else extra_of(sent, dumped, parts)
                ):
                    extras[message_id] = extra
            notes = {"ids": ids, "cuts": cuts, "extras": extras}
            annotate(message, **{name: note for name, note in notes.items() if note})


def _cuts(message: ModelMessage, known: Known) -> list[int]:
    """Where messages of the client begin in what pydantic-ai has joined to one answer."""
    answers = (sent for _, sent in known.get(("assistant", None), ()) if sent is not None)
    cuts: list[int] = []
    left = 0
    for index, part in enumerate(message.parts):
        if isinstance(part, TextPart | BaseToolCallPart):
            if not left:
                cuts.append(index)
                left = count_parts(next(answers, None)) or len(message.parts)
            left -= 1
    return cuts[1:]


def count_parts(message: Message | None) -> int:
    """How many parts pydantic-ai makes of an answer. Any other message is one."""
    if isinstance(message, AssistantMessage):
        return bool(message.content) + len(message.tool_calls or ())
    return int(message is not None)
