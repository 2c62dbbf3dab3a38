"""However a request or a run ends, the thread is whole."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.db import OperationalError
from django.test import AsyncClient, TestCase

from agui import ModelConversationStore
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.http.tokens import create_token
from agui.models import Run, get_conversation_model
from agui.runs.live import live
from agui.stores import rows
from agui.testing import call, collect, say, wait
from tests import urls
from tests.conftest import Client, run_input, script

Thread = get_conversation_model()

FIRST = {"id": "u1", "role": "user", "content": "One"}
SECOND = {"id": "u2", "role": "user", "content": "Two"}


def texts(thread: dict[str, Any]) -> list[Any]:
    return [message.get("content") for message in thread["messages"]]


def fail(*args: Any, **kwargs: Any) -> None:
    raise OperationalError("gone")


async def test_an_edit_that_can_not_be_saved_changes_nothing(client: Client, monkeypatch):
    with script(say("A"), say("B")):
        await client.run(messages=[FIRST])
        await client.run(messages=[SECOND])
        with monkeypatch.context() as patch:
            patch.setattr(ModelConversationStore, "save_with", fail)
            response = await client.post(run_input(messages=[{**SECOND, "content": "Two, edited"}]))
            assert response.status_code == 503
    assert texts(await client.thread()) == ["One", "A", "Two", "B"]


async def test_a_server_that_shuts_down_keeps_what_there_is(client: Client):
    reached = asyncio.Event()
    with script(call("echo", text="done"), [say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Go"))
        await reached.wait()
        for task in list(live.tasks):
            task.cancel()
        events = await collect(response)
    assert events[-1]["code"] == "interrupted"
    assert texts(await client.thread()) == ["Go", None, "done", "Half"]
    assert (await Run.objects.aget()).status == Run.Status.INTERRUPTED


async def test_a_save_that_works_at_the_second_time_keeps_the_ids(client: Client, monkeypatch):
    real, failures = rows.write, iter([False, True, False, False])

    def write(*args: Any) -> Any:
        if next(failures):
            raise OperationalError("locked")
        return real(*args)

    monkeypatch.setattr(rows, "write", write)
    with script(say("A")):
        events = await client.run(messages=[FIRST])
    streamed = next(event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START")
    assert [message["id"] for message in (await client.thread())["messages"]] == ["u1", streamed]


@pytest.mark.parametrize("user", [None, "nobody"])
async def test_visitors_with_stale_cookies_share_nothing(transactional_db, monkeypatch, user):
    async def hook(request: Any) -> None:
        return None

    monkeypatch.setattr(urls.open_view, "get_user", hook if user else lambda request: None)
    with script(say("a"), say("b")):
        for key in ("expired-session-of-ann", "expired-session-of-bob"):
            visitor = AsyncClient()
            visitor.cookies[django_settings.SESSION_COOKIE_NAME] = key
            body = json.dumps(run_input("my secret", thread=key))
            response = await visitor.post("/open/", body, content_type="application/json")
            if response.status_code == 403:
                pytest.skip("a cookie needs CSRF here")
            await collect(response)
    scopes = {thread.scope async for thread in Thread.objects.all()}
    assert len(scopes) == 2
    assert "session:None" not in scopes


async def test_a_message_and_the_use_of_its_files_are_written_together(client: Client, user, monkeypatch):
    file = await Attachment.objects.acreate(scope=f"user:{user.pk}", owner=user, name="a.txt", size=1, digest="d")

    message = {**FIRST, "metadata": {"attachments": [{"id": str(file.pk)}]}}
    with monkeypatch.context() as patch:
        patch.setattr("agui.contrib.attachments.references.use_attachments", fail)
        assert (await client.post(run_input(messages=[message]))).status_code == 503
    assert not await Thread.objects.aexists()
    with script(say("A")):
        await client.run(messages=[message])
    assert await AttachmentUse.objects.filter(attachment=file, thread_id="t1").aexists()


async def test_routes_work_where_requests_are_transactions(client: Client, monkeypatch):
    monkeypatch.setitem(django_settings.DATABASES["default"], "ATOMIC_REQUESTS", True)
    assert (await client.get("threads/")).status_code == 200


class TestInATransaction(TestCase):
    """What a test has written is seen, though nobody else sees it. (For a run it takes a TransactionTestCase.)"""

    async def test_a_token(self) -> None:
        user = await get_user_model().objects.acreate_user("eve")
        token = (await sync_to_async(create_token)(user))[1]
        response = await AsyncClient().get("/agent/threads/", headers={"authorization": f"Bearer {token}"})
        assert (response.status_code, response.json()["threads"]) == (200, [])
