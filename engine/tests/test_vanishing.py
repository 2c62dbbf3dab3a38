"""A thread is deleted while a request is at work on it, at each moment that there is: no answer is a 500."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from daily import by_day
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction

from agui.blocking import executor
from agui.contrib.attachments.models import Attachment
from agui.models import get_conversation_model
from agui.stores.deletion import delete_thread
from agui.testing import say
from tests.conftest import Client, run_input, script

Thread = get_conversation_model()

FIRST = {"id": "u1", "role": "user", "content": "One"}
REQUESTS: dict[str, tuple[str, str, Callable[[dict[str, Any]], Any]]] = {
    "read": ("GET", "threads/t1/", lambda thread: None),
    "list": ("GET", "threads/?q=one", lambda thread: None),
    "rename": ("PATCH", "threads/t1/", lambda thread: {"title": "Mine"}),
    "mark": ("PATCH", "threads/t1/", lambda thread: {"unread": False}),
    "pin": ("PATCH", "threads/t1/", lambda thread: {"pinned": True}),
    "switch": ("PATCH", "threads/t1/", lambda thread: {"branch": thread["branches"]["u1"][0]["id"]}),
    "fork": ("POST", "threads/t1/fork/", lambda thread: {"thread_id": "fork"}),
    "fork at": ("POST", "threads/t1/fork/", lambda thread: {"message_id": thread["messages"][-1]["id"]}),
    "feedback": (
        "PUT",
        "threads/t1/feedback/",
        lambda thread: {"message_id": thread["messages"][-1]["id"], "value": 1},
    ),
    "follow": ("GET", "threads/t1/events/", lambda thread: None),
    "cancel": ("POST", "threads/t1/cancel/", lambda thread: None),
    "delete": ("DELETE", "threads/t1/", lambda thread: None),
    "export": ("GET", "export/", lambda thread: None),
    "next turn": ("POST", "", lambda thread: run_input("Go on")),
    "edit": ("POST", "", lambda thread: run_input(messages=[{**FIRST, "content": "Edited"}])),
}


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path


async def make_thread(client: Client) -> dict[str, Any]:
    """A thread with two versions, and a file."""
    upload = await client.http.post("/agent/attachments/", {"file": SimpleUploadedFile("a.txt", b"x")})
    message = {**FIRST, "metadata": {"attachments": [{"id": json.loads(upload.content)["id"]}]}}
    with script(say("A"), say("B")):
        await client.run(messages=[message])
        await client.run(messages=[{**message, "content": "One, edited"}])
    return await client.thread()


@sync_to_async
def vanish() -> None:
    for thread in Thread.objects.all():
        with transaction.atomic():
            delete_thread(thread.thread_id, thread.scope)
    Attachment.objects.all().delete()


@pytest.mark.parametrize("name", by_day(REQUESTS, 4))
async def test_a_thread_that_goes_at_any_moment_is_no_error_of_the_server(
    client: Client, monkeypatch: pytest.MonkeyPatch, name: str
):
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
