"""Stage: the deltas of a text become frames at once.

Most events of a run are deltas of a text, and the stages that follow would only translate them, at
more than twice the cost. All other events pass on to the next stage. The order stays, because each
event is in the log before the stage asks for the next one.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from pydantic_ai.messages import PartDeltaEvent, TextPartDelta
from pydantic_ai.ui import NativeEvent

from agui.events.frames import text_data, text_template
from agui.events.run_state import OpenText

Write = Callable[[bytes], object]
"""Takes the data of a server-sent event."""


async def write_texts(
    events: AsyncGenerator[NativeEvent], text: OpenText, write: Write
) -> AsyncGenerator[NativeEvent]:
    text_id, template = "", None
    async with aclosing(events):
        async for event in events:
            data = None
            delta = delta_of_open_text(event, text)
            if delta:
                if text.current != text_id:
                    text_id, template = text.current, text_template(text.current)
                data = template and text_data(template, delta)
            if data:
                write(data)
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
