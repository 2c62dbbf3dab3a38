"""What providers really send, read by pydantic-ai's real classes, and histories that they accept.

The answers are those of inputs/provider_answers.json, the histories those of inputs/histories.json.
"""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from daily import by_day
from pydantic_ai.capabilities import WebSearch

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.testing import collect
from tests.conftest import Client, run_input
from tests.mounting import serve_urls
from tests.provider_stub import (
    Answer,
    Body,
    Extra,
    ProviderStub,
    ToolUse,
    calls_in,
    check_history,
    server_search,
    web_search,
)
from tests.provider_stub import messages as messages_of
from tests.providers import APIS, model_of
from tests.wire import check_stream

INPUTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "inputs/provider_answers.json").read_text())
NAMES = [sent["name"] for sent in INPUTS]
REFUSAL = "I won't write that letter."
ONE_CALL = ["id changes after the first chunk", "a new id in each chunk", "id is null first, then real"]
TWO_CALLS = ["two calls with index 0, whole", "two calls with one id, Chat"]
REFUSED = [name for name in NAMES if re.search("refusal|without text|blocked", name) and "after" not in name]
CUT = [name for name in NAMES if " after text" in name]
UNKNOWN = [name for name in NAMES if name.startswith("unknown") or "not declared" in name]
THOUGHT = ["<think> split over deltas", "only </think>"]
DRAWN = [name for name in NAMES if name.startswith("image")]
FAILED = {"blank answer, Chat": "empty_answer", "context exceeded, llama.cpp": "context_window"}
ERRORS = [name for name in NAMES if name.startswith("200 with")]
OWN_CALLS = {"responses": [web_search("ws_1", "Tea")], "anthropic": server_search("srv_1", "Tea")}


@dataclass
class Turn:
    """A run, and the thread after it."""

    events: list[dict[str, Any]]
    thread: dict[str, Any]
    notes: list[str]

    @property
    def text(self) -> str:
        return "".join(event["delta"] for event in self.events if event["type"] == "TEXT_MESSAGE_CONTENT")

    @property
    def answers(self) -> list[str]:
        return [one["content"] for one in self.thread["messages"] if one["role"] == "assistant" and "content" in one]


def serve(settings: Any, notes: list[str], **config: Any) -> None:
    registry = ToolRegistry()
    registry.add(lambda: "pong", name="ping", description="Answer.")

    @tool(registry)
    def put_note(text: str) -> dict[str, Any]:
        """Put a note down."""
        notes.append(text)
        return {"noted": text}

    view = DjangoAGUIView(registry, AgentConfig(**config))
    serve_urls(settings, get_urls(view))


async def play(name: str, client: Client, stub: ProviderStub, settings: Any) -> Turn:
    """Let the provider send an input's answer, and run a further turn with each of the APIs."""
    [sent] = [sent for sent in INPUTS if sent["name"] == name]
    body = Body(sent["chunks"], sent.get("status", 200), sent.get("type", "text/event-stream"))
    stub.replies = [body] * 9 if "again" in sent else [body, *map(Body, sent.get("then", []))]
    models = {api: model_of(api, stub.url) for api in APIS}
    notes: list[str] = []
    serve(settings, notes, model=model_of(sent["api"], stub.url, sent.get("flavour", "")), models=models)
    events = await client.run("Hi")
    check_stream(events, {"protocolVersion": "1.0"})
    turn = Turn(events, await client.thread(), list(notes))
    for api in APIS:
        stub.replies = [Answer("Go on.")]
        after = await client.run("And now?", forwardedProps={"model": api})
        assert after[-1]["type"] == "RUN_FINISHED", (api, after[-1])
        check_history(stub.requests[-1].body)
    return turn


def test_each_input_has_its_test():
    assert sorted(NAMES) == sorted(
        [*ONE_CALL, *TWO_CALLS, *REFUSED, *CUT, *UNKNOWN, *THOUGHT, *DRAWN, *FAILED, *ERRORS]
    )


@pytest.mark.parametrize("name", ONE_CALL)
async def test_a_call_has_one_id_in_the_stream_the_thread_and_the_next_request(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    assert turn.events[-1]["type"] == "RUN_FINISHED"
    assert turn.notes == ["Tea"]
    streamed = {event["toolCallId"] for event in turn.events if "toolCallId" in event}
    [call] = [call for one in turn.thread["messages"] for call in one.get("toolCalls", ())]
    [result] = [one["toolCallId"] for one in turn.thread["messages"] if one["role"] == "tool"]
    sent = calls_in(stub.requests[1].body)
    assert streamed == {call["id"]} == {result}
    assert sent == ([result], [result])
    assert json.loads(call["function"]["arguments"]) == {"text": "Tea"}


@pytest.mark.parametrize("name", TWO_CALLS)
async def test_calls_that_a_gateway_confuses_run_all_the_same(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    assert turn.events[-1]["type"] == "RUN_FINISHED"
    assert sorted(turn.notes) == ["Bread", "Tea"]


@pytest.mark.parametrize("api", OWN_CALLS)
async def test_two_calls_of_a_providers_own_tool_have_two_ids(api, client, stub, settings):
    call = OWN_CALLS[api]
    stub.replies = [Extra([*call, *call], " "), Extra(call, "Tea."), Extra(call, "More."), Answer("Well.")]
    serve(settings, [], model=model_of(api, stub.url), capabilities=[WebSearch(local=False)])
    events = []
    for _ in range(3):
        ran = await client.run("Hi")
        check_stream(ran, {"protocolVersion": "1.0"})
        events += ran
    thread = await client.thread()

    def ids(kind: str) -> list[str]:
        return [event["toolCallId"] for event in events if event["type"] == kind]

    started = ids("TOOL_CALL_START")
    # Items of Responses are known by their ids: what comes twice in one answer is one item.
    assert len(set(started)) == len(started) == {"responses": 3, "anthropic": 4}[api]
    assert sum(call[0]["id"] in one for one in started) == 1
    assert ids("TOOL_CALL_END") == ids("TOOL_CALL_RESULT") == started
    assert [call["id"] for one in thread["messages"] for call in one.get("toolCalls", ())] == started
    assert [one["toolCallId"] for one in thread["messages"] if one["role"] == "tool"] == started
    check_history(stub.requests[-1].body)


async def test_each_result_of_a_providers_own_tool_belongs_to_one_call(client, stub, settings):
    """Google's have no id: pydantic-ai takes each for that of the last call."""
    parts = [{"executableCode": {"language": "PYTHON", "code": str(number)}} for number in (1, 2)]
    parts += [{"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": str(number)}} for number in (1, 2, 3)]
    bodies = [{"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]} for part in parts]
    stub.replies = [Body([f"data: {json.dumps(body)}\n\n" for body in bodies]), Answer("Well.")]
    serve(settings, [], model=model_of("google", stub.url))
    events = await client.run("Hi")
    check_stream(events, {"protocolVersion": "1.0"})
    results = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    calls = [event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"]
    assert sorted(result["toolCallId"] for result in results) == sorted(calls)
    assert [json.loads(result["content"])["output"] for result in results] == ["1", "2"]


async def test_a_result_without_a_call_is_nowhere(client, stub, settings):
    begun = list(messages_of(Extra(OWN_CALLS["anthropic"][1:], "Tea.")))[:-2]
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    stub.replies = [Body([*begun, f"event: error\ndata: {json.dumps(error)}\n\n"]), Answer("Well.")]
    serve(settings, [], model=model_of("anthropic", stub.url), capabilities=[WebSearch(local=False)])
    events = await client.run("Hi")
    check_stream(events, {"protocolVersion": "1.0"})
    assert events[-1]["code"] == "model_unavailable"
    assert [one["role"] for one in (await client.thread())["messages"]] == ["user", "assistant"]
    await client.run("And now?")
    check_history(stub.requests[-1].body)


@pytest.mark.parametrize("name", REFUSED)
async def test_a_refusal_is_called_so_and_has_the_models_words(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    [failure] = turn.thread["failures"].values()
    assert turn.events[-1]["code"] == failure["code"] == "model_refused"
    words = [REFUSAL] if name.startswith("refusal") else []
    assert turn.answers == words
    assert turn.text == "".join(words)


@pytest.mark.parametrize("name", CUT)
async def test_an_answer_that_was_cut_off_says_so(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    [cut] = [event["value"] for event in turn.events if event["type"] == "CUSTOM" and event["name"] == "answer_cut"]
    [answer] = [one for one in turn.thread["messages"] if one["role"] == "assistant"]
    assert turn.text == answer["content"] == "The first step is to"
    assert cut["messageId"] == answer["id"]
    assert cut["reason"] == answer["metadata"]["answer_cut"]
    assert cut["reason"] == ("length" if re.match("length|max", name) else "content_filter")


@pytest.mark.parametrize("name", by_day(UNKNOWN, 2))
async def test_what_a_reader_does_not_know_loses_no_text(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    assert turn.events[-1].get("code", "model_error") == "model_error"
    assert "".join(turn.answers) == turn.text


@pytest.mark.parametrize("name", THOUGHT)
async def test_a_thought_between_tags_is_no_part_of_the_answer(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    assert turn.answers == ["Hello"]
    assert "think>" not in turn.text
    assert name == "only </think>" or turn.text == "Hello"


@pytest.mark.parametrize("name", DRAWN)
async def test_a_drawing_is_the_same_words_live_and_after_a_reload(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    assert turn.answers == [turn.text]
    assert "None" not in turn.text


@pytest.mark.parametrize("name", FAILED)
async def test_an_answer_without_words_has_a_code(name, client, stub, settings):
    turn = await play(name, client, stub, settings)
    assert turn.events[-1]["code"] == FAILED[name]
    assert (turn.answers, turn.text) == ([], "")


@pytest.mark.parametrize("name", ERRORS)
async def test_an_error_with_the_status_of_a_success_is_read(name, client, stub, settings):
    settings.DEBUG = True
    turn = await play(name, client, stub, settings)
    assert "no model is loaded" in turn.events[-1]["metadata"]["debug"]["cause"]


# --- Histories reach each provider as it accepts them: those of inputs/histories.json, and changes of the model

HISTORIES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "inputs/histories.json").read_text())
# Ids as gateways make them, who want them back.
ODD_IDS = ["functions.ping:0", "call_" + "x" * 400, "a b/ü"]


async def send(client: Client, stub: ProviderStub, api: str, replies: list[Any], messages: Any = None) -> int:
    """Run a turn; returns its status."""
    stub.replies = replies
    new = {"messages": messages} if messages else {}
    body = run_input("" if messages else "Go on", forwardedProps={"model": api}, **new)
    response = await client.post(body)
    if response.status_code == 200:
        events = await collect(response)
        check_stream(events, body)
        assert events[-1].get("code", "empty_answer") == "empty_answer"
    else:
        assert json.loads(response.content)["message"]
    return response.status_code


@pytest.fixture
def served(stub: ProviderStub, settings: Any) -> ProviderStub:
    serve(settings, [], model=model_of("chat", stub.url), models={api: model_of(api, stub.url) for api in APIS})
    return stub


@pytest.mark.parametrize("history", by_day(HISTORIES), ids=lambda history: history["name"])
async def test_a_history_is_sent_as_its_provider_accepts_it(history: Any, client: Client, served: ProviderStub):
    for turn in history["turns"]:
        replies = [Body(reply["chunks"]) for reply in turn.get("replies", ())] * 2
        status = await send(client, served, turn["api"], replies or [Answer("Yes.")], turn["messages"])
    assert status in (200, 422)
    if status == 200:
        check_history(served.requests[-1].body)
        await send(client, served, turn["api"], [Answer("Yes.")])
        check_history(served.requests[-1].body)


@pytest.mark.parametrize("odd_id", by_day(ODD_IDS), ids=lambda odd_id: odd_id[:16])
async def test_a_thread_goes_on_with_any_other_model(odd_id: str, client: Client, served: ProviderStub):
    for api in APIS:
        # Each provider sends the id twice.
        for _ in range(2):
            await send(client, served, api, [ToolUse("ping", {}, id=odd_id), Answer("Pinged.")])
            check_history(served.requests[-1].body, own=(odd_id,))
    for api in APIS:
        await send(client, served, api, [Answer("Yes.")])
        check_history(served.requests[-1].body, own=(odd_id,))
    thread = await client.thread()
    called = [call["id"] for one in thread["messages"] for call in one.get("toolCalls", ())]
    assert odd_id in called  # The store keeps what was said.
    assert len(set(called)) == len(called) == 2 * len(APIS)


@pytest.mark.parametrize("odd_id", ODD_IDS, ids=lambda odd_id: odd_id[:16])
async def test_a_provider_gets_its_own_ids_back(odd_id: str, client: Client, served: ProviderStub):
    await send(client, served, "chat", [ToolUse("ping", {}, id=odd_id), Answer("Pinged.")])
    assert calls_in(served.requests[-1].body) == ([odd_id], [odd_id])
    await send(client, served, "chat", [Answer("Yes.")])
    assert calls_in(served.requests[-1].body) == ([odd_id], [odd_id])

    # Providers keep the beginning of a request in a cache.
    for _ in range(2):
        await send(client, served, "anthropic", [Answer("Yes.")])
    first, second = (request.body["messages"] for request in served.requests[-2:])
    assert second[: len(first)] == first
    [call_id], [result_id] = calls_in(served.requests[-1].body)
    assert call_id == result_id != odd_id
