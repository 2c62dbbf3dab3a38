"""Events as numbered frames, which logs keep and after which readers resume."""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from ag_ui.core import RunErrorEvent, RunStartedEvent, TextMessageContentEvent
from pydantic_core import PydanticSerializationError, to_json

from agui import clock
from agui.errors import RUN_ERRORS, RunFailed
from agui.events.failures import describe
from agui.protocol.types import BaseEvent, RunAgentInput

PROTOCOL_VERSION = "1.0"


def encode(key: str, number: int, event: BaseEvent) -> bytes:
    """Encode one event as a server-sent event that a reader can resume after."""
    return frame(key, number, to_data(event))


def frame(key: str, number: int, data: bytes) -> bytes:
    return b"id: %b:%d\ndata: %b\n\n" % (key.encode(), number, data)


def to_data(event: BaseEvent) -> bytes:
    try:
        data = event.model_dump_json(by_alias=True, fallback=str)
    except PydanticSerializationError:
        # A lone surrogate can't be encoded as UTF-8, but JSON can escape it.
        data = json.dumps(event.model_dump(by_alias=True), default=str)
    return data.encode()


def text_template(message_id: str) -> tuple[bytes, bytes, bytes] | None:
    """Cut the data of a message's deltas at the time and at the text.

    Returns the bytes before, between and after them, or None if the data has an unknown form.
    """
    now, text = 1234567890123, "the text"
    sample = to_data(TextMessageContentEvent(message_id=message_id, delta=text, timestamp=now))
    match = re.fullmatch(rb'(.*"timestamp":)%d(,.*)"%b"(.*)' % (now, text.encode()), sample)
    if match is None:
        return None
    return match[1], match[2], match[3]


def text_data(template: tuple[bytes, bytes, bytes], text: str) -> bytes | None:
    """Make the data of a delta as `to_data` does; None for a text with a lone surrogate."""
    before, between, after = template
    try:
        encoded = to_json(text)
    except (PydanticSerializationError, UnicodeError):
        return None
    return b"%b%d%b%b%b" % (before, clock.timestamp() * 1000, between, encoded, after)


async def refusal(run_input: RunAgentInput, failure: RunFailed) -> AsyncGenerator[bytes]:
    """Yield the frames of a run that may not start."""
    started = RunStartedEvent(
        thread_id=run_input.thread_id, run_id=run_input.run_id, protocol_version=PROTOCOL_VERSION
    )
    yield encode("refused", 1, started)
    yield encode("refused", 2, run_error(failure.code, details=failure.details))


def run_error(
    code: str, key: str = "", cause: str = "", details: Mapping[str, Any] | None = None
) -> RunErrorEvent:
    """Build the last event of a run that failed; `key` is the run's own id."""
    metadata = describe(code, key, cause=cause, details=details)
    return RunErrorEvent(message=RUN_ERRORS[code], code=code, metadata=metadata)
