"""A run belongs to the server: it outlives its connection, it is followed, stopped, and never doubled."""

import asyncio
import json
from collections import OrderedDict
from contextlib import aclosing
from typing import Any

import pytest

from agui.models import Run, get_conversation_model
from agui.runlog.memory import RunLogs
from agui.runs.live import live
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, event_types, read_frames, say, wait
from tests.conftest import Client, run_input, script

Thread = get_conversation_model()

pytestmark = pytest.mark.database


async def body_of(response) -> bytes:
    return b"".join([chunk async for chunk in response])


async def ended() -> None:
    await asyncio.gather(*live.tasks)


async def test_a_run_goes_on_when_its_client_goes_away(client: Client):
    go_on = asyncio.Event()
    with script([say("Half, "), wait(go_on), say("whole.")]):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            await anext(frames)
        go_on.set()
        await ended()
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
        await ended()
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


async def test_following_resumes_after_the_last_event(client: Client):
    with script(say("one two three", chunks=3)):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            everything = [frame async for frame in frames]
    for position in range(len(everything)):
        resumed = await client.get("threads/t1/events/", **{"Last-Event-ID": everything[position].id})
        async with aclosing(read_frames(resumed)) as frames:
            assert [frame async for frame in frames] == everything[position + 1 :]


async def test_an_unusable_last_event_id_starts_at_the_beginning(client: Client):
    with script(say("Hi")):
        whole = await collect(await client.post(run_input("Hi")))
    log = await live.logs.find(f"user:{client.user.pk}", "t1")
    assert log is not None
    for last in ("other-run:3", "nonsense", ":", "٣", "x" * 5000, f"{log.key}:{'9' * 5000}"):
        assert await collect(await client.http.get(f"/agent/threads/t1/events/?last_event_id={last}")) == whole


async def test_there_is_nothing_to_follow_without_a_run(client: Client):
    assert (await client.get("threads/t1/events/")).status_code == 404
    with script(say("Hi")):
        await client.run("Hi")
    fork = await client.http.post("/agent/threads/t1/fork/", {"thread_id": "t2"}, content_type="application/json")
    assert fork.status_code == 201
    assert (await client.get("threads/t2/events/")).status_code == 204


async def test_stopping_one_run_leaves_any_other_alone(client: Client):
    async def stop(**body: Any) -> int:
        return (await client.http.post("/agent/threads/t1/cancel/", body, content_type="application/json")).status_code

    reached = asyncio.Event()
    with script([say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Hi"))
        await reached.wait()
        assert [await stop(run_id="another"), await stop(run_id="")] == [204, 204]
        assert [await stop(run_id=1), await stop(run_id=["r"])] == [400, 400]
        assert (await client.thread())["running"]
        assert await stop(run_id=(await Run.objects.aget()).run_id) == 202
        assert (await collect(response))[-1]["outcome"] == {"type": "cancelled"}


async def test_stopping_keeps_the_partial_answer(client: Client):
    reached = asyncio.Event()
    with script([say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Hi"))
        await reached.wait()
        assert (await client.http.post("/agent/threads/t1/cancel/")).status_code == 202
        events = await collect(response)

    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert event_types(events)[-2] == "TEXT_MESSAGE_END"
    assert (await client.thread())["messages"][-1]["content"] == "Half"
    assert (await Run.objects.aget()).status == "cancelled"
    assert (await client.http.post("/agent/threads/t1/cancel/")).status_code == 204

    with script(say("Yes?")) as model:
        assert (await client.run("Hello"))[-1]["type"] == "RUN_FINISHED"
    assert model.requests[0].prompt == "Hello"


async def test_a_call_that_never_ran_is_not_kept(client: Client):
    reached = asyncio.Event()
    with script([say("Let me see."), call("wipe", what="disk", _json='{"what": "di'), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Hi"))
        await reached.wait()
        await client.http.post("/agent/threads/t1/cancel/")
        await collect(response)

    messages = (await client.thread())["messages"]
    assert [m.get("content") for m in messages] == ["Hi", "Let me see."]
    assert "toolCalls" not in messages[-1]
    with script(say("Fine.")) as model:
        assert (await client.run("Go on"))[-1]["type"] == "RUN_FINISHED"
    assert "wipe" not in str(model.requests[0].messages)


async def test_a_client_before_1_0_is_told_of_a_stop_without_the_new_outcome(client: Client):
    reached = asyncio.Event()
    body = run_input("Hi")
    del body["protocolVersion"]
    with script([say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(body)
        await reached.wait()
        await client.http.post("/agent/threads/t1/cancel/")
        events = await collect(response)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "outcome" not in events[-1]


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
        await ended()
    assert (await client.thread())["messages"][-1]["content"] == "Hi"


class SlowStore(ModelConversationStore):
    """Says when it writes, and waits."""

    writing: asyncio.Event
    go_on: asyncio.Event

    async def write_record(self, record, *, new_entries=(), expected_revision):
        self.writing.set()
        await self.go_on.wait()
        await super().write_record(record, new_entries=new_entries, expected_revision=expected_revision)


async def test_another_request_on_a_busy_thread_is_409(client: Client):
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")]):
        response = await client.post(run_input("Hi"))
        busy = await client.post(run_input("Me too"))
        assert (busy.status_code, json.loads(busy.content)["error"]) == (409, "conflict")
        go_on.set()
        await collect(response)
    assert len((await client.thread())["messages"]) == 2


async def test_a_run_id_may_be_used_again(client: Client):
    with script(say("1"), say("2")):
        for text in ("One", "Two"):
            events = await client.run(text, runId="same")
            assert (events[0]["runId"], events[-1]["type"]) == ("same", "RUN_FINISHED")


async def test_a_refused_request_leaves_the_thread_free(client: Client):
    assert (await client.post(run_input())).status_code == 422
    with script(say("Hi")):
        assert (await client.run("Hi"))[-1]["type"] == "RUN_FINISHED"


async def test_above_the_limits_a_run_is_refused_before_it_starts(client: Client, other_client: Client, settings):
    settings.AGUI = {"MAX_RUNS_PER_USER": 1, "MAX_CONCURRENT_RUNS": 2}
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")], [wait(go_on), say("Hi")]):
        first = await client.post(run_input("Hi", thread="a"))
        refused = await client.post(run_input("Hi", thread="b"))
        assert (refused.status_code, refused["Retry-After"]) == (429, "1")
        second = await other_client.post(run_input("Hi", thread="c"))
        settings.AGUI = {"MAX_CONCURRENT_RUNS": 2}
        refused = await client.post(run_input("Hi", thread="d"))
        assert (refused.status_code, refused["Retry-After"]) == (503, "1")
        go_on.set()
        await asyncio.gather(collect(first), collect(second))


async def test_a_thread_deleted_in_mid_run_stays_deleted(client: Client):
    reached = asyncio.Event()
    with script([say("Half"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Hi"))
        await reached.wait()
        assert (await client.http.delete("/agent/threads/t1/")).status_code == 204
        await collect(response)
        await ended()
    assert not await Thread.objects.aexists()
    assert (await client.get("threads/t1/")).status_code == 404


async def test_nothing_is_kept_of_the_run_of_a_deleted_thread(client: Client):
    reached = asyncio.Event()
    with script([say("My secret"), wait(asyncio.Event(), reached)]):
        response = await client.post(run_input("Hi"))
        await reached.wait()
        await client.http.delete("/agent/threads/t1/")
        assert (await client.get("threads/t1/events/")).status_code == 404
        await collect(response)
        await ended()
    assert (await client.get("threads/t1/events/")).status_code == 404


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
