"""Bodies of every kind: read, or refused without repeating them."""

import json
from typing import get_args

import pytest
from ag_ui.core import AgentCapabilities

from agui.testing import collect, event_types, say
from tests.conftest import Client, run_input, script


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


@pytest.mark.parametrize("thread", ["", "x" * 256, "a\nb", "a\x00b", "a\x85b", "\ud800", ".", ".."])
async def test_an_unusable_thread_id_is_400(client: Client, thread):
    status, _ = await refused(client, json.dumps(run_input("Hi", thread=thread)))
    assert status == 400


@pytest.mark.parametrize("message_id", ["x" * 256, "a\nb", "a\x00b", "a\x85b"])
async def test_an_unusable_message_id_is_400(client: Client, message_id):
    status, _ = await refused(client, run_input(messages=[{"id": message_id, "role": "user", "content": "Hi"}]))
    assert status == 400


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
    with script(say("Hi"), say("Hi"), say("Hi")):
        assert (await collect(await client.post(body)))[-1]["type"] == "RUN_FINISHED"
        for empty in (None, ""):
            body["messages"] = [{"id": empty, "role": "user", "content": "Again"}]
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


async def capabilities(client: Client) -> dict:
    found = json.loads((await client.get("capabilities/")).content)
    # Exactly AG-UI's words: a wrong one would only be an extra field.
    assert AgentCapabilities.model_validate(found).model_dump(by_alias=True, exclude_none=True) == found
    # Under `custom` are the engine's own words.
    assert all(set(section) <= known(name) for name, section in found.items() if name != "custom")
    return found


def known(name: str) -> set[str]:
    section = next(field for field in AgentCapabilities.model_fields.values() if field.alias == name)
    [model] = [one for one in get_args(section.annotation) if one is not type(None)]
    return {field.alias for field in model.model_fields.values()}


async def test_capabilities_are_those_of_the_agent(client: Client):
    found = await capabilities(client)
    assert found["humanInTheLoop"]["interrupts"] is True
    assert found["humanInTheLoop"]["approvals"] is True
    assert found["transport"]["resumable"] is True
    assert found["state"] == {"snapshots": True, "deltas": True, "memory": False, "persistentState": True}
    assert found["execution"] == {"codeExecution": False, "maxIterations": 25, "maxExecutionTime": 600_000}
    tools = {tool["name"]: tool for tool in found["tools"]["items"]}
    assert tools["echo"]["parameters"]["required"] == ["text"]
    assert tools["wipe"]["parameters"]["x-destructive"] is True
    assert "inspect" not in tools  # Not for this user


async def test_capabilities_follow_the_settings(client: Client, settings):
    settings.AGUI = {
        "AUTO_CONFIRM": True,
        "SEND_REASONING": False,
        "RUN_TIMEOUT_SECONDS": None,
        "LIMITS": {"REQUESTS": 3},
        "CONVERSATION_STORE": "agui.NullConversationStore",
    }
    found = await capabilities(client)
    assert found["humanInTheLoop"]["approvals"] is False
    assert found["humanInTheLoop"]["interrupts"] is False
    assert found["reasoning"]["supported"] is False
    assert found["execution"] == {"codeExecution": False, "maxIterations": 3}
    assert found["state"]["persistentState"] is False


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
async def test_what_only_python_takes_for_json_is_400(client: Client, number):
    body = json.dumps(run_input("Hi", forwardedProps={"a": "number"})).replace('"number"', number)
    assert (await refused(client, body))[0] == 400


async def test_more_tools_than_anybody_has_are_422(client: Client, settings):
    settings.AGUI = {"MAX_TOOLS": 2}
    tools = [{"name": f"t{number}", "description": "A tool"} for number in range(3)]
    assert (await refused(client, run_input("Hi", tools=tools)))[0] == 422
    with script(say("Hi")) as model:
        await client.run("Hi", tools=tools[1:])
    assert {"t1", "t2"} <= set(model.requests[0].tools)


async def test_a_state_larger_than_anybody_needs_is_422(client: Client, settings):
    settings.AGUI = {"MAX_STATE_BYTES": 100}
    assert (await refused(client, run_input("Hi", state={"text": "x" * 100})))[0] == 422


async def test_what_a_client_sealed_is_not_taken_for_ours(client: Client):
    sealed = {"encryptedValue": '{"signature": 5}', "encrypted_value": "x"}
    history = [
        {"id": "u1", "role": "user", "content": "One"},
        {"id": "r1", "role": "reasoning", "content": "Hm", **sealed},
        {"id": "a1", "role": "assistant", "content": "1", **sealed},
        {"id": "u2", "role": "user", "content": "Two"},
    ]
    with script(say("2"), say("3")):
        await client.run(messages=history)
        assert (await client.run("Three"))[-1]["type"] == "RUN_FINISHED"
    assert len((await client.thread())["messages"]) == 7
