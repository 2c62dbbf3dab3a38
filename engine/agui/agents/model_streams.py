"""The answer of a provider, mended where it breaks the protocol of its own API.

pydantic-ai reads the streams of providers. What it leaves open is mended here, in its events and in
the parts that it keeps, so that the stream, the thread and the next request say the same:

- a tool call has the id that it began with, and no two calls have one id
- thoughts between tags are found wherever the provider cuts its text
- white space alone is no text; a refusal becomes words, and so does a file that no part keeps
"""

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import cached_property
from typing import Any
from uuid import uuid4

from pydantic_ai import __version__ as VERSION
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

from agui.agents.answer_pieces import (
    CALLS,
    NO_SOURCE,
    Keeps,
    NativeCalls,
    Piece,
    Text,
    call_ids,
    file_or_words,
    is_between_tags,
    last_words,
    open_native_calls,
)
from agui.agents.model_failures import failures_of
from agui.agents.thinking_tags import TaggedText

logger = logging.getLogger("agui.runs")

Events = Iterator[ModelResponseStreamEvent]

# Names of pydantic-ai: what yields a stream's events, and what keeps the parts of its answer.
EVENTS = "_get_event_iterator"
KEPT = "_parts_manager"


def mended(
    response: StreamedResponse, model: Model, messages: Sequence[ModelMessage], keeps: Keeps
) -> StreamedResponse:
    """Mend the answer to these messages while it streams. Nothing may have read the stream before.

    A model without an address is code of the project, which may use ids of earlier calls again.
    """
    kept: Any = getattr(response, KEPT, None)
    if not hasattr(response, EVENTS) or not hasattr(kept, "_parts"):
        logger.warning(
            "Not mending streams: pydantic-ai %s has no %s or no %s", VERSION, EVENTS, KEPT
        )
        return response
    tags = model.profile.get("thinking_tags", ("<think>", "</think>"))
    answer = Answer(tags, kept, messages if model.base_url else (), keeps)
    events = getattr(response, EVENTS)

    async def mended_events() -> AsyncGenerator[ModelResponseStreamEvent]:
        with failures_of(model):
            async with aclosing(events()) as stream:
                async for event in stream:
                    for new in answer.mend(event):
                        yield new
        if response.state != "suspended":
            for new in answer.rest((response.provider_details or {}).get("refusal")):
                yield new

    kept.get_parts = answer.parts
    setattr(response, EVENTS, mended_events)
    return response


class Answer:
    """One answer while it streams."""

    def __init__(
        self, tags: tuple[str, str], kept: Any, before: Sequence[ModelMessage], keeps: Keeps
    ) -> None:
        self._tags, self._before, self._keeps = tags, before, keeps
        self._kept = kept
        self._get_parts: Callable[[], list[Any]] = kept.get_parts
        self._pieces: list[Piece] = []
        self._newest: dict[int, Piece] = {}
        """The piece that goes on, by its source."""
        self._texts: dict[int, Text] = {}
        self._last_text = NO_SOURCE
        self._has_thought = False
        """Whether pydantic-ai has found a thought between tags."""
        self._looked_at = 0
        """The number of parts of pydantic-ai that have a place, if they need one."""
        self._blank = ""
        """White space that is sent only if text follows."""
        self._reserved: set[int] = set()
        """The sources of native calls and results that have a place before they begin."""
        self._native_calls = NativeCalls(before)

    @cached_property
    def _call_ids(self) -> set[str]:
        """The ids that calls have: a new one needs another id."""
        return call_ids(self._before, is_suspended=False)

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

    def mend(self, event: ModelResponseStreamEvent) -> Iterable[ModelResponseStreamEvent]:
        if isinstance(event, PartStartEvent):
            return self._start(event, event.part, event.index)
        if isinstance(event, PartDeltaEvent):
            # Nearly all events are plain texts.
            text = self._texts.get(event.index)
            if not text or not text.add_plain(self._newest.get(event.index), event):
                return self._go_on(event, event.delta, event.index)
        return (event,)

    def rest(self, refusal: str | None) -> Events:
        """Yield what is missing: held text, results, a refusal if there are no other words."""
        for source in list(self._texts):
            yield from self._add(source, "", is_last=True)
        words = last_words(self._pieces, refusal)
        if words:
            yield self._open(NO_SOURCE, TextPart(words), words)
        for call_id, name in open_native_calls(self.parts()).items():
            result = NativeToolReturnPart(name, "", call_id, outcome="interrupted")
            yield self._open(NO_SOURCE, result)

    def _start(self, event: PartStartEvent, part: Any, source: int) -> Events:
        if isinstance(part, FilePart):
            part = file_or_words(part, self._newest.get(source), self._keeps)
            # Let go of the bytes of a file that is not kept.
            self._kept._parts[source], event = part, replace(event, part=part)
        if isinstance(part, TextPart) or is_between_tags(part):
            is_thought = is_between_tags(part)
            tagged = TaggedText(
                self._tags, is_thought=is_thought, follows_thought=self._has_thought
            )
            self._has_thought = self._has_thought or is_thought
            self._texts[source] = Text(part, tagged)
            self._last_text = source
            yield from self._add(source, part.content or "")
            return
        if self._last_text in self._texts:
            # What was held back is no tag.
            yield from self._add(self._last_text, "", is_last=True)
        self._blank = ""
        piece = self._newest.get(source)
        if piece and source in self._reserved:
            self._reserved.remove(source)
            yield piece.begin(part)
            return
        if piece and piece.take_again(part):
            return
        if piece and not isinstance(part, ToolCallPart):
            # The provider has sent the part anew.
            yield replace(event, index=piece.index)
            return
        self._reserve(source)
        if not isinstance(part, ToolCallPart):
            yield from self._open_native(source, part)
        elif part.tool_name:
            yield self._open_call(source, part)

    def _reserve(self, source: int) -> None:
        """Keep the place of parts before this one that begin later."""
        for index in range(self._looked_at, source):
            part = self._kept._parts[index]
            is_native = isinstance(part, NativeToolCallPart | NativeToolReturnPart)
            if is_native and index not in self._newest and list(self._open_native(index, part)):
                self._reserved.add(index)
        self._looked_at = max(self._looked_at, source)

    def _go_on(self, event: PartDeltaEvent, delta: Any, source: int) -> Events:
        piece = self._newest.get(source)
        if source in self._texts and delta.content_delta:
            yield from self._add(source, delta.content_delta, event)
        elif piece and piece.is_closed:
            return
        elif piece and isinstance(piece.part, CALLS):
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
            elif is_thought:
                if new.strip():
                    yield self._open(source, text.thought(new), new)
            elif not new.strip():
                self._blank += new
            else:
                new, self._blank = self._blank + new, ""
                yield self._open(source, text.words(new), new)

    def _add_to_call(
        self, piece: Piece, event: PartDeltaEvent, delta: ToolCallPartDelta
    ) -> ModelResponseStreamEvent:
        call, name, args = piece.part, delta.tool_name_delta, delta.args_delta
        is_other = delta.tool_call_id and delta.tool_call_id != piece.given_id
        if name and is_other and piece.texts:
            # Some gateways give all calls the same place.
            return self._open_call(piece.source, ToolCallPart(name, args, delta.tool_call_id or ""))
        if name == call.tool_name:
            name = None  # Some gateways repeat the name.
        elif name:
            piece.part = call = replace(call, tool_name=call.tool_name + name)
        if isinstance(args, str):
            piece.texts.append(args)
        elif args is not None:
            piece.part = call = replace(call, args=args)
        delta = replace(delta, tool_call_id=call.tool_call_id, tool_name_delta=name)
        return replace(event, index=piece.index, delta=delta)

    def _open_call(self, source: int, call: Any) -> PartStartEvent:
        given, newest = call.tool_call_id, self._newest.get(source)
        call_id = given
        if not given or given in self._call_ids:
            call_id = f"call_{uuid4().hex}"
        self._call_ids.add(call_id)
        text = call.args if isinstance(call.args, str) else ""
        started = self._open(source, replace(call, tool_call_id=call_id), text)
        piece = self._newest[source]
        piece.given_id = given
        if newest:
            piece.is_alone = newest.is_alone = False
        return started

    def _open_native(self, source: int, part: Any) -> Events:
        """Open a part that is no call of ours."""
        if isinstance(part, NativeToolCallPart):
            yield self._open_call(source, part)
            self._native_calls.add(self._pieces[-1])
            return
        if isinstance(part, NativeToolReturnPart):
            part = self._native_calls.result(part)
        if part:
            yield self._open(source, part)

    def _open(self, source: int, part: Any, text: str = "") -> PartStartEvent:
        piece = Piece(len(self._pieces), source, part, [text] if text else [])
        self._pieces.append(piece)
        self._newest[source] = piece
        return PartStartEvent(index=piece.index, part=part)
