"""Deletions of threads, odd paths, and searches. (threads.yaml and marks.yaml have the rest about threads.)"""

import asyncio
import json
import threading
from datetime import datetime
from typing import Any
from urllib.parse import unquote

import pytest
from asgiref.sync import async_to_sync
from django.http import JsonResponse
from django.test.client import FakePayload
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from agui.blocking.executor import in_database
from agui.clock import now
from agui.http import threads
from agui.http.excerpts import EXCERPT_CHARS, excerpt_of
from agui.models import Message, Run, get_conversation_model
from agui.stores import search
from agui.stores.base import search_words
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


async def test_a_run_of_a_dead_process_does_not_run(client: Client):
    with script(say("Fine.")):
        await client.run("Hello")
    await Run.objects.aupdate(status=Run.Status.RUNNING, seen_at="2020-01-01T00:00Z")
    [row] = (await client.get("threads/")).json()["threads"]
    assert not row["running"]


@pytest.mark.parametrize("name", ["pinned", "archived"])
def test_the_database_fills_the_columns_of_marks_for_older_processes(name: str):
    assert Thread._meta.get_field(name).has_db_default()


# --- Searches

FILLER = "Nothing of interest stands here. " * 20


async def test_a_very_long_message_is_not_read(client: Client, monkeypatch):
    monkeypatch.setattr(search, "MAX_DATA_CHARS", 1000)
    with script(say("Fine.")):
        await client.run(f"{FILLER}Cherries. {FILLER}{FILLER}", thread="a")
    [hit] = (await client.get("threads/?q=Cherries")).json()["threads"]
    assert "cherries." in hit["excerpt"]  # as a search reads it
    assert hit["excerpt"][0] == hit["excerpt"][-1] == "…"
    assert len(hit["excerpt"]) <= EXCERPT_CHARS + 2
    assert hit["message_id"] == (await client.thread("a"))["messages"][0]["id"]
    ids = [message.pk async for message in Message.objects.all()]
    rows = await in_database(lambda: list(search._read(ids, ["cherries"])))
    assert all(len(row["text"]) <= 1000 and len(row["piece"]) <= search.PIECE_CHARS for row in rows)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("threads", [1, 20])
def test_the_hits_of_a_page_cost_two_queries(threads, django_assert_num_queries):
    ids = [str(number) for number in range(threads)]
    for thread_id in ids:
        turn = [ModelRequest([UserPromptPart("A question")]), ModelResponse([TextPart("Yes")])]
        thread = Conversation(conversation_id=thread_id, messages=turn)
        async_to_sync(ModelConversationStore().save)(thread, scope="alice")
    with django_assert_num_queries(2):
        assert len(search.find_matches(ids, ["question"], "alice")) == threads
    assert async_to_sync(ModelConversationStore().matches)(["0"], "question", scope="bob") == {}


GREEK = "alpha beta gamma delta "


@pytest.mark.parametrize(
    ("text", "q", "excerpt"),
    [
        ("Die Straße ist lang", "STRASSE", "Die Straße ist lang"),
        ("ﬁnal words", "final", "ﬁnal words"),
        ("one", "two", ""),
        ("x" * 500 + "needle" + "y" * 500, "needle", "…" + "x" * 40 + "needle" + "y" * 74 + "…"),
        ("ﬃ" * 500 + "NEEDLE" + "ﬃ" * 500, "needle", "…" + "ﬃ" * 40 + "NEEDLE" + "ﬃ" * 74 + "…"),
        ("a\n\n  b\x00", "b", "a b\ufffd"),
    ],
)
def test_excerpts(text: str, q: str, excerpt: str):
    assert excerpt_of(text, search_words(q)) == excerpt
    between_words = excerpt_of(GREEK * 10 + "needle " + GREEK * 10, ["needle"])
    assert set(between_words.strip("…").split()) == {"needle", *GREEK.split()}


async def test_a_thread_has_the_time_of_each_message(client: Client):
    begun = now()
    with script(call("echo", text="a"), say("Fine")):
        await client.run("Hello")
    thread = await client.thread()
    assert [*thread["times"]] == [message["id"] for message in thread["messages"]]
    times = [begun, *map(datetime.fromisoformat, thread["times"].values()), now()]
    assert times == sorted(times)


async def test_a_thread_is_written_away_from_the_event_loop(client: Client, monkeypatch: pytest.MonkeyPatch):
    written = []

    def write(payload: Any) -> JsonResponse:
        written.append(threading.get_ident())
        return JsonResponse(payload)

    monkeypatch.setattr(threads, "JsonResponse", write)
    with script(say("Fine")):
        await client.run("Hello")
    await client.thread()
    assert len(written) == 1
    assert threading.get_ident() not in written
