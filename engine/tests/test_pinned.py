"""Threads that their user has pinned or archived: which list has them, and where."""

import json
from typing import Any

import pytest
from daily import by_day

from agui.models import get_conversation_model
from agui.testing import say
from tests.conftest import Client, script

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


async def listed(client: Client, query: str = "") -> tuple[list[str], str | None]:
    page = json.loads((await client.get(f"threads/?{query}")).content)
    return [row["thread_id"] for row in page["threads"]], page["next"]


async def test_pinned_threads_come_first(client: Client):
    await make(client, "a", "b", "c")
    response = await change(client, "a", pinned=True)
    assert (response.status_code, json.loads(response.content)["pinned"]) == (200, True)
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
    assert (response.status_code, json.loads(response.content)["archived"]) == (200, True)
    assert await listed(client) == (["c", "a"], None)
    assert await listed(client, "archived=true") == (["b"], None)
    assert await listed(client, "q=hello") == (["c", "a"], None)
    assert await listed(client, "q=hello&archived=true") == (["b"], None)
    await make(client, "b")  # The thread works as before, and stays in its place.
    assert await listed(client, "archived=true") == (["b"], None)
    await change(client, "b", archived=False)
    assert await listed(client) == (["b", "c", "a"], None)
    assert await listed(client, "archived=true") == ([], None)


async def test_a_pinned_thread_may_be_archived(client: Client):
    await make(client, "a", "b", "c")
    for thread in ("a", "b"):
        await change(client, thread, archived=True)
    await change(client, "a", pinned=True)
    assert await listed(client, "archived=true") == (["a", "b"], None)
    assert await listed(client) == (["c"], None)


@pytest.mark.parametrize(
    "body", [{"pinned": 1}, {"pinned": None}, {"archived": "true"}, {"pinned": True, "archived": True}, {}]
)
async def test_a_mark_that_is_none_is_400(client: Client, body: dict[str, Any]):
    await make(client, "a", "b")
    assert (await change(client, "a", **body)).status_code == 400
    assert await listed(client) == (["b", "a"], None)


@pytest.mark.parametrize("query", ["archived=", "archived=1", "archived=yes", "cursor=MjAyNg=="])
async def test_a_list_that_is_none_is_400(client: Client, query: str):
    assert (await client.get(f"threads/?{query}")).status_code == 400


@pytest.mark.parametrize("body", [{"pinned": True}, {"archived": True}])
async def test_the_thread_of_another_user_is_404(client: Client, other: Any, body: dict[str, bool]):
    await make(client, "a")
    stranger = Client(None)
    await stranger.http.aforce_login(other)
    assert (await change(stranger, "a", **body)).status_code == 404
    assert (await listed(stranger), await listed(stranger, "archived=true")) == (([], None), ([], None))
    thread = await client.thread("a")
    assert (thread["pinned"], thread["archived"]) == (False, False)
    assert await listed(client) == (["a"], None)


async def test_a_fork_is_neither_pinned_nor_archived(client: Client):
    await make(client, "a")
    for mark in ("pinned", "archived"):
        await change(client, "a", **{mark: True})
    response = await client.http.post("/agent/threads/a/fork/", "{}", content_type="application/json")
    row = json.loads(response.content)
    assert (row["pinned"], row["archived"]) == (False, False)


@pytest.mark.parametrize("name", ["pinned", "archived"])
def test_the_database_fills_the_columns_for_older_processes(name: str):
    assert Thread._meta.get_field(name).has_db_default()
