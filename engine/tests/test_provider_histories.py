"""A history reaches each provider as it accepts it: the inputs of inputs/histories.json, and changes of the model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from daily import by_day
from pydantic_ai.models import override_allow_model_requests

from agui.testing import collect
from tests.conftest import Client, run_input
from tests.provider_stub import Answer, Body, ProviderStub, ToolUse, calls_in, check_history
from tests.providers import APIS, model_of
from tests.test_provider_answers import serve
from tests.wire import check_stream

INPUTS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "inputs/histories.json").read_text())
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
def served(settings: Any) -> Iterator[ProviderStub]:
    with ProviderStub() as stub, override_allow_model_requests(True):
        serve(settings, [], model=model_of("chat", stub.url), models={api: model_of(api, stub.url) for api in APIS})
        yield stub


@pytest.mark.parametrize("history", by_day(INPUTS), ids=lambda history: history["name"])
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

    await send(client, served, "anthropic", [Answer("Yes.")])
    [call_id], [result_id] = calls_in(served.requests[-1].body)
    assert call_id == result_id != odd_id


async def test_a_history_is_sent_as_it_was_sent_before(client: Client, served: ProviderStub):
    """Providers keep the beginning of a request in a cache."""
    await send(client, served, "chat", [ToolUse("ping", {}, id="functions.ping:0"), Answer("Pinged.")])
    sent = []
    for _ in range(2):
        await send(client, served, "anthropic", [Answer("Yes.")])
        sent.append(served.requests[-1].body["messages"])
    assert sent[1][: len(sent[0])] == sent[0]
