"""One event, one numbered frame: what a log keeps and a reader resumes after."""

import json
import re
import time
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from ag_ui.core import RunErrorEvent, RunStartedEvent, TextMessageContentEvent
from pydantic_core import PydanticSerializationError, to_json

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
        # Half of a surrogate pair is no UTF-8, but as an escape it is JSON.
        data = json.dumps(event.model_dump(by_alias=True), default=str)
    return data.encode()


def text_template(message_id: str) -> tuple[bytes, bytes, bytes] | None:
    """What stands before, between and after the time and the text in the data of a message's deltas.

    None if that can't be told.
    """
    now, text = 1234567890123, "the text"
    sample = to_data(TextMessageContentEvent(message_id=message_id, delta=text, timestamp=now))
    found = re.fullmatch(rb'(.*"timestamp":)%d(,.*)"%b"(.*)' % (now, text.encode()), sample)
    return (found[1], found[2], found[3]) if found else None


def text_data(template: tuple[bytes, bytes, bytes], text: str) -> bytes | None:
    """The data of a delta, as `to_data` makes it; None for half of a surrogate pair."""
    before, between, after = template
    try:
        encoded = to_json(text)
    except (PydanticSerializationError, UnicodeError):
        return None
    return b"%b%d%b%b%b" % (before, time.time() * 1000, between, encoded, after)


async def refusal(run_input: RunAgentInput, failure: RunFailed) -> AsyncGenerator[bytes]:
    """The stream of a run that may not start."""
    started = RunStartedEvent(
        thread_id=run_input.thread_id, run_id=run_input.run_id, protocol_version=PROTOCOL_VERSION
    )
    yield encode("refused", 1, started)
    yield encode("refused", 2, run_error(failure.code, details=failure.details))


def run_error(
    code: str, key: str = "", cause: str = "", details: Mapping[str, Any] | None = None
) -> RunErrorEvent:
    """Build the last event of a run that failed; `key` is the run's own id."""
    return RunErrorEvent(
        message=RUN_ERRORS[code],
        code=code,
        metadata=describe(code, key, cause=cause, details=details),
    )
