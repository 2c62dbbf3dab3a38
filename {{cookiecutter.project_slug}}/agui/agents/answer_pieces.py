"""The pieces of an answer that streams: what a run gets of the parts that pydantic-ai keeps."""

from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

from agui.agents.thinking_tags import TaggedText

# pydantic-ai gives this id to thoughts that it finds between tags.
BETWEEN_TAGS = "content"
# The index of a piece that comes from no part of pydantic-ai.
NO_SOURCE = -1


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
    is_alone: bool = True
    """Whether the source has only this call."""
    _state: tuple[Any, ...] = ()
    _finished: Any = None

    def finished(self, source: Any) -> Any:
        """Return the part so far; `source` is the part that pydantic-ai keeps."""
        # pydantic-ai asks for all parts at the end of each, and an answer may have thousands.
        state = source, self.part, len(self.texts), self.is_alone
        if self._state != state:
            self._state, self._finished = state, self._finish(source)
        return self._finished

    def _finish(self, source: Any) -> Any:
        text = "".join(self.texts)
        if isinstance(self.part, ToolCallPart):
            args = source.args if self.is_alone else text
            name, call_id = self.part.tool_name, self.part.tool_call_id
            return replace(source, tool_name=name, tool_call_id=call_id, args=args)
        if not isinstance(self.part, TextPart | ThinkingPart) or self.source == NO_SOURCE:
            return source or self.part
        if isinstance(self.part, ThinkingPart) and self.part.id != BETWEEN_TAGS:
            return source
        if type(source) is not type(self.part):
            source = self.part
        if source.content == text:
            return source
        return replace(source, content=text)


@dataclass
class Text:
    """A part of pydantic-ai that is a text, or a thought between tags."""

    part: Any
    """The part as it began."""
    tagged: TaggedText

    def thought(self, content: str) -> ThinkingPart:
        if isinstance(self.part, ThinkingPart):
            return replace(self.part, content=content)
        return ThinkingPart(content, id=BETWEEN_TAGS)

    def words(self, content: str) -> TextPart:
        if isinstance(self.part, TextPart):
            return replace(self.part, content=content)
        return TextPart(content)


def is_between_tags(part: Any) -> bool:
    return isinstance(part, ThinkingPart) and part.id == BETWEEN_TAGS
