"""Threads of any id over a real socket: straight to the server, and through a proxy as it stands before one."""

import http.client
import json
from collections.abc import Iterator
from urllib.parse import quote
from uuid import uuid4

import pytest
from servers import Client, LiveProject, Quiet, answering, events, run_input

pytestmark = pytest.mark.servers

IDS = [
    "a/events",
    "a/fork/",
    "/",
    "/a//b",
    "../../../agent/tools",
    "%2F%252F%",
    "a b?c=d#e&f;g=+\\",
    "ünï 日本語 \u202e\u2028",
    "🙂" * 255,
]


class Proxy(Quiet):
    """Passes the path on as it came, as nginx does by `proxy_pass` with a host alone."""

    def forward(self) -> None:
        upstream = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        upstream.request(self.command, self.path, body or None, dict(self.headers) | {"X-Forwarded-For": "10.0.0.1"})
        with upstream.getresponse() as response:
            self.send_response(response.status)
            for name, value in response.getheaders():
                if name.lower() not in ("transfer-encoding", "date", "server"):
                    self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.read())
        upstream.close()

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = forward


@pytest.fixture(scope="module", params=["direct", "proxy"])
def port(request: pytest.FixtureRequest, live_project: LiveProject) -> Iterator[int]:
    if request.param == "direct":
        yield live_project.port
        return
    with answering(Proxy, upstream=live_project.port) as proxy:
        yield proxy.server_port


@pytest.fixture
def client(port: int, live_project: LiveProject) -> Client:
    return Client(port, live_project.token)


def address(thread: str, tail: str = "/") -> str:
    """What a browser makes of encodeURIComponent(id)."""
    return "/agent/threads/" + quote(thread, safe="!'()*") + tail


def ids_of(client: Client) -> set[str]:
    return {row["thread_id"] for row in client.read("/agent/threads/?limit=100")["threads"]}


@pytest.mark.parametrize("thread", IDS, ids=lambda thread: ascii(thread)[:20])
def test_thread_of_any_id_is_used(client: Client, live_project: LiveProject, thread: str):
    tail = "/" if client.port == live_project.port else ""
    assert client.run("hello", threadId=thread)[-1]["type"] == "RUN_FINISHED"
    read = client.read(address(thread, tail))
    assert (read["thread_id"], len(read["messages"])) == (thread, 2)
    with client.open("GET", address(thread, f"/events{tail}")) as response:
        assert {event.get("threadId", thread) for event in events(response)} == {thread}
    assert client.fetch("POST", address(thread, f"/cancel{tail}"))[0] == 204
    status, text = client.fetch("POST", address(thread, f"/fork{tail}"), {})
    fork = json.loads(text)["thread_id"]
    assert status == 201
    status, text = client.fetch("PATCH", address(thread, tail), {"title": "Mine"})
    assert (status, json.loads(text)["title"]) == (200, "Mine")
    assert {thread, fork} <= ids_of(client)
    assert client.fetch("DELETE", address(thread, tail))[0] == 204
    assert client.fetch("GET", address(thread, tail))[0] == 404
    assert client.fetch("DELETE", address(fork, tail))[0] == 204
    assert not {thread, fork} & ids_of(client)


@pytest.mark.parametrize("thread", ["", ".", "..", "a\x00", "a\n", "x" * 256], ids=ascii)
def test_thread_of_an_unusable_id_is_refused(client: Client, thread: str):
    with client.open("POST", "/agent/", run_input("hello", threadId=thread)) as response:
        assert response.status == 400
    if thread not in ("", ".", ".."):  # Those are other paths
        assert client.fetch("GET", address(thread))[0] in (400, 404)


def test_head_ends_at_once_and_says_nothing(client: Client):
    client.run("hello", threadId="head")
    for path in (address("head"), address("head", "/events/"), "/agent/export/", "/agent/tools/"):
        with client.open("HEAD", path) as response:
            assert (response.status, response.read()) == (200, b"")


def test_two_users_with_one_id_have_two_conversations(live_project: LiveProject):
    thread = str(uuid4())
    token = live_project.token_of("second_reader")
    readers = {"hello": live_project.client(live_project.token), "good evening": live_project.client(token)}
    for text, reader in readers.items():
        assert reader.fetch("GET", address(thread))[0] == 404
        assert reader.run(text, threadId=thread, runId="1")[-1]["type"] == "RUN_FINISHED"
    for text, reader in readers.items():
        assert [one["content"] for one in reader.thread(thread)["messages"] if one["role"] == "user"] == [text]
        assert reader.fetch("DELETE", address(thread))[0] == 204
