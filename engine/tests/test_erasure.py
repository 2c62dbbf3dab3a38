"""Deleting a user deletes everything of theirs, in every way and at any time, and nothing of anybody else."""

import asyncio
import json
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.core.files.base import ContentFile
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone
from pydantic_ai.messages import ModelResponse, TextPart

from agui.contrib.attachments.models import Attachment
from agui.contrib.durable.models import RunOrder, ToolOutcome
from agui.contrib.feedback.models import Feedback
from agui.contrib.mcp.models import ClientQuestion, ClientTask, RemoteAccount
from agui.contrib.notifications.models import Notification, NotificationChoice
from agui.contrib.spending.models import Budget, RunSpending
from agui.models import AuditRecord, Message, Run, get_conversation_model
from agui.runs.live import live
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, say, wait
from tests import urls
from tests.conftest import all_models, models_of_users, run_input, script

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

urlpatterns = [*urls.urlpatterns, path("admin/", admin.site.urls)]


@pytest.fixture(autouse=True)
def media(endpoint, settings, tmp_path):
    settings.ROOT_URLCONF = __name__
    settings.MEDIA_ROOT = tmp_path
    return tmp_path


def by_row(user):
    user.delete()


def by_queryset(user):
    get_user_model().objects.filter(pk=user.pk).delete()


def by_admin(user):
    response = browser().post(f"/admin/users/user/{user.pk}/delete/", {"post": "yes"})
    assert response.status_code == 302


def by_action(user):
    form = {"action": "delete_selected", "_selected_action": [user.pk], "post": "yes"}
    assert browser().post("/admin/users/user/", form).status_code == 302


def browser():
    browser = Browser()
    browser.force_login(get_user_model().objects.get_or_create(username="root", is_staff=True, is_superuser=True)[0])
    return browser


def rows():
    """Every row of the engine's tables, as text, by model and key."""
    return {
        (model.__name__, str(row["pk"])): json.dumps(row, default=str)
        for model in all_models()
        for row in model.objects.values("pk", *(field.attname for field in model._meta.concrete_fields))
    }


def files(folder):
    return {path for path in folder.rglob("*") if path.is_file()}


async def leave_traces(client, name):
    """Leave something in every table: a conversation with versions, a fork, tool calls, a question, files, feedback."""
    upload = await client.http.post("/agent/attachments/", {"file": ContentFile(f"of {name}".encode(), "diary.txt")})
    again = await client.http.post("/agent/attachments/", {"file": ContentFile(f"of {name}".encode(), "copy.txt")})
    assert upload.status_code == again.status_code == 201
    file = {"metadata": {"attachments": [upload.json()]}}
    with script(call("echo", text=name), say("One"), say("Two"), call("wipe", what=name)):
        for text in ("Try", "Try again"):
            messages = [{"id": f"{name}-q", "role": "user", "content": text, **file}]
            await client.run(thread=f"{name}-1", messages=messages)
        thread = await Thread.objects.aget(thread_id=f"{name}-1")
        await Feedback.objects.acreate(thread=thread, message_id=f"{name}-a", value=-1, comment=f"No, says {name}")
        await ModelConversationStore().fork(f"{name}-1", new_conversation_id=f"{name}-fork")
        await client.run("Wipe", thread=f"{name}-fork")
    queued = {"message": {"id": f"{name}-m", "role": "user", "content": "And then?"}}
    path = f"/agent/threads/{name}-fork/messages/"
    assert (await client.http.post(path, queued, content_type="application/json")).status_code == 202
    await NotificationChoice.objects.acreate(user=client.user, mail=True)
    await Notification.objects.acreate(scope=f"user:{client.user.pk}", owner=client.user, run=uuid4())
    await Budget.objects.acreate(user=client.user, period="day", tokens=10**6)
    about = {"scope": f"user:{client.user.pk}", "tool_name": "pay", "kind": "approval", "form": {"message": name}}
    await ClientQuestion.objects.acreate(user=client.user, expires_at=timezone.now(), **about)
    task = {"scope": f"user:{client.user.pk}", "tool_name": name, "expires_at": timezone.now()}
    await ClientTask.objects.acreate(user=client.user, **task)
    await RemoteAccount.objects.acreate(user=client.user, server="shop", tokens=f"sealed for {name}")
    run = await Run.objects.filter(thread_id=f"{name}-1").afirst()
    await RunSpending.objects.acreate(run=uuid4(), scope=f"user:{client.user.pk}", owner=client.user)
    await RunOrder.objects.acreate(run=run, content={})
    await ToolOutcome.objects.acreate(run=run, tool_call_id=name, outcome={}, state={})


@pytest.mark.parametrize("erase", [by_row, by_queryset, by_admin, by_action])
async def test_all_that_is_his_goes_and_nothing_else(client, other_client, user, other, media, erase):
    await leave_traces(other_client, "bob")
    others, their_files = await sync_to_async(rows)(), files(media)
    # The first token was there before.
    await leave_traces(client, "lovelace")
    before = await sync_to_async(rows)()
    tables = {model.__name__ for model in models_of_users()}
    assert {table for table, pk in before if (table, pk) not in others} | {"ApiToken"} == tables
    await sync_to_async(erase)(user)
    left = {key: text for key, text in (await sync_to_async(rows)()).items() if key not in others}
    assert left == {}
    after = await sync_to_async(rows)()
    assert {key: text for key, text in others.items() if "agt_" not in text} == {
        key: text for key, text in after.items() if "agt_" not in text
    }
    assert not [text for text in after.values() if f"user:{user.pk}" in text or "lovelace-" in text]
    assert files(media) == their_files


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


def test_long_conversations_cost_no_more_queries_nor_does_the_admin_s_question(db, media):
    admin_browser = browser()

    def queries(count):
        owner = get_user_model().objects.create(username=f"u{count}")
        fill(owner, f"user:{owner.pk}", count)
        with CaptureQueriesContext(connection) as asked:
            response = admin_browser.get(f"/admin/users/user/{owner.pk}/delete/")
        assert response.status_code == 200
        with CaptureQueriesContext(connection) as captured:
            owner.delete()
        assert not Message.objects.exists()
        assert not files(media)
        return len(asked), len(captured)

    queries(1)
    few, many = queries(10), queries(2000)
    assert many[0] <= few[0]
    assert many[1] <= few[1]
