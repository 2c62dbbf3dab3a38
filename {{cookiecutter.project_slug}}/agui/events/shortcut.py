"""The short cut of text: from the agent to the log, past all stages.

Most events of a run are deltas of one text after the other, and the stages only translate them. So they leave before,
as the same bytes. All else goes the long way, one event at a time: nothing overtakes what is on it.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
from pydantic_ai import RunContext
from pydantic_ai.agent import AbstractAgent, WrapperAgent
from pydantic_ai.messages import AgentStreamEvent, PartDeltaEvent, TextPartDelta
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.ui import NativeEvent
from pydantic_core import PydanticSerializationError, to_json

from agui.deps import AgentDeps
from agui.events.frames import text_template
from agui.events.run_events import RunEvents

Write = Callable[[bytes], object]
"""Takes the data of a server-sent event."""


class ShortCut(WrapperAgent[AgentDeps, Any]):
    """An agent that writes the deltas of the open text itself. Its events are all others."""

    def __init__(self, wrapped: AbstractAgent[AgentDeps, Any], run: RunEvents, write: Write) -> None:
        super().__init__(wrapped)
        self._run, self._write = run, write
        self._text_id = ""
        self._template: tuple[bytes, bytes, bytes] | None = None

    @asynccontextmanager
    async def run_stream_events(self, *prompt: Any, **options: Any) -> AsyncGenerator[AsyncGenerator[NativeEvent]]:  # type: ignore[override]
        long_way = LongWay()

        async def handle(_: RunContext[AgentDeps], events: AsyncIterable[AgentStreamEvent]) -> None:
            async for event in events:
                if not self._has_written(event):
                    await long_way.send(event)

        async def run() -> Any:
            try:
                return await self.wrapped.run(*prompt, event_stream_handler=handle, **options)
            finally:
                long_way.end()

        task = asyncio.create_task(run())
        try:
            yield long_way.receive(task)
        finally:
            task.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([task])

    def _has_written(self, event: AgentStreamEvent) -> bool:
        run = self._run
        if not (isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta) and run.open_text):
            return False
        # A provider may go on with a text after it began something else.
        if run.open_text != run.last_text or not event.delta.content_delta:
            return False
        if run.open_text != self._text_id:
            self._text_id, self._template = run.open_text, text_template(run.open_text)
        if self._template is None:
            return False
        try:
            text = to_json(event.delta.content_delta)
        except (PydanticSerializationError, UnicodeError):
            return False  # Half of a surrogate pair
        before, between, after = self._template
        run.unfinished.note(event)
        self._write(b"%b%d%b%b%b" % (before, time.time() * 1000, between, text, after))
        return True


class LongWay:
    """Hands events from one task to another. Sending ends when the other has done with the event."""

    def __init__(self) -> None:
        self._event: NativeEvent | None = None
        self._sent, self._done = asyncio.Event(), asyncio.Event()

    async def send(self, event: NativeEvent) -> None:
        self._event = event
        self._done.clear()
        self._sent.set()
        await self._done.wait()

    def end(self) -> None:
        self._event = None
        self._sent.set()

    async def receive(self, run: asyncio.Task[Any]) -> AsyncGenerator[NativeEvent]:
        """Yield what is sent, then the run's result. Raises what the run has raised."""
        while True:
            await self._sent.wait()
            self._sent.clear()
            if self._event is None:
                break
            yield self._event
            self._done.set()
        yield AgentRunResultEvent(await run)
