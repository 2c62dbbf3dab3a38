"""Thousands of generated answers of providers: a run survives each, and its thread goes on with any model."""

import http.client
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from uuid import uuid4

import pytest
from conftest import ROOT
from daily import at_night
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from provider_bodies import DIALECTS, Sent, answers
from servers import LiveProject, run_input, serve
from tests.provider_stub import Answer, Body, ProviderStub, check_history
from tests.wire import Stream, check_stream, read_stream

pytestmark = [pytest.mark.servers, pytest.mark.filterwarnings("ignore:Generating overly large repr")]

# What a provider may be blamed for.
BLAMES = {"model_error", "model_refused", "model_unavailable", "empty_answer", "context_window", "usage_limit"}


@pytest.fixture(scope="module")
def stub() -> Iterator[ProviderStub]:
    with ProviderStub() as stub:
        yield stub


@pytest.fixture(scope="module")
def server(furnished, stub: ProviderStub) -> Iterator[LiveProject]:
    # A title is asked for beside the next run, and would get its answer.
    settings = {"DJANGO_SETTINGS_MODULE": "streams_settings", "MAKE_TITLES": "0", "STUB_URL": stub.url}
    with serve(furnished("streams"), **settings, PYTHONPATH=str(ROOT / "engine")) as live:
        yield live


class Thread:
    """A conversation, on one connection."""

    def __init__(self, live: LiveProject, connection: http.client.HTTPConnection) -> None:
        self.id = str(uuid4())
        self.headers = {"Authorization": f"Bearer {live.token}", "Content-Type": "application/json"}
        self.connection = connection

    def run(self, api: str) -> tuple[Stream, list[Any]]:
        body = run_input("Hi", threadId=self.id, protocolVersion="1.0", forwardedProps={"model": api})
        self.connection.request("POST", "/agent/", json.dumps(body), self.headers)
        with self.connection.getresponse() as response:
            raw = response.read()
        assert response.status == 200, raw
        events = read_stream(raw)
        return check_stream(events, body), events

    def read(self) -> list[dict[str, Any]]:
        self.connection.request("GET", f"/agent/threads/{self.id}/", headers=self.headers)
        with self.connection.getresponse() as response:
            return json.loads(response.read())["messages"]


def end_of(stream: Stream) -> str:
    ended = stream.ended or {}
    return "finished" if ended["type"] == "RUN_FINISHED" else ended["code"]


def check_kept(stream: Stream, events: list[Any], messages: list[dict[str, Any]], has_tags: bool) -> None:
    """The thread has what a client has seen: the words of each message, each call with its result."""
    # The thread may join texts, and put woven ones one after the other: no letter is lost.
    seen = "".join(one["delta"] for one in events if one["type"] == "TEXT_MESSAGE_CONTENT")
    kept = "".join(message.get("content", "") for message in messages if message["role"] == "assistant")
    assert has_tags or not seen.strip() or Counter(seen) <= Counter(kept), (seen, messages)
    results = [message["toolCallId"] for message in messages if message["role"] == "tool"]
    calls = [call["id"] for message in messages for call in message.get("toolCalls", ())]
    assert len(set(calls)) == len(calls)
    assert sorted(results) == sorted(stream.results), (stream.results, messages)
    assert set(results) <= set(calls)


def play(live: LiveProject, stub: ProviderStub, first: Sent, second: Sent | None) -> str:
    """Run on generated answers, then on with each of the models; returns how the first run ended."""
    with closing(http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)) as connection:
        thread, sent = Thread(live, connection), [one for one in (first, second) if one]
        stub.replies = [*(Body(one.chunks) for one in sent), *[Answer("Well.")] * 9]
        stream, events = thread.run(first.api)
        end = end_of(stream)
        assert end in {"finished", *BLAMES}, stream.ended
        check_kept(stream, events, thread.read(), any(one.has_tags for one in sent))
        for other in DIALECTS:
            stub.requests.clear()
            stub.replies = [Answer("Go on.")]
            after, _ = thread.run(other)
            assert end_of(after) == "finished", (other, after.ended)
            check_history(stub.requests[-1].body, own=stream.calls if other == first.api else ())
    return end


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize("examples", [3, *at_night(1500)])
def test_a_run_survives_what_a_provider_sends(server: LiveProject, stub: ProviderStub, api: str, examples: int):
    seen: Counter[str] = Counter()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=examples < 100,
        # To make an example smaller takes hundreds of runs.
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(answers(api), st.none() | answers(api))
    def play_generated(first: Sent, second: Sent | None) -> None:
        note(repr([b"".join(one.chunks) for one in (first, second) if one]))
        seen[play(server, stub, first, second)] += 1

    play_generated()
    print(api, dict(seen))
    assert len(seen) > 1 or examples < 100


def test_the_server_is_well_after_all(server: LiveProject):
    log = server.log.read_text()
    # What a provider sends may be unreadable, but not to the engine.
    assert not re.search(r'File "[^"]*/agui/[^"]*", line .*\n.*\n(?: *[~^]+\n)? *\w+(?:Error|Exception)', log)
    for complaint in ("Unhandled", "never awaited", "never retrieved", "Internal Server Error", "crashed"):
        assert complaint not in log, log[log.index(complaint) :][:3000]
