"""The threads of a user: list, read, rename, delete."""

import json

import pytest

from agui.models import Message, Run, Thread
from agui.testing import say
from agui.tests.conftest import Client, script


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


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"title": ""}', '{"title": 5}', json.dumps({"title": "x" * 256})])
async def test_a_bad_title_is_400(two_threads: Client, body):
    response = await two_threads.http.patch("/agent/threads/a/", body, content_type="application/json")
    assert response.status_code == 400


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
