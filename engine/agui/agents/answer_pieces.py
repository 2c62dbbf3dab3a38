"""The pieces of an answer that streams: what a run gets of the parts that pydantic-ai keeps."""

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from pydantic_ai.messages import (
    BinaryContent,
    FilePart,
    ModelMessage,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    ThinkingPart,
    ToolCallPart,
)

from agui.agents.thinking_tags import TaggedText

# pydantic-ai gives this id to thoughts that it finds between tags.
BETWEEN_TAGS = "content"
# Calls of ours, and of the provider's own tools.
CALLS = ToolCallPart, NativeToolCallPart
# The index of a piece that comes from no part of pydantic-ai.
NO_SOURCE = -1

Keeps = Callable[[BinaryContent, BinaryContent | None], bool]
"""Whether a part of the engine keeps a file of the model, which replaces another one, or none."""


@dataclass
class Piece:
    """A part of the answer, as the run gets it."""

    index: int
    source: int
    """The index of the part that pydantic-ai keeps."""
    part: Any
    """The part as it began. A call has its id and its name from here."""
    texts: list[str] = field(default_factory=list)
    """The text, or the arguments of a call, as they came."""
    given_id: str = ""
    """The id of a call as the provider gave it."""
    is_alone: bool = True
    """Whether all that the source has is of this call."""
    is_closed: bool = False
    """Whether nothing can be added, because what follows is a repetition."""
    is_answered: bool = False
    """Whether a call of the provider's own tool has its result."""
    _state: tuple[Any, ...] = ()
    _finished: Any = None

    def finished(self, source: Any) -> Any:
        """Return the part so far; `source` is the part that pydantic-ai keeps."""
        # pydantic-ai asks for all parts at the end of each, and an answer may have thousands.
        state = source, self.part, len(self.texts), self.is_alone
        if self._state != state:
            self._state, self._finished = state, self._finish(source)
        return self._finished

    def begin(self, part: Any) -> PartStartEvent:
        """Begin a native call, or its result, that has its place and its id already."""
        self.part = replace(part, tool_call_id=self.part.tool_call_id)
        self.texts = [part.args] if isinstance(getattr(part, "args", None), str) else []
        return PartStartEvent(index=self.index, part=self.part)

    def take_again(self, part: Any) -> bool:
        """Take a call or a result that the provider sends once more: what stands stands.

        Returns False if it is another call, or neither.
        """
        is_same = isinstance(part, ToolCallPart) and part.tool_call_id == self.given_id
        if not is_same and not isinstance(part, NativeToolCallPart | NativeToolReturnPart):
            return False
        if self.texts or not isinstance(self.part, CALLS) or self.part.args:
            self.is_closed, self.is_alone = True, False
        return True

    def _finish(self, source: Any) -> Any:
        text = "".join(self.texts)
        if isinstance(self.part, CALLS):
            args = source.args if self.is_alone else text or self.part.args
            name, call_id = self.part.tool_name, self.part.tool_call_id
            return replace(source, tool_name=name, tool_call_id=call_id, args=args)
        if isinstance(self.part, NativeToolReturnPart) and self.source != NO_SOURCE:
            if not self.is_alone:
                return self.part
            return replace(source, tool_call_id=self.part.tool_call_id)
        if not isinstance(self.part, TextPart | ThinkingPart) or self.source == NO_SOURCE:
            return source or self.part
        if isinstance(self.part, ThinkingPart) and self.part.id != BETWEEN_TAGS:
            return source
        if type(source) is not type(self.part):
            source = self.part
        if source.content == text:
            return source
        return replace(source, content=text)


class NativeCalls:
    """The calls of the provider's own tools in an answer.

    Two may have one id, and pydantic-ai gives a result without an id that of the last call.
    """

    def __init__(self, before: Sequence[ModelMessage]) -> None:
        self._before = before
        self._by_id: defaultdict[str, deque[Piece]] = defaultdict(deque)
        self._by_name: defaultdict[str, deque[Piece]] = defaultdict(deque)

    def add(self, piece: Piece) -> None:
        self._by_id[piece.given_id].append(piece)
        self._by_name[piece.part.tool_name].append(piece)

    def result(self, part: NativeToolReturnPart) -> NativeToolReturnPart | None:
        """Give a result the id of its call; None if nobody has seen the call."""
        call = self._call_of(part)
        if call:
            return replace(part, tool_call_id=call.part.tool_call_id)
        if part.tool_call_id in self._suspended:
            return part
        return None

    @cached_property
    def _suspended(self) -> set[str]:
        return call_ids(self._before, is_suspended=True)

    def _call_of(self, part: NativeToolReturnPart) -> Piece | None:
        for calls in (self._by_id[part.tool_call_id], self._by_name[part.tool_name]):
            while calls:
                call = calls.popleft()
                if not call.is_answered:
                    call.is_answered = True
                    return call
        return None


@dataclass
class Text:
    """A part of pydantic-ai that is a text, or a thought between tags."""

    part: Any
    """The part as it began."""
    tagged: TaggedText

    def add_plain(self, piece: Piece | None, event: PartDeltaEvent) -> bool:
        """Add a delta to its piece if it needs no mending; returns False otherwise."""
        content = getattr(event.delta, "content_delta", None)
        if not content or piece is None or piece.index != event.index:
            return False
        if not isinstance(piece.part, TextPart) or not self.tagged.add_plain(content):
            return False
        piece.texts.append(content)
        return True

    def thought(self, content: str) -> ThinkingPart:
        if isinstance(self.part, ThinkingPart):
            return replace(self.part, content=content)
        return ThinkingPart(content, id=BETWEEN_TAGS)

    def words(self, content: str) -> TextPart:
        if isinstance(self.part, TextPart):
            return replace(self.part, content=content)
        return TextPart(content)


def file_or_words(part: FilePart, piece: Piece | None, keeps: Keeps) -> Any:
    """Return a file that is kept, or words; `piece` is what the provider sends anew, if it does."""
    earlier = piece.part if piece and isinstance(piece.part, FilePart) else None
    if keeps(part.content, earlier.content if earlier else None):
        return part
    return earlier or TextPart(f"\n{words_for(part.content)}\n")


def words_for(file: BinaryContent) -> str:
    """Say that there was a file that the project does not keep."""
    size = f", {len(file.data)} bytes" if file.data else ""
    kind = "An image" if file.is_image else "A file"
    return f"[{kind} was made here that is not kept: {file.media_type}{size}]"


def last_words(pieces: Sequence[Piece], refusal: str | None) -> str:
    """Return what an answer without a text ends with; "" if it needs none.

    For pydantic-ai an answer of files alone is none, so a line without words makes it one.
    """
    kinds = {type(piece.part) for piece in pieces}
    if TextPart in kinds:
        return ""
    if FilePart in kinds and ToolCallPart not in kinds:
        return refusal or "\n"
    return refusal or ""


def open_native_calls(parts: Sequence[Any]) -> dict[str, str]:
    """Find the calls of the provider's own tools without a result: their tools by their ids."""
    open_calls = {}
    for part in parts:
        if isinstance(part, NativeToolCallPart):
            open_calls[part.tool_call_id] = part.tool_name
        elif isinstance(part, NativeToolReturnPart):
            open_calls.pop(part.tool_call_id, None)
    return open_calls


def is_between_tags(part: Any) -> bool:
    return isinstance(part, ThinkingPart) and part.id == BETWEEN_TAGS


def call_ids(messages: Sequence[ModelMessage], *, is_suspended: bool) -> set[str]:
    """Collect the ids of the calls in answers that were suspended and go on, or in all others."""
    ids: set[str] = set()
    for message in messages:
        if not isinstance(message, ModelResponse):
            continue
        if (message.state == "suspended") is is_suspended:
            ids.update(part.tool_call_id for part in message.parts if isinstance(part, CALLS))
    return ids
