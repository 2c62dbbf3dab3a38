"""A run outlives its connection, is followed and never doubled, and its limits hold against many at once.

(transcripts/runs.yaml and stopping.yaml have the rest.)
"""

import asyncio
import gc
import itertools
import sys
import threading
from collections import defaultdict
from contextlib import aclosing, asynccontextmanager
from typing import Any
from weakref import ref

import pytest
from asgiref.sync import ThreadSensitiveContext
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

from agui.blocking import executor
from agui.models import AuditRecord, Run
from agui.runlog.memory import RunLog, RunLogs
from agui.runs import start
from agui.runs.live import Follower, live
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, event_types, read_frames, say, think, wait
from tests import urls
from tests.conftest import Client, body_of, half_said, played_by, run_input, script, until
from tests.wire import check_stream, read_stream

pytestmark = pytest.mark.database

MANY = 20


@pytest.mark.parametrize(("setting", "status"), [("continue", "finished"), ("cancel", "cancelled")])
async def test_a_run_goes_on_or_ends_when_its_client_goes_away(client: Client, settings, setting, status):
    settings.AGUI = {"ON_DISCONNECT": setting}
    async with half_said(client) as (response, go_on):
        response.close()
        if setting == "continue":
            go_on.set()
        await asyncio.gather(*live.tasks)
    assert (await Run.objects.aget()).status == status
    said = (await client.thread())["messages"][-1]["content"]
    assert said == ("Half, whole." if setting == "continue" else "Half, ")


async def test_the_same_request_twice_runs_once(client: Client):
    body = run_input("Hi")
    with script(say("once")) as model:
        first, second = await client.post(body), await client.post(body)
        assert await body_of(first) == await body_of(second)
        assert await collect(await client.post(body))  # And once more, after its end
    assert len(model.requests) == 1
    assert await Run.objects.acount() == 1


async def test_an_unusable_last_event_id_starts_at_the_beginning(client: Client):
    with script(say("Hi")):
        raw = await body_of(await client.post(run_input("Hi")))
    whole = read_stream(raw)
    key = raw.decode().partition(":1\n")[0].removeprefix("id: ")
    for last in ("other-run:3", "nonsense", ":", "٣", "x" * 5000, f"{key}:{'9' * 5000}"):
        assert await collect(await client.http.get(f"/agent/threads/t1/events/?last_event_id={last}")) == whole


async def test_all_who_sent_a_request_that_is_refused_are_told(client: Client):
    body = run_input(messages=[{"id": "r1", "role": "tool", "toolCallId": "unknown", "content": "Done"}])
    first, second = await asyncio.gather(client.post(body), client.post(body))
    assert (first.status_code, second.status_code) == (422, 422)


@pytest.mark.parametrize("setting", ["continue", "cancel"])
async def test_a_request_of_a_client_that_leaves_at_once_counts(client: Client, settings, monkeypatch, setting):
    """As when a page is reloaded right after a click on "Approve"."""
    settings.AGUI = {"ON_DISCONNECT": setting}
    storing, go_on, take_turn = asyncio.Event(), asyncio.Event(), start.take_turn

    async def take_slowly(*args: Any) -> Any:
        storing.set()
        await go_on.wait()
        return await take_turn(*args)

    monkeypatch.setattr(start, "take_turn", take_slowly)
    with script([say("Half"), *([wait(asyncio.Event())] if setting == "cancel" else [])]):
        request = asyncio.ensure_future(client.post(run_input("Hi")))
        await storing.wait()
        request.cancel()
        await asyncio.gather(request, return_exceptions=True)
        go_on.set()
        await asyncio.gather(*live.tasks)
    assert (await Run.objects.aget()).status == ("cancelled" if setting == "cancel" else "finished")


async def test_a_store_that_fails_ends_the_run_with_an_error(client: Client, monkeypatch, caplog):
    write_record = ModelConversationStore.write_record

    async def write_no_answer(self: Any, *args: Any, **options: Any) -> None:
        if options["expected_revision"] is not None:
            raise OSError("the disk is full")
        await write_record(self, *args, **options)

    monkeypatch.setattr(ModelConversationStore, "write_record", write_no_answer)
    with script(say("Hi")):
        events = await client.run("Hi")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "internal_error")
    assert (await Run.objects.aget()).status == "failed"
    assert "disk is full" not in str(events)
    assert "disk is full" in caplog.text


async def test_the_next_message_may_follow_at_once_on_the_end(client: Client):
    with script(say("1"), say("2")):
        response = await client.post(run_input("One"))
        async with aclosing(read_frames(response)) as frames:
            async for frame in frames:
                if frame.event["type"] == "RUN_FINISHED":
                    assert (await client.run("Two"))[-1]["type"] == "RUN_FINISHED"
                    assert (await Run.objects.alatest("started_at")).status == "finished"


# --- What a client sees of a run while it goes on, and what only its bytes show


async def test_the_first_words_arrive_before_the_model_has_ended(client: Client):
    async with half_said(client) as (response, go_on), aclosing(read_frames(response)) as frames:
        early = [(await anext(frames)).event for _ in range(3)]
        go_on.set()
        late = [frame.event async for frame in frames]
    assert event_types(early) == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert early[-1]["delta"] == "Half, "
    assert late[-1]["type"] == "RUN_FINISHED"


async def test_a_tool_that_hangs_holds_up_no_other_run_and_no_stop(client: Client, settings):
    settings.AGUI = {"TOOL_THREADS": 1}
    with script(call("hang"), call("ping"), say("pong")):
        response = await client.post(run_input("Hang", thread="a"))
        await asyncio.to_thread(urls.hanging.wait)
        try:
            assert (await client.run("Ping", thread="b"))[-1]["type"] == "RUN_FINISHED"
            await client.http.post("/agent/threads/a/cancel/")
            assert (await collect(response))[-1]["outcome"] == {"type": "cancelled"}
        finally:
            urls.let_go.set()
    record = await AuditRecord.objects.aget(tool_name="hang")
    assert (record.outcome, record.error) == ("failed", "The run ended before the tool did.")


async def test_half_a_character_and_a_nul_break_nothing(client: Client):
    with script(say("a\ud83d\x00b")):
        events = await client.run("Hi \x00")
    assert "".join(e.get("delta", "") for e in events) == "a\ud83d\x00b"
    assert await client.lines() == ["Hi \x00", "assistant: a\ud83d\x00b"]


async def test_silence_is_filled_with_comments(client: Client, settings):
    settings.AGUI = {"HEARTBEAT_SECONDS": 0.01}
    async with half_said(client) as (response, go_on):
        chunks = []
        async for chunk in response:
            chunks.append(chunk)
            if chunk == b": ping\n\n":
                go_on.set()
    assert b": ping\n\n" in chunks
    assert b"RUN_FINISHED" in chunks[-1]


async def test_middleware_does_not_compress_the_response(client: Client, settings):
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
    with script(say("Hi")):
        response = await client.post(run_input("Hi"), **{"Accept-Encoding": "gzip"})
        await collect(response)
    assert response["Content-Encoding"] == "identity"


THOUGHT, TEXT_1, TEXT_2 = {1: DeltaThinkingPart(content="Hm. ")}, "Let me ", "see."
WIPE = {2: DeltaToolCall(name="wipe", json_args="{}", tool_call_id="w1")}
CALLS = [
    {1: DeltaToolCall(name="echo", json_args='{"te', tool_call_id="c1")},
    {2: DeltaToolCall(name="echo", json_args='{"te', tool_call_id="c2")},
    {1: DeltaToolCall(json_args='xt":"a"}')},
    {2: DeltaToolCall(json_args='xt":"b"}')},
]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param([TEXT_1, *CALLS, TEXT_2], id="calls"),
        pytest.param([TEXT_1, WIPE, TEXT_2], id="before a pause"),
        pytest.param([THOUGHT, TEXT_1, THOUGHT, TEXT_2, THOUGHT], id="thoughts and texts"),
        pytest.param([THOUGHT, TEXT_1, WIPE, THOUGHT, TEXT_2], id="all"),
    ],
)
async def test_parts_that_a_provider_mixes_come_one_after_the_other(client: Client, answer):
    # What some of OpenAI's likes do with several calls, with text after a call, with thoughts.
    async def mixed(messages, info):
        for piece in answer if len(messages) == 1 else ["Done."]:
            yield piece

    with played_by(FunctionModel(stream_function=mixed)):
        events = await client.run("Hi")
    check_stream(events)
    assert events[-1]["type"] == "RUN_FINISHED"
    streamed: dict[str, str] = defaultdict(str)
    for event in events:
        if "delta" in event:
            streamed[event.get("messageId") or event["toolCallId"]] += event["delta"]
    kept = {}
    for message in (await client.thread())["messages"]:
        if message["role"] in ("assistant", "reasoning") and message.get("content"):
            kept[message["id"]] = message["content"]
        kept |= {one["id"]: one["function"]["arguments"] for one in message.get("toolCalls", ())}
    assert kept == streamed
    assert "Let me see." in kept.values()


# --- Limits


@pytest.mark.parametrize(
    ("limits", "refusal", "of_another"),
    [
        ({"MAX_CONCURRENT_RUNS": 3, "MAX_RUNS_PER_USER": 100}, (503, "at_capacity"), 503),
        ({"MAX_RUNS_PER_USER": 3}, (429, "too_many_requests"), 200),
    ],
)
async def test_of_many_runs_at_once_as_many_are_taken_as_may_be(
    client: Client, other_client: Client, settings, limits, refusal, of_another
):
    settings.AGUI = limits
    for _ in range(2):  # No place is lost.
        go_on = asyncio.Event()
        with script(*itertools.repeat([wait(go_on), say("Hi")], 8)):
            answers = await asyncio.gather(*(client.post(run_input("Hi", thread=f"t{n}")) for n in range(MANY)))
            streams = [one for one in answers if one.status_code == 200]
            assert len(streams) == 3
            refused = [one for one in answers if one.status_code != 200]
            assert {(one.status_code, one.json()["error"], one["Retry-After"]) for one in refused} == {(*refusal, "1")}
            theirs = await other_client.post(run_input("Hi", thread="other"))
            assert theirs.status_code == of_another
            go_on.set()
            for stream in [*streams, *([theirs] if of_another == 200 else [])]:
                assert (await collect(stream))[-1]["type"] == "RUN_FINISHED"


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
    assert await client.lines() == ["Go", "assistant: Half"]


LONG = "a" * 3_000_000


@pytest.mark.parametrize("answer", [think(LONG), say(LONG), say(LONG, chunks=3000), call("echo", text=LONG)])
async def test_the_log_of_a_run_has_an_end(client: Client, settings, answer):
    settings.AGUI = {"MAX_OUTPUT_BYTES": 100_000}
    with script(answer, say("Done")):
        events = await client.run("Go")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "output_limit")
    log = await live.logs.find(f"user:{client.user.pk}", "t1")
    assert log is not None
    assert sum(map(len, log.frames)) < 110_000


async def test_of_many_readers_as_many_are_served_as_may_be(client: Client, other_client: Client, settings):
    settings.AGUI = {"MAX_READERS_PER_USER": 4, "ON_DISCONNECT": "cancel"}
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
        assert whole[-1]["outcome"] == {"type": "success"}
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


def asgirefs_threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name.startswith("ThreadPoolExecutor")}


async def test_a_waiting_stream_holds_no_thread_and_no_connection(client: Client, settings, monkeypatch):
    """As a server has it, and the test client has not: a thread for each request."""
    settings.AGUI = {"MAX_RUNS_PER_USER": 100}
    monkeypatch.setattr(executor, "RELEASE_SECONDS", 0.05)
    go_on, before = asyncio.Event(), asgirefs_threads()
    started = [asyncio.Event() for _ in range(MANY)]

    async def stream(number: int) -> bytes:
        async with ThreadSensitiveContext():
            return await body_of(await client.post(run_input("Hi", thread=f"t{number}")))

    with script(*[[say("Half, "), wait(go_on, one), say("whole.")] for one in started]):
        streams = [asyncio.create_task(stream(number)) for number in range(MANY)]
        await asyncio.gather(*[one.wait() for one in started])
        await until(lambda: not asgirefs_threads() - before)
        go_on.set()
        answers = await asyncio.gather(*streams)
    assert all(b"whole." in answer and b"RUN_FINISHED" in answer for answer in answers)


# Then a thread that ends leaves its connection open, until it is collected.
@pytest.mark.filterwarnings("ignore:.*Connection:pytest.PytestUnraisableExceptionWarning")
async def test_a_turn_needs_no_name_of_asgiref_that_is_not_documented(client: Client, monkeypatch):
    monkeypatch.setattr(executor, "_threads_of_contexts", {})
    monkeypatch.setattr(executor, "_loops", None)
    with script([say("Half, "), call("echo", text="hey")], [say("whole.")]):
        events = await client.run("Hi")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert (await client.thread())["messages"][-1]["content"] == "whole."
    gc.collect()


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


async def test_a_run_leaves_only_its_log_and_of_a_thread_that_of_its_last_run(client: Client, intercept):
    ended: list[ref[Any]] = []
    intercept(start, "activate", after=lambda run: ended.extend((ref(run), ref(run.log))))
    with script(say("Hi"), say("Hi")):
        await client.run("Hi")
        await client.run("Hi")
    if live.tasks:
        await asyncio.wait(live.tasks)
    gc.collect()
    assert [one() is not None for one in ended] == [False, False, False, True]


async def test_logs_go_by_themselves_when_their_time_is_over(settings, monkeypatch):
    settings.AGUI = {"LOG_RETENTION_SECONDS": 30.0}
    later: list[Any] = []
    monkeypatch.setattr(asyncio.get_running_loop(), "call_later", lambda delay, *call: later.append((delay, call)))
    kept = RunLogs()
    (log,) = ended_logs(kept, 1, 10)
    [(delay, (forget, *arguments))] = later
    log.closed_at -= delay
    forget(*arguments)
    assert (delay >= 30, log.frames, await kept.find("user:1", "t0")) == (True, [], None)


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


# --- A run that nobody reads any more


@asynccontextmanager
async def a_run_on_its_way(client: Client, *more: Any) -> Any:
    """A run in mid-answer, whose client goes away."""
    async with half_said(client, *more, messages=[{"id": "u1", "role": "user", "content": "Hi"}]) as (response, go_on):
        response.close()
        yield go_on


@pytest.mark.parametrize("again", [False, True])
async def test_a_run_that_nobody_reads_makes_way_for_the_next_turn_and_for_the_same_again(client: Client, again):
    message = {"id": "u1", "role": "user", "content": "Hi"} if again else {"id": "u2", "role": "user", "content": "Hey"}
    async with a_run_on_its_way(client, say("At your service.")):
        events = await client.run(messages=[message])
    assert events[-1]["type"] == "RUN_FINISHED"
    said = await client.lines()
    assert said[-1] == "assistant: At your service."
    assert again or said == ["Hi", "assistant: Half, ", "Hey", "assistant: At your service."]
    statuses = [run.status async for run in Run.objects.order_by("started_at")]
    assert statuses == [Run.Status.CANCELLED, Run.Status.FINISHED]


async def test_a_reader_that_leaves_while_the_server_looks_is_none(client: Client, monkeypatch):
    """A client closes one connection and opens another: the server may notice the second one first."""
    async with half_said(client, say("At your service.")) as (response, _go_on):
        look = live.logs.stop_if_unread

        async def look_too_early(*thread: str) -> bool:
            found = await look(*thread)
            response.close()
            return found

        monkeypatch.setattr(live.logs, "stop_if_unread", look_too_early)
        events = await client.run("Hey")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert (await client.lines())[-2:] == ["Hey", "assistant: At your service."]


async def test_a_run_that_somebody_reads_does_not(client: Client):
    async with a_run_on_its_way(client) as go_on:
        reader = await client.get("threads/t1/events/")
        busy = await client.post(run_input("Something else"))
        assert (busy.status_code, busy.json()["error"], busy["Retry-After"]) == (409, "conflict", "1")
        assert busy.json()["run"]["run_id"] == (await Run.objects.aget()).run_id
        go_on.set()
        assert (await collect(reader))[-1]["type"] == "RUN_FINISHED"
    assert await client.lines() == ["Hi", "assistant: Half, whole."]


async def test_of_two_next_turns_one_is_taken(client: Client):
    answered = asyncio.Event()
    async with a_run_on_its_way(client, [wait(answered), say("Yes?")]):
        answers = await asyncio.gather(*(client.post(run_input(text)) for text in ("A", "B")))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        [refused] = [answer for answer in answers if answer.status_code == 409]
        assert "run" in refused.json()
        answered.set()
        await asyncio.gather(*(collect(answer) for answer in answers if answer.status_code == 200))
