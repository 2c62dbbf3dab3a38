"""Events as numbered frames, which logs keep and after which readers resume."""

import json
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from ag_ui.core import RunErrorEvent, RunStartedEvent
from pydantic_core import PydanticSerializationError

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
    return RunErrorEvent(message=str(RUN_ERRORS[code]), code=code, metadata=metadata)
