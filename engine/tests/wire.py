"""What a strict client demands of a stream: its bytes, each event's form, and the order of events.

    events = read_stream(raw)      # framing, UTF-8, JSON
    check_stream(events, body)     # forms and order; `body` is what was sent

Stricter than AG-UI 1.0 where clients of today are: no empty deltas, no chunks, one call at a time.
It knows neither Django nor the engine, so it can check any server.
"""

import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NoReturn

import jsonpatch
from ag_ui.core import Event
from jsonpatch import JsonPatchException
from jsonpointer import JsonPointerException
from pydantic import BaseModel, TypeAdapter, ValidationError

EVENT: TypeAdapter[Any] = TypeAdapter(Event)
# What goes on with something that was opened: its kind, and the field that has its id.
GOING_ON = {
    **dict.fromkeys(["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"], ("text", "messageId")),
    **dict.fromkeys(["REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_END"], ("reasoning", "messageId")),
    "REASONING_END": ("reasoning span", "messageId"),
    **dict.fromkeys(["TOOL_CALL_ARGS", "TOOL_CALL_END"], ("call", "toolCallId")),
}


class WireError(AssertionError):
    """A stream that a strict client would not read to its end."""


def read_stream(raw: bytes) -> list[dict[str, Any]]:
    """Take a response apart as the strictest known parser does: LF, `data: ` with the space, one line an event."""
    if raw and not raw.endswith(b"\n\n"):
        raise WireError(f"The last frame is cut off: {raw[-80:]!r}")
    events, ids = [], []
    for frame in raw.decode().split("\n\n")[:-1]:
        data = [line for line in frame.split("\n") if not line.startswith((": ", "id: "))]
        if not data and frame.startswith(":"):
            continue
        if len(data) != 1 or not data[0].startswith("data: ") or "\r" in frame:
            raise WireError(f"Not one line of data: {frame[:200]!r}")
        ids += [line[4:] for line in frame.split("\n") if line.startswith("id: ")]
        events.append(_loads(data[0][6:]))
    if len(ids) != len(events) or len(set(ids)) != len(ids):
        raise WireError(f"Frames without ids of their own: {ids}")
    return events


def _loads(text: str) -> Any:
    def refuse(constant: str) -> NoReturn:
        raise WireError(f"{constant} is no JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise WireError(f"A key twice: {[name for name, _ in pairs]}")
        return dict(pairs)

    try:
        return json.loads(text, parse_constant=refuse, object_pairs_hook=unique)
    except ValueError as error:
        raise WireError(f"Not JSON: {text[:200]!r}") from error


def check_event(event: Any) -> None:
    """Check one event's form: no field that AG-UI does not know, no null, nothing to be coerced."""
    try:
        model = EVENT.validate_json(json.dumps(event), strict=True)
    except ValidationError as error:
        raise WireError(f"{event}: {error}") from error
    for flaw in _flaws(model, event):
        raise WireError(f"{event}: {flaw}")


def _flaws(value: Any, raw: Any) -> Iterable[str]:
    if isinstance(value, list):
        for item, raw_item in zip(value, raw, strict=True):
            yield from _flaws(item, raw_item)
    if not isinstance(value, BaseModel):
        return
    known = {model_field.alias or name: (name, model_field) for name, model_field in type(value).model_fields.items()}
    yield from (f"{key!r} is no field of {type(value).__name__}" for key in raw.keys() - known.keys())
    for key, (name, model_field) in known.items():
        if key in raw:
            if raw[key] is None and not model_field.is_required():
                yield f"{key!r} is null instead of absent"
            yield from _flaws(getattr(value, name), raw[key])
        elif model_field.default is not None:
            yield f"{key!r} is absent"  # Python's models fill it in, TypeScript's don't


def check_stream(events: Sequence[Any], body: dict[str, Any] | None = None, *, calls: Collection[str] = ()) -> "Stream":
    """Check all of a run; what was learned of it is returned.

    `body` is the RunAgentInput that was sent, `calls` are the ids of earlier calls that this run may answer.
    """
    stream = Stream(body or {}, known_calls=set(calls))
    for event in events:
        check_event(event)
        try:
            stream.take(event)
        except WireError as error:
            raise WireError(f"{error}, at {event}, in {[one['type'] for one in events]}") from None
    if stream.ended is None:
        raise WireError(f"No end: {[event['type'] for event in events]}")
    return stream


@dataclass
class Stream:
    """A run as a client sees it, event by event."""

    body: dict[str, Any]
    known_calls: set[str]
    started: bool = False
    ended: dict[str, Any] | None = None
    opened: dict[str, str] = field(default_factory=dict)
    """What is open now: its id, or its name, by kind."""
    steps: list[str] = field(default_factory=list)
    messages: dict[str, str] = field(default_factory=dict)
    """Which kind of message each id is."""
    calls: dict[str, str] = field(default_factory=dict)
    """The ids and names of the calls of this run."""
    results: dict[str, Any] = field(default_factory=dict)
    states: list[Any] = field(default_factory=list)
    """The shared state after each change."""
    activities: dict[str, tuple[str, Any]] = field(default_factory=dict)

    @property
    def speaks_1_0(self) -> bool:
        version = self.body.get("protocolVersion", self.body.get("protocol_version"))
        # The specification says that an unreadable version is a newer one.
        grammar = re.fullmatch(r"(\d+)\.\d+", version or "")
        return version is not None and (grammar is None or grammar[1].strip("0") != "")

    @property
    def interrupts(self) -> list[dict[str, Any]]:
        outcome: dict[str, Any] = (self.ended or {}).get("outcome", {})
        return outcome.get("interrupts", [])

    def take(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        _need(self.ended is None, "something after the end")
        _need(self.started or kind == "RUN_STARTED", "something before the start")
        if kind in GOING_ON:
            part, key = GOING_ON[kind]
            self._go_on(part, event[key], event)
        elif handler := getattr(self, f"_{kind.lower()}", None):
            handler(event)
        else:
            raise WireError("an event that clients of today don't know")

    def _open(self, kind: str, key: str) -> None:
        _need(kind not in self.opened, f"a {kind} while another one is open")
        self.opened[kind] = key

    def _new_message(self, kind: str, message_id: str) -> None:
        _need(message_id != "", "an empty id")
        # A text and a thought that ended may go on.
        _need(
            message_id not in self.messages or self.messages[message_id] == kind != "tool", "the id of another message"
        )
        self.messages[message_id] = kind

    # --- The run

    def _run_started(self, event: dict[str, Any]) -> None:
        _need(not self.started, "a second start")
        _need(event.get("protocolVersion") == "1.0", "no protocol version")
        self._check_ids(event)
        self.started = True

    def _run_finished(self, event: dict[str, Any]) -> None:
        _need(not self.steps and not self.opened, f"still open: {self.steps} {self.opened}")
        self._check_ids(event)
        outcome = event.get("outcome", {"type": "success"})
        getattr(self, f"_outcome_{outcome['type']}")(outcome)
        self.ended = event

    def _run_error(self, event: dict[str, Any]) -> None:
        _need(bool(event["message"] and event.get("code")), "an error without a message and a code")
        self.ended = event

    def _check_ids(self, event: dict[str, Any]) -> None:
        for name, snake in (("threadId", "thread_id"), ("runId", "run_id")):
            _need(self.body.get(name, self.body.get(snake, event[name])) == event[name], f"another {name}")

    @property
    def _open_calls(self) -> set[str]:
        return self.calls.keys() - self.results.keys()

    def _outcome_success(self, outcome: dict[str, Any]) -> None:
        pending = outcome.get("pendingToolCallIds", [])
        _need(self.speaks_1_0 or "pendingToolCallIds" not in outcome, "a field of 1.0 for an older client")
        _need("pendingToolCallIds" not in outcome or len(set(pending)) == len(pending) > 0, "odd pending calls")
        _need(set(pending) == self._open_calls or not self.speaks_1_0, f"calls left open: {self._open_calls}")
        self._need_client_tools(self._open_calls)

    def _outcome_interrupt(self, outcome: dict[str, Any]) -> None:
        interrupts = outcome["interrupts"]
        _need(0 < len({interrupt["id"] for interrupt in interrupts}) == len(interrupts), "interrupts without ids")
        for interrupt in interrupts:
            _need(bool(interrupt["id"] and interrupt["reason"]), "an interrupt without an id or a reason")
            if call_id := interrupt.get("toolCallId"):
                _need(call_id in self._open_calls | self.known_calls, "an interrupt of no known call")
            if "expiresAt" in interrupt:
                _need(datetime.fromisoformat(interrupt["expiresAt"]).tzinfo is not None, "a time of no time zone")
        self._need_client_tools(self._open_calls - {interrupt.get("toolCallId") for interrupt in interrupts})

    def _need_client_tools(self, call_ids: Iterable[str]) -> None:
        offered = {tool["name"] for tool in self.body.get("tools") or ()}
        lost = {self.calls[call_id] for call_id in call_ids} - offered
        _need(not lost or not self.body, f"calls that nobody answers: {lost}")

    def _outcome_cancelled(self, outcome: dict[str, Any]) -> None:
        _need(self.speaks_1_0, "an outcome of 1.0 for an older client")

    # --- Text, reasoning and calls

    def _go_on(self, kind: str, key: str, event: dict[str, Any]) -> None:
        _need(self.opened.get(kind) == key, f"the {kind} is not open")
        if event["type"].endswith("_END"):
            del self.opened[kind]
        else:
            _need(event["delta"] != "", "an empty delta")

    def _text_message_start(self, event: dict[str, Any]) -> None:
        _need(event.get("role") == "assistant", "no role: older clients need it")
        self._open("text", event["messageId"])
        self._new_message("text", event["messageId"])

    def _reasoning_start(self, event: dict[str, Any]) -> None:
        self._open("reasoning span", event["messageId"])
        _need(self.messages.get(event["messageId"], "reasoning") == "reasoning", "the id of another message")

    def _reasoning_message_start(self, event: dict[str, Any]) -> None:
        _need("reasoning span" in self.opened, "reasoning outside of its span")
        self._open("reasoning", event["messageId"])
        self._new_message("reasoning", event["messageId"])

    def _tool_call_start(self, event: dict[str, Any]) -> None:
        call_id = event["toolCallId"]
        _need(bool(call_id and event["toolCallName"]), "a call without an id or a name")
        _need(self.calls.get(call_id, event["toolCallName"]) == event["toolCallName"], "the id of another call")
        _need(call_id not in self.results, "the id of another call")
        _need(self.messages.get(event.get("parentMessageId", "")) == "text", "no known parent message")
        self._open("call", call_id)
        self.calls[call_id] = event["toolCallName"]

    def _tool_call_result(self, event: dict[str, Any]) -> None:
        call_id = event["toolCallId"]
        _need(call_id in self.calls.keys() | self.known_calls, "a result of no known call")
        _need(self.opened.get("call") != call_id, "a result of a call that is still open")
        _need(call_id not in self.results, "a second result")
        _need(event.get("role") == "tool", "no role: older clients need it")
        self._new_message("tool", event["messageId"])
        self.results[call_id] = event["content"]

    # --- State, activities and progress

    def _state_snapshot(self, event: dict[str, Any]) -> None:
        self.states.append(event["snapshot"])

    def _state_delta(self, event: dict[str, Any]) -> None:
        _need(self.states != [], "a change of an unknown state")
        self.states.append(_patched(self.states[-1], event["delta"]))

    def _activity_snapshot(self, event: dict[str, Any]) -> None:
        if event["messageId"] not in self.activities:
            self._new_message("activity", event["messageId"])
        self.activities[event["messageId"]] = event["activityType"], event["content"]

    def _activity_delta(self, event: dict[str, Any]) -> None:
        kind, content = self.activities.get(event["messageId"], (None, None))
        _need(kind == event["activityType"], "a change of an unknown activity")
        self.activities[event["messageId"]] = event["activityType"], _patched(content, event["patch"])

    def _step_started(self, event: dict[str, Any]) -> None:
        _need(event["stepName"] not in self.steps, "a step that is already open")
        self.steps.append(event["stepName"])

    def _step_finished(self, event: dict[str, Any]) -> None:
        _need(event["stepName"] in self.steps, "the end of a step that is not open")
        self.steps.remove(event["stepName"])

    def _custom(self, event: dict[str, Any]) -> None:
        """Take anything: it is for the page that knows its name."""

    def _messages_snapshot(self, event: dict[str, Any]) -> None:
        ids = [message["id"] for message in event["messages"]]
        _need(len(set(ids)) == len(ids), "two messages with one id")
        _need(not self.opened, f"still open: {self.opened}")
        # A client has no other calls any more, and no other results.
        told = {call["id"] for message in event["messages"] for call in message.get("toolCalls", ())}
        answered = {message["toolCallId"] for message in event["messages"] if message["role"] == "tool"}
        self.calls = {call_id: name for call_id, name in self.calls.items() if call_id in told}
        self.results = {call_id: result for call_id, result in self.results.items() if call_id in answered}


def _patched(document: Any, patch: list[dict[str, Any]]) -> Any:
    _need(patch != [], "an empty patch")
    try:
        return jsonpatch.apply_patch(document, patch)
    except (JsonPatchException, JsonPointerException) as error:
        raise WireError(f"a patch that does not apply ({error})") from error


def _need(claim: bool, otherwise: str) -> None:
    if not claim:
        raise WireError(otherwise)
