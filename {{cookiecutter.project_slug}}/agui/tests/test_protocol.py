"""Bodies of every kind: read, or refused without repeating them."""

import json
from urllib.parse import quote

import pytest

from agui.testing import collect, event_types, say
from agui.tests.conftest import Client, run_input, script


async def refused(client: Client, body) -> tuple[int, dict]:
    response = await client.post(body)
    return response.status_code, json.loads(response.content)


@pytest.mark.parametrize(
    "body",
    [
        " ",
        "{",
        "[]",
        "null",
        '"text"',
        b"\xff\xfe",
        "[" * 100_000,
        {"threadId": "t", "runId": "r"},
        {"threadId": "t", "runId": "r", "messages": "no"},
        {"threadId": "t", "runId": "r", "messages": [None]},
        {"threadId": "t", "runId": "r", "messages": [[]]},
        {"threadId": 7, "runId": "r", "messages": []},
        {"threadId": None, "runId": "r", "messages": []},
    ],
    ids=lambda body: str(body)[:40],
)
async def test_a_malformed_body_is_400(client: Client, body):
    status, answer = await refused(client, body)
    assert status == 400
    assert answer["error"] == "bad_request"


async def test_a_refusal_names_places_not_contents(client: Client):
    body = run_input("Hi", tools=[{"name": "hunter2", "description": 5}])
    status, answer = await refused(client, body)
    assert status == 400
    assert answer["details"] == ["tools.0.description: string_type"]
    assert "hunter2" not in str(answer)


@pytest.mark.parametrize("thread", ["", "x" * 256, "a\nb", "a\x00b", "\ud800", "a/events", "a/cancel"])
async def test_an_unusable_thread_id_is_400(client: Client, thread):
    status, _ = await refused(client, json.dumps(run_input("Hi", thread=thread)))
    assert status == 400


@pytest.mark.parametrize("thread", ["x" * 255, "a/b", "ünï 日本語", "../..", "%2F", "a b?c=d#e"])
async def test_a_thread_id_may_be_of_any_shape(client: Client, thread):
    with script(say("Hi")):
        await client.run("Hi", thread=thread)
    [listed] = json.loads((await client.get("threads/")).content)["threads"]
    assert listed["thread_id"] == thread
    if thread.isascii():  # Django's test client can't send other paths
        response = await client.get(f"threads/{quote(thread, safe='')}/")
        assert json.loads(response.content)["thread_id"] == thread


async def test_a_body_that_is_too_large_is_413(client: Client, settings):
    settings.AGUI = {"MAX_BODY_BYTES": 1000}
    status, answer = await refused(client, run_input("x" * 1000))
    assert (status, answer["error"]) == (413, "too_large")


async def test_more_messages_than_anybody_has_are_422(client: Client, settings):
    settings.AGUI = {"MAX_MESSAGES": 10}
    status, _ = await refused(client, run_input(messages=[{"role": "user", "content": ""}] * 11))
    assert status == 422


async def test_a_body_above_djangos_limit_for_forms_is_fine(client: Client):
    # Django's 2.5 MB would make long conversations unusable.
    with script(say("Long")):
        assert event_types(await client.run("x" * 3_000_000))[-1] == "RUN_FINISHED"


async def test_snake_case_missing_and_null_ids_are_read(client: Client):
    body = {"thread_id": "t", "run_id": "r", "messages": [{"role": "user", "content": "Hi"}]}
    with script(say("Hi"), say("Hi")):
        assert (await collect(await client.post(body)))[-1]["type"] == "RUN_FINISHED"
        body["messages"] = [{"id": None, "role": "user", "content": "Again"}]
        assert (await collect(await client.post(body)))[-1]["type"] == "RUN_FINISHED"


async def test_state_that_does_not_fit_is_422(client: Client):
    status, answer = await refused(client, run_input("Hi", state={"text": ["hunter2"]}))
    assert (status, answer["error"]) == (422, "unprocessable")
    assert "hunter2" not in str(answer)


@pytest.mark.parametrize("state", [{}, None])
async def test_no_state_is_fine(client: Client, state):
    with script(say("Hi")):
        assert (await client.run("Hi", state=state))[-1]["type"] == "RUN_FINISHED"


async def test_the_wire_holds_no_null_and_no_snake_case(client: Client):
    with script(say("Hi")):
        response = await client.post(run_input("Hi"))
        raw = b"".join([chunk async for chunk in response]).decode()
    assert "null" not in raw
    assert "thread_id" not in raw
    assert "message_id" not in raw


async def test_a_server_tool_can_not_be_replaced_by_the_client(client: Client):
    tools = [{"name": "echo", "description": "Mine", "parameters": {"type": "object", "properties": {}}}]
    with script(say("never")) as model:
        events = await client.run("Hi", tools=tools)
    assert events[-1]["code"] == "tool_name_conflict"
    assert model.requests == []


async def test_capabilities_are_those_of_the_agent(client: Client):
    capabilities = json.loads((await client.get("capabilities/")).content)
    assert capabilities["humanInTheLoop"]["interrupts"] is True
    assert capabilities["transport"]["resumable"] is True
