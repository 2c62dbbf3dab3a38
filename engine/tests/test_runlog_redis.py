"""With the part redis a run is taken, followed and stopped by any process, and none of it depends on Redis."""

import asyncio
import math
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from daily import by_day

pytest.importorskip("redis")

from django.core.exceptions import ImproperlyConfigured
from redis import Redis
from redis.asyncio.connection import AbstractConnection
from servers import wait_until

from agui import conf
from agui.contrib.durable.models import RunOrder
from agui.contrib.redis import server as runlog_server
from agui.contrib.redis.conf import RedisSettings
from agui.contrib.redis.logs import RedisLogs
from agui.contrib.redis.server import Server as RedisClient
from agui.contrib.redis.server import ThreadKeys
from agui.errors import NotFound, Unavailable
from agui.events.frames import encode, run_error
from agui.models import Run, get_conversation_model
from agui.runlog.memory import RunLog
from agui.runs import drafts, recovery
from agui.runs.live import live
from agui.testing import collect, read_frames, say, wait
from tests.clock import Clock
from tests.conftest import Client, body_of, half_said, run_input, script, until
from tests.test_recovery import GONE
from tests.two_processes import Processes, Server, needs_redis, patience, processes, redis, server, there

__all__ = ["patience", "processes", "redis", "server", "there"]

pytestmark = [needs_redis, pytest.mark.database, pytest.mark.usefixtures("patience")]

EVENTS = "threads/t1/events/"


@pytest.mark.parametrize("url", ["localhost:6379", "http://user:secret@localhost", "redis://:secret/1@localhost"])
def test_a_wrong_url_is_told_without_its_password(settings: Any, url: str):
    settings.AGUI = {"REDIS": {"URL": url}}
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['REDIS'\]\['URL'\]: .*redis://") as error:
        conf.part(RedisSettings)
    assert "secret" not in str(error.value)


async def started(processes: Processes) -> RunLog:
    """A log without a run."""
    log, _ = await processes.reserve("user:1", "t1", "same")
    log.start()
    log.append(b"id: 1\ndata: {}\n\n")
    return log


async def test_a_run_is_followed_elsewhere_to_the_same_bytes(client: Client, there: Client):
    async with half_said(client) as (response, go_on):
        assert (await there.thread())["running"] is True
        follower = await there.get(EVENTS)
        assert follower.status_code == 200
        go_on.set()
        first, second = await asyncio.gather(body_of(response), body_of(follower))
    assert first == second
    assert await body_of(await there.get(EVENTS)) == first
    assert (await there.thread())["running"] is False


async def test_following_elsewhere_resumes_after_the_last_event(client: Client, there: Client):
    with script(say("one two three", chunks=3)):
        everything = [frame async for frame in read_frames(await client.post(run_input("Hi")))]
    for position in range(len(everything)):
        resumed = await there.get(EVENTS, **{"Last-Event-ID": everything[position].id})
        assert [frame async for frame in read_frames(resumed)] == everything[position + 1 :]


@pytest.mark.parametrize("by", ["request", "copy of the log"])
async def test_a_run_is_stopped_from_elsewhere(client: Client, processes: Processes, by: str):
    async with half_said(client) as (response, _):
        with processes.elsewhere():
            if by == "request":
                assert (await client.http.post("/agent/threads/t1/cancel/")).status_code == 202
            else:
                replica = await processes.find(f"user:{client.user.pk}", "t1")
                await asyncio.to_thread(replica.stop)  # As Django closes a response
        events = await asyncio.wait_for(collect(response), 60)
    assert events[-1]["outcome"] == {"type": "cancelled"}
    assert (await client.thread())["messages"][-1]["content"] == "Half, "


@pytest.mark.parametrize(("reader", "asked"), [(None, 1), (0, 1), (1, 1), (1, 0)])
async def test_a_run_that_nobody_reads_anywhere_makes_way(client: Client, processes, monkeypatch, reader, asked):
    monkeypatch.setattr("agui.contrib.redis.logs.REPLACE_MS", 20_000)
    async with half_said(client, say("Next")) as (response, go_on):
        response.close()  # As a client that aborts: it says nothing, it is gone
        if reader is not None:
            processes.here = processes.all[reader]
            follower = await client.get(EVENTS)
        processes.here = processes.all[asked]
        answer = await client.post(run_input("And now?"))
        assert answer.status_code == (200 if reader is None else 409)
        go_on.set()
        assert (await collect(answer if reader is None else follower))[-1]["type"] == "RUN_FINISHED"
    statuses = [run.status async for run in Run.objects.order_by("started_at")]
    assert statuses == (["cancelled", "finished"] if reader is None else ["finished"])


async def test_the_same_request_elsewhere_runs_once(client: Client, there: Client):
    go_on = asyncio.Event()
    body = run_input("Hi")
    with script([wait(go_on), say("once")]) as model:
        first = await client.post(body)
        second = await there.post(body)
        other = await there.post(run_input("Me too"))
        assert (other.status_code, other["Retry-After"]) == (409, "1")
        go_on.set()
        whole = await body_of(first)
        assert await body_of(second) == whole
        assert await body_of(await there.post(body)) == whole  # And after its end
    assert len(model.requests) == 1


async def test_a_request_at_once_on_all_processes_runs_once(processes: Processes):
    entries = [logs.reserve("user:1", "t1", "same") for logs in processes.all for _ in range(5)]
    found = await asyncio.gather(*entries)
    assert sum(is_new for _, is_new in found) == 1
    assert len({log.key for log, _ in found}) == 1


async def test_a_run_that_has_ended_is_not_active_before_its_worker_tidies_up(
    client: Client, there: Client, processes: Processes, settings
):
    with script(say("Hello.")):
        await client.run("Hi")
    await processes.here.mirror.push()
    # Between the end of the log and the end of the order, the worker may be busy with another run.
    settings.AGUI = {**settings.AGUI, "DURABLE": {"RUN_EXECUTOR": "dbos"}}
    await RunOrder.objects.acreate(run=await Run.objects.aget(), content={"path": "/agent/"})
    with processes.elsewhere() as there:
        run = await Run.objects.aget()
        assert not await there.is_active(run.scope, run.thread_id)
        assert not (await client.thread())["running"]


async def test_nobody_finds_another_user_s_run_or_project_s(
    client: Client, other_client: Client, processes: Processes, settings
):
    scope = f"user:{client.user.pk}"
    async with half_said(client) as (response, go_on):
        with processes.elsewhere() as logs:
            assert (await other_client.get(EVENTS)).status_code == 404
            assert (await other_client.http.post("/agent/threads/t1/cancel/")).status_code == 404
            settings.SECRET_KEY = "another project's, which has a user of this number as well"
            assert await logs.find(scope, "t1") is None
            assert await logs.stop(scope, "t1") is False
        go_on.set()
        assert (await collect(response))[-1]["outcome"] == {"type": "success"}


async def test_who_waits_elsewhere_is_told_of_a_refusal(client: Client, other_client: Client, processes: Processes):
    with script(say("Hi")):
        await client.run("Hi", thread="mine")
    log, _ = await processes.reserve(f"user:{other_client.user.pk}", "mine", "same")
    with processes.elsewhere() as logs:
        waiting, is_new = await logs.reserve(f"user:{other_client.user.pk}", "mine", "same")
    assert not is_new
    processes.all[0].release(log, NotFound("There is no such thread."))
    with pytest.raises(NotFound, match="There is no such thread"):
        await asyncio.wait_for(waiting.started(), 60)


async def test_the_limit_of_a_user_holds_over_all_processes(client: Client, there: Client, settings, monkeypatch):
    settings.AGUI = {"MAX_RUNS_PER_USER": 1}
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")], say("Hi")):
        first = await client.post(run_input("Hi", thread="a"))
        assert (await there.post(run_input("Hi", thread="b"))).status_code == 429
        monkeypatch.setattr("agui.contrib.redis.logs.ENDING_SECONDS", 20)
        go_on.set()
        await collect(first)
        assert (await there.run("Hi", thread="b"))[-1]["type"] == "RUN_FINISHED"


async def test_nothing_is_left_of_a_thread_that_is_deleted_elsewhere(
    client: Client, there: Client, processes: Processes, redis: Redis
):
    async with half_said(client) as (response, _):
        assert (await there.http.delete("/agent/threads/t1/")).status_code == 204
        await asyncio.wait_for(collect(response), 60)
        await asyncio.gather(*live.tasks)
    assert not await get_conversation_model().objects.aexists()
    await processes.pushed()
    assert not redis.keys("agui:l*")


async def test_what_redis_has_of_a_thread_goes_with_it_although_it_was_away(processes: Processes, redis: Redis):
    log = await started(processes)
    await processes.pushed()
    assert redis.exists(f"agui:log:{log.key}")
    processes.server._away_until = math.inf
    await processes.forget("user:1", "t1")
    processes.server._away_until = 0.0
    assert redis.exists(f"agui:log:{log.key}")
    log.append(b"id: 2\ndata: secret\n\n")  # The run has not heard of it yet
    await processes.pushed()
    assert not redis.keys("agui:log:*")
    processes.close(log)
    await processes.pushed()
    assert not redis.keys("agui:log:*")


async def test_what_is_in_redis_goes_by_itself_and_names_nobody(client: Client, processes: Processes, redis: Redis):
    with script(say("Hi")):
        await client.run("Hi", thread="t-secret-id")
    await processes.pushed()
    keys = redis.keys()
    assert keys
    for key in keys:
        assert key.startswith(b"agui:")
        assert redis.pttl(key) > 0, key
        assert b"t-secret-id" not in key
        assert b"user:" not in key


@pytest.mark.parametrize("is_away", [True, False])
async def test_runs_go_on_while_redis_is_away_or_has_forgotten_everything(
    client: Client, there: Client, server: Server, redis: Redis, is_away: bool
):
    async with half_said(client, say("alone")) as (response, go_on):
        early = await there.get(EVENTS)
        if is_away:
            server.stop()
            try:
                # Somebody else's run begins and ends meanwhile.
                assert (await asyncio.wait_for(client.run("Hi", thread="t2"), 60))[-1]["type"] == "RUN_FINISHED"
                assert (await there.get("threads/t2/events/")).status_code == 503
            finally:
                server.start()
        else:
            redis.flushall()
        go_on.set()
        whole, seen = await asyncio.wait_for(asyncio.gather(body_of(response), body_of(early)), 60)
        assert seen == whole
        assert await body_of(await there.get(EVENTS)) == whole
    assert (await client.thread())["messages"][-1]["content"] == "Half, whole."


async def test_nobody_waits_for_long_for_a_redis_that_hangs(
    client: Client, there: Client, processes: Processes, server: Server, intercept, clock: Clock
):
    """The process waits once: until the time of one call is over. Then its runs send Redis nothing."""
    sent, was_sent = [], asyncio.Event()
    intercept(AbstractConnection, "send_packed_command", before=lambda *args: (sent.append(args), was_sent.set()))
    with script(say("Hi"), say("Ho")), server.hanging():
        first = asyncio.create_task(client.run("Hi", thread="t1"))
        await was_sent.wait()
        clock.advance(runlog_server.TIMEOUT_SECONDS)
        assert (await asyncio.wait_for(first, 60))[-1]["type"] == "RUN_FINISHED"
        before = len(sent)
        assert (await client.run("Hi", thread="t2"))[-1]["type"] == "RUN_FINISHED"
        assert len(sent) == before
    # What it did not answer to comes to it now.
    clock.advance(runlog_server.AWAY_SECONDS)
    await processes.mirror.push()
    assert (await there.get("threads/t2/events/")).status_code == 200


async def test_a_redis_that_is_full_stops_nobody(client: Client, processes: Processes, redis: Redis):
    with script(say("Hi")):
        redis.config_set("maxmemory", 1)
        try:
            assert (await client.run("Hi"))[-1]["type"] == "RUN_FINISHED"
        finally:
            redis.config_set("maxmemory", 0)


@pytest.mark.parametrize("forgets", by_day([False, True], 2))
async def test_readers_of_a_dead_process_are_told(
    client: Client, there: Client, processes: Processes, redis: Redis, forgets: bool
):
    async with half_said(client) as (response, _):
        follower = await there.get(EVENTS)
        lines = aiter(follower)
        await anext(lines)
        log = await die(processes)
        if forgets:
            redis.flushall()
        async with asyncio.timeout(60):
            rest = await body_of(lines)
        assert b'"code":"interrupted"' in rest
        assert (await Run.objects.aget()).status == "interrupted"
        # A reader who had seen more than Redis has gets the end, too.
        for number in (len(log.frames) + 1, 999):
            late = await there.get(EVENTS, **{"Last-Event-ID": f"{log.key}:{number}"})
            assert (await body_of(late)).count(b'"code":"interrupted"') == 1
        assert (await there.thread())["messages"][-1]["content"] == "Half, "
        log.stop()
        await collect(response)


async def die(processes: Processes) -> RunLog:
    """What a kill leaves: nobody writes to Redis any more, and a row with a process that is gone."""
    for task in processes.all[0]._tasks:
        task.cancel()
    await asyncio.wait(processes.all[0]._tasks)
    await drafts.checkpoints.write()
    [log] = processes.all[0]._active.values()
    drafts.checkpoints.remove(log.key)
    await Run.objects.aupdate(process=GONE)
    return log


async def test_who_reads_a_run_that_nobody_else_knows_is_told(
    client: Client, other_client: Client, processes: Processes, redis: Redis
):
    with script(say("Before")):
        await client.run("Hi")
    await processes.pushed()
    heard = {key: redis.dump(key) for key in redis.scan_iter()}
    async with half_said(client) as (response, _):
        log = await die(processes)
        redis.flushall()  # The next signal was lost, and not the one before.
        for key, value in heard.items():
            redis.restore(key, 60_000, value)
        with processes.elsewhere():
            told = await client.get(EVENTS, **{"Last-Event-ID": f"{log.key}:2"})
            assert await body_of(told) == encode(log.key, 3, run_error("interrupted", log.key))
            other = await other_client.get(EVENTS, **{"Last-Event-ID": f"{log.key}:2"})
            assert other.status_code == 404
            # Without that name it is the last run that is known.
            assert b"Before" in await body_of(await client.get(EVENTS))
        log.stop()
        await collect(response)


async def test_who_reads_a_run_out_of_reach_is_to_come_again(
    client: Client, there: Client, processes: Processes, redis: Redis
):
    async with half_said(client) as (response, _):
        log = await die(processes)
        await Run.objects.aupdate(process="another host/1/abc")  # Nothing can look at it.
        redis.flushall()
        answer = await there.get(EVENTS, **{"Last-Event-ID": f"{log.key}:2"})
        assert (answer.status_code, answer["Retry-After"]) == (503, "1")
        log.stop()
        await collect(response)


@pytest.mark.parametrize("is_away", [False, True])
async def test_another_process_goes_on_with_a_log_although_redis_was_away(processes: Processes, is_away: bool):
    log = await started(processes)
    if is_away:
        await processes.mirror.push()
        processes.server._away_until = math.inf  # As after a moment in which the event loop stood still
        with pytest.raises(Unavailable):
            await processes.hand_over(log)
        processes.server._away_until = 0.0
    else:
        replica = await processes.hand_over(log)
    with processes.elsewhere() as logs:
        adopted = await logs.adopt(log.key, "user:1", "t1", "same")
        assert adopted.frames == log.frames
        adopted.append(b"id: 2\ndata: {}\n\n")
        await logs.mirror.push()
        logs.close(adopted)
    if is_away:
        replica = await processes.find("user:1", "t1")
    async with asyncio.timeout(60):
        frames = await body_of(replica.follow())
    assert frames == b"".join(adopted.frames)


@pytest.mark.parametrize("is_silent", [False, True], ids=["", "whose own lock has run out"])
@pytest.mark.parametrize("is_adopted", [False, True])
async def test_a_silent_process_goes_on_with_its_log_unless_another_has_it(
    processes: Processes, is_silent: bool, is_adopted: bool
):
    log = whole = await started(processes)
    await processes.mirror.push()
    lock = ThreadKeys.for_thread("user:1", "t1").lock
    ended_for: list[str] = []
    log.fail = ended_for.append
    held = await processes.server.values([lock])
    if is_adopted:
        with processes.elsewhere() as logs:
            whole = await logs.adopt(log.key, "user:1", "t1", "same")
            whole.append(b"id: 2\ndata: {}\n\n")
            await logs.mirror.push()
    if is_silent:
        await processes.server.delete([lock])  # As Redis does after five seconds
    for number in (2, 3):
        log.append(b"id: %d\ndata: other\n\n" % number)
    await processes.mirror.push()
    assert ended_for == (["interrupted"] if is_adopted else [])
    assert await processes.server.frames(log.key) == (whole.frames, False)
    # The run that goes on takes its thread again.
    assert is_adopted or await processes.server.values([lock]) == held


@pytest.mark.parametrize("is_deleted", [False, True])
async def test_what_has_ended_is_not_found_though_redis_has_not_heard_of_its_end(processes: Processes, is_deleted):
    log, _ = await processes.reserve("user:1", "t1", "same")
    processes.here._tasks[0].cancel()  # What tells Redis
    log.start()
    if is_deleted:
        await processes.forget("user:1", "t1")
    processes.close(log)
    asked = processes.find if is_deleted else processes.stop
    assert not await asked("user:1", "t1")


async def test_who_still_asks_when_connections_are_closed_leaves_none_open(server: Server, redis: Redis):
    asked = RedisClient(server.url)
    asked.start()
    assert asked._client
    pool = asked._client.connection_pool
    asking = asyncio.create_task(asked.read({asked.inbox: "0-0"}, 60_000))
    await until(lambda: any(one.is_connected for one in pool._in_use_connections))
    await asked.aclose()
    redis.xadd(asked.inbox, {"run": ""})
    assert asked.inbox in await asking
    assert pool._available_connections
    assert not any(one.is_connected for one in pool._available_connections)


def test_a_job_with_an_event_loop_of_its_own_leaves_no_connection_open(server: Server, redis: Redis):
    logs = RedisLogs(server.url, recovery)
    before = len(redis.client_list())
    assert async_to_sync(logs.find)("user:1", "none") is None
    wait_until(lambda: len(redis.client_list()) == before)
