"""The threads of a user: list, read, rename, delete."""

import asyncio
import json
from typing import Any
from urllib.parse import quote, unquote

import pytest
from daily import by_day
from django.test.client import FakePayload
from pydantic_ai.conversation_store import ConversationConflict

from agui.models import Message, Run, get_conversation_model
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, event_types, say, wait
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


async def listed(client: Client, query: str = "") -> dict:
    return json.loads((await client.get(f"threads/{query}")).content)


@pytest.fixture
async def two_threads(client: Client) -> Client:
    with script(say("Apples are red."), say("Bananas are yellow.")):
        await client.run("Tell me of apples", thread="a")
        await client.run("Tell me of bananas", thread="b")
    return client


async def test_they_are_listed_newest_first(two_threads: Client):
    threads = (await listed(two_threads))["threads"]
    assert [(t["thread_id"], t["title"]) for t in threads] == [
        ("b", "Tell me of bananas"),
        ("a", "Tell me of apples"),
    ]
    assert threads[0]["preview"] == "Bananas are yellow."
    assert threads[0]["updated_at"]


async def test_one_is_read_with_its_title(two_threads: Client):
    thread = await two_threads.thread("a")
    assert (thread["thread_id"], thread["title"]) == ("a", "Tell me of apples")
    assert [m["content"] for m in thread["messages"]] == ["Tell me of apples", "Apples are red."]
    assert (thread["running"], thread["pending"]) == (False, [])


async def test_they_are_searched(two_threads: Client):
    assert [t["thread_id"] for t in (await listed(two_threads, "?q=APPLES"))["threads"]] == ["a"]
    assert (await listed(two_threads, "?q=cherries"))["threads"] == []


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "%00",
        "x" * 1000,
        "MDAwMS0wMS0wMVQwMDowMDowMCsxNDowMCAx",
        "MjAyNi0wMS0wMVQwMDowMDowMCswMDowMCA5OTk5OTk5OTk5OTk5OTk5OTk5OTk5",
    ],
)
async def test_a_bad_cursor_is_a_client_error(two_threads: Client, cursor):
    assert (await two_threads.get(f"threads/?cursor={cursor}")).status_code == 400


async def test_a_thread_is_renamed_and_stays_so(two_threads: Client):
    response = await two_threads.http.patch(
        "/agent/threads/a/", json.dumps({"title": " Fruit "}), content_type="application/json"
    )
    assert (response.status_code, json.loads(response.content)["title"]) == (200, "Fruit")
    with script(say("More.")):
        await two_threads.run("More", thread="a")
    assert (await listed(two_threads))["threads"][0]["title"] == "Fruit"


TITLES = [{"title": ""}, {"title": " "}, {"title": 5}, {"title": None}, {"title": "x" * 256}, {"title": "x" * 10**6}]
BROKEN = ["", "[]", "{}", "{", "null", "5", "\xff", '{"a": NaN}', "[" * 100_000, '{"a":' * 100_000]


@pytest.mark.parametrize("body", [*BROKEN, *TITLES, {"branch": 5}, {"branch": None}, {"branch": "a", "title": "b"}])
async def test_a_bad_change_is_400(two_threads: Client, body):
    response = await send(two_threads, "PATCH", "threads/a/", body)
    assert (response.status_code, json.loads(response.content)["error"]) == (400, "bad_request")
    assert (await two_threads.thread("a"))["title"] == "Tell me of apples"


async def test_a_thread_is_deleted_with_all_that_it_owns(two_threads: Client):
    assert (await two_threads.http.delete("/agent/threads/a/")).status_code == 204
    assert [t["thread_id"] for t in (await listed(two_threads))["threads"]] == ["b"]
    assert (await two_threads.get("threads/a/")).status_code == 404
    assert (await two_threads.get("threads/a/events/")).status_code == 404
    assert await Thread.objects.acount() == 1
    assert not await Message.objects.exclude(thread__thread_id="b").aexists()
    assert not await Run.objects.filter(thread_id="a").aexists()
    assert (await two_threads.http.delete("/agent/threads/a/")).status_code == 404


async def test_a_deleted_user_leaves_nothing(two_threads: Client):
    await two_threads.user.adelete()
    assert not await Thread.objects.aexists()
    assert not await Message.objects.aexists()
    assert not await Run.objects.aexists()


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
        await collect(response)
        assert (await listed(client))["threads"] == []
        for path in ("threads/t1/", "threads/t1/events/"):
            assert (await client.get(path)).status_code == 404
        assert not await Message.objects.aexists()
        assert not await Run.objects.aexists()
        await client.run("Again")
    assert [m["content"] for m in (await client.thread())["messages"]] == ["Again", "New"]


async def test_a_delete_goes_through_although_the_run_saves_at_the_same_time(two_threads: Client, monkeypatch):
    delete, conflicts = ModelConversationStore.delete_record, iter([True, True, False])

    async def meets(store, *args, **kwargs):
        if next(conflicts):
            raise ConversationConflict("a")
        await delete(store, *args, **kwargs)

    monkeypatch.setattr(ModelConversationStore, "delete_record", meets)
    assert (await two_threads.http.delete("/agent/threads/a/")).status_code == 204


# --- The list


async def test_a_page_has_as_many_as_were_asked_for(two_threads: Client):
    page = await listed(two_threads, "?limit=1")
    assert [t["thread_id"] for t in page["threads"]] == ["b"]
    page = await listed(two_threads, f"?limit=1&cursor={quote(page['next'])}")
    assert ([t["thread_id"] for t in page["threads"]], page["next"]) == (["a"], None)


@pytest.mark.parametrize("limit", ["0", "101", "-1", "1.5", "x", "", "%D9%A1", "1e1", "9999999999"])
async def test_a_bad_limit_is_400(two_threads: Client, limit):
    assert (await two_threads.get(f"threads/?limit={limit}")).status_code == 400


async def test_what_nobody_searches_for_is_400(two_threads: Client):
    assert (await two_threads.get(f"threads/?q={'x' * 200}")).status_code == 200
    assert (await two_threads.get(f"threads/?q={'x' * 201}")).status_code == 400
    assert (await two_threads.get("threads/?q=%00%ed%a0%80%25_")).status_code == 200


# --- Ids

IDS = [
    "a/b",
    "a/events",
    "a/cancel",
    "a/fork",
    "events",
    "a/events/",
    "a/",
    "/a",
    "/",
    "//",
    "/events",
    "a//b",
    "a/../b",
    "../..",
    "...",
    "%",
    "%2F",
    "%252F",
    "%00",
    "a b",
    " ",
    "?#&;=+",
    "\\",
    "ünï 日本語",
    "👩‍👩‍👧",
    "\u202e\u2028",
    "é" * 255,
    "🙂" * 255,
]


@pytest.mark.parametrize("slash", ["/", ""])
@pytest.mark.parametrize("thread", by_day(IDS))
async def test_a_thread_of_any_id_is_addressed(client: Client, thread: str, slash: str):
    with script(say("Hi")):
        await client.run("Hi", thread=thread)
    own = f"threads/{quote(thread, safe='')}"
    read = await send(client, "GET", own + slash)
    assert json.loads(read.content)["thread_id"] == thread
    assert event_types(await collect(await send(client, "GET", f"{own}/events{slash}")))[-1] == "RUN_FINISHED"
    assert (await send(client, "POST", f"{own}/cancel{slash}")).status_code == 204
    forked = await send(client, "POST", f"{own}/fork{slash}", {"thread_id": "fork"})
    assert (forked.status_code, json.loads(forked.content)["thread_id"]) == (201, "fork")
    renamed = await send(client, "PATCH", own + slash, {"title": "Mine"})
    assert json.loads(renamed.content) == {**json.loads(renamed.content), "thread_id": thread, "title": "Mine"}
    assert (await send(client, "DELETE", own + slash)).status_code == 204
    assert [t["thread_id"] for t in (await listed(client))["threads"]] == ["fork"]


@pytest.mark.parametrize("name", ["events", "cancel", "fork"])
async def test_a_slash_that_was_sent_as_one_is_ours(client: Client, name: str):
    with script(say("Hi"), say("Hi")):
        await client.run("Hi", thread="a")
        await client.run("Hi", thread=f"a/{name}")
    assert (await send(client, "PATCH", f"threads/a/{name}/", {"title": "Mine"})).status_code == 405
    assert (await send(client, "PATCH", f"threads/a%2f{name}/", {"title": "Mine"})).status_code == 200
    # Without the path as it was sent, a route of ours wins.
    assert (await client.http.patch(f"/agent/threads/a/{name}/", {})).status_code == 405


@pytest.mark.parametrize("thread", ["x" * 256, "%00", "%0A", "%7F", "%C2%85"])
async def test_an_id_that_no_thread_can_have_is_400(client: Client, thread: str):
    for method, path in [("GET", ""), ("PATCH", ""), ("DELETE", ""), ("GET", "events/"), ("POST", "cancel/")]:
        response = await send(client, method, f"threads/{thread}/{path}", {"title": "Mine"})
        assert response.status_code in (400, 404) if thread == "%0A" else response.status_code == 400, path


# --- Versions and forks


async def ask(client: Client, message_id: str, text: str) -> None:
    await client.run(messages=[{"id": message_id, "role": "user", "content": text}])


async def test_the_versions_of_a_message_are_listed_and_switched(client: Client):
    with script(say("1"), say("2"), say("3"), say("4")):
        await ask(client, "u1", "One")
        await ask(client, "u2", "Two")
        await ask(client, "u2", "Two, edited")
        assert (await client.thread())["branches"].keys() == {"u2"}
        versions = (await client.thread())["branches"]["u2"]
        assert [(v["text"], v["current"]) for v in versions] == [("Two", False), ("Two, edited", True)]
        switched = await send(client, "PATCH", "threads/t1/", {"branch": versions[0]["id"]})
        assert json.loads(switched.content) == await client.thread()
        assert [m["content"] for m in (await client.thread())["messages"]] == ["One", "1", "Two", "2"]
        assert [v["current"] for v in (await client.thread())["branches"]["u2"]] == [True, False]
        await ask(client, "u3", "Three")
    assert [m["content"] for m in (await client.thread())["messages"]] == ["One", "1", "Two", "2", "Three", "4"]
    assert (await send(client, "PATCH", "threads/t1/", {"branch": versions[1]["id"]})).status_code == 200
    assert [m["content"] for m in (await client.thread())["messages"]] == ["One", "1", "Two, edited", "3"]


async def test_a_thread_without_versions_has_no_branches(two_threads: Client):
    assert (await two_threads.thread("a"))["branches"] == {}
    for branch in ("", "unknown", "\x00"):
        assert (await send(two_threads, "PATCH", "threads/a/", {"branch": branch})).status_code == 404


async def test_a_thread_with_a_run_on_does_not_switch(client: Client):
    hold, reached = asyncio.Event(), asyncio.Event()
    with script(say("1"), say("2"), wait(hold, reached)):
        await ask(client, "u1", "One")
        await ask(client, "u1", "Edited")
        [first, _] = (await client.thread())["branches"]["u1"]
        response = await client.post(run_input("Three"))
        await reached.wait()
        assert (await send(client, "PATCH", "threads/t1/", {"branch": first["id"]})).status_code == 409
        hold.set()
        await collect(response)


async def test_a_thread_is_forked_at_a_message(client: Client):
    with script(say("1"), say("2"), say("3")):
        await ask(client, "u1", "One")
        await ask(client, "u2", "Two")
        messages = (await client.thread())["messages"]
        response = await send(client, "POST", "threads/t1/fork/", {"message_id": messages[1]["id"]})
        assert response.status_code == 201
        row = json.loads(response.content)
        assert {**row, "running": False, "waiting": False} == (await listed(client))["threads"][0]
        await client.run("Else", thread=row["thread_id"])
    assert (await client.thread())["messages"] == messages
    assert [m["content"] for m in (await client.thread(row["thread_id"]))["messages"]] == ["One", "1", "Else", "3"]


@pytest.mark.parametrize("body", [None, {}, {"message_id": None, "thread_id": None}])
async def test_a_whole_thread_is_forked(two_threads: Client, body):
    response = await send(two_threads, "POST", "threads/a/fork/", body)
    forked = await two_threads.thread(json.loads(response.content)["thread_id"])
    assert forked["messages"] == (await two_threads.thread("a"))["messages"]
    assert forked["thread_id"] != "a"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        *((body, 400) for body in BROKEN if body not in ("", "{}")),
        ({"message_id": 5}, 400),
        ({"thread_id": []}, 400),
        ({"thread_id": ""}, 400),
        ({"thread_id": ".."}, 400),
        ({"thread_id": "x" * 256}, 400),
        ({"message_id": "unknown"}, 404),
        ({"message_id": "\x00"}, 404),
        ({"message_id": ""}, 404),
        ({"thread_id": "a"}, 409),
        ({"thread_id": "b"}, 409),
    ],
)
async def test_a_bad_fork_is_refused(two_threads: Client, body, status):
    assert (await send(two_threads, "POST", "threads/a/fork/", body)).status_code == status
    assert await Thread.objects.acount() == 2
    assert (await send(two_threads, "POST", "threads/unknown/fork/", {})).status_code == 404


# --- Methods


async def test_head_is_answered_like_get_and_nothing_else_is(two_threads: Client):
    for path in ("", "threads/", "threads/a/", "threads/a/events/", "tools/", "skills/", "capabilities/", "export/"):
        got, head = [await send(two_threads, method, path) for method in ("GET", "HEAD")]
        assert head.status_code == got.status_code, path
        assert head.headers.get("Content-Type") == got.headers.get("Content-Type")
        assert (await send(two_threads, "OPTIONS", path)).status_code == 405
    for path in ("threads/a/cancel/", "threads/a/fork/"):
        assert (await send(two_threads, "HEAD", path)).status_code == 405
