"""Thousands of generated answers of providers: a run survives each, and its thread goes on with any model."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from conftest import ROOT
from daily import at_night
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from provider_bodies import DIALECTS, Sent, answers
from servers import Client, LiveProject, run_input, serve
from tests.provider_stub import Answer, Body, ProviderStub, check_history
from tests.wire import Stream, check_stream, read_stream

pytestmark = [pytest.mark.servers, pytest.mark.filterwarnings("ignore:Generating overly large repr")]

# What a provider may be blamed for.
BLAMES = {"model_error", "model_refused", "model_unavailable", "empty_answer", "context_window", "usage_limit"}


@pytest.fixture(scope="module")
def site(furnished) -> Iterator[tuple[LiveProject, ProviderStub]]:
    """A project, and the stub of its providers."""
    settings = {"DJANGO_SETTINGS_MODULE": "streams_settings", "PYTHONPATH": str(ROOT / "engine")}
    with ProviderStub() as stub, serve(furnished("streams"), **settings, STUB_URL=stub.url) as live:
        yield live, stub


def run(client: Client, thread_id: str, api: str) -> tuple[Stream, list[Any]]:
    body = run_input("Hi", threadId=thread_id, protocolVersion="1.0", forwardedProps={"model": api})
    with client.open("POST", "/agent/", body) as response:
        assert response.status == 200, response.read()
        events = read_stream(response.read())
    return check_stream(events, body), events


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
    client, thread_id = live.client(live.token), str(uuid4())
    sent = [one for one in (first, second) if one]
    stub.replies = [*(Body(one.chunks) for one in sent), *[Answer("Well.")] * 9]
    stream, events = run(client, thread_id, first.api)
    end = end_of(stream)
    assert end in {"finished", *BLAMES}, stream.ended
    check_kept(stream, events, client.thread(thread_id)["messages"], any(one.has_tags for one in sent))
    for other in DIALECTS:
        stub.requests.clear()
        stub.replies = [Answer("Go on.")]
        after, _ = run(client, thread_id, other)
        assert end_of(after) == "finished", (other, after.ended)
        check_history(stub.requests[-1].body, own=stream.calls if other == first.api else ())
    return end


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize("examples", [3, *at_night(1500)])
def test_a_run_survives_what_a_provider_sends(site: tuple[LiveProject, ProviderStub], api: str, examples: int):
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
        seen[play(*site, first, second)] += 1

    play_generated()
    print(api, dict(seen))
    assert len(seen) > 1 or examples < 100


def test_the_server_is_well_after_all(site: tuple[LiveProject, ProviderStub]):
    log = site[0].log.read_text()
    # What a provider sends may be unreadable, but not to the engine.
    assert not re.search(r'File "[^"]*/agui/[^"]*", line .*\n.*\n(?: *[~^]+\n)? *\w+(?:Error|Exception)', log)
    for complaint in ("Unhandled", "never awaited", "never retrieved", "Internal Server Error", "crashed"):
        assert complaint not in log, log[log.index(complaint) :][:3000]
