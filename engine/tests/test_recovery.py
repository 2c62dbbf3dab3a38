"""What a run had reached when its process was killed is in the thread, once."""

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from pydantic_ai.conversation import Conversation

from agui.blocking.executor import in_database
from agui.contrib.session_store.store import DjangoSessionConversationStore
from agui.models import Run
from agui.runs import drafts, recovery
from agui.runs.life import life
from agui.runs.live import live
from agui.runs.processes import process_name
from agui.runs.recovery import recover
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, say, think, wait
from tests import urls
from tests.clock import Clock
from tests.conftest import Client, results_of, run_input, script

pytestmark = pytest.mark.database

HERE = process_name().rpartition("/")[0].rpartition("/")[0]
# Above every system's limit: no process has this id.
GONE = f"{HERE}/{2**31 - 2}/abc"
LONG_AGO = timezone.now() - timedelta(minutes=1)


async def kill(client: Client, *answer: Any, then: Sequence[Any] = (), **changes: Any) -> Run:
    """Play a run up to its `answer`, and put into the thread "killed" what a kill leaves of it."""
    reached = asyncio.Event()
    with script(*answer[:-1], [*answer[-1], wait(asyncio.Event(), reached), *then]):
        response = await client.post(run_input("Go", thread="alive"))
        await reached.wait()
        await drafts.checkpoints.write()
        run = await Run.objects.aget(thread_id="alive")
        stored = await ModelConversationStore().load("alive")
        await live.logs.stop(run.scope, "alive")
        await collect(response)
    assert stored is not None
    left = Conversation(conversation_id="killed", messages=stored.messages)
    await ModelConversationStore().save(left, scope=run.scope)
    return await Run.objects.acreate(
        **{
            "thread_id": "killed",
            "scope": run.scope,
            "owner_id": run.owner_id,
            "process": GONE,
            "revision": left.revision,
            "draft": run.draft,
            "usage": run.usage,
            **changes,
        }
    )


@asynccontextmanager
async def running(client: Client, text: str) -> AsyncIterator[SimpleNamespace]:
    """A run that has said this, and goes on at the end; its events are there then."""
    reached, go_on, at_work = asyncio.Event(), asyncio.Event(), SimpleNamespace(events=[])
    with script([say(text), wait(go_on, reached)]):
        response = await client.post(run_input("Go"))
        await reached.wait()
        yield at_work
        go_on.set()
        at_work.events = await asyncio.wait_for(collect(response), 60)


def texts(thread: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(message["role"], message.get("content")) for message in thread["messages"]]


@pytest.mark.parametrize("is_looked_at", [True, False])
async def test_partial_text_is_there_and_the_next_turn_works(client: Client, is_looked_at: bool):
    """Who looks at it takes it up, and so does the next turn alone."""
    run = await kill(client, [say("Half of it")])
    if is_looked_at:
        thread = await client.thread("killed")
        assert texts(thread) == [("user", "Go"), ("assistant", "Half of it")]
        assert not thread["running"]
        await run.arefresh_from_db()
        assert (run.status, run.code, run.draft) == (Run.Status.INTERRUPTED, "interrupted", None)
    with script(say("The rest")) as model:
        await client.run("Go on", thread="killed")
    assert "Half of it" in str(model.requests[0].messages)
    found = texts(await client.thread("killed"))
    assert found == [("user", "Go"), ("assistant", "Half of it"), ("user", "Go on"), ("assistant", "The rest")]


async def test_what_tools_did_is_known_with_the_ids_that_were_streamed(client: Client):
    calls = [call("echo", text="done", _id="c1"), call("note", text="Milk")]
    await kill(client, calls, [say("Half of it")])
    streamed = [m["id"] for m in (await client.thread("alive"))["messages"]]
    thread = await client.thread("killed")
    assert [m["id"] for m in thread["messages"]] == streamed
    assert thread["state"] == {"text": "Milk"}
    with script(say("ok")) as model:
        await client.run("Go on", thread="killed")
    assert results_of(model.requests[0])["c1"].content == "done"


async def test_a_result_is_known_although_another_tool_was_still_at_work(client: Client):
    with script([call("echo", text="done", _id="c1"), call("hang", _id="c2")]):
        response = await client.post(run_input("Go", thread="alive"))
        await asyncio.to_thread(urls.hanging.wait, 60)
        async for piece in response.streaming_content:
            if b"TOOL_CALL_RESULT" in piece:
                break
        await drafts.checkpoints.write()
        run = await Run.objects.aget(thread_id="alive")
        urls.let_go.set()
    parts = [part for message in codec.load_messages(run.draft or ()) for part in message.parts]
    assert [(part.part_kind, getattr(part, "tool_call_id", None)) for part in parts] == [
        ("tool-call", "c1"),
        ("tool-call", "c2"),
        ("tool-return", "c1"),
    ]


@pytest.mark.parametrize(
    "part", [call("echo", text="x" * 50, _chunks=5), think("Hm")], ids=["half a call", "a thought"]
)
async def test_parts_of_an_answer_under_way_are_let_go(client: Client, part: Any):
    await kill(client, [say("Half"), part])
    assert texts(await client.thread("killed")) == [("user", "Go"), ("assistant", "Half")]


async def test_nothing_is_added_twice(client: Client):
    # Killed after the end was stored, before it was noted
    await kill(client, [say("Half of it")], revision="another")
    assert texts(await client.thread("killed")) == [("user", "Go")]
    assert (await Run.objects.aget(thread_id="killed")).status == Run.Status.INTERRUPTED


async def test_who_looks_at_once_adds_it_once(client: Client):
    await kill(client, [say("Half of it")])
    await asyncio.gather(*[client.thread("killed") for _ in range(5)])
    assert texts(await client.thread("killed")) == [("user", "Go"), ("assistant", "Half of it")]


@pytest.mark.parametrize(
    "process",
    [
        f"{HERE}/{os.getppid()}/abc",
        f"elsewhere/{os.getpid()}/abc",  # A container with our host's name has processes with our ids
    ],
    ids=["here", "elsewhere"],
)
async def test_the_run_of_a_living_process_is_left_alone(client: Client, process, monkeypatch, caplog):
    monkeypatch.setattr(live.logs, "is_shared", False)
    recovery._warn_of.cache_clear()
    run = await kill(client, [say("Half of it")], process=process, seen_at=timezone.now() + timedelta(hours=1))
    assert (await client.thread("killed"))["running"]
    response = await client.post(run_input("Go on", thread="killed"))
    assert response.status_code == 409
    assert response.headers["Retry-After"]
    # This process can't stop it, and says so, once in the log.
    for _ in range(2):
        assert (await client.http.post("/agent/threads/killed/cancel/")).status_code == 503
    assert caplog.text.count("serve with one process") == 1
    await run.arefresh_from_db()
    assert run.status == Run.Status.RUNNING
    assert texts(await client.thread("killed")) == [("user", "Go")]


@pytest.mark.parametrize(
    "process",
    [f"{HERE}/{os.getpid()}/before", process_name()],
    ids=["the id of an earlier one", "this one"],
)
async def test_a_process_that_is_gone_is_known_by_its_id(client: Client, process):
    await kill(client, [say("Half of it")], process=process, seen_at=timezone.now())
    assert not (await client.thread("killed"))["running"]


@pytest.mark.parametrize("process", ["elsewhere/1/abc", ""])
async def test_a_process_that_nobody_can_look_at_is_known_by_its_silence(client: Client, process, watch):
    await kill(client, [say("Half of it")], process=process, seen_at=LONG_AGO)
    # The clock of the database may be wrong.
    assert (await client.thread("killed"))["running"]
    await watch(15)
    assert not (await client.thread("killed"))["running"]
    assert texts(await client.thread("killed")) == [("user", "Go"), ("assistant", "Half of it")]


async def test_a_draft_is_written_as_soon_as_it_is_due(client: Client, clock: Clock):
    async with running(client, "Half"):
        assert "Half" not in str((await Run.objects.aget()).draft)
        clock.advance(drafts.DRAFT_SECONDS)
        async with asyncio.timeout(60):
            while "Half" not in str((await Run.objects.aget()).draft):  # noqa: ASYNC110 # another task writes it
                await asyncio.sleep(0.01)


async def test_a_living_run_sends_heartbeats(client: Client):
    async with running(client, "Half"):
        await Run.objects.aupdate(seen_at=LONG_AGO)
        await in_database(life.beat)
        assert (await Run.objects.aget()).seen_at > LONG_AGO


async def test_a_process_that_was_taken_for_dead_stops_its_run_and_changes_nothing(client: Client):
    async with running(client, "Half") as at_work:
        # What another process does that finds no heartbeat.
        await Run.objects.aupdate(status=Run.Status.INTERRUPTED, code="interrupted")
        await in_database(life.beat)
        await asyncio.wait(live.tasks, timeout=60)
    assert (at_work.events[-1]["type"], at_work.events[-1]["code"]) == ("RUN_ERROR", "interrupted")
    assert texts(await client.thread()) == [("user", "Go")]
    assert (await Run.objects.aget()).code == "interrupted"


async def test_an_ended_run_has_no_draft(client: Client):
    with script(call("echo", text="x"), say("Done")):
        await client.run("Go")
    await drafts.checkpoints.write()
    assert (await Run.objects.aget()).draft is None


async def test_a_tool_that_ends_is_written_down_at_once(client: Client, monkeypatch):
    monkeypatch.setattr("agui.runs.drafts.DRAFT_SECONDS", 3600)
    written, real = threading.Event(), drafts._write

    def write(drafts):
        real(drafts)
        written.set()

    reached = asyncio.Event()
    with script(call("hang", _id="c1"), [wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Go"))
        await asyncio.to_thread(urls.hanging.wait, 60)
        # All that there is so far is written down: nothing is new but the result.
        await drafts.checkpoints.write()
        monkeypatch.setattr("agui.runs.drafts._write", write)
        urls.let_go.set()
        await reached.wait()
        assert await asyncio.to_thread(written.wait, 60)
        draft = (await Run.objects.aget()).draft
        assert draft
        assert codec.load_messages(draft)[-1].parts[0].part_kind == "tool-return"
        await live.logs.stop(f"user:{client.user.pk}", "t1")
        await collect(response)


async def test_a_store_that_keeps_nothing_has_no_drafts(client: Client, settings):
    settings.AGUI = {"CONVERSATION_STORE": "agui.stores.null.NullConversationStore"}
    async with running(client, "Secret"):
        await drafts.checkpoints.write()
        assert (await Run.objects.aget()).draft is None


async def test_it_works_for_threads_in_sessions(client: Client, settings):
    await kill(client, [say("Half of it")])
    run = await Run.objects.aget(thread_id="killed")
    settings.AGUI = {"CONVERSATION_STORE": "agui.contrib.session_store.store.DjangoSessionConversationStore"}
    session = import_module(settings.SESSION_ENGINE).SessionStore()
    await session.acreate()
    store = DjangoSessionConversationStore(session.session_key)
    conversation = await ModelConversationStore().load("killed")
    assert conversation is not None
    left = Conversation(conversation_id="killed", messages=conversation.messages)
    await store.save(left, scope=run.scope)
    await Run.objects.filter(pk=run.pk).aupdate(revision=left.revision)
    assert not await recover(store, run.scope, "killed")
    assert len((await store.load("killed")).messages) == 2  # type: ignore[union-attr]
