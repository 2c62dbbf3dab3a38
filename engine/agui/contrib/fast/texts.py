"""Write the deltas of a text as frames at once, past the stages and past pydantic-ai.

Most events of a run are deltas of a text, and the stages would only translate them, at more than
twice the cost. All other events take the usual way. The order stays, because each event is in the
log before the run asks for the next one.

While a model sends nothing but one text, most of its deltas don't even pass pydantic-ai, which
takes most of what a delta costs. What pydantic-ai keeps is complete anyway, because the model's own
stream has put it together.
"""

import json
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial
from weakref import proxy

from pydantic_ai.messages import PartDeltaEvent, TextPartDelta
from pydantic_ai.ui import NativeEvent
from pydantic_core import PydanticSerializationError, to_json

from agui import clock, conf, parts
from agui.contrib.fast.deltas import SkippingModel
from agui.contrib.fast.guard import Changed
from agui.events.frames import to_data
from agui.events.join_deltas import joining
from agui.parts import Part
from agui.protocol.types import EventType, TextMessageContentEvent
from agui.runs.drive import write
from agui.runs.record import ActiveRun

# What is in the log last while a text is open for clients.
OPEN = (EventType.TEXT_MESSAGE_START, EventType.TEXT_MESSAGE_CONTENT)


def skip_stages(
    run: ActiveRun, events: AsyncGenerator[NativeEvent], part: Part
) -> AsyncGenerator[NativeEvent]:
    """Write the texts of a run, unless somebody has to see them pass. Raises Changed."""
    others = [other for other in parts.installed() if other is not part and _sees_events(other)]
    if run.join_to_log or others:
        return events
    writer = TextWriter(run)
    join = partial(SkippingModel, writer=writer)
    seconds = conf.get().delta_window_seconds
    run.served.join_deltas = partial(joining, seconds=seconds, join=join)
    return write_texts(events, writer)


def _sees_events(part: Part) -> bool:
    return type(part).wrap_events is not Part.wrap_events


class TextWriter:
    """Writes the deltas of the text that is open for clients as frames."""

    def __init__(self, run: ActiveRun) -> None:
        self.run = proxy(run)  # The run has what refers to the writer.
        self.arrived: NativeEvent | None = None
        """The delta that has passed pydantic-ai last, and was written."""
        self._text_id = ""
        self._template = (b"", b"", b"")
        self._last = b""
        """The frame that was written last."""

    def add(self, event: NativeEvent) -> bool:
        """Write a delta of the open text; returns False for any other event."""
        if not isinstance(event, PartDeltaEvent) or not isinstance(event.delta, TextPartDelta):
            return False
        text = event.delta.content_delta
        if not text or not self._is_open():
            return False
        data = text_data(self._template, text)
        if not data:
            return False
        write(self.run, data)
        self._last = self.run.log.frames[-1]
        self.run.unfinished.record(event)
        return True

    def _is_open(self) -> bool:
        """Whether the text that began last is the last that clients got something of.

        The provider may go on with a text after it began another part.
        """
        text_id, frames = self.run.text_id, self.run.log.frames
        if not text_id or not frames:
            return False
        if text_id != self._text_id:
            self._text_id, self._template = text_id, text_template(text_id)
        elif frames[-1] is self._last:
            return True
        event = json.loads(frames[-1].partition(b"\ndata: ")[2])
        return event["type"] in OPEN and event["messageId"] == text_id


async def write_texts(
    events: AsyncGenerator[NativeEvent], writer: TextWriter
) -> AsyncGenerator[NativeEvent]:
    async with aclosing(events):
        async for event in events:
            if writer.add(event):
                writer.arrived = event
            else:
                yield event


def text_template(message_id: str) -> tuple[bytes, bytes, bytes]:
    """Cut the data of a message's deltas at the time and at the text.

    Returns the bytes before, between and after them. Raises Changed if they have another form.
    """
    now, text = 1234567890123, "the text"
    sample = to_data(TextMessageContentEvent(message_id=message_id, delta=text, timestamp=now))
    match = re.fullmatch(rb'(.*"timestamp":)%d(,.*)"%b"(.*)' % (now, text.encode()), sample)
    if match is None:
        raise Changed("encodes events in another form")
    return match[1], match[2], match[3]


def text_data(template: tuple[bytes, bytes, bytes], text: str) -> bytes | None:
    """Make the data of a delta as `to_data` does; None for a text with a lone surrogate."""
    before, between, after = template
    try:
        encoded = to_json(text)
    except (PydanticSerializationError, UnicodeError):
        return None
    return b"%b%d%b%b%b" % (before, clock.timestamp() * 1000, between, encoded, after)
