"""From bytes to a RunAgentInput, and from stored messages back to AG-UI's.

This module and events/stream.py are the only ones that know AG-UI's types (https://docs.ag-ui.com, 1.0).
"""

import base64
import hashlib
import json
import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

from ag_ui.core import (
    ActivityDeltaEvent,
    ActivitySnapshotEvent,
    AssistantMessage,
    BaseEvent,
    CustomEvent,
    EventType,
    FunctionCall,
    Interrupt,
    Message,
    MessagesSnapshotEvent,
    ReasoningEndEvent,
    ReasoningMessageEndEvent,
    ReasoningStartEvent,
    ResumeEntry,
    RunAgentInput,
    RunFinishedCancelledOutcome,
    RunFinishedEvent,
    RunFinishedInterruptOutcome,
    RunFinishedSuccessOutcome,
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
from pydantic_ai import Agent
from pydantic_ai.messages import BaseToolCallPart, ModelMessage, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.ui.ag_ui import AGUIAdapter

from agui import conf
from agui.blocking.executor import run_in_thread, stop_if_given_up
from agui.errors import BadRequest, RunFailed, Unprocessable, UnsupportedMediaType
from agui.http.bodies import parse_json, read_body, tidy_messages
from agui.protocol.extras import Parts, Wire, dump, extra_of, new_activities, outcome_of, tell, to_wire
from agui.protocol.foreign_schemas import MAX_VALUES, are_small
from agui.tools.search import reserved_names
from agui.tools.toolset import known_names

__all__ = [
    "FROM_TOOLS",
    "OF_SUBAGENTS",
    "TERMINAL",
    "ActivityDeltaEvent",
    "ActivitySnapshotEvent",
    "AssistantMessage",
    "BaseEvent",
    "CustomEvent",
    "EventType",
    "Interrupt",
    "Message",
    "MessagesSnapshotEvent",
    "ReasoningEndEvent",
    "ReasoningMessageEndEvent",
    "ReasoningStartEvent",
    "ResumeEntry",
    "RunAgentInput",
    "RunFinishedCancelledOutcome",
    "RunFinishedEvent",
    "RunFinishedInterruptOutcome",
    "RunFinishedSuccessOutcome",
    "StateDeltaEvent",
    "StateSnapshotEvent",
    "StepFinishedEvent",
    "StepStartedEvent",
    "TextMessageEndEvent",
    "TextMessageStartEvent",
    "ToolCallEndEvent",
    "ToolCallStartEvent",
    "ToolMessage",
    "outcome_of",
    "read_run_input",
    "to_wire",
]

TERMINAL = (EventType.RUN_FINISHED, EventType.RUN_ERROR)
OF_SUBAGENTS = (EventType.SUBAGENT_STARTED, EventType.SUBAGENT_FINISHED, EventType.SUBAGENT_ERROR)
# What a tool may send of itself. The rest of the protocol is the run's own to say.
FROM_TOOLS = (
    *OF_SUBAGENTS,
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
MAX_PARTS = 1000
# Our own key in the metadata of stored messages and requests.
METADATA_KEY = "agui"


async def read_run_input(request: HttpRequest) -> tuple[RunAgentInput, str]:
    """Read the body; answer it with its fingerprint, equal for equal requests.

    Raises UnsupportedMediaType, TooLarge, BadRequest and Unprocessable, none of which repeats the body.
    """
    # A page of another site can send text/plain without asking first, but not application/json.
    if request.content_type != "application/json":
        raise UnsupportedMediaType
    body = read_body(request, conf.get().max_body_bytes)
    if len(body) < LARGE_BYTES and b"$ref" not in body:
        return _parse(body)
    return await run_in_thread(_parse, body, pool="reading")  # Others' streams don't wait for it


def _parse(body: bytes) -> tuple[RunAgentInput, str]:
    payload = parse_json(body)
    tidy_messages(payload)
    try:
        run_input = AGUIAdapter.build_run_input(json.dumps(payload).encode())
    except ValidationError as error:
        raise BadRequest("This is not a RunAgentInput.", details=_locations(error)) from None
    except (ValueError, RecursionError):
        raise BadRequest("The body is not valid JSON.") from None
    check_thread_id(run_input.thread_id)
    _check_id("runId", run_input.run_id)
    for message in run_input.messages:
        check_message_id(message.id)
        if _size(message) > MAX_PARTS:
            raise Unprocessable(f"An answer has more than {MAX_PARTS} parts: its text and its tool calls.")
    if len(run_input.protocol_version or "") > MAX_ID_CHARS:
        run_input.protocol_version = "unreadable"  # And so read as newer, like any other such word
    if len(run_input.messages) > conf.get().max_messages:
        raise Unprocessable(f"There are more than {conf.get().max_messages} messages: send the new ones only.")
    if len(json.dumps(run_input.state)) > conf.get().max_state_bytes:
        raise Unprocessable(f"The state has more than {conf.get().max_state_bytes} bytes.")
    if len(run_input.tools or ()) > conf.get().max_tools:
        raise Unprocessable(f"There are more than {conf.get().max_tools} tools.")
    if not are_small(tool.parameters for tool in run_input.tools or ()):
        raise Unprocessable(f"The schemas of the tools have more than {MAX_VALUES} values, with each $ref followed.")
    return run_input, hashlib.sha256(body).hexdigest()


def check_thread_id(thread_id: str) -> None:
    """Refuse an id that a database or a path can't hold. Raises BadRequest."""
    _check_id("threadId", thread_id)
    if thread_id in (".", ".."):
        raise BadRequest("threadId must not be a dot or two: no browser can ask for such a path.")


def check_message_id(message_id: str) -> None:
    """Refuse an id that no message has. Raises BadRequest."""
    _check_id("The id of a message", message_id)


def _check_id(name: str, value: str) -> None:
    if not 0 < len(value) <= MAX_ID_CHARS or re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]", value):
        raise BadRequest(f"{name} has to have 1 to {MAX_ID_CHARS} printable characters.")


def _locations(error: ValidationError) -> list[str]:
    """Say where a body is wrong and how, not what it says there."""
    errors = error.errors(include_url=False, include_context=False, include_input=False)
    return [f"{'.'.join(map(str, item['loc']))}: {item['type']}" for item in errors[:10]]


def check_tool_names(run_input: RunAgentInput, agent: Agent[Any, Any]) -> None:
    """Refuse a client's tool with the name of one of ours, before anything runs."""
    ours = known_names(agent.toolsets) | reserved_names(agent)
    if any(tool.name in ours for tool in run_input.tools or ()):
        raise RunFailed("tool_name_conflict")


def check_attachments(messages: Iterable[Message]) -> None:
    """Refuse what nobody can read, or what only the server could: files of its disk, its buckets, its provider."""
    for message in messages:
        content = getattr(message, "content", None)
        for part in content if isinstance(content, list) else ():
            if not _is_readable(getattr(part, "source", None)):
                schemes = ", ".join(conf.get().allowed_file_url_schemes)
                urls = f", or as a URL ({schemes})" if schemes else ""
                raise Unprocessable(f"An attachment can't be used: send it as base64 data{urls}.")


def _is_readable(source: Any) -> bool:
    if source is None:
        return True  # Text
    if source.type == "data":
        try:
            return bool(base64.b64decode(source.value, validate=True))
        except ValueError:
            return False
    scheme = re.match(r"(.*?)://[^/]", source.value)
    return source.type == "url" and scheme is not None and scheme[1].lower() in conf.get().allowed_file_url_schemes


def with_calls(tool_messages: Sequence[ToolMessage], calls: Iterable[ToolCallPart]) -> list[Message]:
    """Put the stored calls before their results: a result alone does not say which tool it is from."""
    tool_calls = [
        ToolCall(id=call.tool_call_id, function=FunctionCall(name=call.tool_name, arguments=call.args_as_json_str()))
        for call in calls
    ]
    return [AssistantMessage(id="calls", tool_calls=tool_calls), *tool_messages]


class MessageIds:
    """The ids under which a client knows messages, in the order in which it got to know them."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._known: dict[tuple[str, str | None], deque[tuple[str, Message | None]]] = defaultdict(deque)
        self._extras: dict[str, dict[str, Any]] = {}
        messages = list(messages)
        for message, following in zip_longest(messages, messages[1:]):
            # pydantic-ai drops an empty answer when another one follows.
            if _size(message) or not isinstance(following, AssistantMessage):
                self.add(message.role, message.id, getattr(message, "tool_call_id", None), message)

    def add(
        self,
        role: str,
        message_id: str,
        tool_call_id: str | None = None,
        sent: Message | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Note an id, and with it the message itself if the client sent it, or what it was told besides."""
        self._known[role, tool_call_id].append((message_id, sent))
        if extra:
            self._extras[message_id] = extra

    def extend(self, message_id: str, extra: dict[str, Any]) -> None:
        """Note what a client was told of a message besides."""
        known = self._extras.get(message_id, {})
        self._extras[message_id] = {**known, **extra, "metadata": {**known.get("metadata", {}), **extra["metadata"]}}

    def stamp(self, messages: Iterable[ModelMessage]) -> None:
        """Write into each message under which ids it is known, and what else the client said of it, to store it.

        Raises Unprocessable if that is too much.
        """
        for message in messages:
            cuts, parts = self._cuts(message), Parts.of(message)
            ids: list[str] = []
            extras: dict[str, Any] = {}
            for dumped in dump(message, cuts):
                known = self._known[dumped.role, getattr(dumped, "tool_call_id", None)]
                message_id, sent = known.popleft() if known else (dumped.id, None)
                ids.append(message_id)
                if extra := self._extras.get(message_id) if sent is None else extra_of(sent, dumped, parts):
                    extras[message_id] = extra
            notes = {"ids": ids, "cuts": cuts, "extras": extras}
            annotate(message, **{name: note for name, note in notes.items() if note})

    def _cuts(self, message: ModelMessage) -> list[int]:
        """Where messages of the client begin in what pydantic-ai has joined to one answer."""
        answers = (sent for _, sent in self._known["assistant", None] if sent is not None)
        cuts: list[int] = []
        left = 0
        for index, part in enumerate(message.parts):
            if isinstance(part, TextPart | BaseToolCallPart):
                if not left:
                    cuts.append(index)
                    left = _size(next(answers, None)) or len(message.parts)
                left -= 1
        return cuts[1:]


def _size(message: Message | None) -> int:
    """How many parts pydantic-ai makes of an answer. Any other message is one."""
    if isinstance(message, AssistantMessage):
        return bool(message.content) + len(message.tool_calls or ())
    return int(message is not None)


def annotate(message: ModelMessage, **values: Any) -> None:
    """Keep something of ours with a message; the model never sees it."""
    metadata = message.metadata or {}
    message.metadata = {**metadata, METADATA_KEY: {**metadata.get(METADATA_KEY, {}), **values}}


def annotation(message: ModelMessage, name: str) -> Any:
    """What `annotate` kept, or None."""
    return (message.metadata or {}).get(METADATA_KEY, {}).get(name)


def wire_messages(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Turn stored messages into AG-UI's, exactly as they were streamed or sent, with what tools have shown."""
    wire = Wire()
    shown: dict[str, dict[str, Any]] = {}
    for message in messages:
        stop_if_given_up()
        activities: dict[str | None, list[dict[str, Any]]] = defaultdict(list)
        for activity in annotation(message, "activities") or ():
            activities[activity["after"]].append(activity)
        for after, told in [(None, None), *_wire_message(message)]:
            if told:
                wire.add(told)
            for new in new_activities(activities[after], shown):
                wire.add(new)
    return wire.messages()


def _wire_message(message: ModelMessage) -> Iterator[tuple[str, dict[str, Any] | None]]:
    """Each message with its id; None for one that a client is not told."""
    extras = annotation(message, "extras") or {}
    # What tools have shown is no part of a message: an activity here is a note of pydantic-ai's for the model.
    hidden = {"system", "developer", "activity"} | (set() if conf.get().send_reasoning else {"reasoning"})
    if not all(isinstance(part, UserPromptPart) for part in message.parts):
        # A prompt beside anything else is not the user's: a tool has shown the model something, or it is to try again.
        hidden.add("user")
    dumped, parts = dump(message, annotation(message, "cuts") or ()), Parts.of(message)
    for one, message_id in zip(dumped, annotation(message, "ids") or (), strict=False):
        one.id = message_id
    for one in dumped:
        yield one.id, None if one.role in hidden else tell(one, parts, extras.get(one.id, {}))


def told_of_calls(message: ModelMessage) -> dict[str, dict[str, Any]]:
    """What a client was told of tool calls besides their results, by tool call id."""
    extras = annotation(message, "extras") or {}
    dumped = dump(message, annotation(message, "cuts") or ()) if extras else []
    named = zip(dumped, annotation(message, "ids") or (), strict=False)
    return {one.tool_call_id: extras.get(known, {}).get("metadata") or {} for one, known in named if one.role == "tool"}
