"""Threads of any id over a real socket: straight to the server, and through a proxy as it stands before one."""

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from breaking_proxy import Relay
from servers import Client, LiveProject, answering, events

pytestmark = pytest.mark.servers

IDS = [
    "a/events",
    "/a//b",
    "../../../agent/tools",
    "%2F%252F%",
    "a b?c=d#e&f;g=+\\",
    "ünï 日本語 \u202e\u2028",
    "🙂" * 255,
]


@pytest.fixture(scope="module", params=["direct", "proxy"])
def client(request: pytest.FixtureRequest, live_project: LiveProject) -> Iterator[Client]:
    with answering(Relay, upstream=live_project.port) as proxy:
        port = live_project.port if request.param == "direct" else proxy.server_port
        yield Client(port, live_project.token)


@pytest.mark.parametrize("thread", IDS, ids=lambda thread: ascii(thread)[:20])
def test_thread_of_any_id_is_used(client: Client, live_project: LiveProject, thread: str):
    tail = "/" if client.port == live_project.port else ""
    # What a browser makes of encodeURIComponent(id).
    address = "/agent/threads/" + quote(thread, safe="!'()*")
    assert client.run("hello", threadId=thread)[-1]["type"] == "RUN_FINISHED"
    read = client.read(f"{address}{tail}")
    assert (read["thread_id"], len(read["messages"])) == (thread, 2)
    with client.open("GET", f"{address}/events{tail}") as response:
        assert {event.get("threadId", thread) for event in events(response)} == {thread}
    for path in (f"{address}{tail}", f"{address}/events{tail}", "/agent/export/"):
        with client.open("HEAD", path) as response:
            assert (response.status, response.read()) == (200, b"")
    assert client.fetch("POST", f"{address}/cancel{tail}")[0] == 204
    status, text = client.fetch("PATCH", f"{address}{tail}", {"title": "Mine"})
    assert (status, json.loads(text)["title"]) == (200, "Mine")
    assert client.fetch("DELETE", f"{address}{tail}")[0] == 204
    assert client.fetch("GET", f"{address}{tail}")[0] == 404
