"""A proxy between a client and the endpoint that breaks the streams on their way, in one of many ways.

A mutation takes the events of a stream and yields what is sent instead: events, or bytes as they are.
"""

import http.client
import json
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from http.server import ThreadingHTTPServer
from typing import Any, NamedTuple

from servers import Quiet, answering

Event = dict[str, Any]
Mutate = Callable[[Iterator[Event]], Iterable[Event | bytes]]

NEW, OLD = BOTH = ("@ag-ui/client", "old-client")


class Scenario(NamedTuple):
    """A test of the Node suite."""

    file: str
    name: str


class Mutation(NamedTuple):
    """A way to break streams, and where the suite has to notice it."""

    scenario: Scenario
    mutate: Mutate
    clients: tuple[str, ...] = BOTH


NOTHING = "nothing"
"""The name of the way that leaves streams whole: a test should notice the mutation, not the proxy."""


# --- Ways to break streams


def each(change: Callable[[Event], Event | bytes]) -> Mutate:
    return lambda events: map(change, events)


def dropped(kind: str) -> Mutate:
    return lambda events: (event for event in events if event["type"] != kind)


def changed(kind: str, **values: Any) -> Mutate:
    return each(lambda event: event | values if event["type"] == kind else event)


def changed_if_there(**values: Any) -> Mutate:
    """Give other values to events that have such fields."""
    return each(lambda event: event | {key: value for key, value in values.items() if key in event})


def without(key: str, kind: str | None = None) -> Mutate:
    """Leave a field out, of one kind of events or of all."""
    return each(lambda event: {k: v for k, v in event.items() if k != key or kind not in (None, event["type"])})


def followed(kind: str, *others: Event | Callable[[Event], Event]) -> Mutate:
    """Insert events after each one of a kind; a function makes them of that one."""

    def mutate(events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            yield event
            if event["type"] == kind:
                yield from (other(event) if callable(other) else other for other in others)

    return mutate


def doubled(kind: str) -> Mutate:
    return followed(kind, lambda event: event)


def without_first(kind: str) -> Mutate:
    def mutate(events: Iterator[Event]) -> Iterator[Event]:
        is_lost = False
        for event in events:
            if event["type"] == kind and not is_lost:
                is_lost = True
            else:
                yield event

    return mutate


def with_interrupts(**values: Any) -> Mutate:
    def mutate(event: Event) -> Event:
        for interrupt in event.get("outcome", {}).get("interrupts", []):
            interrupt.update(values)
        return event

    return each(mutate)


def with_success_after_error(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        yield event
        if event["type"] == "RUN_STARTED":
            end = {"type": "RUN_FINISHED", "threadId": event["threadId"], "runId": event["runId"]}
        if event["type"] == "RUN_ERROR":
            yield end


def with_first_deltas_swapped(events: Iterator[Event]) -> Iterator[Event]:
    held = None
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT" and held is None:
            held = event
            yield next(events)
        yield event


def with_announced_results(events: Iterator[Event]) -> Iterator[Event]:
    for event in events:
        if event["type"] == "TOOL_CALL_RESULT":
            call = event["toolCallId"]
            yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "wipe"}
            yield {"type": "TOOL_CALL_END", "toolCallId": call}
        yield event


def with_whole_activities(events: Iterator[Event]) -> Iterator[Event]:
    known: Event = {}
    for event in events:
        if event["type"] == "ACTIVITY_SNAPSHOT":
            known = event
        yield known if event["type"] == "ACTIVITY_DELTA" else event


def cut_off(events: Iterator[Event]) -> Iterator[Event | bytes]:
    for event in events:
        if event["type"] == "TEXT_MESSAGE_END":
            yield encode(event)[:20]
            return
        yield event


def result_of(call: Event) -> Event:
    return {"type": "TOOL_CALL_RESULT", "messageId": "result", "toolCallId": call["toolCallId"], "content": "null"}


def delta(**operation: Any) -> Event:
    return {"type": "STATE_DELTA", "delta": [operation]}


def encode(event: Event) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


# --- What is played, and how it is broken

FAILURE = Scenario("text", "a model that fails in the middle of a word is an error without secrets")
REASONING = Scenario("text", "reasoning has ids of its own")
LIVE = Scenario("text", "text arrives while the model is still speaking")
TEXT = Scenario("text", "text is streamed")
FRONTEND = Scenario("tools", "a frontend tool is left to the client, and its result goes on")
TOOL = Scenario("tools", "a server tool is called, and its result is shown")
INTERRUPT = Scenario("interrupts", "a destructive tool waits for an answer")
APPROVAL = Scenario("interrupts", "an approved tool runs, once")
QUESTION = Scenario("questions", "a tool asks a question, whose answer is its result")
SAME_STATE = Scenario("state", "a run that changes nothing leaves the client's state alone")
STATE = Scenario("state", "what tools change reaches the client's state")
CUSTOM = Scenario("progress", "a tool's own events arrive")
STEPS = Scenario("progress", "steps are shown while a tool works")
ACTIVITY = Scenario("progress", "an activity is shown, and changes")
CANCELLED = Scenario("control", "a run that is cancelled ends well, and keeps what was said")

SUCCESS, INTERRUPTED = {"type": "success"}, {"type": "interrupt"}
LATE = {"type": "CUSTOM", "name": "late", "value": 1}
EMPTY_STATE = {"type": "STATE_SNAPSHOT", "snapshot": {"title": "", "items": []}}
MUTATIONS = {
    # How a run begins and ends
    "start_is_missing": Mutation(TEXT, dropped("RUN_STARTED")),
    "start_names_another_thread": Mutation(TEXT, changed("RUN_STARTED", threadId="another")),
    "start_has_no_version": Mutation(TEXT, without("protocolVersion")),
    "end_is_missing": Mutation(TEXT, dropped("RUN_FINISHED")),
    "end_comes_twice": Mutation(TEXT, doubled("RUN_FINISHED")),
    "something_follows_the_end": Mutation(TEXT, followed("RUN_FINISHED", LATE)),
    "error_is_followed_by_a_success": Mutation(FAILURE, with_success_after_error),
    "error_has_no_code": Mutation(FAILURE, without("code", "RUN_ERROR")),
    "new_shape_for_an_old_client": Mutation(
        FRONTEND, changed("RUN_FINISHED", outcome=SUCCESS | {"pendingToolCallIds": []}), (OLD,)
    ),
    "cancellation_is_a_success": Mutation(CANCELLED, changed("RUN_FINISHED", outcome=SUCCESS), (NEW,)),
    "open_calls_are_not_named": Mutation(FRONTEND, changed("RUN_FINISHED", outcome=SUCCESS), (NEW,)),
    # Text and reasoning
    "text_has_no_start": Mutation(TEXT, dropped("TEXT_MESSAGE_START")),
    "text_has_no_end": Mutation(TEXT, dropped("TEXT_MESSAGE_END")),
    "delta_names_another_message": Mutation(TEXT, changed("TEXT_MESSAGE_CONTENT", messageId="another")),
    "message_has_another_id_than_the_stored_one": Mutation(TEXT, changed_if_there(messageId="another")),
    "first_delta_is_lost": Mutation(TEXT, without_first("TEXT_MESSAGE_CONTENT")),
    "deltas_come_twice": Mutation(TEXT, doubled("TEXT_MESSAGE_CONTENT")),
    "first_two_deltas_are_swapped": Mutation(TEXT, with_first_deltas_swapped),
    "deltas_may_be_empty": Mutation(TEXT, followed("TEXT_MESSAGE_CONTENT", lambda event: event | {"delta": ""})),
    "reasoning_shares_the_texts_id": Mutation(REASONING, changed_if_there(messageId="shared")),
    "reasoning_is_not_closed": Mutation(REASONING, dropped("REASONING_END")),
    "stream_is_held_back": Mutation(LIVE, list, (NEW,)),
    # Tool calls
    "call_is_started_twice": Mutation(TOOL, doubled("TOOL_CALL_START")),
    "call_has_no_end": Mutation(TOOL, dropped("TOOL_CALL_END")),
    "arguments_are_incomplete": Mutation(TOOL, without_first("TOOL_CALL_ARGS")),
    "result_is_missing": Mutation(TOOL, dropped("TOOL_CALL_RESULT")),
    "result_belongs_to_another_call": Mutation(TOOL, changed("TOOL_CALL_RESULT", toolCallId="another")),
    "result_has_another_id_than_the_stored_one": Mutation(TOOL, changed("TOOL_CALL_RESULT", messageId="another")),
    "frontend_call_is_answered_by_the_server": Mutation(FRONTEND, followed("TOOL_CALL_END", result_of)),
    # Interrupts
    "interrupt_is_a_success": Mutation(APPROVAL, without("outcome")),
    "interrupts_are_missing": Mutation(APPROVAL, changed("RUN_FINISHED", outcome=INTERRUPTED)),
    "interrupts_are_empty": Mutation(APPROVAL, changed("RUN_FINISHED", outcome=INTERRUPTED | {"interrupts": []})),
    "interrupt_has_another_id": Mutation(APPROVAL, with_interrupts(id="another")),
    "interrupt_is_for_another_call": Mutation(INTERRUPT, with_interrupts(toolCallId="another")),
    "interrupt_asks_something_else": Mutation(INTERRUPT, with_interrupts(message="Go on?")),
    "resumed_call_is_announced_again": Mutation(APPROVAL, with_announced_results),
    "question_is_an_approval": Mutation(QUESTION, with_interrupts(reason="tool_call")),
    "question_has_another_schema": Mutation(QUESTION, with_interrupts(responseSchema={"type": "string"})),
    # State
    "state_has_no_snapshot": Mutation(STATE, dropped("STATE_SNAPSHOT")),
    "state_delta_misses_its_place": Mutation(
        STATE, followed("STATE_SNAPSHOT", delta(op="replace", path="/no/such/place", value=1))
    ),
    "state_delta_is_no_patch": Mutation(STATE, followed("STATE_SNAPSHOT", delta(op="add", path="title"))),
    "state_deltas_are_missing": Mutation(STATE, dropped("STATE_DELTA")),
    "state_is_sent_without_a_reason": Mutation(SAME_STATE, followed("RUN_STARTED", EMPTY_STATE)),
    # What tools tell while they work
    "steps_are_not_closed": Mutation(STEPS, dropped("STEP_FINISHED")),
    "steps_have_no_start": Mutation(STEPS, dropped("STEP_STARTED")),
    "steps_are_started_twice": Mutation(STEPS, doubled("STEP_STARTED")),
    "custom_event_has_no_value": Mutation(CUSTOM, changed("CUSTOM", value={})),
    "activity_has_no_snapshot": Mutation(ACTIVITY, dropped("ACTIVITY_SNAPSHOT")),
    "activity_is_sent_whole_each_time": Mutation(ACTIVITY, with_whole_activities),
    "activity_delta_is_for_another_one": Mutation(ACTIVITY, changed("ACTIVITY_DELTA", messageId="another")),
    # Form and framing
    "timestamp_is_null": Mutation(TEXT, each(lambda event: event | {"timestamp": None})),
    "timestamp_is_a_float": Mutation(TEXT, each(lambda event: event | {"timestamp": 1.5})),
    "parent_is_null": Mutation(TOOL, changed("TOOL_CALL_START", parentMessageId=None)),
    "event_is_unknown": Mutation(TEXT, followed("RUN_STARTED", {"type": "SURPRISE"})),
    "lines_end_with_crlf": Mutation(TEXT, each(lambda event: encode(event).replace(b"\n", b"\r\n"))),
    "stream_is_cut_off": Mutation(TEXT, cut_off),
    "frames_are_not_separated": Mutation(TEXT, each(lambda event: encode(event)[:-1])),
}


# --- The proxy


class Proxy(Quiet):
    def do_GET(self) -> None:
        name, _, path = self.path[1:].partition("/")
        try:
            self.relay(iter if name == NOTHING else MUTATIONS[name].mutate, f"/{path}")
        except ConnectionError:
            pass  # The client has seen enough
        except Exception:
            self.server.errors[name] = traceback.format_exc()

    do_POST = do_GET

    def relay(self, mutate: Mutate, path: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        connection = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
        kept = ("Authorization", "Content-Type", "Accept")
        headers = {name: value for name in kept if (value := self.headers[name])}
        connection.request(self.command, path, body, headers | {"Connection": "close"})
        with connection.getresponse() as response:
            self.send_response(response.status)
            self.send_header("Content-Type", response.headers.get("Content-Type", ""))
            self.end_headers()
            is_run = (self.command, path) == ("POST", "/agent/") and response.status == 200
            for piece in broken(response, mutate) if is_run else [response.read()]:
                self.wfile.write(piece)


def broken(stream: Iterable[bytes], mutate: Mutate) -> Iterator[bytes]:
    lines = (line.removeprefix(b"data: ") for line in stream if line.startswith(b"data: "))
    for piece in mutate(map(json.loads, lines)):
        yield piece if isinstance(piece, bytes) else encode(piece)


def breaking_proxy(upstream: int) -> AbstractContextManager[ThreadingHTTPServer]:
    """Break the runs of `/<name of a mutation>/agent/`.

    Its `errors` say what went wrong in the proxy itself, by mutation: it has to break streams, not to fail.
    """
    return answering(Proxy, upstream=upstream, errors={})
