"""A model's deltas of text, joined while they come faster than a reader can see.

No other work of a run costs more than what pydantic-ai does for each delta. It handles fewer deltas
if they are joined first. The first one passes at once, and so does each one after a pause.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import anyio
from pydantic_ai import RunContext
from pydantic_ai import __version__ as VERSION
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    TextPartDelta,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

logger = logging.getLogger("agui.runs")

# How many events a model may be ahead of its run. A model that never waits would stop all other
# streams of the event loop.
MOST_EVENTS = 200
# A server that is late joins for longer: by this factor of the delay, and up to MOST_SECONDS.
LATE_FACTOR = 4
MOST_SECONDS = 0.2
# The method of pydantic-ai's streams that yields their events. Each model's stream defines it.
EVENTS = "_get_event_iterator"

Events = AsyncGenerator[ModelResponseStreamEvent]

can_join = EVENTS in StreamedResponse.__abstractmethods__
if not can_join:
    logger.warning("Not joining deltas: pydantic-ai %s has no StreamedResponse.%s", VERSION, EVENTS)


class JoiningModel(WrapperModel):
    """A model whose deltas are joined."""

    def __init__(self, wrapped: Model, seconds: float) -> None:
        super().__init__(wrapped)
        self.seconds = seconds

    def read_ahead(self, ctx: RunContext[Any] | None) -> "ReadAhead":
        """Return what reads the events of one request."""
        return ReadAhead(self.seconds)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        request = messages, model_settings, model_request_parameters, run_context
        async with self.wrapped.request_stream(*request) as response:
            events = getattr(response, EVENTS)
            read_ahead = partial(self.read_ahead, run_context)
            setattr(response, EVENTS, lambda: join_deltas(events(), read_ahead()))
            yield response


def joining(model: Model, seconds: float, join: Callable[..., Model] = JoiningModel) -> Model:
    """Wrap a model: deltas of a part that come within `seconds` after others are joined."""
    if not can_join or not seconds:
        return model
    if isinstance(model, FallbackModel):
        # A FallbackModel reads the first event before it returns a stream, so wrap its models.
        chain = copy(model)
        chain.models = [join(wrapped, seconds) for wrapped in model.models]
        return chain
    return join(model, seconds)


async def join_deltas(events: Events, ahead: "ReadAhead") -> Events:
    """Join the deltas that come soon after others. All other events pass at once."""
    reading = asyncio.create_task(ahead.read(events))
    try:
        while taken := await ahead.take():
            for event in taken:
                yield event
        await reading  # This raises what the model has raised.
    finally:
        reading.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait([reading])


class ReadAhead:
    """Reads deltas before the run asks for them, and holds them for `seconds`.

    After an event of another kind it waits until the run has taken everything.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._events: list[ModelResponseStreamEvent] = []
        self._due = 0.0
        """The time at which deltas may leave again, by the loop's clock."""
        self._ready_at = 0.0
        """Since when there are events to take, by the loop's clock."""
        self._ready = asyncio.Event()
        self._asked = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._has_ended = False
        self._is_asking = False

    async def read(self, events: Events) -> None:
        try:
            async with aclosing(events):
                async for event in events:
                    await self.add(event)
        finally:
            self.end()

    async def add(self, event: ModelResponseStreamEvent) -> None:
        self._events.append(event)
        if not isinstance(event, PartDeltaEvent) or len(self._events) >= MOST_EVENTS:
            await self._pass_on()
        elif self._loop.time() >= self._due:
            self._wake_up()
        elif self._timer is None:
            self._timer = self._loop.call_at(self._due, self._wake_up)

    def end(self) -> None:
        self._has_ended = True
        self._wake_up()

    async def _pass_on(self) -> None:
        """Wait until the run has taken all events, and asks for the next ones."""
        self._wake_up()
        while self._events or not self._is_asking:
            self._asked.clear()
            await self._asked.wait()

    def _wake_up(self) -> None:
        if not self._ready.is_set():
            self._ready_at = self._loop.time()
            self._ready.set()

    async def take(self) -> list[ModelResponseStreamEvent]:
        """Wait for the next events; returns none after the last one."""
        self._is_asking = True
        self._asked.set()
        await self._ready.wait()
        self._is_asking = False
        self._hold_next(since=self._ready_at)
        taken, self._events = list(joined(self._events)), []
        if not self._has_ended:
            self._ready.clear()
        return taken

    def _hold_next(self, since: float) -> None:
        """Hold the deltas that come next for a while, which is longer if the server is late."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        now = self._loop.time()
        self._due = now + self._seconds + min(LATE_FACTOR * (now - since), MOST_SECONDS)


def joined(events: Sequence[Any]) -> Iterator[Any]:
    """Join neighbours that belong together."""
    for key, group in groupby(events, joining_key):
        neighbours = list(group)
        if isinstance(key, tuple) and len(neighbours) > 1:
            yield _join(neighbours)
        else:
            yield from neighbours


def joining_key(event: ModelResponseStreamEvent) -> Any:
    """Return a tuple that is equal for deltas that can be joined; for other events their own id."""
    if type(event) is not PartDeltaEvent:
        return id(event)
    match event.delta:
        case TextPartDelta(citations_delta=None, provider_details=None) as delta:
            return event.index, delta.provider_name
        case (
            ThinkingPartDelta(
                content_delta=str(), signature_delta=None, provider_details=None
            ) as delta
        ):
            return event.index, delta.provider_name
    return id(event)


def _join(events: list[Any]) -> PartDeltaEvent:
    text = "".join(event.delta.content_delta for event in events)
    first = events[0]
    return replace(first, delta=replace(first.delta, content_delta=text))
