"""Users rate answers and take ratings back, and the people who look after the agent see them."""

import json
from html import unescape
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.template import Context, Template
from django.test import AsyncClient
from django.test import Client as Browser
from django.urls import path

from agui.contrib.feedback.models import Feedback
from agui.contrib.feedback.ratings import MAX_READ
from agui.models import Message, Run, get_conversation_model
from agui.testing import call, say
from tests import urls
from tests.conftest import Client, script
from tests.test_threads import send

Thread = get_conversation_model()

urlpatterns = [*urls.urlpatterns, path("admin/", admin.site.urls)]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def admin_urls(endpoint: None, settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


async def give(client: Client, message_id: Any, value: Any = 1, thread: str = "t1", **body: Any) -> Any:
    body = {"message_id": message_id, "value": value, **body}
    return await send(client, "PUT", f"threads/{thread}/feedback/", body)


async def answer_of(client: Client, thread: str = "t1") -> str:
    return [m["id"] for m in (await client.thread(thread))["messages"] if m["role"] == "assistant"][-1]


@pytest.fixture
async def answered(client: Client) -> str:
    with script(say("Heads")):
        await client.run("Heads or tails?")
    return await answer_of(client)


async def test_it_is_kept_replaced_and_taken_back(client: Client, answered: str):
    assert (await client.thread())["feedback"] == {}
    told = {"value": -1, "comment": "Wrong\ufffd side"}
    response = await give(client, answered, -1, comment="Wrong\x00 side")
    assert (response.status_code, response.json()) == (200, told)
    assert (await client.thread())["feedback"] == {answered: told}
    await give(client, answered, 1)
    assert (await client.thread())["feedback"] == {answered: {"value": 1, "comment": ""}}
    for comment in ("\ud800 \x00\x1b", " ", "😀" * 1000, "<script>alert(1)</script>\n'; --"):
        assert (await give(client, answered, comment=comment)).status_code == 200
    assert (await client.thread())["feedback"][answered]["comment"] == "<script>alert(1)</script>\n'; --"
    for _ in range(2):
        assert (await give(client, answered, 0)).status_code == 204
    assert (await client.thread())["feedback"] == {}


async def test_it_knows_the_run_and_what_was_replaced_keeps_its_age(client: Client, answered: str):
    await give(client, answered)
    first = await Feedback.objects.aget()
    with script(say("More")):
        await client.run("More")
    await give(client, answered, -1)
    second = await Feedback.objects.aget()
    earliest, _ = [run.pk async for run in Run.objects.order_by("started_at")]
    assert (second.run, second.created_at) == (earliest, first.created_at)
    assert second.updated_at > first.updated_at


async def test_answers_of_every_version_can_be_judged(client: Client):
    question = {"id": "u1", "role": "user", "content": "Heads or tails?"}
    ids = []
    with script(say("Heads"), say("Tails")):
        for _ in range(2):
            await client.run(messages=[question])
            ids.append(await answer_of(client))
    assert [(await give(client, one, value)).status_code for one, value in zip(ids, (1, -1), strict=True)] == [200, 200]
    thread = await client.thread()
    assert {one: told["value"] for one, told in thread["feedback"].items()} == dict(zip(ids, (1, -1), strict=True))
    assert {entry.run async for entry in Feedback.objects.all()} == {run.pk async for run in Run.objects.all()}


async def test_an_answer_that_a_fork_shares_is_judged_apart(client: Client, answered: str):
    await send(client, "POST", "threads/t1/fork/", {"thread_id": "f"})
    with script(say("Later")):
        await client.run("Go on")
    assert (await give(client, answered, -1, thread="f")).status_code == 200
    assert (await give(client, await answer_of(client), thread="f")).status_code == 404
    assert ((await client.thread())["feedback"], len((await client.thread("f"))["feedback"])) == ({}, 1)


@pytest.mark.parametrize(
    "forge",
    [
        lambda messages: messages[0]["id"],  # The question
        lambda messages: next(m["id"] for m in messages if m["role"] == "tool"),
        lambda messages: "no such",
        lambda messages: "%",
        lambda messages: messages[-1]["id"].upper(),
        lambda messages: messages[-1]["id"][:-1],
        lambda messages: next(m["toolCalls"][0]["id"] for m in messages if m.get("toolCalls")),
    ],
)
async def test_what_is_no_answer_is_not_judged(client: Client, forge: Any):
    with script(call("echo", text="x"), say("Done")):
        await client.run("Go")
    messages = (await client.thread())["messages"]
    assert (await give(client, forge(messages))).status_code == 404
    assert not await Feedback.objects.aexists()


async def test_another_threads_answer_is_not_of_this_one(client: Client, other_client: Client, answered: str):
    with script(say("Hi")):
        await client.run("Hi", thread="t2")
    for thread in ("t2", "t4"):
        assert (await give(client, answered, thread=thread)).status_code == 404
    for value in (1, 0):
        assert (await give(other_client, answered, value)).status_code == 404
    assert not await Feedback.objects.aexists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "{",
        {"value": 1},
        {"message_id": None, "value": 1},
        {"message_id": 7, "value": 1},
        {"message_id": "", "value": 1},
        {"message_id": "a\x00", "value": 1},
        {"message_id": "\ud800", "value": 1},
        {"message_id": "x" * 256, "value": 1},
        *({"message_id": "a", "value": value} for value in (None, True, "1", 1.0, 2, -2, [1], 10**400)),
        *({"message_id": "a", "value": 1, "comment": comment} for comment in (None, 7, ["x"], "x" * 2001)),
        {"message_id": "a", "value": 1, "comment": "x" * 20_000},
    ],
)
async def test_odd_bodies_are_refused(client: Client, answered: str, body: Any):
    response = await send(client, "PUT", "threads/t1/feedback/", body)
    assert (response.status_code, json.loads(response.content)["error"]) == (400, "bad_request")
    assert not await Feedback.objects.aexists()


async def test_only_put_and_only_who_is_known(client: Client, answered: str):
    assert (await client.get("threads/t1/feedback/")).status_code == 405
    client.http.defaults["authorization"] = ""  # type: ignore[typeddict-unknown-key]
    assert (await give(client, answered)).status_code == 401
    assert not await Feedback.objects.aexists()


async def test_a_thread_whose_id_ends_like_the_route_is_still_one(client: Client):
    with script(say("Hi"), say("Hi")):
        await client.run("Hi", thread="a")
        await client.run("Hi", thread="a/feedback")
    response = await send(client, "PATCH", "threads/a%2Ffeedback/", {"title": "Slash"})
    assert json.loads(response.content)["thread_id"] == "a/feedback"
    response = await send(client, "GET", "threads/a%2Ffeedback/")
    answer = json.loads(response.content)["messages"][-1]["id"]
    assert (await give(client, answer, thread="a%2Ffeedback")).status_code == 200
    assert (await give(client, answer, thread="a")).status_code == 404


@pytest.mark.parametrize("store", ["DjangoSessionConversationStore", "NullConversationStore"])
async def test_another_store_has_none_whatever_the_database_has(
    client: Client, answered: str, user: Any, settings: Any, store: str
):
    settings.AGUI = {"CONVERSATION_STORE": f"agui.{store}"}
    assert (await give(client, answered)).status_code == 404
    client.http = AsyncClient()
    await client.http.aforce_login(user)
    with script(say("Hi")):
        await client.run("Hi")
    thread = (await client.get("threads/t1/")).json()
    assert "feedback" not in thread
    body = {"message_id": thread.get("messages", [{"id": "a"}])[-1]["id"], "value": 1}
    response = await client.http.put("/agent/threads/t1/feedback/", body, content_type="application/json")
    assert response.status_code == 404


@pytest.mark.parametrize("store", ["Model", "DjangoSession", "Null"])
def test_a_page_is_told_whether_it_can_be_kept(settings: Any, store: str):
    settings.AGUI = {"CONVERSATION_STORE": f"agui.{store}ConversationStore"}
    page = Template("{% load agui %}{% agui_agent_attributes %}").render(Context())
    assert ("data-feedback" in page) == (store == "Model")


async def test_it_is_in_the_export_and_goes_with_its_thread(client: Client, other_client: Client, answered: str):
    with script(say("Hi")):
        await other_client.run("Hi", thread="t2")
    await give(other_client, await answer_of(other_client, "t2"), thread="t2", comment="theirs")
    await give(client, answered, -1, comment="mine")
    response = await client.get("export/")
    [told] = json.loads(b"".join([chunk async for chunk in response.streaming_content]))["feedback"]
    assert (told["thread_id"], told["message_id"], told["value"], told["comment"]) == ("t1", answered, -1, "mine")
    await send(client, "POST", "threads/t1/fork/", {"thread_id": "f"})
    assert (await client.http.delete("/agent/threads/t1/")).status_code == 204
    assert (await Feedback.objects.aget()).comment == "theirs"
    assert await Message.objects.filter(thread__thread_id="f").aexists()  # The fork's now


async def test_few_messages_are_read_for_it(client: Client, answered: str, monkeypatch: Any):
    thread = await Thread.objects.aget()
    data = (await Message.objects.aget(id=thread.head)).data
    for name, text in (("broken", '{"broken'), ("m", data)):
        rows = [Message(id=f"{name}{n}", thread=thread, parent=thread.head, data=text) for n in range(100)]
        await Message.objects.abulk_create(rows)
        assert (await give(client, answered)).status_code == 200
    read: list[Any] = []

    def tell(messages: Any) -> list[Any]:
        read.append(messages)
        return []

    # A word that all messages have.
    monkeypatch.setattr("agui.contrib.feedback.ratings.wire_messages", tell)
    assert (await give(client, "kind")).status_code == 404
    assert 0 < len(read) <= MAX_READ


async def test_the_admin_finds_it_and_leads_to_what_was_said(client: Client):
    question = {"id": "u1", "role": "user", "content": "Heads or tails?"}
    with script(say("Heads <b>"), say("Tails"), say("Fine")):
        await client.run(messages=[question])
        await give(client, await answer_of(client), -1, comment="<i>Wrong</i>")
        await client.run(messages=[question])
        await give(client, await answer_of(client))
        await client.run("Fine")
    row = await Feedback.objects.aget(value=-1)

    def look() -> tuple[str, str, str]:
        browser = Browser()
        browser.force_login(get_user_model().objects.create_superuser("root"))
        listed = browser.get("/admin/agui_feedback/feedback/?value__exact=-1&comment__isempty=0").content.decode()
        page = browser.get(f"/admin/agui_feedback/feedback/{row.pk}/change/").content.decode()
        link = f"/admin/assistant/conversation/{row.thread_id}/change/?end={row.entry}"
        assert link in unescape(page)
        return listed, page, browser.get(link).content.decode()

    listed, page, transcript = await sync_to_async(look)()
    for html in (listed, page):
        assert "&lt;i&gt;Wrong&lt;/i&gt;" in html
        assert "ada" in html
        assert f"/admin/assistant/conversation/{row.thread_id}/change/" in html
        assert "<i>" not in html
    assert "1 feedback" in listed
    assert f"/admin/agui/run/{row.run}/change/" in page
    assert "Heads &lt;b&gt;" in transcript
    assert "Tails" not in transcript.partition("Versions that were left")[0]
