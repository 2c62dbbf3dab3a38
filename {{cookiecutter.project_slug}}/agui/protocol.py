"""From bytes to a RunAgentInput, and from stored messages back to AG-UI's.

This module and stream.py are the only ones that know AG-UI's types (https://docs.ag-ui.com, 1.0).
"""

import asyncio
import base64
import hashlib
import json
import math
import re
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    AssistantMessage,
    BaseEvent,
    EventType,
    FunctionCall,
    Interrupt,
    Message,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningStartEvent,
    ResumeEntry,
    RunAgentInput,
    StateDeltaEvent,
    StateSnapshotEvent,
    StepFinishedEvent,
    StepStartedEvent,
    TextMessageEndEvent,
    TextMessageStartEvent,
    ToolCall,
    ToolCallEndEvent,
    ToolCallStartEvent,
    ToolMessage,
)
from django.http import HttpRequest
from pydantic import ValidationError
from pydantic_ai import Agent, FunctionToolset
from pydantic_ai.messages import ModelMessage, ToolCallPart, ToolReturnPart
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.errors import BadRequest, RunFailed, TooLarge, Unprocessable, UnsupportedMediaType

__all__ = [
    "FROM_TOOLS",
    "TERMINAL",
    "ActivityDeltaEvent",
    "ActivitySnapshotEvent",
    "AssistantMessage",
    "BaseEvent",
    "EventType",
    "Interrupt",
    "Message",
    "ReasoningEndEvent",
    "ReasoningMessageEndEvent",
    "ReasoningStartEvent",
    "ResumeEntry",
    "RunAgentInput",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "TextMessageEndEvent",
    "TextMessageStartEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolMessage",
    "read_run_input",
]

TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)
# What a tool may send of itself. The rest of the protocol is the run's own to say.
FROM_TOOLS = (
    EventType.CUSTOM,
    EventType.RAW,
    EventType.STATE_SNAPSHOT,
    EventType.STATE_DELTA,
    EventType.ACTIVITY_SNAPSHOT,
    EventType.ACTIVITY_DELTA,
    EventType.STEP_STARTED,
    EventType.STEP_FINISHED,
)

MAX_ID_CHARS = 255
LARGE_BYTES = 100_000
# Our own key in the metadata of stored messages and requests.
METADATA_KEY = "agui"


async def read_run_input(request: HttpRequest) -> tuple[RunAgentInput, str]:
    """Read the body; answer it with its fingerprint, equal for equal requests.

    Raises UnsupportedMediaType, TooLarge, BadRequest and Unprocessable, none of which repeats the body.
    """
    # A page of another site can send text/plain without asking first, but not application/json.
    if request.content_type != "application/json":
        raise UnsupportedMediaType
    body = _read_body(request)
    if len(body) < LARGE_BYTES:
        return _parse(body)
    return await asyncio.to_thread(_parse, body)  # Others' streams don't wait for it


def _parse(body: bytes) -> tuple[RunAgentInput, str]:
    try:
        payload = json.loads(body, parse_constant=_finite, parse_float=_finite)
        _tidy_messages(payload)
        run_input = AGUIAdapter.build_run_input(json.dumps(payload).encode())
    except ValidationError as error:
        raise BadRequest("This is not a RunAgentInput.", details=_locations(error)) from None
    except (ValueError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None
    for name, value in (("threadId", run_input.thread_id), ("runId", run_input.run_id)):
        if not 0 < len(value) <= MAX_ID_CHARS or re.search(r"[\x00-\x1f\x7f\ud800-\udfff]", value):
            raise BadRequest(f"{name} has to have 1 to {MAX_ID_CHARS} printable characters.")
    if run_input.thread_id.endswith(("/events", "/cancel")):
        raise BadRequest("threadId must not end like one of our routes.")
    if len(run_input.protocol_version or "") > MAX_ID_CHARS:
        run_input.protocol_version = "unreadable"  # And so read as newer, like any other such word
    if len(run_input.messages) > conf.get().max_messages:
        raise Unprocessable(f"There are more than {conf.get().max_messages} messages: send the new ones only.")
    if len(json.dumps(run_input.state)) > conf.get().max_state_bytes:
        raise Unprocessable(f"The state has more than {conf.get().max_state_bytes} bytes.")
    if len(run_input.tools or ()) > conf.get().max_tools:
        raise Unprocessable(f"There are more than {conf.get().max_tools} tools.")
    return run_input, hashlib.sha256(body).hexdigest()


def _read_body(request: HttpRequest) -> bytes:
    limit = conf.get().max_body_bytes
    # Not `request.body`: its limit is for forms, and too small for a conversation with attachments.
    body = request.read(limit + 1)
    if len(body) > limit:
        raise TooLarge(f"The body has more than {limit} bytes.")
    return body


def _finite(digits: str) -> float:
    """Refuse what Python reads as a number and JSON does not know: NaN, Infinity and 1e999."""
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("not a number of JSON")
    return number


def _tidy_messages(payload: Any) -> None:
    """Give an id to each message that comes without one, as .NET's do, and take away what only we could have sealed."""
    messages = payload.get("messages") if isinstance(payload, dict) else None
    for message in _dicts(messages):
        if message.get("id") is None:
            message["id"] = str(uuid.uuid4())
        for sealed in (message, *_dicts(message.get("toolCalls")), *_dicts(message.get("tool_calls"))):
            # We never send any: our model's signatures stay here.
            sealed.pop("encryptedValue", None)
            sealed.pop("encrypted_value", None)


def _dicts(items: Any) -> list[dict[str, Any]]:
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _locations(error: ValidationError) -> list[str]:
    """Say where a body is wrong and how, not what it says there."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, item['loc']))}: {item['type']}" for item in errors[:10]]


def check_tool_names(run_input: RunAgentInput, agent: Agent[Any, Any]) -> None:
    """Refuse a client's tool with the name of one of ours, before anything runs."""
    ours = {name for toolset in agent.toolsets if isinstance(toolset, FunctionToolset) for name in toolset.tools}
    if any(tool.name in ours for tool in run_input.tools or ()):
        raise RunFailed("tool_name_conflict")


def check_attachments(messages: Iterable[Message]) -> None:
    """Refuse what nobody can read, or what only the server could: files of its disk, its buckets, its provider."""
    for message in messages:
        content = getattr(message, "content", None)
        for part in content if isinstance(content, list) else ():
            if not _is_readable(getattr(part, "source", None)):
                raise Unprocessable("An attachment can't be used: send it as base64 data, or as an http or https URL.")


def _is_readable(source: Any) -> bool:
    if source is None:
        return True  # Text
    if source.type == "data":
        try:
            return bool(base64.b64decode(source.value, validate=True))
        except ValueError:
            return False
    return source.type == "url" and re.match(r"https?://[^/]", source.value, re.IGNORECASE) is not None


def with_calls(tool_messages: Sequence[ToolMessage], calls: Iterable[ToolCallPart]) -> list[Message]:
    """Put the stored calls before their results: a result alone does not say which tool it is from."""
    tool_calls = [
        ToolCall(id=call.tool_call_id, function=FunctionCall(name=call.tool_name, arguments=call.args_as_json_str()))
        for call in calls
    ]
    return [AssistantMessage(id="calls", tool_calls=tool_calls), *tool_messages]


def to_wire(model: Any) -> dict[str, Any]:
    """Dump a model of AG-UI as it goes over the wire: camelCase, absent rather than null."""
    dumped: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_none=True)
    return dumped


class MessageIds:
    """The ids under which a client knows messages, in the order in which it got to know them."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._ids: dict[tuple[str, str | None], deque[str]] = defaultdict(deque)
        for message in messages:
            self.add(message.role, message.id, getattr(message, "tool_call_id", None))

    def add(self, role: str, message_id: str, tool_call_id: str | None = None) -> None:
        self._ids[role, tool_call_id].append(message_id)

    def stamp(self, messages: Iterable[ModelMessage]) -> None:
        """Write into each message under which ids it is known, before it is stored."""
        for message in messages:
            ids = [self._take(dumped) for dumped in AGUIAdapter.dump_messages([message])]
            annotate(message, ids=ids)

    def _take(self, message: Message) -> str:
        known = self._ids[message.role, getattr(message, "tool_call_id", None)]
        return known.popleft() if known else message.id


def annotate(message: ModelMessage, **values: Any) -> None:
    """Keep something of ours with a message; the model never sees it."""
    metadata = message.metadata or {}
    message.metadata = {**metadata, METADATA_KEY: {**metadata.get(METADATA_KEY, {}), **values}}


def annotation(message: ModelMessage, name: str) -> Any:
    """What `annotate` kept, or None."""
    return (message.metadata or {}).get(METADATA_KEY, {}).get(name)


def wire_messages(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Turn stored messages into AG-UI's, with exactly the ids that were streamed."""
    wire = []
    hidden = {"system", "developer"} if conf.get().send_reasoning else {"system", "developer", "reasoning"}
    for message in messages:
        dumped = AGUIAdapter.dump_messages([message])
        outcomes = {part.tool_call_id: outcome_of(part) for part in message.parts if isinstance(part, ToolReturnPart)}
        ids = annotation(message, "ids") or []
        for one, message_id in zip(dumped, ids, strict=False):
            one.id = message_id
            if isinstance(one, ToolMessage) and (outcome := outcomes.get(one.tool_call_id)):
                one.metadata = {"outcome": outcome}
        wire += [_without_continuity(to_wire(one)) for one in dumped if one.role not in hidden]
    return wire


def outcome_of(result: ToolReturnPart) -> str | None:
    """How a tool call ended for a client: 'failed', 'denied', or None for a success."""
    return None if result.outcome == "success" else "denied" if result.outcome == "denied" else "failed"


def _without_continuity(message: dict[str, Any]) -> dict[str, Any]:
    # Signatures and the like, for histories held by clients. Ours stays on the server.
    message.pop("encryptedValue", None)
    for call in message.get("toolCalls", ()):
        call.pop("encryptedValue", None)
    return message
