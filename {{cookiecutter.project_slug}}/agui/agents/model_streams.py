"""The answer of a provider, mended where it breaks the protocol of its own API.

pydantic-ai reads the streams of providers. What it leaves open is mended here, in its events and in
the parts that it keeps, so that the stream, the thread and the next request say the same:

- a tool call has the id that it began with, and no two calls have one id
- thoughts between tags are found wherever the provider cuts its text
- white space alone is no text; a refusal and a drawing become words
"""

import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from pydantic_ai.messages import (
    FilePart,
    ModelMessage,
    ModelResponseStreamEvent,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
    ToolCallPartDelta,
)
from pydantic_ai.models import Model, StreamedResponse

from agui.agents.model_failures import failures_of
from agui.agents.thinking_tags import TaggedText

logger = logging.getLogger("agui.runs")

Events = Iterator[ModelResponseStreamEvent]

# Names of pydantic-ai: what yields a stream's events, and what keeps the parts of its answer.
EVENTS = "_get_event_iterator"
KEPT = "_parts_manager"
# pydantic-ai gives this id to thoughts that it finds between tags.
BETWEEN_TAGS = "content"
NO_SOURCE = -1


def mended(
    response: StreamedResponse, model: Model, messages: Sequence[ModelMessage]
) -> StreamedResponse:
    """Mend the answer to these messages while it streams. Nothing may have read the stream before.

    A model without an address is code of the project, which may use ids of earlier calls again.
    """
    kept: Any = getattr(response, KEPT, None)
    if not hasattr(response, EVENTS) or not hasattr(kept, "_parts"):
        logger.warning("Not mending streams: this pydantic-ai has no %s or no %s.", EVENTS, KEPT)
        return response
    tags = model.profile.get("thinking_tags", ("<think>", "</think>"))
    answer = Answer(tags, kept, messages if model.base_url else ())
    events = getattr(response, EVENTS)

    async def mended_events() -> AsyncGenerator[ModelResponseStreamEvent]:
        with failures_of(model):
            async with aclosing(events()) as stream:
                async for event in stream:
                    for new in answer.mend(event):
                        yield new
        for new in answer.rest((response.provider_details or {}).get("refusal")):
            yield new

    kept.get_parts = answer.parts
    setattr(response, EVENTS, mended_events)
    return response


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

    def finished(self, source: Any) -> Any:
        """Return the part so far; `source` is the part that pydantic-ai keeps."""
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
        return source if source.content == text else replace(source, content=text)


class Answer:
    """One answer while it streams."""

    def __init__(self, tags: tuple[str, str], kept: Any, before: Sequence[ModelMessage]) -> None:
        self._tags = tags
        self._before = before
        self._kept = kept
        self._get_parts: Callable[[], list[Any]] = kept.get_parts
        self._pieces: list[Piece] = []
        self._newest: dict[int, Piece] = {}
        """The piece that goes on, by its source."""
        self._texts: dict[int, Text] = {}
        self._blank = ""
        """White space that is sent only if text follows."""

    def parts(self) -> list[Any]:
        """Return the parts of the answer so far, each at the index that its events have."""
        sources = self._sources()
        return [piece.finished(sources[piece.source]) for piece in self._pieces]

    def _sources(self) -> dict[int, Any]:
        """Return the parts that pydantic-ai keeps, by their index in its events."""
        complete = iter(self._get_parts())
        sources: dict[int, Any] = {NO_SOURCE: None}
        for index, part in enumerate(self._kept._parts):
            if not isinstance(part, ToolCallPartDelta):
                sources[index] = next(complete)
        return sources

    def mend(self, event: ModelResponseStreamEvent) -> Events:
        if isinstance(event, PartStartEvent):
            yield from self._start(event, event.part, event.index)
        elif isinstance(event, PartDeltaEvent):
            yield from self._go_on(event, event.delta, event.index)
        else:
            yield event

    def rest(self, refusal: str | None) -> Events:
        """Yield what was held back, and the words of a refusal if there are no others."""
        yield from self._flush()
        if refusal and not any(isinstance(piece.part, TextPart) for piece in self._pieces):
            yield self._open(NO_SOURCE, TextPart(refusal), refusal)

    def _start(self, event: PartStartEvent, part: Any, source: int) -> Events:
        if isinstance(part, FilePart):
            file = part.content
            part = TextPart(f"\n[{file.media_type}, {len(file.data)} bytes, not kept]\n")
        if isinstance(part, TextPart) or is_between_tags(part):
            follows = any(is_between_tags(text.part) for text in self._texts.values())
            tagged = TaggedText(
                self._tags, is_thought=is_between_tags(part), follows_thought=follows
            )
            self._texts[source] = Text(part, tagged)
            yield from self._add(source, part.content or "")
            return
        yield from self._flush()
        self._blank = ""
        if source in self._newest:
            # The provider has sent the part anew.
            yield replace(event, index=self._newest[source].index)
            return
        self._reserve(source)
        if not isinstance(part, ToolCallPart):
            yield self._open(source, part)
        elif part.tool_name:
            yield self._open_call(source, part)

    def _reserve(self, source: int) -> None:
        """Keep the place of parts before this one that begin later."""
        for index, part in enumerate(self._kept._parts[:source]):
            is_native = isinstance(part, NativeToolCallPart | NativeToolReturnPart)
            if index not in self._newest and is_native:
                self._open(index, part)

    def _go_on(self, event: PartDeltaEvent, delta: Any, source: int) -> Events:
        piece = self._newest.get(source)
        if source in self._texts and delta.content_delta:
            yield from self._add(source, delta.content_delta, event)
        elif piece and isinstance(piece.part, ToolCallPart):
            yield self._add_to_call(piece, event, delta)
        elif piece:
            yield replace(event, index=piece.index)
        elif isinstance(delta, ToolCallPartDelta) and delta.tool_name_delta:
            # A call begins with its name.
            yield self._open_call(source, self._sources()[source])

    def _add(
        self,
        source: int,
        content: str,
        event: PartDeltaEvent | None = None,
        *,
        is_last: bool = False,
    ) -> Events:
        """Add to a text or to a thought between tags; `event` is the delta that brings it."""
        text = self._texts[source]
        for read in text.tagged.read(content, is_last=is_last):
            piece = self._newest.get(source)
            if read is None:
                # Clients keep the thought in their text until they reload.
                if piece:
                    piece.texts.clear()
                continue
            is_thought, new = read
            if piece and isinstance(piece.part, ThinkingPart) is is_thought:
                piece.texts.append(new)
                if event and new == content and event.index == piece.index and not is_thought:
                    yield event  # As it is: `join_deltas` knows it again.
                else:
                    kind = ThinkingPartDelta if is_thought else TextPartDelta
                    yield PartDeltaEvent(index=piece.index, delta=kind(content_delta=new))
            elif not new.strip():
                self._blank += "" if is_thought else new
            elif is_thought:
                yield self._open(source, text.thought(new), new)
            else:
                new, self._blank = self._blank + new, ""
                yield self._open(source, text.words(new), new)

    def _flush(self) -> Events:
        """Yield what was held back because it could have become a tag."""
        for source in list(self._texts):
            yield from self._add(source, "", is_last=True)

    def _add_to_call(
        self, piece: Piece, event: PartDeltaEvent, delta: ToolCallPartDelta
    ) -> ModelResponseStreamEvent:
        call, name, args = piece.part, delta.tool_name_delta, delta.args_delta
        is_other = delta.tool_call_id and delta.tool_call_id != call.tool_call_id
        if name and is_other and piece.texts:
            # Some gateways give all calls the same place.
            piece.is_alone = False
            return self._open_call(piece.source, ToolCallPart(name, args, delta.tool_call_id or ""))
        if name == call.tool_name:
            name = None  # Some gateways repeat the name.
        elif name:
            piece.part = call = replace(call, tool_name=call.tool_name + name)
        if isinstance(args, str):
            piece.texts.append(args)
        delta = replace(delta, tool_call_id=call.tool_call_id, tool_name_delta=name)
        return replace(event, index=piece.index, delta=delta)

    def _open_call(self, source: int, call: ToolCallPart) -> PartStartEvent:
        parts = [piece.part for piece in self._pieces]
        for message in self._before:
            parts += message.parts
        ids = {part.tool_call_id for part in parts if isinstance(part, ToolCallPart)}
        if not call.tool_call_id or call.tool_call_id in ids:
            call = replace(call, tool_call_id=f"call_{uuid4().hex}")
        started = self._open(source, call, call.args if isinstance(call.args, str) else "")
        self._pieces[-1].is_alone = (
            len([1 for piece in self._pieces if piece.source == source]) == 1
        )
        return started

    def _open(self, source: int, part: Any, text: str = "") -> PartStartEvent:
        piece = Piece(len(self._pieces), source, part, [text] if text else [])
        self._pieces.append(piece)
        self._newest[source] = piece
        return PartStartEvent(index=piece.index, part=part)


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
