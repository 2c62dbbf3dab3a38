"""A run outlives its connection, is followed and never doubled. (transcripts/stopping.yaml has the rest.)"""

import asyncio
from collections import OrderedDict
from contextlib import aclosing

import pytest

from agui.models import Run
from agui.runlog.memory import RunLogs
from agui.runs.live import live
from agui.stores.model import ModelConversationStore
from agui.testing import collect, event_types, read_frames, say, wait
from tests.conftest import Client, run_input, script
from tests.wire import read_stream

pytestmark = pytest.mark.database


async def body_of(response) -> bytes:
    return b"".join([chunk async for chunk in response])


async def test_a_run_goes_on_when_its_client_goes_away(client: Client):
    go_on = asyncio.Event()
    with script([say("Half, "), wait(go_on), say("whole.")]):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            await anext(frames)
        go_on.set()
        await asyncio.gather(*live.tasks)
    assert (await client.thread())["messages"][-1]["content"] == "Half, whole."


async def test_or_it_ends_with_its_client(client: Client, settings):
    settings.AGUI = {"ON_DISCONNECT": "cancel"}
    reached = asyncio.Event()
    with script([say("Half, "), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            await anext(frames)
            await reached.wait()
        response.close()
        await asyncio.gather(*live.tasks)
    assert (await Run.objects.aget()).status == "cancelled"
    assert (await client.thread())["messages"][-1]["content"] == "Half, "


async def test_a_follower_sees_the_same_bytes(client: Client):
    go_on = asyncio.Event()
    with script([say("one "), wait(go_on), say("two")]):
        response = await client.post(run_input("Hi"))
        assert (await client.thread())["running"] is True
        follower = await client.get("threads/t1/events/")
        go_on.set()
        first, second = await asyncio.gather(body_of(response), body_of(follower))
    assert first == second
    assert (await client.thread())["running"] is False
    # And for a while after its end.
    assert await body_of(await client.get("threads/t1/events/")) == first


async def test_an_unusable_last_event_id_starts_at_the_beginning(client: Client):
    with script(say("Hi")):
        raw = await body_of(await client.post(run_input("Hi")))
    whole = read_stream(raw)
    key = raw.decode().partition(":1\n")[0].removeprefix("id: ")
    for last in ("other-run:3", "nonsense", ":", "٣", "x" * 5000, f"{key}:{'9' * 5000}"):
        assert await collect(await client.http.get(f"/agent/threads/t1/events/?last_event_id={last}")) == whole


async def test_the_same_request_twice_runs_once(client: Client):
    go_on = asyncio.Event()
    body = run_input("Hi")
    with script([wait(go_on), say("once")]) as model:
        first, second = await client.post(body), await client.post(body)
        go_on.set()
        assert await body_of(first) == await body_of(second)
        assert await collect(await client.post(body))  # And once more, after its end
    assert len(model.requests) == 1
    assert await Run.objects.acount() == 1


async def test_all_who_sent_a_request_that_is_refused_are_told(client: Client):
    body = run_input(messages=[{"id": "r1", "role": "tool", "toolCallId": "unknown", "content": "Done"}])
    first, second = await asyncio.gather(client.post(body), client.post(body))
    assert (first.status_code, second.status_code) == (422, 422)


async def test_a_request_whose_client_leaves_at_once_still_counts(client: Client, settings):
    # As when a page is reloaded right after a click on "Approve".
    settings.AGUI = {"CONVERSATION_STORE": "tests.test_runs.SlowStore"}
    SlowStore.writing, SlowStore.go_on = asyncio.Event(), asyncio.Event()
    with script(say("Hi")):
        request = asyncio.ensure_future(client.post(run_input("Hi")))
        await SlowStore.writing.wait()
        request.cancel()
        SlowStore.go_on.set()
        await asyncio.gather(*live.tasks)
    assert (await client.thread())["messages"][-1]["content"] == "Hi"


class SlowStore(ModelConversationStore):
    """Says when it writes, and waits."""

    writing: asyncio.Event
    go_on: asyncio.Event

    async def write_record(self, record, *, new_entries=(), expected_revision):
        self.writing.set()
        await self.go_on.wait()
        await super().write_record(record, new_entries=new_entries, expected_revision=expected_revision)


class Watched(OrderedDict):
    """Counts the entries that somebody has looked at."""

    seen = 0

    def items(self):
        for item in super().items():
            self.seen += 1
            yield item


async def test_old_logs_are_forgotten_however_busy_the_thread_before_them(settings):
    settings.AGUI = {"LOG_RETENTION_SECONDS": 60.0}
    kept = RunLogs()
    for thread in ("busy", "old", "busy"):
        log, _ = await kept.reserve("user:1", thread, thread + str(len(kept._ended)))
        kept.close(log)
    for log in kept._ended.values():
        log.closed_at -= 61 if log.thread_id == "old" else 0
    assert await kept.find("user:1", "old") is None
    assert await kept.find("user:1", "busy") is not None


async def test_a_look_for_a_log_does_not_go_through_all_that_are_kept():
    kept = RunLogs()
    for number in range(50):
        log, _ = await kept.reserve("user:1", f"t{number}", "")
        kept.close(log)
    kept._ended = Watched(kept._ended)
    assert await kept.find("user:1", "t49") is not None
    assert kept._ended.seen == 1


async def test_a_store_that_fails_ends_the_run_with_an_error(client: Client, settings, caplog):
    settings.AGUI = {"CONVERSATION_STORE": "tests.test_runs.FullStore"}
    with script(say("Hi")):
        events = await client.run("Hi")
    assert event_types(events)[-1] == "RUN_ERROR"
    assert events[-1]["code"] == "internal_error"
    assert (await Run.objects.aget()).status == "failed"
    assert "disk is full" not in str(events)
    assert "disk is full" in caplog.text


class FullStore(ModelConversationStore):
    """Has room for the user's turn, and none for the answer."""

    async def write_record(self, record, *, new_entries=(), expected_revision):
        if expected_revision is not None:
            raise OSError("the disk is full")
        await super().write_record(record, new_entries=new_entries, expected_revision=expected_revision)


async def test_the_next_message_may_follow_at_once_on_the_end(client: Client):
    with script(say("1"), say("2")):
        response = await client.post(run_input("One"))
        async with aclosing(read_frames(response)) as frames:
            async for frame in frames:
                if frame.event["type"] == "RUN_FINISHED":
                    assert (await client.run("Two"))[-1]["type"] == "RUN_FINISHED"
                    assert (await Run.objects.alatest("started_at")).status == "finished"
