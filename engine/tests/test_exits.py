"""However a request or a run ends, the thread is whole."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from daily import by_day
from django.conf import settings as django_settings
from django.db import OperationalError, transaction
from django.test import AsyncClient

from agui import ModelConversationStore
from agui.blocking import executor
from agui.contrib.attachments.models import Attachment, AttachmentUse
from agui.models import Run, get_conversation_model
from agui.runs.live import live
from agui.stores import rows
from agui.stores.deletion import delete_thread
from agui.testing import ScriptedModel, call, collect, say, wait
from tests import urls
from tests.conftest import Client, run_input, script, texts_of
from tests.mounting import mounted

Thread = get_conversation_model()

FIRST = {"id": "u1", "role": "user", "content": "One"}
SECOND = {"id": "u2", "role": "user", "content": "Two"}


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
    assert texts_of(await client.thread()) == ["One", "A", "Two", "B"]


async def test_a_server_that_shuts_down_keeps_what_there_is(client: Client):
    reached = asyncio.Event()
    with script(call("echo", text="done"), [say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Go"))
        await reached.wait()
        for task in list(live.tasks):
            task.cancel()
        events = await collect(response)
    assert events[-1]["code"] == "interrupted"
    assert texts_of(await client.thread()) == ["Go", None, "done", "Half"]
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


async def test_a_tool_that_hangs_ends_in_the_time_of_the_settings(client: Client, settings: Any):
    settings.AGUI = {**settings.AGUI, "TOOL_TIMEOUT_SECONDS": 0.05}
    model = ScriptedModel([call("hang"), say("It hangs.")])
    with mounted(model=model):
        try:
            events = await client.run("Go", thread="hanging")
        finally:
            urls.let_go.set()
    [result] = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == "failed"
    assert events[-1]["type"] == "RUN_FINISHED"


# --- Threads that are deleted meanwhile

REQUESTS: dict[str, tuple[str, str, Callable[[dict[str, Any]], Any]]] = {
    "read": ("GET", "threads/t1/", lambda thread: None),
    "list": ("GET", "threads/?q=one", lambda thread: None),
    "rename": ("PATCH", "threads/t1/", lambda thread: {"title": "Mine"}),
    "mark": ("PATCH", "threads/t1/", lambda thread: {"unread": False}),
    "pin": ("PATCH", "threads/t1/", lambda thread: {"pinned": True}),
    "switch": ("PATCH", "threads/t1/", lambda thread: {"branch": thread["branches"]["u1"][0]["id"]}),
    "fork": ("POST", "threads/t1/fork/", lambda thread: {"thread_id": "fork"}),
    "fork at": ("POST", "threads/t1/fork/", lambda thread: {"message_id": last_of(thread)}),
    "feedback": ("PUT", "threads/t1/feedback/", lambda thread: {"message_id": last_of(thread), "value": 1}),
    "follow": ("GET", "threads/t1/events/", lambda thread: None),
    "cancel": ("POST", "threads/t1/cancel/", lambda thread: None),
    "delete": ("DELETE", "threads/t1/", lambda thread: None),
    "export": ("GET", "export/", lambda thread: None),
    "next turn": ("POST", "", lambda thread: run_input("Go on")),
    "edit": ("POST", "", lambda thread: run_input(messages=[{**FIRST, "content": "Edited"}])),
}


async def make_thread(client: Client) -> dict[str, Any]:
    """A thread with two versions, and a file."""
    upload = await client.upload()
    message = {**FIRST, "metadata": {"attachments": [{"id": upload.json()["id"]}]}}
    with script(say("A"), say("B")):
        await client.run(messages=[message])
        await client.run(messages=[{**message, "content": "One, edited"}])
    return await client.thread()


def last_of(thread: dict[str, Any]) -> str:
    return str(thread["messages"][-1]["id"])


@sync_to_async
def vanish() -> None:
    for thread in Thread.objects.all():
        with transaction.atomic():
            delete_thread(thread.thread_id, thread.scope)
    Attachment.objects.all().delete()


@pytest.mark.parametrize("name", by_day(REQUESTS, 4))
async def test_a_thread_that_goes_at_any_moment_is_no_error_of_the_server(client: Client, media, monkeypatch, name):
    """At each moment that there is."""
    method, path, body = REQUESTS[name]
    real, moment, asked, most = executor.run_in_thread, 0, 0, 0
    while moment <= most:
        thread = await make_thread(client)
        data, asked = body(thread), 0

        async def go_first(fn: Any, *args: Any, moment: int = moment, **options: Any) -> Any:
            nonlocal asked
            asked += 1
            if asked == moment:
                await vanish()
            return await real(fn, *args, **options)

        with monkeypatch.context() as patch, script(say("C")):
            patch.setattr(executor, "run_in_thread", go_first)
            sent = "" if data is None else json.dumps(data)
            response: Any = await client.http.generic(method, f"/agent/{path}", sent, content_type="application/json")
            if response.streaming:
                async for _ in response:
                    pass
        assert response.status_code < 500, (moment, response)
        await vanish()
        moment, most = moment + 1, max(most, asked)
    assert moment > 1
