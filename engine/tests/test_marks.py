"""The marks of threads: an answer that its user has not seen, and what they have pinned or archived."""

import json
from typing import Any

import pytest
from daily import by_day

from agui.models import Run, get_conversation_model
from agui.testing import call, collect, say
from tests.conftest import Client, decision, half_said, script

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]


@pytest.fixture(params=["ModelConversationStore", "DjangoSessionConversationStore"])
async def client(request: pytest.FixtureRequest, user: Any, settings: Any) -> Client:
    settings.AGUI = {"CONVERSATION_STORE": f"agui.{request.param}"}
    client = Client(None)
    await client.http.aforce_login(user)
    return client


async def make(client: Client, *threads: str) -> None:
    """Threads, the last one the newest."""
    with script(*[say("Fine.") for _ in threads]):
        for thread in threads:
            await client.run(f"Hello {thread}", thread=thread)


async def change(client: Client, thread: str, **body: Any) -> Any:
    return await client.http.patch(f"/agent/threads/{thread}/", json.dumps(body), content_type="application/json")


async def fork(client: Client, thread: str) -> Any:
    return await client.http.post(f"/agent/threads/{thread}/fork/", "{}", content_type="application/json")


async def listed(client: Client, query: str = "") -> tuple[list[str], str | None]:
    page = (await client.get(f"threads/?{query}")).json()
    return [row["thread_id"] for row in page["threads"]], page["next"]


async def row_of(client: Client, thread: str = "t1") -> dict[str, Any]:
    [row] = [row for row in (await client.get("threads/")).json()["threads"] if row["thread_id"] == thread]
    return row


async def is_unread(client: Client) -> bool:
    return (await row_of(client))["unread"]


# --- Unread


async def test_an_answer_that_has_ended_is_unread_until_somebody_says_otherwise(client: Client):
    await make(client, "t1")
    # Reading marks nothing.
    assert (await client.thread())["unread"]
    await collect(await client.get("threads/t1/events/"))
    assert await is_unread(client)
    response = await change(client, "t1", unread=False)
    assert (response.status_code, response.json()["unread"]) == (200, False)
    assert not await is_unread(client)
    await change(client, "t1", unread=True)
    assert await is_unread(client)
    forked = await fork(client, "t1")
    assert (forked.status_code, forked.json()["unread"]) == (201, False)


async def test_who_writes_has_seen_what_was_there(client: Client):
    await make(client, "t1")
    async with half_said(client) as (response, go_on):
        row = await row_of(client)
        assert (row["unread"], row["running"]) == (False, True)
        go_on.set()
        await collect(response)
    row = await row_of(client)
    assert (row["unread"], row["running"]) == (True, False)


async def test_a_mark_changes_neither_the_order_nor_what_a_run_goes_by(client: Client):
    await make(client, "a", "b")
    await change(client, "a", unread=False)
    assert await listed(client) == (["b", "a"], None)
    async with half_said(client, thread="a") as (response, go_on):
        await change(client, "a", unread=False)
        go_on.set()
        assert (await collect(response))[-1]["type"] == "RUN_FINISHED"


async def test_a_question_is_unread_and_its_answer_is_not(client: Client):
    with script(call("wipe"), say("Done.")):
        events = await client.run("Wipe it")
        assert events[-1]["outcome"]["type"] == "interrupt"
        assert await is_unread(client)
        await change(client, "t1", unread=False)
        await client.run(resume=[decision(events[-1]["outcome"]["interrupts"][0]["toolCallId"])])
    assert await is_unread(client)


async def test_a_stopped_answer_is_unread(client: Client):
    async with half_said(client) as (response, _):
        await client.http.post("/agent/threads/t1/cancel/")
        await collect(response)
    assert await is_unread(client)


async def test_a_rename_and_a_switch_leave_the_mark(client: Client):
    with script(say("Fine."), say("Better.")):
        for _ in range(2):
            await client.run(messages=[{"id": "u", "role": "user", "content": "Hello"}])
    await change(client, "t1", unread=False)
    versions = (await client.thread())["branches"]["u"]
    for body in ({"title": "New"}, {"branch": versions[0]["id"]}):
        response = await change(client, "t1", **body)
        assert (response.status_code, response.json()["unread"]) == (200, False)


async def test_a_run_of_a_dead_process_does_not_run(client: Client):
    await make(client, "t1")
    await Run.objects.aupdate(status=Run.Status.RUNNING, seen_at="2020-01-01T00:00Z")
    assert not (await row_of(client))["running"]


async def test_nothing_is_unread_where_nothing_is_kept(client: Client, settings: Any):
    settings.AGUI = {"CONVERSATION_STORE": "agui.NullConversationStore"}
    await make(client, "t1")
    assert (await change(client, "t1", unread=False)).status_code == 404
    assert not await Thread.objects.aexists()


# --- Pinned and archived


async def test_pinned_threads_come_first(client: Client):
    await make(client, "a", "b", "c")
    response = await change(client, "a", pinned=True)
    assert (response.status_code, response.json()["pinned"]) == (200, True)
    assert await listed(client) == (["a", "c", "b"], None)
    await make(client, "b")
    assert await listed(client) == (["a", "b", "c"], None)
    assert (await client.thread("a"))["pinned"]
    await change(client, "a", pinned=False)
    assert await listed(client) == (["b", "c", "a"], None)


@pytest.mark.parametrize("pinned", by_day([(), ("b",), ("a", "c"), ("a", "b", "c", "d", "e")]))
async def test_pages_have_each_thread_once(client: Client, pinned: tuple[str, ...]):
    await make(client, "a", "b", "c", "d", "e")
    for thread in pinned:
        await change(client, thread, pinned=True)
    whole, _ = await listed(client)
    assert set(whole[: len(pinned)]) == set(pinned)
    pages, cursor = await listed(client, "limit=2")
    while cursor:
        page, cursor = await listed(client, f"limit=2&cursor={cursor}")
        pages += page
    assert pages == whole


async def test_archived_threads_are_in_a_list_of_their_own(client: Client):
    await make(client, "a", "b", "c")
    response = await change(client, "b", archived=True)
    assert (response.status_code, response.json()["archived"]) == (200, True)
    assert await listed(client) == (["c", "a"], None)
    assert await listed(client, "q=hello") == (["c", "a"], None)
    assert await listed(client, "q=hello&archived=true") == (["b"], None)
    await make(client, "b")  # The thread works as before, and stays in its place.
    assert await listed(client, "archived=true") == (["b"], None)
    for mark in ("archived", "pinned"):
        await change(client, "a", **{mark: True})
    assert await listed(client, "archived=true") == (["a", "b"], None)
    row = (await fork(client, "a")).json()
    assert (row["pinned"], row["archived"]) == (False, False)
    await change(client, "b", archived=False)
    assert await listed(client) == ([row["thread_id"], "b", "c"], None)
    assert await listed(client, "archived=true") == (["a"], None)


@pytest.mark.parametrize(
    "body",
    [
        *({"unread": value} for value in (0, "false", None)),
        {"unread": False, "title": "New"},
        {"pinned": 1},
        {"pinned": None},
        {"archived": "true"},
        {"pinned": True, "archived": True},
        {},
    ],
)
async def test_a_mark_that_is_none_is_400(client: Client, body: dict[str, Any]):
    await make(client, "t1", "t2")
    before = await client.thread()
    assert (await change(client, "t1", **body)).status_code == 400
    assert (await change(client, "unknown", **body)).status_code == 400
    assert await client.thread() == before


@pytest.mark.parametrize("query", ["archived=", "archived=1", "archived=yes", "cursor=MjAyNg=="])
async def test_a_list_that_is_none_is_400(client: Client, query: str):
    assert (await client.get(f"threads/?{query}")).status_code == 400


@pytest.mark.parametrize("body", [{"unread": False}, {"pinned": True}, {"archived": True}])
async def test_the_thread_of_another_user_is_404(client: Client, other: Any, body: dict[str, bool]):
    await make(client, "t1")
    before = await client.thread()
    stranger = Client(None)
    await stranger.http.aforce_login(other)
    assert (await change(stranger, "t1", **body)).status_code == 404
    assert (await change(client, "unknown", **body)).status_code == 404
    assert (await listed(stranger), await listed(stranger, "archived=true")) == (([], None), ([], None))
    assert await client.thread() == before


@pytest.mark.parametrize("name", ["pinned", "archived"])
def test_the_database_fills_the_columns_for_older_processes(name: str):
    assert Thread._meta.get_field(name).has_db_default()
