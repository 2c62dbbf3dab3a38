"""Limits hold against many at once: runs, readers, bytes, threads, and time."""

import asyncio
import gc
import itertools
import json
import sys
import threading
from contextlib import aclosing, asynccontextmanager
from typing import Any
from weakref import ref

import pytest
from django.core.handlers.asgi import ASGIHandler

from agui.blocking import executor
from agui.models import Run
from agui.runlog.memory import RunLog, RunLogs
from agui.runs import start
from agui.runs.live import Follower, live
from agui.testing import call, collect, read_frames, say, think, wait
from tests import urls
from tests.asking import ask
from tests.conftest import Client, half_said, run_input, script

MANY = 20


def texts(thread: dict[str, Any]) -> list[Any]:
    return [message.get("content") for message in thread["messages"]]


async def post_many(client: Client, bodies: list[dict[str, Any]]) -> tuple[list[Any], list[Any]]:
    """Post them all at once: the streams, and the refusals."""
    responses = await asyncio.gather(*(client.post(body) for body in bodies))
    streams = [response for response in responses if response.status_code == 200]
    return streams, [response for response in responses if response.status_code != 200]


# --- Runs at once


async def test_of_many_at_once_the_server_takes_as_many_as_it_can(client: Client, other_client: Client, settings):
    settings.AGUI = {"MAX_CONCURRENT_RUNS": 3, "MAX_RUNS_PER_USER": 100}
    go_on = asyncio.Event()
    with script(*itertools.repeat([wait(go_on), say("Hi")], 8)):
        streams, refused = await post_many(client, [run_input("Hi", thread=f"t{n}") for n in range(MANY)])
        assert len(streams) == 3
        assert {(one.status_code, one.json()["error"], one["Retry-After"]) for one in refused} == {
            (503, "at_capacity", "1")
        }
        assert (await other_client.post(run_input("Hi", thread="other"))).status_code == 503
        go_on.set()
        for stream in streams:
            assert (await collect(stream))[-1]["type"] == "RUN_FINISHED"
        # And again: no place was lost.
        go_on.clear()
        streams, _ = await post_many(other_client, [run_input("Hi", thread=f"o{n}") for n in range(MANY)])
        assert len(streams) == 3
        go_on.set()
        await asyncio.gather(*map(collect, streams))


async def test_of_many_at_once_one_user_gets_as_many_as_he_may(client: Client, other_client: Client, settings):
    settings.AGUI = {"MAX_RUNS_PER_USER": 2}
    go_on = asyncio.Event()
    with script(*itertools.repeat([wait(go_on), say("Hi")], 8)):
        streams, refused = await post_many(client, [run_input("Hi", thread=f"t{n}") for n in range(MANY)])
        assert len(streams) == 2
        assert {(one.status_code, one["Retry-After"]) for one in refused} == {(429, "1")}
        theirs = await other_client.post(run_input("Hi", thread="other"))
        go_on.set()
        for stream in (*streams, theirs):
            assert (await collect(stream))[-1]["type"] == "RUN_FINISHED"


async def test_what_is_refused_takes_no_place(client: Client, settings):
    settings.AGUI = {"MAX_CONCURRENT_RUNS": 1, "MAX_READERS_PER_USER": 1}
    unusable = {**run_input("Hi"), "state": {"text": ["not", "a", "text"]}}
    for _ in range(3):
        assert (await client.post(unusable)).status_code == 422
        assert (await client.post(run_input())).status_code == 422
        assert (await client.get("threads/unknown/events/")).status_code == 404
    with script(say("Hi")):
        assert (await client.run("Hi"))[-1]["type"] == "RUN_FINISHED"


# --- Time and size


async def test_a_run_that_takes_too_long_has_a_code_of_its_own_whatever_holds_it_up(client: Client, settings, clock):
    settings.AGUI = {"RUN_TIMEOUT_SECONDS": 3600}
    with script([say("Half"), call("hang")]):
        running = asyncio.create_task(client.run("Go"))
        assert await asyncio.to_thread(urls.hanging.wait, 60)
        clock.advance(3600)
        events = await running
    urls.let_go.set()
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "timeout")
    assert (await Run.objects.aget()).status == Run.Status.TIMED_OUT
    assert texts(await client.thread()) == ["Go", "Half"]


@pytest.mark.parametrize(
    "answers",
    [
        [[think("a" * 3_000_000)]],
        [[say("a" * 3_000_000)]],
        [[say("a" * 3_000_000, chunks=3000)]],
        [call("echo", text="a" * 3_000_000), say("Done")],
    ],
    ids=["thought", "text", "deltas", "tool"],
)
async def test_the_log_of_a_run_has_an_end(client: Client, settings, answers):
    settings.AGUI = {"MAX_OUTPUT_BYTES": 100_000}
    with script(*answers):
        events = await client.run("Go")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "output_limit")
    log = await live.logs.find(f"user:{client.user.pk}", "t1")
    assert log is not None
    assert sum(map(len, log.frames)) < 110_000


# --- What ended runs leave in memory


def ended_logs(kept: RunLogs, count: int, size: int) -> list[RunLog]:
    logs = []
    for number in range(count):
        log = RunLog("user:1", f"t{number}", "f")
        log.append(b"x" * size)
        kept.close(log)
        logs.append(log)
    return logs


async def test_the_logs_of_ended_runs_have_a_bound_together(settings):
    settings.AGUI = {"MAX_KEPT_LOG_BYTES": 1_000_000}
    kept = RunLogs()
    logs = ended_logs(kept, 50, 100_000)
    assert [await kept.find("user:1", log.thread_id) is not None for log in logs] == [False] * 40 + [True] * 10
    assert sum(len(frame) for log in logs for frame in log.frames) == 1_000_000


async def test_a_run_leaves_only_its_log(client: Client, monkeypatch):
    ended: list[ref[Any]] = []
    activate = start.activate

    def noted(*args: Any, **kwargs: Any) -> Any:
        run = activate(*args, **kwargs)
        ended.extend((ref(run), ref(run.log)))
        return run

    monkeypatch.setattr(start, "activate", noted)
    with script(say("Hi"), say("Hi")):
        await client.run("Hi")
        await client.run("Hi")
    if live.tasks:
        await asyncio.wait(live.tasks)
    gc.collect()
    # And of a thread, that of its last run.
    assert [one() is not None for one in ended] == [False, False, False, True]


async def test_they_go_by_themselves_when_their_time_is_over(settings, monkeypatch):
    settings.AGUI = {"LOG_RETENTION_SECONDS": 30.0}
    later: list[Any] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda delay, *call: later.append((delay, call)))
    kept = RunLogs()
    (log,) = ended_logs(kept, 1, 10)
    [(delay, (forget, *arguments))] = later
    assert delay >= 30
    log.closed_at -= delay
    forget(*arguments)
    assert log.frames == []
    assert await kept.find("user:1", "t0") is None


async def test_a_reader_that_does_not_go_on_keeps_no_log(client: Client, settings):
    settings.AGUI = {"MAX_KEPT_LOG_BYTES": 0}
    log = RunLog(f"user:{client.user.pk}", "t1", "f")
    live.logs._active[log.scope, log.thread_id] = log
    log.append(b"id: 1\ndata: {}\n\n")
    stream = aiter(await client.get("threads/t1/events/"))
    assert await anext(stream)
    log.append(b"id: 2\ndata: {}\n\n")
    live.logs.close(log)
    assert log.frames == []
    assert [chunk async for chunk in stream] == []


# --- Readers


async def test_of_many_readers_as_many_are_served_as_may_be(client: Client, other_client: Client, settings):
    settings.AGUI = {"MAX_READERS_PER_USER": 4}
    go_on = asyncio.Event()
    body = run_input("Hi")
    with script([wait(go_on), say("Hi")], say("Hi")):
        first = await client.post(body)
        followers = await asyncio.gather(*(client.get("threads/t1/events/") for _ in range(MANY)))
        served = [one for one in followers if one.status_code == 200]
        assert len(served) == 3
        refused = next(one for one in followers if one.status_code != 200)
        assert (refused.status_code, refused["Retry-After"]) == (429, "1")
        # The same request again is one more reader.
        assert (await client.post(body)).status_code == 429
        assert (await other_client.run("Hi", thread="other"))[-1]["type"] == "RUN_FINISHED"
        served.pop().close()
        assert (await client.get("threads/t1/events/")).status_code == 200
        go_on.set()
        whole = await collect(first)
        for one in served:
            assert await collect(one) == whole


def test_readers_are_counted_while_others_leave(settings):
    """Django closes responses in threads."""
    settings.AGUI = {"MAX_READERS_PER_USER": 10_000}
    staying = [Follower("user:1") for _ in range(1000)]
    is_over = threading.Event()

    def come_and_go() -> None:
        one = Follower("user:2")
        while not is_over.is_set():
            live.followers[id(one)] = one
            one.close()

    thread = threading.Thread(target=come_and_go)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    thread.start()
    try:
        counts = {sum(one.owner == "user:1" for one in live.present_followers()) for _ in range(1000)}
    finally:
        is_over.set()
        thread.join()
        sys.setswitchinterval(interval)
    assert counts == {len(staying)}


# --- A run that nobody reads any more


@asynccontextmanager
async def a_run_on_its_way(client: Client, *more: Any) -> Any:
    """A run in mid-answer, whose client goes away."""
    async with half_said(client, *more, messages=[{"id": "u1", "role": "user", "content": "Hi"}]) as (response, go_on):
        async with aclosing(read_frames(response)) as frames:
            await anext(frames)
        response.close()
        yield go_on


@pytest.mark.parametrize("again", [False, True])
async def test_a_run_that_nobody_reads_makes_way_for_the_next_turn_and_for_the_same_again(client: Client, again):
    message = {"id": "u1", "role": "user", "content": "Hi"} if again else {"id": "u2", "role": "user", "content": "Hey"}
    async with a_run_on_its_way(client, say("At your service.")):
        events = await client.run(messages=[message])
    assert events[-1]["type"] == "RUN_FINISHED"
    said = texts(await client.thread())
    assert said[-1] == "At your service."
    assert again or said == ["Hi", "Half, ", "Hey", "At your service."]
    statuses = [run.status async for run in Run.objects.order_by("started_at")]
    assert statuses == [Run.Status.CANCELLED, Run.Status.FINISHED]


async def test_a_run_that_somebody_reads_does_not(client: Client):
    async with a_run_on_its_way(client) as go_on:
        reader = await client.get("threads/t1/events/")
        busy = await client.post(run_input("Something else"))
        assert (busy.status_code, busy.json()["error"], busy["Retry-After"]) == (409, "conflict", "1")
        assert busy.json()["run"]["run_id"] == (await Run.objects.aget()).run_id
        go_on.set()
        assert (await collect(reader))[-1]["type"] == "RUN_FINISHED"
    assert texts(await client.thread()) == ["Hi", "Half, whole."]


async def test_nor_does_one_that_is_about_to_be_read(client: Client):
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")]):
        answers = await asyncio.gather(*(client.post(run_input("Hi")) for _ in range(5)))
        assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
        go_on.set()
        await asyncio.gather(*(collect(answer) for answer in answers if answer.status_code == 200))
    assert await Run.objects.acount() == 1


async def test_of_two_next_turns_one_is_taken(client: Client):
    answered = asyncio.Event()
    async with a_run_on_its_way(client, [wait(answered), say("Yes?")]):
        answers = await asyncio.gather(*(client.post(run_input(text)) for text in ("A", "B")))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        [refused] = [answer for answer in answers if answer.status_code == 409]
        assert "run" in refused.json()
        answered.set()
        await asyncio.gather(*(collect(answer) for answer in answers if answer.status_code == 200))


# --- ON_DISCONNECT = "cancel"


async def test_a_client_that_leaves_before_the_start_cancels_its_run(client: Client, settings, monkeypatch):
    settings.AGUI = {"ON_DISCONNECT": "cancel"}
    storing, go_on = asyncio.Event(), asyncio.Event()
    real = start.take_turn

    async def slowly(*args: Any) -> Any:
        storing.set()
        await go_on.wait()
        return await real(*args)

    monkeypatch.setattr(start, "take_turn", slowly)
    with script([say("Half"), wait(asyncio.Event())]):
        request = asyncio.ensure_future(client.post(run_input("Hi")))
        await storing.wait()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        go_on.set()
        await asyncio.gather(*live.tasks)
    assert (await Run.objects.aget()).status == Run.Status.CANCELLED


async def test_another_reader_that_leaves_cancels_nothing(client: Client, settings):
    settings.AGUI = {"ON_DISCONNECT": "cancel"}
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")]):
        response = await client.post(run_input("Hi"))
        (await client.get("threads/t1/events/")).close()
        go_on.set()
        assert (await collect(response))[-1].get("outcome", {}).get("type") != "cancelled"


# --- What a waiting stream holds


def asgirefs_threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("ThreadPoolExecutor")}


async def test_a_waiting_stream_holds_no_thread_and_no_connection(client: Client, settings, monkeypatch):
    """Through Django's own handler, which keeps a thread for each request."""
    settings.AGUI = {"MAX_RUNS_PER_USER": 100}
    monkeypatch.setattr(executor, "RELEASE_SECONDS", 0.05)
    go_on, before = asyncio.Event(), asgirefs_threads()
    application = ASGIHandler()
    started = [asyncio.Event() for _ in range(MANY)]
    headers = {"authorization": client.http.defaults["authorization"], "content_type": "application/json"}

    async def stream(number: int) -> bytes:
        def hear(message: Any) -> None:
            if b"TEXT_MESSAGE_CONTENT" in message.get("body", b""):
                started[number].set()

        body = json.dumps(run_input("Hi", thread=f"t{number}"))
        return (await ask(application, "POST", "/agent/", body, hear=hear, **headers))[2]

    with script(*itertools.repeat([say("Half, "), wait(go_on), say("whole.")], MANY)):
        streams = [asyncio.create_task(stream(number)) for number in range(MANY)]
        for one in started:
            await one.wait()
        async with asyncio.timeout(60):
            while asgirefs_threads() - before:  # noqa: ASYNC110 # they end by themselves
                await asyncio.sleep(0.01)
        go_on.set()
        answers = await asyncio.gather(*streams)
    assert all(b"whole." in answer and b"RUN_FINISHED" in answer for answer in answers)


async def test_a_turn_needs_no_name_of_asgiref_that_is_not_documented(client: Client, monkeypatch):
    monkeypatch.setattr(executor, "_threads_of_contexts", {})
    monkeypatch.setattr(executor, "_loops", None)
    with script([say("Half, "), call("echo", text="hey")], [say("whole.")]):
        events = await client.run("Hi")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert (await client.thread())["messages"][-1]["content"] == "whole."
