"""What deletes threads beside their users, and paths that were not sent as such. (threads.yaml has the rest.)"""

import asyncio
import json
from typing import Any
from urllib.parse import unquote

import pytest
from django.test.client import FakePayload
from pydantic_ai.conversation_store import ConversationConflict

from agui.models import Message, Run, get_conversation_model
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, say, wait
from tests.conftest import Client, run_input, script

Thread = get_conversation_model()

pytestmark = pytest.mark.database


async def send(client: Client, method: str, path: str, body: Any = None) -> Any:
    """Send a request by the path as it goes over the wire, as an ASGI server passes it on."""
    data = b"" if body is None else body.encode("latin1") if isinstance(body, str) else json.dumps(body).encode()
    path, _, query = (client.prefix + path).partition("?")
    defaults: Any = client.http.defaults
    headers = {"authorization": defaults["authorization"], "content-type": "application/json"}
    headers |= {"content-length": str(len(data))} if data else {}
    return await client.http.request(
        method=method,
        path=unquote(path),
        raw_path=path.encode(),
        query_string=query,
        headers=[(name.encode(), value.encode()) for name, value in headers.items()],
        _body_file=FakePayload(data),
    )


async def test_a_deleted_user_leaves_nothing(client: Client):
    with script(say("Hi")):
        await client.run("Hi")
    await client.user.adelete()
    for model in (Thread, Message, Run):
        assert not await model.objects.aexists()


@pytest.mark.parametrize("store", ["ModelConversationStore", "DjangoSessionConversationStore"])
async def test_a_thread_that_is_deleted_while_its_run_is_on_stays_deleted(user, settings, store):
    settings.AGUI = {"CONVERSATION_STORE": f"agui.{store}"}
    client = Client(None)
    await client.http.aforce_login(user)
    hold, reached = asyncio.Event(), asyncio.Event()
    with script([say("Wait."), call("echo", text="x")], [say("Half"), wait(hold, reached)], say("New")):
        response = await client.post(run_input("Hi"))
        await reached.wait()
        assert (await client.http.delete("/agent/threads/t1/")).status_code == 204
        assert (await client.get("threads/t1/events/")).status_code == 404
        await collect(response)
        assert json.loads((await client.get("threads/")).content)["threads"] == []
        for path in ("threads/t1/", "threads/t1/events/"):
            assert (await client.get(path)).status_code == 404
        for model in (Thread, Message, Run):
            assert not await model.objects.aexists()
        await client.run("Again")
    assert [m["content"] for m in (await client.thread())["messages"]] == ["Again", "New"]


async def test_a_delete_goes_through_although_the_run_saves_at_the_same_time(client: Client, monkeypatch):
    delete, conflicts = ModelConversationStore.delete_record, iter([True, True, False])

    async def meets(store, *args, **kwargs):
        if next(conflicts):
            raise ConversationConflict("a")
        await delete(store, *args, **kwargs)

    with script(say("Hi")):
        await client.run("Hi")
    monkeypatch.setattr(ModelConversationStore, "delete_record", meets)
    assert (await client.http.delete("/agent/threads/t1/")).status_code == 204


async def test_without_the_path_as_it_was_sent_a_route_of_ours_wins(client: Client):
    with script(say("Hi")):
        await client.run("Hi", thread="a/events")
    assert (await client.http.patch("/agent/threads/a/events/", {})).status_code == 405


async def test_a_line_feed_is_no_id(client: Client):
    """Django's paths have no line feeds."""
    for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "events/"), ("POST", "cancel/")]:
        assert (await send(client, method, f"threads/%0A/{path}", {"title": "Mine"})).status_code in (400, 404)
