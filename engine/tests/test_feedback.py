"""Whose run an answer was, and who sees its ratings. (transcripts/feedback.yaml has what users do with them.)"""

from html import unescape
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.template import Context, Template
from django.test import Client as Browser

from agui.contrib.feedback.models import Feedback
from agui.contrib.feedback.ratings import MAX_READ
from agui.models import Message, Run, get_conversation_model
from agui.testing import call, say
from tests.conftest import Client, script
from tests.test_threads import send

Thread = get_conversation_model()

pytestmark = pytest.mark.django_db(transaction=True)


async def give(client: Client, message_id: Any, value: Any = 1, **body: Any) -> Any:
    return await send(client, "PUT", "threads/t1/feedback/", {"message_id": message_id, "value": value, **body})


async def answer_of(client: Client) -> str:
    return [m["id"] for m in (await client.thread())["messages"] if m["role"] == "assistant"][-1]


@pytest.fixture
async def answered(client: Client) -> str:
    with script(say("Heads")):
        await client.run("Heads or tails?")
    return await answer_of(client)


async def test_it_knows_the_run_and_what_was_replaced_keeps_its_age(client: Client, answered: str):
    await give(client, answered)
    first = await Feedback.objects.aget()
    question = (await client.thread())["messages"][0]
    with script(say("Tails")):
        await client.run(messages=[question])
    await give(client, await answer_of(client))
    await give(client, answered, -1)
    second, of_version = [row async for row in Feedback.objects.order_by("created_at")]
    runs = [run.pk async for run in Run.objects.order_by("started_at")]
    assert (second.run, of_version.run, second.created_at) == (*runs, first.created_at)
    assert second.updated_at > first.updated_at


async def test_what_is_no_answer_is_not_judged(client: Client):
    with script(call("echo", text="x"), say("Done")):
        await client.run("Go")
    question, called, result, answer = (await client.thread())["messages"]
    others = [question["id"], result["id"], called["toolCalls"][0]["id"], answer["id"].upper(), answer["id"][:-1]]
    for message_id in (*others, "no such", "%"):
        assert (await give(client, message_id)).status_code == 404, message_id
    assert not await Feedback.objects.aexists()


@pytest.mark.parametrize("store", ["Model", "DjangoSession", "Null"])
def test_a_page_is_told_whether_it_can_be_kept(settings: Any, store: str):
    settings.AGUI = {"CONVERSATION_STORE": f"agui.{store}ConversationStore"}
    page = Template("{% load agui %}{% agui_agent_attributes %}").render(Context())
    assert ("data-feedback" in page) == (store == "Model")


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


async def test_the_admin_finds_it_and_leads_to_what_was_said(client: Client, chief: Browser):
    question = {"id": "u1", "role": "user", "content": "Heads or tails?"}
    with script(say("Heads <b>"), say("Tails"), say("Fine")):
        await client.run(messages=[question])
        await give(client, await answer_of(client), -1, comment="<i>Wrong</i>")
        await client.run(messages=[question])
        await give(client, await answer_of(client))
        await client.run("Fine")
    row = await Feedback.objects.aget(value=-1)
    thread = f"/admin/assistant/conversation/{row.thread_id}/change/"
    rows, link = "/admin/agui_feedback/feedback/", f"{thread}?end={row.entry}"
    addresses = (f"{rows}?value__exact=-1&comment__isempty=0", f"{rows}{row.pk}/change/", link)
    listed, page, transcript = [(await sync_to_async(chief.get)(address)).content.decode() for address in addresses]
    for html in (listed, page):
        assert "&lt;i&gt;Wrong&lt;/i&gt;" in html
        assert "ada" in html
        assert thread in html
        assert "<i>" not in html
    assert "1 feedback" in listed
    assert link in unescape(page)
    assert f"/admin/agui/run/{row.run}/change/" in page
    assert "Heads &lt;b&gt;" in transcript
    assert "Tails" not in transcript.partition("Earlier versions")[0]
