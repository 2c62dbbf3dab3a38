"""The deltas of a text become frames at once.

Most events of a run are deltas of a text, and the stages would only translate them, at more than
twice the cost. All other events pass on to the next stage. The order stays, because each event is
in the log before the stage asks for the next one.

While only deltas of one text come from the model, they need not even pass pydantic-ai, which takes
most of what a delta costs: `join_deltas` writes them itself.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from pydantic_ai.messages import PartDeltaEvent, TextPartDelta
from pydantic_ai.ui import NativeEvent

from agui.events.frames import text_data, text_template
from agui.events.run_state import OpenText, Unfinished

Write = Callable[[bytes], object]
"""Takes the data of a server-sent event."""


@dataclass
class TextWriter:
    """Writes the deltas of the text that is open for clients as frames."""

    text: OpenText
    unfinished: Unfinished
    write: Write
    arrived: Any = None
    """The delta that has passed pydantic-ai last, and was written."""
    _text_id: str = ""
    _template: tuple[bytes, bytes, bytes] | None = None

    def add(self, event: NativeEvent) -> bool:
        """Write a delta of the open text; returns False for any other event."""
        delta = delta_of_open_text(event, self.text)
        if not delta:
            return False
        if self.text.current != self._text_id:
            self._text_id = self.text.current
            self._template = text_template(self._text_id)
        data = self._template and text_data(self._template, delta)
        if not data:
            return False
        self.write(data)
        return True

    def add_at_once(self, event: PartDeltaEvent) -> bool:
        """Write a delta that does not pass pydantic-ai; returns False if it must."""
        is_added = self.add(event)
        if is_added:
            self.unfinished.record(event)
        return is_added


async def write_texts(
    events: AsyncGenerator[NativeEvent], writer: TextWriter
) -> AsyncGenerator[NativeEvent]:
    async with aclosing(events):
        async for event in events:
            if writer.add(event):
                writer.arrived = event
            else:
                yield event


def delta_of_open_text(event: NativeEvent, text: OpenText) -> str:
    """Read what an event adds to the text that is open for clients; '' if it adds nothing to it."""
    if not isinstance(event, PartDeltaEvent) or not isinstance(event.delta, TextPartDelta):
        return ""
    # The provider may go on with a text after it began another part.
    if text.current and text.current == text.last:
        return event.delta.content_delta
    return ""
