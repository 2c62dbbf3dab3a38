"""Read a model's deltas ahead, and write those of a text without passing them to pydantic-ai."""

import asyncio
from typing import Any, Protocol

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelResponseStreamEvent, PartDeltaEvent, TextPartDelta
from pydantic_ai.models import Model

from agui.contrib.fast.guard import find
from agui.events.join_deltas import MOST_EVENTS, JoiningModel, ReadAhead, joined, joining_key

# How often a delta passes pydantic-ai all the same: it checks the limits of usage then.
PASS_SECONDS = 0.5

# What tells whether a capability reads deltas.
find("pydantic_ai.capabilities:AbstractCapability.apply", "self", "visitor")
find("pydantic_ai.capabilities:AbstractCapability.get_wrapper_model", "self", "model")
find("pydantic_ai.capabilities:AbstractCapability.has_wrap_run_event_stream")
find("pydantic_ai.capabilities:AbstractCapability.listens_to", "self", "event")
find("pydantic_ai:RunContext.root_capability")


class Writer(Protocol):
    @property
    def arrived(self) -> Any:
        """The delta that has passed pydantic-ai last, and was written."""

    def add(self, event: PartDeltaEvent) -> bool:
        """Write a delta; returns False if it has to pass pydantic-ai."""


class SkippingModel(JoiningModel):
    """A model whose deltas of text go to a writer."""

    def __init__(self, wrapped: Model, seconds: float, writer: Writer) -> None:
        super().__init__(wrapped, seconds)
        self.writer = writer

    def read_ahead(self, ctx: RunContext[Any] | None) -> ReadAhead:
        if _is_heard(ctx):
            return super().read_ahead(ctx)
        return ReadPast(self.seconds, self.writer)


def _is_heard(ctx: RunContext[Any] | None) -> bool:
    """Whether a capability reads or changes the deltas of a run, or wraps its model once more."""
    if ctx is None or ctx.root_capability is None:
        return True
    root = ctx.root_capability
    wrappers: list[Any] = []
    root.apply(lambda capability: wrappers.append(type(capability).get_wrapper_model))
    others = [method for method in wrappers if method is not AbstractCapability.get_wrapper_model]
    delta = PartDeltaEvent(index=0, delta=TextPartDelta(""))
    return root.has_wrap_run_event_stream or root.listens_to(delta) or len(others) > 1


class ReadPast(ReadAhead):
    """Lets deltas go to a writer that go on with a text which the run has got all of."""

    def __init__(self, seconds: float, writer: Writer) -> None:
        super().__init__(seconds)
        self._writer = writer
        self._texts: list[PartDeltaEvent] = []
        """Deltas that the writer gets, and not pydantic-ai."""
        self._passed: ModelResponseStreamEvent | None = None
        """The event that the run has got last."""
        self._pass_at = 0.0
        """The time at which a delta must pass again, by the loop's clock."""

    async def add(self, event: ModelResponseStreamEvent) -> None:
        if not isinstance(event, PartDeltaEvent) or not self._may_skip(event):
            self._write()
            await super().add(event)
            return
        self._texts.append(event)
        now = self._loop.time()
        if len(self._texts) >= MOST_EVENTS:
            self._leave(since=now)
            await asyncio.sleep(0)
        elif now >= self._due:
            self._leave(since=now)
        elif self._timer is None:
            self._timer = self._loop.call_at(self._due, self._leave, self._due)

    def end(self) -> None:
        try:
            self._write()
        finally:
            super().end()

    async def take(self) -> list[ModelResponseStreamEvent]:
        taken = await super().take()
        self._pass_at = self._loop.time() + PASS_SECONDS
        if taken:
            self._passed = taken[-1]
        return taken

    def _may_skip(self, event: PartDeltaEvent) -> bool:
        """Whether a delta goes on with the text whose last delta is the last event of the run.

        pydantic-ai has left that one as it was: for some models it makes each event anew.
        """
        return (
            not self._events
            and self._passed is not None
            and self._passed is self._writer.arrived
            and self._loop.time() < self._pass_at
            and joining_key(event) == joining_key(self._passed)
        )

    def _leave(self, since: float) -> None:
        """Let go what is held, and could have left `since` then."""
        if self._texts:
            self._hold_next(since)
            self._write()
        if self._events:
            self._wake_up()

    def _write(self) -> None:
        texts, self._texts = self._texts, []
        for event in joined(texts):
            if not self._writer.add(event):
                self._events.append(event)
