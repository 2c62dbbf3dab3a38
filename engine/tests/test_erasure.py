"""Deleting a user deletes everything of theirs, in every way and at any time, and nothing of anybody else."""

import asyncio
import json

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pydantic_ai.messages import ModelResponse, TextPart

from agui.contrib.attachments.models import Attachment
from agui.models import AuditRecord, Message, get_conversation_model
from agui.runs.live import live
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, say, wait
from tests.conftest import all_models, files_in, models_of_users, run_input, script
from tests.test_export import Marked

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


SELECTED = {"action": "delete_selected", "post": "yes"}
ERASE = {
    "by row": lambda user, chief: user.delete(),
    "by queryset": lambda user, chief: get_user_model().objects.filter(pk=user.pk).delete(),
    "by admin": lambda user, chief: chief.post(f"/admin/users/user/{user.pk}/delete/", {"post": "yes"}),
    "by action": lambda user, chief: chief.post("/admin/users/user/", {**SELECTED, "_selected_action": [user.pk]}),
}


def rows():
    """Every row of the engine's tables, as text, by model and key."""
    return {
        (model.__name__, str(row["pk"])): json.dumps(row, default=str)
        for model in all_models()
        for row in model.objects.values("pk", *(field.attname for field in model._meta.concrete_fields))
    }


async def leave_traces(client, name, seed):
    """Leave something in every table: a conversation with versions, a fork, tool calls, a question, files, feedback."""
    upload, again = [await client.upload(f"of {name}".encode(), file) for file in ("diary.txt", "copy.txt")]
    assert upload.status_code == again.status_code == 201
    file = {"metadata": {"attachments": [upload.json()]}}
    with script(call("echo", text=name), say("One"), say("Two"), call("wipe", what=name)):
        for text in ("Try", "Try again"):
            messages = [{"id": f"{name}-q", "role": "user", "content": text, **file}]
            await client.run(thread=f"{name}-1", messages=messages)
        await ModelConversationStore().fork(f"{name}-1", new_conversation_id=f"{name}-fork")
        await client.run("Wipe", thread=f"{name}-fork")
    queued = {"message": {"id": f"{name}-m", "role": "user", "content": "And then?"}}
    path = f"/agent/threads/{name}-fork/messages/"
    assert (await client.http.post(path, queued, content_type="application/json")).status_code == 202
    await sync_to_async(Marked)(client.user, seed)


@pytest.mark.parametrize("erase", ERASE.values(), ids=ERASE)
async def test_all_that_is_his_goes_and_nothing_else(client, other_client, user, chief, media, erase):
    await leave_traces(other_client, "bob", 1)
    others, their_files = await sync_to_async(rows)(), files_in(media)
    # The first token was there before.
    await leave_traces(client, "lovelace", 2)
    before = await sync_to_async(rows)()
    tables = {model.__name__ for model in models_of_users()}
    assert {table for table, pk in before if (table, pk) not in others} == tables
    await sync_to_async(erase)(user, chief)
    after = await sync_to_async(rows)()
    assert after.keys() <= others.keys()
    # Tokens differ: they were used meanwhile, or were the user's.
    kept, expected = [{key: text for key, text in one.items() if "agt_" not in text} for one in (after, others)]
    assert kept == expected
    assert not [text for text in after.values() if f"user:{user.pk}" in text or "lovelace-" in text]
    assert files_in(media) == their_files


async def test_nothing_comes_back_of_a_run_that_is_on(client, user, media):
    reached, go_on = asyncio.Event(), asyncio.Event()
    with script([say("Half "), wait(go_on, reached), call("echo", text="lovelace")], say("Whole")):
        response = await client.post(run_input("Go", thread="lovelace-1"))
        await reached.wait()
        await user.adelete()
        assert await sync_to_async(rows)() == {}
        go_on.set()
        await collect(response)
        await asyncio.gather(*live.tasks)
    assert await sync_to_async(rows)() == {}


def fill(owner, scope, count):
    threads = [
        Thread.objects.create(thread_id=f"{scope}-{n}", scope=scope, owner=owner, revision="r") for n in range(2)
    ]
    data = codec.dump_messages([ModelResponse(parts=[TextPart("x" * 100)])])[0]
    # The second is a fork: it goes on from the first's last message.
    Message.objects.bulk_create(
        Message(id=f"{scope}-{n}", thread=threads[n > count / 2], parent=f"{scope}-{n - 1}" if n else None, data=data)
        for n in range(count)
    )
    AuditRecord.objects.bulk_create(
        AuditRecord(user=owner, thread_id="t", started_at=timezone.now(), duration_ms=1) for _ in range(count)
    )
    Attachment(scope=scope, owner=owner, name="f", size=1).file.save("f", ContentFile(b"x"))


def test_long_conversations_cost_no_more_queries_nor_does_the_admin_s_question(chief, media):
    def queries(count):
        owner = get_user_model().objects.create(username=f"u{count}")
        fill(owner, f"user:{owner.pk}", count)
        with CaptureQueriesContext(connection) as asked:
            response = chief.get(f"/admin/users/user/{owner.pk}/delete/")
        assert response.status_code == 200
        with CaptureQueriesContext(connection) as captured:
            owner.delete()
        assert not Message.objects.exists()
        assert not files_in(media)
        return len(asked), len(captured)

    queries(1)
    few, many = queries(10), queries(2000)
    assert many[0] <= few[0]
    assert many[1] <= few[1]
