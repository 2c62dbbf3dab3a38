"""The routes of messages that wait: what they take, what they refuse, and whose they are."""

import asyncio
import json
import threading
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
from ag_ui.core import UserMessage
from django.db import connections
from django.test import AsyncClient

from agui.actor import Actor
from agui.contrib.queue import rows
from agui.contrib.queue.models import QueuedMessage
from agui.models import Run
from agui.testing import call, collect, say
from tests.conftest import Client, script
from tests.queueing import Gate, Queue, Reading, custom, settled, texts

MESSAGE = {"id": "m1", "role": "user", "content": "Hi"}


@pytest.fixture
async def paused(client: Client) -> None:
    """A thread that waits for an approval, so that no message begins a run."""
    with script(call("wipe", _id="w1")):
        await client.run("Wipe")


@pytest.mark.usefixtures("paused")
async def test_the_same_message_sent_again_changes_nothing(client: Client, queue: Queue):
    first = await queue.post("One", "m1")
    await queue.post("Two", "m2")
    again = await queue.post("One", "m1")
    assert again == first
    assert first == {
        "message_id": "m1",
        "message": {"id": "m1", "role": "user", "content": "One"},
        "mode": "queue",
        "state": "waiting",
        "position": 0,
        "created_at": first["created_at"],
        "run": None,
        "held": "paused",
        "refusal": None,
    }
    await asyncio.gather(*[queue.post("Three", "m3") for _ in range(5)])
    assert await queue.waiting() == ["One", "Two", "Three"]


@pytest.mark.usefixtures("paused")
async def test_a_message_that_was_taken_back_does_not_come_back(client: Client, queue: Queue):
    await queue.post("One", "m1")
    for _ in range(2):
        await queue.send("DELETE", query="?message_id=m1", status=204)
    answer = await queue.post("One", "m1")
    assert (answer["state"], answer["message"], answer["position"]) == ("taken_back", None, None)
    assert await queue.waiting() == []
    assert (await QueuedMessage.objects.aget()).data == ""


async def test_a_message_that_was_read_can_not_be_changed(client: Client, queue: Queue):
    with script(say("Hello.")):
        await queue.post("One", "m1")
        await settled()
    assert (await queue.post("One", "m1"))["state"] == "read"
    assert (await queue.send("DELETE", query="?message_id=m1", status=409))["error"] == "already_read"
    assert (await queue.send("PATCH", {"message_id": "m1", "position": 0}, status=409))["error"] == "already_read"
    # Nor can one that the thread has otherwise.
    with script(say("Hello.")):
        await client.run(messages=[{"id": "m2", "role": "user", "content": "Two"}])
    await queue.post("Two", "m2", status=409)
    assert (await texts(client)).count("Two") == 1


@pytest.mark.usefixtures("paused")
async def test_messages_are_edited_and_moved(client: Client, queue: Queue):
    for name in "abcd":
        await queue.post(name)
    await queue.send("PATCH", {"message_id": "d", "position": 0})
    await queue.send("PATCH", {"message_id": "a", "position": 99})
    moved = await queue.send("PATCH", {"message_id": "b", "position": 1})
    assert moved["position"] == 1
    edited = await queue.send("PATCH", {"message_id": "c", "message": {"id": "c", "role": "user", "content": "C"}})
    assert (edited["position"], edited["message"]["content"]) == (2, "C")
    assert await queue.waiting() == ["d", "b", "C", "a"]
    await queue.post("e")
    assert (await queue.waiting())[-1] == "e"


async def test_every_reader_is_told(client: Client, queue: Queue):
    gate = Gate()
    with script([say("One."), gate()], say("Two.")):
        run = Reading(client, "Go")
        await run.at(gate)
        other = asyncio.create_task(follow(client))
        await queue.post("a")
        await queue.post("b", mode="queue")
        await queue.send("PATCH", {"message_id": "b", "position": 0})
        await queue.send("DELETE", query="?message_id=a", status=204)
        events = await run.end(gate)
        assert [event for event in await other if event["type"] == "CUSTOM"] == [
            event for event in events if event["type"] == "CUSTOM"
        ]
        await settled()
    assert [(value["messageId"], value["position"]) for value in custom(events, "message_queued")] == [
        ("a", 0),
        ("b", 1),
    ]
    assert [(value["messageId"], value["position"]) for value in custom(events, "message_changed")] == [("b", 0)]
    assert custom(events, "message_removed") == [{"messageId": "a"}]


async def follow(client: Client) -> list[dict[str, Any]]:
    return await collect(await client.get("threads/t1/events/"))


async def test_a_message_for_another_run_is_refused(client: Client, queue: Queue):
    gate = Gate()
    with script([say("One."), gate()], say("Two.")):
        run = Reading(client, "Go", runId="r1")
        await run.at(gate)
        assert (await queue.post("a", expected_run="r0", status=409))["error"] == "run_changed"
        answer = await queue.post("b", expected_run="r1")
        assert answer["run"]["run_id"] == "r1"
        await run.end(gate)
        await settled()
    assert (await queue.post("c", expected_run="r1", status=409))["error"] == "run_changed"
    assert await queue.waiting() == []


@pytest.mark.usefixtures("paused")
async def test_a_full_queue_takes_no_more(client: Client, queue: Queue, settings: Any):
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MAX_MESSAGES": 2}}
    answers = await asyncio.gather(*[attempt(queue, name) for name in "abcde"])
    assert sorted(answers) == ["queue_full", "queue_full", "queue_full", "waiting", "waiting"]
    first = (await queue.send("GET"))["messages"][0]["message_id"]
    await queue.send("DELETE", query=f"?message_id={first}", status=204)
    await queue.post("f")


@pytest.mark.database
@pytest.mark.usefixtures("paused")
async def test_two_processes_do_not_pass_the_limit(user: Any, monkeypatch: pytest.MonkeyPatch):
    """Each adds a message at the same moment; threads stand for the processes."""
    scope = (await Run.objects.aget()).scope
    both, create = threading.Barrier(2), QueuedMessage.objects.create

    def meet(**values: Any) -> Any:
        # The second one comes so far only if the first one does not keep it out.
        with suppress(threading.BrokenBarrierError):
            both.wait(timeout=1)
        return create(**values)

    def add(name: str) -> str:
        message = UserMessage(id=name, content="Hi")
        try:
            return rows.add(rows.Queue(scope, "t1"), Actor(user, scope), message, "queue", 1).state
        except rows.QueueFull as error:
            return error.code
        finally:
            connections.close_all()

    monkeypatch.setattr(QueuedMessage.objects, "create", meet)
    states = await asyncio.gather(*[asyncio.to_thread(add, name) for name in "ab"])
    assert sorted(states) == ["queue_full", "waiting"]


async def attempt(queue: Queue, name: str) -> str:
    body = json.dumps({"message": {**MESSAGE, "id": name}})
    response = await queue.client.http.post(queue.path, body, content_type="application/json")
    answer = json.loads(response.content)
    return str(answer.get("error") or answer["state"])


BODIES: list[tuple[Any, int]] = [
    ([], 400),
    ({"message": []}, 400),
    ({"message": {**MESSAGE, "role": "assistant"}}, 400),
    ({"message": {**MESSAGE, "role": "system"}}, 400),
    ({"message": {**MESSAGE, "id": "a\x00b"}}, 400),
    ({"message": {**MESSAGE, "id": "x" * 256}}, 400),
    ({"message": {**MESSAGE, "content": 5}}, 400),
    ({"message": {**MESSAGE, "content": " "}}, 422),
    ({"message": {**MESSAGE, "content": [{"type": "image", "source": {"type": "url", "value": "file:///etc"}}]}}, 422),
    ({"message": MESSAGE, "mode": "now"}, 400),
    ({"message": MESSAGE, "mode": ["queue"]}, 400),
    ({"message": MESSAGE, "expected_run": 5}, 400),
    ({"message": MESSAGE, "tools": "all"}, 400),
]


@pytest.mark.parametrize(("body", "status"), BODIES)
@pytest.mark.usefixtures("paused")
async def test_what_no_run_could_read_is_refused(client: Client, queue: Queue, body: Any, status: int):
    await queue.send("POST", body, status=status)
    assert await queue.waiting() == []


CHANGES: list[tuple[Any, int]] = [
    ({}, 400),
    ({"message_id": 5}, 400),
    ({"message_id": "m2"}, 404),
    ({"message_id": "m1", "position": -1}, 400),
    ({"message_id": "m1", "position": True}, 400),
    ({"message_id": "m1", "position": 10**9}, 400),
    ({"message_id": "m1", "message": {**MESSAGE, "id": "m2"}}, 400),
    ({"message_id": "m1", "message": {**MESSAGE, "content": ""}}, 422),
    ({"message_id": "m1", "mode": "now"}, 400),
]


@pytest.mark.parametrize(("body", "status"), CHANGES)
@pytest.mark.usefixtures("paused")
async def test_a_wrong_change_is_refused(client: Client, queue: Queue, body: Any, status: int):
    await queue.post("Hi", "m1")
    await queue.send("PATCH", body, status=status)
    assert await queue.waiting() == ["Hi"]


async def test_another_type_of_body_is_refused(client: Client, queue: Queue):
    response = await client.http.post(queue.path, json.dumps({"message": MESSAGE}), content_type="text/plain")
    assert response.status_code == 415


@pytest.mark.parametrize("thread", ["a b", "x-messages", "messages", "t" * 255])
@pytest.mark.parametrize("message_id", ["m/1", "send", "?&=", "é %2F", "m" * 255])
async def test_ids_may_be_odd_and_long(client: Client, thread: str, message_id: str):
    queue = Queue(client, quote(thread, safe=""))
    with script(call("wipe", _id="w1")):
        await client.run("Wipe", thread=thread)
    await queue.post("Hi", message_id)
    assert [row["message_id"] for row in (await queue.send("GET"))["messages"]] == [message_id]
    await queue.send("PATCH", {"message_id": message_id, "position": 0})
    await queue.send("DELETE", query=f"?message_id={quote(message_id, safe='')}", status=204)
    assert (await client.thread(quote(thread, safe="")))["thread_id"] == thread


@pytest.mark.usefixtures("paused")
async def test_messages_are_their_owners(client: Client, other_client: Client, queue: Queue):
    await queue.post("Hi", "m1")
    other = Queue(other_client)
    await other.send("GET", status=404)
    await other.send("PATCH", {"message_id": "m1", "position": 0}, status=404)
    await other.send("DELETE", query="?message_id=m1", status=404)
    with script(say("Hello.")):
        await other.post("Hello", "m1")
        await settled()
    assert await texts(other_client) == ["Hello", "assistant: Hello."]
    assert await queue.waiting() == ["Hi"]
    anonymous = AsyncClient()
    assert (await anonymous.get(queue.path)).status_code == 401


async def test_other_sites_can_not_send(client: Client, queue: Queue, user: Any):
    browser = AsyncClient(enforce_csrf_checks=True)
    await browser.aforce_login(user)
    response = await browser.post(queue.path, json.dumps({"message": MESSAGE}), content_type="application/json")
    assert response.status_code == 403


async def test_messages_are_throttled_as_runs_are(client: Client, queue: Queue, settings: Any):
    settings.AGUI = {**settings.AGUI, "THROTTLE": {"USER": "1/hour"}}
    with script(say("Hello.")):
        await queue.post("One")
        await settled()
        await queue.post("Two", status=429)


async def test_a_run_that_may_not_begin_leaves_its_message(client: Client, queue: Queue, settings: Any):
    settings.AGUI = {**settings.AGUI, "MAX_CONCURRENT_RUNS": 1}
    gate = Gate()
    with script([say("One."), gate()], say("Two."), say("Three.")):
        run = Reading(client, "Go", thread="t2")
        await run.at(gate)
        answer = await queue.post("Hi")
        assert (answer["state"], answer["refusal"]["error"]) == ("waiting", "at_capacity")
        await run.end(gate)
        await queue.send("POST", {}, status=202)
        await settled()
    assert await texts(client) == ["Hi", "assistant: Two."]


async def test_settings_say_what_is_allowed(client: Client, queue: Queue, settings: Any):
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MODES": ["queue"]}}
    await queue.post("Hi", mode="steer", status=400)
    capabilities = json.loads((await client.get("capabilities/")).content)
    assert capabilities["custom"]["queue"] == {"modes": ["queue"], "max_messages": 10}
    settings.AGUI = {**settings.AGUI, "QUEUE": {"MODES": []}}
    await queue.send("GET", status=404)
    settings.AGUI = {"CONVERSATION_STORE": "agui.contrib.session_store.store.DjangoSessionConversationStore"}
    await queue.send("GET", status=404)


async def test_a_plain_message_to_a_busy_thread_is_still_refused(client: Client, queue: Queue):
    gate = Gate()
    with script([say("One."), gate()]):
        run = Reading(client, "Go")
        await run.at(gate)
        response = await client.post(json.dumps({"threadId": "t1", "runId": "r2", "messages": [MESSAGE]}))
        assert response.status_code == 409
        await run.end(gate)
