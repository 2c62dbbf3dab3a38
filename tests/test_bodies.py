"""Thousands of generated bodies to a live server: each gets a clear answer, and the server stays well."""

import json
import re
import shutil
import socket
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import pytest
from conftest import ROOT
from daily import at_night
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from servers import Client, LiveProject, run_input, serve
from tests.wire import Stream, check_stream, read_stream

pytestmark = [pytest.mark.servers, pytest.mark.filterwarnings("ignore:Generating overly large repr")]

SECRET = "hunter2"
JSON = {"Content-Type": "application/json"}
CLEAR = {400, 404, 409, 413, 415, 422, 429, 503}
# What only the server knows stands in a generated body as one of these, and is filled in before it is sent.
OPEN_INTERRUPT, PENDING_CALL = "<open interrupt>", "<pending call>"
PAUSED_THREAD, PENDING_THREAD = "<paused thread>", "<pending thread>"
APPROVALS, DENIALS, CANCELLATIONS, MISFITS = "<approvals>", "<denials>", "<cancellations>", "<misfits>"

# --- Bodies that a client might well send

# "research" alone shows an activity.
WORDS = ["echo", "think", "wipe", "schedule", "both", "mixed", "paint", *["research"] * 3, "pin", "wrong", "hello"]
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def mostly(usual: st.SearchStrategy[Any], odd: st.SearchStrategy[Any], times: int = 12) -> st.SearchStrategy[Any]:
    return st.sampled_from([usual] * times + [odd]).flatmap(lambda chosen: chosen)


oddities = st.sampled_from(["", "\x00", "\u2028", "x" * 300, "{"])
odd_text = mostly(st.text(max_size=12) | oddities, st.just("\ud800"), 200)
texts = mostly(st.sampled_from(WORDS), odd_text)
numbers = st.integers(-5, 5) | st.sampled_from([2**53, 2**70, 1e300, -0.0, 1.5])
values = st.recursive(
    st.none() | st.booleans() | numbers | odd_text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3),
    max_leaves=6,
)
threads = st.sampled_from([f"shared {n}" for n in range(12)]) | st.integers(0, 10**9).map(str)
ids = st.integers(0, 10**9).map(str) | st.sampled_from(["m1", "m2", "c1"])
call_ids = st.sampled_from(["c1", "c2", PENDING_CALL])


def entries(optional: dict[str, Any] | None = None, /, **required: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Objects with these fields: strategies of their values, or the values themselves."""

    def strategies(fields: dict[str, Any]) -> dict[str, Any]:
        return {key: one if isinstance(one, st.SearchStrategy) else st.just(one) for key, one in fields.items()}

    return st.fixed_dictionaries(strategies(required), optional=strategies(optional or {}))


urls = st.sampled_from(["https://example.com/a.png", "file:///etc/passwd"])
sources = st.one_of(
    entries(type="data", value=st.sampled_from([PNG, "!!!", "QQ=="]), mimeType="image/png"),
    entries(type="url", value=urls),
    entries(type="file", value=odd_text),
)
parts = st.one_of(
    entries({"metadata": {"a": None}}, type="text", text=texts),
    entries(type=st.sampled_from(["image", "audio", "video", "document"]), source=sources),
    entries({"data": PNG, "url": odd_text}, type="binary", mimeType="image/png"),
    entries(type=odd_text),
)
functions = entries(
    name=mostly(st.sampled_from(["echo", "wipe", "paint", "schedule", "nothing"]), odd_text),
    arguments=st.sampled_from(['{"text": "a"}', "{}", "", "{", "[1]", "null"]),
)
encrypted = st.sampled_from(["", "{}", '{"signature": 5}'])
calls = entries({"encryptedValue": encrypted}, id=call_ids, type="function", function=functions)
contents = mostly(texts, st.lists(parts, max_size=3), 4)
users = entries({"id": ids | st.none(), "name": odd_text}, role="user", content=contents)
results = entries({"error": odd_text}, role="tool", id=ids, toolCallId=call_ids, content=contents)
messages = st.one_of(
    users,
    results,
    entries({"content": texts, "toolCalls": st.lists(calls, max_size=3)}, role="assistant", id=ids),
    entries({"encryptedValue": odd_text}, role="reasoning", id=ids, content=odd_text),
    entries(role=st.sampled_from(["system", "developer"]), id=ids, content=odd_text),
    entries(role="activity", id=ids, activityType=odd_text, content={"a": 1}),
    entries(role=mostly(st.just("user"), odd_text), id=ids, content=texts),
)
histories = st.one_of(
    st.lists(users, min_size=1, max_size=1),
    st.lists(users, min_size=1, max_size=1),
    st.tuples(st.lists(messages, max_size=6), users).map(lambda both: [*both[0], both[1]]),
    st.lists(messages, max_size=6),
)
payloads = st.one_of(
    entries(approved=st.booleans()),
    entries({"editedArgs": {"what": "floppy"}, "reason": odd_text}, approved=st.booleans()),
    entries({"guests": st.integers(0, 9)}, day="Friday"),
)
resumes = st.lists(
    entries(
        {"payload": mostly(payloads, values, 4), "metadata": {"a": 1}},
        interruptId=st.sampled_from([OPEN_INTERRUPT] * 9 + ["unknown"]),
        status=st.sampled_from(["resolved", "resolved", "cancelled"]),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda entry: entry["interruptId"] if entry["interruptId"] != OPEN_INTERRUPT else id(entry),
)
PAINT = {"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}
odd_tools = entries(name=st.sampled_from(["paint", "echo", "x"]) | odd_text, description=odd_text)
tools = st.one_of(st.just([PAINT]), st.just([PAINT]), st.lists(odd_tools, max_size=3))
more = {
    "protocolVersion": st.sampled_from(["1.0", "1.0", "1.0", "0.9", "2.7", "abc"]),
    "parentRunId": ids,
    "state": mostly(st.sampled_from([{}, {"title": "a"}, {"title": "a", "items": ["b"], "more": 1}]), values),
    "context": st.lists(entries(description=odd_text, value=odd_text), max_size=2),
    "forwardedProps": values,
}
bodies = entries(more, threadId=threads, runId=ids, messages=histories, tools=tools)
answers = entries(
    {"protocolVersion": "1.0"},
    threadId=mostly(st.just(PAUSED_THREAD), threads),
    runId=ids,
    resume=mostly(st.sampled_from([APPROVALS, DENIALS, CANCELLATIONS, MISFITS]), resumes, 3),
    messages=st.lists(results | messages, max_size=2),
    tools=[PAINT],
)
returns = entries(
    {"protocolVersion": "1.0"},
    threadId=mostly(st.just(PENDING_THREAD), threads),
    runId=ids,
    messages=st.lists(results, min_size=1, max_size=3),
    tools=[PAINT],
)

# --- and what can go wrong with them


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from places(inner, (*path, key))


def snake_case(value: Any) -> Any:
    """The protocol's own keys as Python clients write them."""
    if isinstance(value, list):
        return [snake_case(item) for item in value]
    if isinstance(value, dict):
        return {
            re.sub("[A-Z]", lambda found: f"_{found[0].lower()}", key) if key.isascii() else key: snake_case(inner)
            for key, inner in value.items()
        }
    return value


@st.composite
def sent_bodies(draw: st.DrawFn) -> Any:
    """A body, most often a correct one; otherwise with something dropped, replaced, repeated or renamed."""
    body: Any = deepcopy(draw(mostly(bodies, answers | returns, 3)))
    if draw(st.integers(0, 3)) == 0:
        body = snake_case(body)
    for _ in range(draw(st.sampled_from([0, 0, 0, 0, 0, 1, 1, 2, 4]))):
        *parents, last = draw(st.sampled_from([*places(body)]))
        place = body
        for key in parents:
            place = place[key]
        match draw(st.sampled_from(["drop", "null", "replace", "repeat", "add"])):
            case "drop":
                del place[last]
            case "repeat" if isinstance(place, list):
                place.insert(0, deepcopy(place[last]))
            case "add" if isinstance(place, dict):
                place[draw(odd_text)] = draw(values)
            case "null":
                place[last] = None
            case _:
                place[last] = draw(values)
        if not body:
            break
    return body


# --- The server


@pytest.fixture(scope="module")
def server(furnished) -> Iterator[LiveProject]:
    """A project with an agent for every feature. Its log is its own: nobody else may complain in it."""
    project = furnished("bodies")
    shutil.copytree(ROOT / "tests/clients/project", project, dirs_exist_ok=True)
    with serve(project, DJANGO_SETTINGS_MODULE="bodies_settings") as live:
        yield live


class Conversations:
    """A client that knows what its threads wait for."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.interrupts: dict[str, list[dict[str, Any]]] = {}
        self.pending: dict[str, list[str]] = {}
        self.calls: defaultdict[str, set[str]] = defaultdict(set)
        self.seen: Counter[str] = Counter()
        self.resumes = 0

    def send(self, body: Any) -> None:
        thread, body = self._completed(body)
        note(json.dumps(body))
        with self.client.open("POST", "/agent/", json.dumps(body), JSON) as response:
            raw = response.read()
        self.seen[str(response.status)] += 1
        if response.status == 200:
            self._read(thread, check_stream(read_stream(raw), body, calls=self.calls[thread]))
        else:
            assert response.status in CLEAR, raw
            error = json.loads(raw)
            assert error["error"], error
            assert error["message"], error
            assert SECRET not in raw.decode()

    def _read(self, thread: str, stream: Stream) -> None:
        end = stream.ended
        self.calls[thread] |= stream.calls.keys()
        self.seen[end.get("code") or end["outcome"]["type"]] += 1
        if end["type"] == "RUN_ERROR":
            assert end["code"] not in ("internal_error", "model_error"), end
            return
        self.seen.update(event for event in ("results", "states", "activities") if getattr(stream, event))
        self.seen["resumed"] += bool(stream.results.keys() - stream.calls.keys())
        self.interrupts[thread] = stream.interrupts
        self.pending[thread] = [call_id for call_id, name in stream.calls.items() if name == "paint"]
        self.seen["pending"] += bool(self.pending[thread])

    def _completed(self, body: Any) -> tuple[str, Any]:
        """Put in what only the server knows."""
        threads = {PAUSED_THREAD: self._waiting(self.interrupts), PENDING_THREAD: self._waiting(self.pending)}
        body = filled(body, threads)
        if not isinstance(body, dict):
            return "", body
        thread = str(body.get("threadId", body.get("thread_id")))
        waiting = self.interrupts.get(thread, [])
        if body.get("resume") in (APPROVALS, DENIALS, CANCELLATIONS, MISFITS):
            body["resume"] = [answer(interrupt, body["resume"]) for interrupt in waiting]
            self.resumes += 1
            body["messages"] = [] if waiting else [{"role": "user", "content": WORDS[self.resumes % len(WORDS)]}]
            for call_id in self.pending.get(thread, ()):
                body["messages"].append({"id": call_id, "role": "tool", "toolCallId": call_id, "content": "blue"})
        open_ids = iter([interrupt["id"] for interrupt in waiting])
        body = filled(body, {OPEN_INTERRUPT: open_ids, PENDING_CALL: iter(self.pending.get(thread, ()))})
        return thread, body

    def _waiting(self, threads: dict[str, list[Any]]) -> Iterator[str]:
        """A thread that waits for something: not always the same, for nothing may ever fit it."""
        waiting = [thread for thread, what in threads.items() if what] or ["shared 0"]
        yield waiting[self.seen.total() % len(waiting)]


def answer(interrupt: dict[str, Any], kind: str) -> dict[str, Any]:
    """Answer a question in its own form, or in none that it has."""
    if kind == CANCELLATIONS:
        return {"interruptId": interrupt["id"], "status": "cancelled"}
    payload = {"approved": kind == APPROVALS} if interrupt["reason"] == "tool_call" else {"day": "Friday", "guests": 2}
    if kind == MISFITS:
        payload = {"approved": "perhaps", "guests": 2}
    return {"interruptId": interrupt["id"], "status": "resolved", "payload": payload}


def filled(value: Any, known: dict[str, Iterator[str]]) -> Any:
    if isinstance(value, list):
        return [filled(item, known) for item in value]
    if isinstance(value, dict):
        return {key: filled(inner, known) for key, inner in value.items()}
    return next(known[value], value) if isinstance(value, str) and value in known else value


def assert_well(server: LiveProject) -> None:
    """The process lives, answers, and has nothing to complain about."""
    assert server.process.poll() is None
    assert server.client().fetch("GET", "/healthz")[0] == 200
    stream = server.client(server.token).run("hello")
    assert stream[-1]["type"] == "RUN_FINISHED"
    log = server.log.read_text()
    for complaint in ("Traceback", "Unhandled", "never awaited", "never retrieved", "Internal Server Error"):
        assert complaint not in log, log[log.index(complaint) :][:3000]


@pytest.mark.parametrize("examples", [80, *at_night(2000)])
def test_generated_bodies_get_clear_answers(server: LiveProject, examples: int):
    conversations = Conversations(server.client(server.token))

    # What a body meets depends on those before it: shrinking would change that.
    @settings(
        max_examples=examples,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(sent_bodies())
    def send_all(body: Any) -> None:
        conversations.send(body)

    send_all()
    seen = conversations.seen
    print(dict(seen))
    assert sum(count for status, count in seen.items() if status.isdigit()) >= examples
    for expected in ("400", "422", "success", "interrupt", "pending", "resumed", "results", "states", "activities"):
        assert seen[expected] >= examples / 200, (expected, seen)
    for expected in ("interrupt_pending", "interrupt_unknown", "invalid_resume", "tool_name_conflict"):
        assert seen[expected] >= examples // 600, (expected, seen)
    assert seen["200"] >= examples / 3, seen
    assert_well(server)


# --- What no HTTP library would send


def raw_requests(token: str) -> dict[str, tuple[bytes, set[int | None]]]:
    """Bytes by name, with the statuses that are right for them; None is a connection closed without an answer."""
    lines = ["POST /agent/ HTTP/1.1", "Host: localhost", "Connection: close", f"Authorization: Bearer {token}", ""]
    start = "\r\n".join(lines).encode()
    head = start + b"Content-Type: application/json\r\n"
    body = json.dumps(run_input("hello")).encode()
    size = b"Content-Length: %d\r\n" % len(body)
    chunked = b"Transfer-Encoding: chunked\r\n\r\n"
    chunk = b"%x\r\n%s\r\n" % (len(body), body)
    path_of_no_utf8 = head.replace(b"/agent/", b"/agent/threads/%ff%fe/")
    return {
        "a good one": (head + size + b"\r\n" + body, {200}),
        "a good one in chunks": (head + chunked + chunk + b"0\r\n\r\n", {200}),
        "no media type": (start + size + b"\r\n" + body, {415}),
        "no body": (head + b"\r\n", {400, 411}),
        "an empty body": (head + b"Content-Length: 0\r\n\r\n", {400}),
        "far less than announced": (head + b"Content-Length: 99999999999999\r\n\r\n" + body, {None, 400, 413}),
        "more than announced": (head + b"Content-Length: 10\r\n\r\n" + body, {400}),
        "a length that is no number": (head + b"Content-Length: abc\r\n\r\n" + body, {None, 400}),
        "two lengths": (head + size + b"Content-Length: 3\r\n\r\n" + body, {None, 400}),
        "a length and chunks": (head + size + chunked + chunk + b"0\r\n\r\n", {None, 400}),
        "chunks of no size": (head + chunked + b"xyz\r\n" + body, {None, 400}),
        "a chunk that never comes": (head + chunked + b"ffffffff\r\n" + body, {None, 400}),
        "an unknown transfer encoding": (head + b"Transfer-Encoding: gzip\r\n\r\n" + body, {None, 400, 411, 501}),
        "headers without an end": (head + b"X-Long: " + b"x" * 1_000_000, {None, 400, 431}),
        "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01" + body, {None, 400}),
        "an unknown method": (head.replace(b"POST", b"BREW") + size + b"\r\n" + body, {400, 405, 501}),
        "a path of no UTF-8": (path_of_no_utf8 + size + b"\r\n" + body, {400, 404, 405}),
    }


def exchange(live: LiveProject, request: bytes, *, complete: bool) -> bytes:
    """Send bytes, hang up if the server may well wait for more of them, and read whatever comes back."""
    received = b""
    with socket.create_connection(("127.0.0.1", live.port), timeout=60) as connection, suppress(OSError):
        connection.sendall(request)
        if not complete:
            connection.shutdown(socket.SHUT_WR)
        while data := connection.recv(65536):
            received += data
    return received


@pytest.mark.parametrize("name", raw_requests(""))
def test_what_is_no_http_is_survived(server: LiveProject, name: str):
    request, expected = raw_requests(server.token)[name]
    answer = exchange(server, request, complete=None not in expected)
    status = int(answer.split(b" ", 2)[1]) if answer else None
    assert status in expected, answer[:1000]
    assert b"Traceback" not in answer
    assert_well(server)


def test_the_largest_body_and_one_byte_more(server: LiveProject):
    client = server.client(server.token)
    body = json.dumps(run_input("hello"))
    limit = 10 * 1024 * 1024
    assert client.fetch("POST", "/agent/", body.ljust(limit), JSON)[0] == 200
    status, text = client.fetch("POST", "/agent/", body.ljust(limit + 1), JSON)
    assert (status, json.loads(text)["error"]) == (413, "too_large")
    assert_well(server)
