"""The mark of a thread with an answer that its user has not seen."""

import asyncio
import json
from typing import Any

import pytest

from agui.models import Run, get_conversation_model
from agui.testing import call, collect, say, wait
from tests.conftest import Client, decision, run_input, script

Thread = get_conversation_model()

pytestmark = pytest.mark.django_db(transaction=True)


async def rows(client: Client) -> dict[str, dict[str, Any]]:
    return {row["thread_id"]: row for row in json.loads((await client.get("threads/")).content)["threads"]}


async def is_unread(client: Client, thread: str = "t1") -> bool:
    return (await rows(client))[thread]["unread"]


async def mark(client: Client, unread: Any, thread: str = "t1", **more: Any) -> Any:
    body = json.dumps({"unread": unread, **more})
    return await client.http.patch(f"/agent/threads/{thread}/", body, content_type="application/json")


@pytest.fixture(params=["ModelConversationStore", "DjangoSessionConversationStore"])
async def client(request: pytest.FixtureRequest, user: Any, settings: Any) -> Client:
    settings.AGUI = {"CONVERSATION_STORE": f"agui.{request.param}"}
    client = Client(None)
    await client.http.aforce_login(user)
    return client


async def test_an_answer_that_has_ended_is_unread_until_somebody_says_otherwise(client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    assert await is_unread(client)
    assert (await client.thread())["unread"]
    response = await mark(client, False)
    assert (response.status_code, json.loads(response.content)["unread"]) == (200, False)
    assert not await is_unread(client)
    await mark(client, True)
    assert await is_unread(client)


async def test_reading_marks_nothing(client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    await client.thread()
    await collect(await client.get("threads/t1/events/"))
    assert await is_unread(client)


async def test_who_writes_has_seen_what_was_there(client: Client):
    go_on, reached = asyncio.Event(), asyncio.Event()
    with script(say("Fine."), [wait(go_on, reached), say("Well.")]):
        await client.run("Hello")
        response = await client.post(run_input("More"))
        await reached.wait()
        assert [(row["unread"], row["running"]) for row in (await rows(client)).values()] == [(False, True)]
        go_on.set()
        await collect(response)
    assert [(row["unread"], row["running"]) for row in (await rows(client)).values()] == [(True, False)]


async def test_a_mark_changes_neither_the_order_nor_what_a_run_goes_by(client: Client):
    go_on, reached = asyncio.Event(), asyncio.Event()
    with script(say("Fine."), say("Fine."), [wait(go_on, reached), say("Well.")]):
        await client.run("One", thread="a")
        await client.run("Two", thread="b")
        await mark(client, False, "a")
        assert [*await rows(client)] == ["b", "a"]
        response = await client.post(run_input("More", thread="a"))
        await reached.wait()
        await mark(client, False, "a")
        go_on.set()
        assert (await collect(response))[-1]["type"] == "RUN_FINISHED"


async def test_a_question_is_unread_and_its_answer_is_not(client: Client):
    with script(call("wipe"), say("Done.")):
        events = await client.run("Wipe it")
        assert events[-1]["outcome"]["type"] == "interrupt"
        assert await is_unread(client)
        await mark(client, False)
        await client.run(resume=[decision(events[-1]["outcome"]["interrupts"][0]["toolCallId"])])
    assert await is_unread(client)


async def test_a_stopped_answer_is_unread(client: Client):
    hold, reached = asyncio.Event(), asyncio.Event()
    with script([say("Half"), wait(hold, reached)]):
        response = await client.post(run_input("Hello"))
        await reached.wait()
        await client.http.post("/agent/threads/t1/cancel/")
        await collect(response)
    assert await is_unread(client)


async def test_a_rename_and_a_switch_leave_the_mark(client: Client):
    with script(say("Fine."), say("Better.")):
        await client.run(thread="t1", messages=[{"id": "u", "role": "user", "content": "Hello"}])
        await client.run(thread="t1", messages=[{"id": "u", "role": "user", "content": "Hello"}])
    await mark(client, False)
    versions = (await client.thread())["branches"]["u"]
    for body in ({"title": "New"}, {"branch": versions[0]["id"]}):
        response = await client.http.patch("/agent/threads/t1/", json.dumps(body), content_type="application/json")
        assert (response.status_code, json.loads(response.content)["unread"]) == (200, False)


@pytest.mark.parametrize(("unread", "more"), [(0, {}), ("false", {}), (None, {}), (False, {"title": "New"})])
async def test_a_mark_that_is_none_is_400(client: Client, unread: Any, more: dict[str, str]):
    with script(say("Fine.")):
        await client.run("Hello")
    assert (await mark(client, unread, **more)).status_code == 400
    assert await is_unread(client)


async def test_somebody_elses_is_not_found(client: Client, other_client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    assert (await mark(other_client, False)).status_code == 404
    assert (await mark(client, False, "unknown")).status_code == 404
    assert await is_unread(client)


async def test_a_fork_has_nothing_new(client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    body = json.dumps({"thread_id": "f"})
    response = await client.http.post("/agent/threads/t1/fork/", body, content_type="application/json")
    assert (response.status_code, json.loads(response.content)["unread"]) == (201, False)


async def test_a_run_of_a_dead_process_does_not_run(client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    await Run.objects.aupdate(status=Run.Status.RUNNING, seen_at="2020-01-01T00:00Z")
    assert not (await rows(client))["t1"]["running"]


async def test_nothing_is_unread_where_nothing_is_kept(client: Client, settings: Any):
    settings.AGUI = {"CONVERSATION_STORE": "agui.NullConversationStore"}
    with script(say("Fine.")):
        await client.run("Hello")
    assert (await mark(client, False)).status_code == 404
    assert not await Thread.objects.aexists()
