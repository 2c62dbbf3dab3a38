"""A proxy between a client and the endpoint, which may break the streams on their way, in one of many ways.

A mutation takes the events of a stream and yields what is sent instead: events, or bytes as they are.
"""

import http.client
import json
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, closing, suppress
from http.server import ThreadingHTTPServer
from typing import Any, NamedTuple

from servers import Quiet, answering

Event = dict[str, Any]
Mutate = Callable[[Iterator[Event]], Iterable[Event | bytes]]

NEW, OLD = BOTH = ("@ag-ui/client", "old-client")
NOTHING = "nothing"
"""The name of the way that leaves streams whole: a test should notice the mutation, not the proxy."""


class Mutation(NamedTuple):
    """A way to break streams, and the test of the Node suite that has to notice it."""

    file: str
    test: str
    mutate: Mutate
    clients: tuple[str, ...] = BOTH


# --- Ways to break streams


def dropped(kind: str) -> Mutate:
    return lambda events: (event for event in events if event["type"] != kind)


def changed(kinds: str, **values: Any) -> Mutate:
    """Give other values to the events whose types begin so."""
    return lambda events: (event | values if event["type"].startswith(kinds) else event for event in events)


def followed(kind: str, other: Event) -> Mutate:
    def mutate(events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            yield event
            if event["type"] == kind:
                yield other

    return mutate


def with_interrupts(**values: Any) -> Mutate:
    def mutate(events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            for interrupt in event.get("outcome", {}).get("interrupts", []):
                interrupt.update(values)
            yield event

    return mutate


def cut_off(events: Iterator[Event]) -> Iterator[Event | bytes]:
    for event in events:
        if event["type"] == "TEXT_MESSAGE_END":
            yield encode(event)[:20]
            return
        yield event


def encode(event: Event) -> bytes:
    return f"data: {json.dumps(event)}\n\n".encode()


FRONTEND = "a frontend tool is left to the client, and its result goes on"
DESTRUCTIVE = "a destructive tool waits for an answer"
FAILING = "a model that fails in the middle of a word is an error without secrets"
CANCELLED = "a run that is cancelled ends well, and keeps what was said"
SAME_STATE = "a run that changes nothing leaves the client's state alone"
SUCCESS = {"type": "success"}
PENDING = SUCCESS | {"pendingToolCallIds": []}
LATE = {"type": "CUSTOM", "name": "late", "value": 1}
EMPTY_STATE = {"type": "STATE_SNAPSHOT", "snapshot": {"title": "", "items": []}}
MUTATIONS = {
    "stream_is_cut_off": Mutation("text", "text is streamed", cut_off),
    "frames_are_not_separated": Mutation(
        "text", "text is streamed", lambda events: (encode(event)[:-1] for event in events)
    ),
    "something_follows_the_end": Mutation("text", "text is streamed", followed("RUN_FINISHED", LATE)),
    "message_has_another_id_than_the_stored_one": Mutation(
        "text", "text is streamed", changed("TEXT_MESSAGE", messageId="another")
    ),
    "stream_is_held_back": Mutation("text", "text arrives while the model is still speaking", list, (NEW,)),
    "reasoning_is_not_closed": Mutation("text", "reasoning has ids of its own", dropped("REASONING_END")),
    "error_has_no_code": Mutation("text", FAILING, changed("RUN_ERROR", code="")),
    "cancellation_is_a_success": Mutation("control", CANCELLED, changed("RUN_FINISHED", outcome=SUCCESS), (NEW,)),
    "open_calls_are_not_named": Mutation("tools", FRONTEND, changed("RUN_FINISHED", outcome=SUCCESS), (NEW,)),
    "new_shape_for_an_old_client": Mutation("tools", FRONTEND, changed("RUN_FINISHED", outcome=PENDING), (OLD,)),
    "result_belongs_to_another_call": Mutation(
        "tools", "a server tool is called, and its result is shown", changed("TOOL_CALL_RESULT", toolCallId="another")
    ),
    "interrupt_asks_something_else": Mutation("interrupts", DESTRUCTIVE, with_interrupts(message="Go on?")),
    "interrupt_has_another_id": Mutation("interrupts", "an approved tool runs, once", with_interrupts(id="another")),
    "question_is_an_approval": Mutation(
        "questions", "a tool asks a question, whose answer is its result", with_interrupts(reason="tool_call")
    ),
    "state_is_sent_without_a_reason": Mutation("state", SAME_STATE, followed("RUN_STARTED", EMPTY_STATE)),
    "state_deltas_are_missing": Mutation(
        "state", "what tools change reaches the client's state", dropped("STATE_DELTA")
    ),
    "custom_event_has_no_value": Mutation("progress", "a tool's own events arrive", changed("CUSTOM", value={})),
    "steps_are_not_closed": Mutation("progress", "steps are shown while a tool works", dropped("STEP_FINISHED")),
    "activity_delta_is_for_another_one": Mutation(
        "progress", "an activity is shown, and changes", changed("ACTIVITY_DELTA", messageId="another")
    ),
}


# --- The proxy


class Relay(Quiet):
    """Passes requests on to the server at the port `upstream`, each path as it came."""

    def relay(self) -> None:
        self.pass_on(self.path, lambda response: iter(response.readline, b""))

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = relay

    def pass_on(self, path: str, pieces: Callable[[http.client.HTTPResponse], Iterable[bytes]]) -> None:
        """Answer with these pieces of what the server has answered."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with closing(http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)) as connection:
            connection.request(self.command, path, body or None, dict(self.headers) | {"Connection": "close"})
            with connection.getresponse() as response:
                self.send_response(response.status)
                self.send_header("Content-Type", response.headers.get("Content-Type", ""))
                self.end_headers()
                for piece in pieces(response):
                    self.wfile.write(piece)


class Breaking(Relay):
    def relay(self) -> None:
        name, _, path = self.path[1:].partition("/")

        def pieces(response: http.client.HTTPResponse) -> Iterator[bytes]:
            if (self.command, path, name != NOTHING, response.status) != ("POST", "agent/", True, 200):
                yield from response
                return
            lines = (line.removeprefix(b"data: ") for line in response if line.startswith(b"data: "))
            for piece in MUTATIONS[name].mutate(map(json.loads, lines)):
                yield piece if isinstance(piece, bytes) else encode(piece)

        try:
            with suppress(ConnectionError):  # The client has seen enough.
                self.pass_on(f"/{path}", pieces)
        except Exception:
            self.server.errors[name] = traceback.format_exc()

    do_GET = do_POST = relay


def breaking_proxy(upstream: int) -> AbstractContextManager[ThreadingHTTPServer]:
    """Break the runs of `/<name of a mutation>/agent/`.

    Its `errors` say what went wrong in the proxy itself, by mutation: it has to break streams, not to fail.
    """
    return answering(Breaking, upstream=upstream, errors={})
