"""A proxy between a client and the endpoint that breaks the streams on their way, in one of many ways.

A mutation takes the events of a stream and yields what is sent instead: events, or bytes as they are.
"""

import http.client
import json
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

Event = dict[str, Any]
Mutate = Callable[[Iterator[Event]], Iterator[Event | bytes]]


class Scenario(NamedTuple):
    """A test of the Node suite."""

    file: str
    name: str


class Mutation(NamedTuple):
    """A way to break streams, and where the suite has to notice it."""

    mutate: Mutate
    scenario: Scenario
    clients: tuple[str, ...]


BOTH = ("@ag-ui/client", "old-client")
MUTATIONS: dict[str, Mutation] = {}
NOTHING = "nothing"
"""The name of the way that leaves streams whole: a test should notice the mutation, not the proxy."""


def noticed(scenario: Scenario, clients: tuple[str, ...] = BOTH) -> Callable[[Mutate], Mutate]:
    """Register a mutation, with the scenario that has to fail."""

    def decorate(mutate: Mutate) -> Mutate:
        MUTATIONS[mutate.__name__] = Mutation(mutate, scenario, clients)
        return mutate

    return decorate


def dropped(events: Iterator[Event], *kinds: str) -> Iterator[Event]:
    return (event for event in events if event["type"] not in kinds)


def changed(events: Iterator[Event], kind: str, **values: Any) -> Iterator[Event]:
    return (event | values if event["type"] == kind else event for event in events)


def followed(events: Iterator[Event], kind: str, *others: Event) -> Iterator[Event]:
    """Insert events after each one of a kind."""
    for event in events:
        yield event
        if event["type"] == kind:
            yield from others


def doubled(events: Iterator[Event], kind: str) -> Iterator[Event]:
    for event in events:
        yield from [event] * (2 if event["type"] == kind else 1)


def without_first(events: Iterator[Event], kind: str) -> Iterator[Event]:
    lost = False
    for event in events:
        if event["type"] == kind and not lost:
            lost = True
        else:
            yield event


def encode(event: Event) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


# --- What is played

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


# --- How a run begins and ends


@noticed(TEXT)
def start_is_missing(events):
    return dropped(events, "RUN_STARTED")


@noticed(TEXT)
def start_names_another_thread(events):
    return changed(events, "RUN_STARTED", threadId="another")


@noticed(TEXT)
def start_has_no_version(events):
    for event in events:
        event.pop("protocolVersion", None)
        yield event


@noticed(TEXT)
def end_is_missing(events):
    return dropped(events, "RUN_FINISHED")


@noticed(TEXT)
def end_comes_twice(events):
    return doubled(events, "RUN_FINISHED")


@noticed(TEXT)
def something_follows_the_end(events):
    return followed(events, "RUN_FINISHED", {"type": "CUSTOM", "name": "late", "value": 1})


@noticed(FAILURE)
def error_is_followed_by_a_success(events):
    for event in events:
        yield event
        if event["type"] == "RUN_STARTED":
            end = {"type": "RUN_FINISHED", "threadId": event["threadId"], "runId": event["runId"]}
        if event["type"] == "RUN_ERROR":
            yield end


@noticed(FAILURE)
def error_has_no_code(events):
    return (
        {key: value for key, value in event.items() if event["type"] != "RUN_ERROR" or key != "code"}
        for event in events
    )


@noticed(FRONTEND, ("old-client",))
def new_shape_for_an_old_client(events):
    return changed(events, "RUN_FINISHED", outcome={"type": "success", "pendingToolCallIds": []})


@noticed(CANCELLED, ("@ag-ui/client",))
def cancellation_is_a_success(events):
    return changed(events, "RUN_FINISHED", outcome={"type": "success"})


@noticed(FRONTEND, ("@ag-ui/client",))
def open_calls_are_not_named(events):
    return changed(events, "RUN_FINISHED", outcome={"type": "success"})


# --- Text and reasoning


@noticed(TEXT)
def text_has_no_start(events):
    return dropped(events, "TEXT_MESSAGE_START")


@noticed(TEXT)
def text_has_no_end(events):
    return dropped(events, "TEXT_MESSAGE_END")


@noticed(TEXT)
def delta_names_another_message(events):
    return changed(events, "TEXT_MESSAGE_CONTENT", messageId="another")


@noticed(TEXT)
def message_has_another_id_than_the_stored_one(events):
    return ({**event, "messageId": "another"} if "messageId" in event else event for event in events)


@noticed(TEXT)
def first_delta_is_lost(events):
    return without_first(events, "TEXT_MESSAGE_CONTENT")


@noticed(TEXT)
def deltas_come_twice(events):
    return doubled(events, "TEXT_MESSAGE_CONTENT")


@noticed(TEXT)
def first_two_deltas_are_swapped(events):
    held = None
    for event in events:
        if event["type"] == "TEXT_MESSAGE_CONTENT" and held is None:
            held = event
            yield next(events)
        yield event


@noticed(TEXT)
def deltas_may_be_empty(events):
    for event in events:
        yield event
        if event["type"] == "TEXT_MESSAGE_CONTENT":
            yield event | {"delta": ""}


@noticed(REASONING)
def reasoning_shares_the_texts_id(events):
    return ({**event, "messageId": "shared"} if "messageId" in event else event for event in events)


@noticed(REASONING)
def reasoning_is_not_closed(events):
    return dropped(events, "REASONING_END")


@noticed(LIVE, ("@ag-ui/client",))
def stream_is_held_back(events):
    yield from list(events)


# --- Tool calls


@noticed(TOOL)
def call_is_started_twice(events):
    return doubled(events, "TOOL_CALL_START")


@noticed(TOOL)
def call_has_no_end(events):
    return dropped(events, "TOOL_CALL_END")


@noticed(TOOL)
def arguments_are_incomplete(events):
    return without_first(events, "TOOL_CALL_ARGS")


@noticed(TOOL)
def result_is_missing(events):
    return dropped(events, "TOOL_CALL_RESULT")


@noticed(TOOL)
def result_belongs_to_another_call(events):
    return changed(events, "TOOL_CALL_RESULT", toolCallId="another")


@noticed(TOOL)
def result_has_another_id_than_the_stored_one(events):
    return changed(events, "TOOL_CALL_RESULT", messageId="another")


@noticed(FRONTEND)
def frontend_call_is_answered_by_the_server(events):
    for event in events:
        yield event
        if event["type"] == "TOOL_CALL_END":
            call = event["toolCallId"]
            yield {"type": "TOOL_CALL_RESULT", "messageId": "result", "toolCallId": call, "content": "null"}


# --- Interrupts


@noticed(APPROVAL)
def interrupt_is_a_success(events):
    return ({k: v for k, v in event.items() if k != "outcome"} for event in events)


@noticed(APPROVAL)
def interrupts_are_missing(events):
    return changed(events, "RUN_FINISHED", outcome={"type": "interrupt"})


@noticed(APPROVAL)
def interrupts_are_empty(events):
    return changed(events, "RUN_FINISHED", outcome={"type": "interrupt", "interrupts": []})


def with_interrupts(events: Iterator[Event], **values: Any) -> Iterator[Event]:
    for event in events:
        for interrupt in event.get("outcome", {}).get("interrupts", []):
            interrupt.update(values)
        yield event


@noticed(APPROVAL)
def interrupt_has_another_id(events):
    return with_interrupts(events, id="another")


@noticed(INTERRUPT)
def interrupt_is_for_another_call(events):
    return with_interrupts(events, toolCallId="another")


@noticed(INTERRUPT)
def interrupt_asks_something_else(events):
    return with_interrupts(events, message="Go on?")


@noticed(APPROVAL)
def resumed_call_is_announced_again(events):
    for event in events:
        if event["type"] == "TOOL_CALL_RESULT":
            call = event["toolCallId"]
            yield {"type": "TOOL_CALL_START", "toolCallId": call, "toolCallName": "wipe"}
            yield {"type": "TOOL_CALL_END", "toolCallId": call}
        yield event


@noticed(QUESTION)
def question_is_an_approval(events):
    return with_interrupts(events, reason="tool_call")


@noticed(QUESTION)
def question_has_another_schema(events):
    return with_interrupts(events, responseSchema={"type": "string"})


# --- State


@noticed(STATE)
def state_has_no_snapshot(events):
    return dropped(events, "STATE_SNAPSHOT")


@noticed(STATE)
def state_delta_misses_its_place(events):
    nowhere = {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/no/such/place", "value": 1}]}
    return followed(events, "STATE_SNAPSHOT", nowhere)


@noticed(STATE)
def state_delta_is_no_patch(events):
    return followed(events, "STATE_SNAPSHOT", {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "title"}]})


@noticed(STATE)
def state_deltas_are_missing(events):
    return dropped(events, "STATE_DELTA")


@noticed(SAME_STATE)
def state_is_sent_without_a_reason(events):
    return followed(events, "RUN_STARTED", {"type": "STATE_SNAPSHOT", "snapshot": {"title": "", "items": []}})


# --- What tools tell while they work


@noticed(STEPS)
def steps_are_not_closed(events):
    return dropped(events, "STEP_FINISHED")


@noticed(STEPS)
def steps_have_no_start(events):
    return dropped(events, "STEP_STARTED")


@noticed(STEPS)
def steps_are_started_twice(events):
    return doubled(events, "STEP_STARTED")


@noticed(CUSTOM)
def custom_event_has_no_value(events):
    return changed(events, "CUSTOM", value={})


@noticed(ACTIVITY)
def activity_has_no_snapshot(events):
    return dropped(events, "ACTIVITY_SNAPSHOT")


@noticed(ACTIVITY)
def activity_is_sent_whole_each_time(events):
    known = {}
    for event in events:
        if event["type"] == "ACTIVITY_SNAPSHOT":
            known = event
        yield known if event["type"] == "ACTIVITY_DELTA" else event


@noticed(ACTIVITY)
def activity_delta_is_for_another_one(events):
    return changed(events, "ACTIVITY_DELTA", messageId="another")


# --- Form and framing


@noticed(TEXT)
def timestamp_is_null(events):
    return ({**event, "timestamp": None} for event in events)


@noticed(TEXT)
def timestamp_is_a_float(events):
    return ({**event, "timestamp": 1.5} for event in events)


@noticed(TOOL)
def parent_is_null(events):
    return changed(events, "TOOL_CALL_START", parentMessageId=None)


@noticed(TEXT)
def event_is_unknown(events):
    return followed(events, "RUN_STARTED", {"type": "SURPRISE"})


@noticed(TEXT)
def lines_end_with_crlf(events):
    return (encode(event).replace(b"\n", b"\r\n") for event in events)


@noticed(TEXT)
def stream_is_cut_off(events):
    for event in events:
        if event["type"] == "TEXT_MESSAGE_END":
            yield encode(event)[:20]
            return
        yield event


@noticed(TEXT)
def frames_are_not_separated(events):
    return (encode(event)[:-1] for event in events)


# --- The proxy


class BreakingProxy(ThreadingHTTPServer):
    """Breaks the runs of `/<name of a mutation>/agent/`."""

    daemon_threads = True

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.errors: dict[str, str] = {}
        """What went wrong in the proxy itself, by mutation: it has to break streams, not to fail."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: BreakingProxy

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

    def log_message(self, format: str, *args: Any) -> None:
        pass


def broken(stream: Iterable[bytes], mutate: Mutate) -> Iterator[bytes]:
    lines = (line.removeprefix(b"data: ") for line in stream if line.startswith(b"data: "))
    for piece in mutate(map(json.loads, lines)):
        yield piece if isinstance(piece, bytes) else encode(piece)


@contextmanager
def breaking_proxy(upstream: int) -> Iterator[BreakingProxy]:
    with BreakingProxy(upstream) as proxy:
        thread = threading.Thread(target=proxy.serve_forever)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
