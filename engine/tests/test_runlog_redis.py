"""With the part redis a run is taken, followed and stopped by any process, and none of it depends on Redis."""

import asyncio
import math
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from daily import by_day

pytest.importorskip("redis")

from django.core.exceptions import ImproperlyConfigured
from redis import Redis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import RedisError
from servers import wait_until

from agui import conf
from agui.contrib.durable.models import RunOrder
from agui.contrib.redis import server as runlog_server
from agui.contrib.redis.conf import RedisSettings
from agui.contrib.redis.logs import RedisLogs
from agui.contrib.redis.server import Server, ThreadKeys
from agui.errors import NotFound, Unavailable
from agui.events.frames import encode, run_error
from agui.models import Run, get_conversation_model
from agui.runlog.memory import RunLog
from agui.runs import drafts, recovery
from agui.runs.live import live
from agui.runs.processes import process_name
from agui.testing import collect, event_types, read_frames, say, wait
from tests.clock import Clock
from tests.conftest import Client, half_said, run_input, script

Thread = get_conversation_model()

REDIS_SERVER = shutil.which("redis-server")
pytestmark = [pytest.mark.skipif(not REDIS_SERVER, reason="redis-server is not installed"), pytest.mark.database]


@pytest.mark.parametrize("url", ["localhost:6379", "http://user:secret@localhost", "redis://:secret/1@localhost"])
def test_a_wrong_url_is_told_without_its_password(settings: Any, url: str):
    settings.AGUI = {"REDIS": {"URL": url}}
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['REDIS'\]\['URL'\]: .*redis://") as error:
        conf.part(RedisSettings)
    assert "secret" not in str(error.value)


# Above every system's limit: no process has this id.
GONE = f"{process_name().rpartition('/')[0].rpartition('/')[0]}/{2**31 - 2}/abc"


class RedisServer:
    """A server of our own, on a socket in a directory."""

    def __init__(self, directory: Path) -> None:
        self.socket = directory / "socket"
        self.url = f"unix://{self.socket}"

    def start(self) -> None:
        options = ["--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(self.socket.parent)]
        self.process = subprocess.Popen(  # our own words
            [str(REDIS_SERVER), *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        with self.client() as client:
            wait_until(lambda: answers(client))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def client(self) -> Redis:
        return Redis.from_url(self.url)

    @contextmanager
    def hanging(self) -> Iterator[None]:
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


def answers(client: Redis) -> bool:
    try:
        return client.ping()
    except (OSError, RedisError):
        return False


class Processes:
    """The logs of two processes instead of this one's."""

    def __init__(self, url: str) -> None:
        self.all = [RedisLogs(url, recovery), RedisLogs(url, recovery)]
        self.here = self.all[0]

    @contextmanager
    def elsewhere(self) -> Iterator[RedisLogs]:
        self.here = self.all[1]
        try:
            yield self.here
        finally:
            self.here = self.all[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.here, name)

    def close(self, log: Any) -> None:
        self._owner(log).close(log)

    def release(self, log: Any, error: BaseException) -> None:
        self._owner(log).release(log, error)

    def _owner(self, log: Any) -> RedisLogs:
        return next(logs for logs in self.all if log in logs._active.values())

    async def aclose(self) -> None:
        for logs in self.all:
            await logs.aclose()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def patience(monkeypatch) -> None:
    """A machine that stands still for seconds is not a Redis that is away."""
    monkeypatch.setattr("agui.contrib.redis.server.TIMEOUT_SECONDS", 20.0)


@pytest.fixture(autouse=True)
async def processes(server: RedisServer, monkeypatch) -> AsyncIterator[Processes]:
    with server.client() as redis:
        redis.flushall()
    processes = Processes(server.url)
    monkeypatch.setattr(live, "logs", processes)
    yield processes
    for logs in processes.all:
        for log in list(logs._active.values()):
            log.stop()
    if live.tasks:
        await asyncio.wait(live.tasks, timeout=60)
    await processes.aclose()


async def body_of(response: Any) -> bytes:
    return b"".join([chunk async for chunk in response])


async def started(processes: Processes) -> RunLog:
    """A log without a run."""
    log, _ = await processes.reserve("user:1", "t1", "same")
    log.start()
    log.append(b"id: 1\ndata: {}\n\n")
    return log


async def test_a_run_is_followed_elsewhere_to_the_same_bytes(client: Client, processes: Processes):
    async with half_said(client) as (response, go_on):
        with processes.elsewhere():
            assert (await client.thread())["running"] is True
            follower = await client.get("threads/t1/events/")
            assert follower.status_code == 200
        go_on.set()
        first, second = await asyncio.gather(body_of(response), body_of(follower))
    assert first == second
    with processes.elsewhere():
        assert await body_of(await client.get("threads/t1/events/")) == first
        assert (await client.thread())["running"] is False


async def test_following_elsewhere_resumes_after_the_last_event(client: Client, processes: Processes):
    with script(say("one two three", chunks=3)):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            everything = [frame async for frame in frames]
    with processes.elsewhere():
        for position in range(len(everything)):
            resumed = await client.get("threads/t1/events/", **{"Last-Event-ID": everything[position].id})
            async with aclosing(read_frames(resumed)) as frames:
                assert [frame async for frame in frames] == everything[position + 1 :]


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
async def test_a_run_makes_way_for_the_next_turn_if_nobody_reads_it_anywhere(
    client: Client, processes, monkeypatch, reader, asked
):
    monkeypatch.setattr("agui.contrib.redis.logs.REPLACE_MS", 20_000)
    reached, go_on = asyncio.Event(), asyncio.Event()
    with script([say("Half"), wait(go_on, reached)], say("Next")):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            await anext(frames)
        await reached.wait()
        response.close()  # As a client that aborts: it says nothing, it is gone
        if reader is not None:
            processes.here = processes.all[reader]
            follower = await client.get("threads/t1/events/")
        processes.here = processes.all[asked]
        answer = await client.post(run_input("And now?"))
        assert answer.status_code == (200 if reader is None else 409)
        go_on.set()
        assert (await collect(answer if reader is None else follower))[-1]["type"] == "RUN_FINISHED"
    statuses = [run.status async for run in Run.objects.order_by("started_at")]
    assert statuses == (["cancelled", "finished"] if reader is None else ["finished"])


async def test_the_same_request_elsewhere_runs_once(client: Client, processes: Processes):
    go_on = asyncio.Event()
    body = run_input("Hi")
    with script([wait(go_on), say("once")]) as model:
        first = await client.post(body)
        with processes.elsewhere():
            second = await client.post(body)
            other = await client.post(run_input("Me too"))
            assert (other.status_code, other["Retry-After"]) == (409, "1")
        go_on.set()
        whole = await body_of(first)
        assert await body_of(second) == whole
        with processes.elsewhere():
            assert await body_of(await client.post(body)) == whole  # And after its end
    assert len(model.requests) == 1


async def test_a_request_at_once_on_all_processes_runs_once(client: Client, processes: Processes):
    entries = [logs.reserve("user:1", "t1", "same") for logs in processes.all for _ in range(5)]
    found = await asyncio.gather(*entries)
    assert sum(is_new for _, is_new in found) == 1
    assert len({log.key for log, _ in found}) == 1


async def test_a_run_that_has_ended_is_not_active_though_its_worker_has_not_tidied_up(
    client: Client, processes: Processes, settings
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


async def test_the_next_turn_may_go_elsewhere_at_once(client: Client, processes: Processes, monkeypatch):
    monkeypatch.setattr("agui.contrib.redis.logs.ENDING_SECONDS", 20)
    with script(say("1"), say("2"), say("3")):
        for number in range(3):
            processes.here = processes.all[number % 2]
            assert (await client.run(f"Number {number}"))[-1]["type"] == "RUN_FINISHED"
    assert len((await client.thread())["messages"]) == 6


async def test_nobody_finds_the_run_of_another_user_or_project(
    client: Client, other_client: Client, processes: Processes, settings
):
    scope = f"user:{client.user.pk}"
    async with half_said(client) as (response, go_on):
        with processes.elsewhere() as logs:
            assert (await other_client.get("threads/t1/events/")).status_code == 404
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


async def test_the_limit_of_a_user_holds_over_all_processes(
    client: Client, processes: Processes, settings, monkeypatch
):
    settings.AGUI = {"MAX_RUNS_PER_USER": 1}
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")], say("Hi")):
        first = await client.post(run_input("Hi", thread="a"))
        with processes.elsewhere():
            assert (await client.post(run_input("Hi", thread="b"))).status_code == 429
        monkeypatch.setattr("agui.contrib.redis.logs.ENDING_SECONDS", 20)
        go_on.set()
        await collect(first)
        with processes.elsewhere():
            assert (await client.run("Hi", thread="b"))[-1]["type"] == "RUN_FINISHED"


async def test_nothing_is_left_of_a_thread_that_is_deleted_elsewhere(
    client: Client, processes: Processes, server: RedisServer
):
    async with half_said(client) as (response, _):
        with processes.elsewhere():
            assert (await client.http.delete("/agent/threads/t1/")).status_code == 204
        await asyncio.wait_for(collect(response), 60)
        await asyncio.gather(*live.tasks)
    assert not await Thread.objects.aexists()
    await pushed(processes)
    with server.client() as redis:
        assert not redis.keys("agui:l*")


async def test_what_redis_has_of_a_thread_goes_with_it_even_if_it_was_away_when_that_was_deleted(
    processes: Processes, server: RedisServer
):
    log = await started(processes)
    await pushed(processes)
    with server.client() as redis:
        assert redis.exists(f"agui:log:{log.key}")
        processes.server._away_until = math.inf
        await processes.forget("user:1", "t1")
        processes.server._away_until = 0.0
        assert redis.exists(f"agui:log:{log.key}")
        log.append(b"id: 2\ndata: secret\n\n")  # The run has not heard of it yet
        await pushed(processes)
        assert not redis.keys("agui:log:*")
        processes.close(log)
        await pushed(processes)
        assert not redis.keys("agui:log:*")


async def pushed(processes: Processes) -> None:
    """Wait until Redis has all that the processes have to tell it."""
    for logs in processes.all:
        if logs._tasks:
            await logs.mirror.push()


async def test_what_is_in_redis_goes_by_itself_and_names_nobody(
    client: Client, processes: Processes, server: RedisServer
):
    with script(say("Hi")):
        await client.run("Hi", thread="t-secret-id")
    await pushed(processes)
    with server.client() as redis:
        keys = redis.keys()
        assert keys
        for key in keys:
            assert key.startswith(b"agui:")
            assert redis.pttl(key) > 0, key
            assert b"t-secret-id" not in key
            assert b"user:" not in key


async def test_a_run_survives_a_redis_that_forgets_everything(
    client: Client, processes: Processes, server: RedisServer
):
    async with half_said(client) as (response, go_on):
        with processes.elsewhere():
            early = await client.get("threads/t1/events/")
        with server.client() as redis:
            redis.flushall()
        go_on.set()
        whole, seen = await asyncio.gather(body_of(response), body_of(early))
        assert seen == whole
        with processes.elsewhere():
            assert await body_of(await client.get("threads/t1/events/")) == whole


async def test_runs_go_on_while_redis_is_away_and_are_read_elsewhere_when_it_is_back(
    client: Client, processes: Processes, server: RedisServer
):
    async with half_said(client, say("alone")) as (response, go_on):
        with processes.elsewhere():
            early = await client.get("threads/t1/events/")
        server.stop()
        try:
            # Somebody else's run begins and ends meanwhile.
            events = await asyncio.wait_for(client.run("Hi", thread="t2"), 60)
            assert event_types(events)[-1] == "RUN_FINISHED"
            with processes.elsewhere():
                assert (await client.get("threads/t2/events/")).status_code == 503
        finally:
            server.start()
        go_on.set()
        whole, seen = await asyncio.wait_for(asyncio.gather(body_of(response), body_of(early)), 60)
    assert seen == whole
    assert (await client.thread())["messages"][-1]["content"] == "Half, whole."


async def test_nobody_waits_for_long_for_a_redis_that_hangs(
    client: Client, processes: Processes, server: RedisServer, monkeypatch, clock: Clock
):
    """The process waits once: until the time of one call is over. Then its runs send Redis nothing."""
    send, sent, was_sent = AbstractConnection.send_packed_command, [], asyncio.Event()

    async def send_and_count(self, command, **options):
        sent.append(command)
        was_sent.set()
        await send(self, command, **options)

    monkeypatch.setattr(AbstractConnection, "send_packed_command", send_and_count)
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
    with processes.elsewhere():
        assert (await client.get("threads/t2/events/")).status_code == 200


async def test_a_redis_that_is_full_stops_nobody(client: Client, processes: Processes, server: RedisServer):
    with server.client() as redis, script(say("Hi")):
        redis.config_set("maxmemory", 1)
        try:
            assert (await client.run("Hi"))[-1]["type"] == "RUN_FINISHED"
        finally:
            redis.config_set("maxmemory", 0)


@pytest.mark.parametrize("forgets", by_day([False, True], 2))
async def test_readers_of_a_dead_process_are_told(
    client: Client, processes: Processes, server: RedisServer, forgets: bool
):
    async with half_said(client) as (response, _):
        with processes.elsewhere():
            follower = await client.get("threads/t1/events/")
        lines = aiter(follower)
        await anext(lines)
        log = await die(processes)
        if forgets:
            with server.client() as redis:
                redis.flushall()
        async with asyncio.timeout(60):
            rest = b"".join([chunk async for chunk in lines])
        assert b'"code":"interrupted"' in rest
        assert (await Run.objects.aget()).status == "interrupted"
        with processes.elsewhere():
            # A reader who had seen more than Redis has gets the end, too.
            for number in (len(log.frames) + 1, 999):
                late = await client.get("threads/t1/events/", **{"Last-Event-ID": f"{log.key}:{number}"})
                assert (await body_of(late)).count(b'"code":"interrupted"') == 1
            assert (await client.thread())["messages"][-1]["content"] == "Half, "
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


async def test_who_reads_a_run_that_nobody_else_has_heard_of_is_told(
    client: Client, other_client: Client, processes: Processes, server: RedisServer
):
    reached = asyncio.Event()
    with script(say("Before"), [say("Half"), wait(asyncio.Event(), reached)]):
        await client.run("Hi")
        await pushed(processes)
        with server.client() as redis:
            heard = {key: redis.dump(key) for key in redis.scan_iter()}
        response = await client.post(run_input("And now?"))
        await reached.wait()
        log = await die(processes)
        with server.client() as redis:
            redis.flushall()  # The next signal was lost, and not the one before.
            for key, value in heard.items():
                redis.restore(key, 60_000, value)
        with processes.elsewhere():
            told = await client.get("threads/t1/events/", **{"Last-Event-ID": f"{log.key}:2"})
            assert await body_of(told) == encode(log.key, 3, run_error("interrupted", log.key))
            other = await other_client.get("threads/t1/events/", **{"Last-Event-ID": f"{log.key}:2"})
            assert other.status_code == 404
            # Without that name it is the last run that is known.
            assert b"Before" in await body_of(await client.get("threads/t1/events/"))
        log.stop()
        await collect(response)


async def test_who_reads_a_run_that_is_out_of_reach_is_to_come_again(
    client: Client, processes: Processes, server: RedisServer
):
    async with half_said(client) as (response, _):
        log = await die(processes)
        await Run.objects.aupdate(process="another host/1/abc")  # Nothing can look at it.
        with server.client() as redis:
            redis.flushall()
        with processes.elsewhere():
            answer = await client.get("threads/t1/events/", **{"Last-Event-ID": f"{log.key}:2"})
            assert (answer.status_code, answer["Retry-After"]) == (503, "1")
        log.stop()
        await collect(response)


@pytest.mark.parametrize("is_away", [False, True])
async def test_another_process_goes_on_with_a_log_even_if_redis_was_away_when_it_was_left(
    processes: Processes, is_away: bool
):
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
        frames = b"".join([chunk async for chunk in replica.follow()])
    assert frames == b"".join(adopted.frames)


@pytest.mark.parametrize("is_silent", [False, True], ids=["", "whose own lock has run out"])
async def test_a_process_that_comes_back_adds_nothing_to_a_log_that_another_goes_on_with(
    processes: Processes, is_silent
):
    frozen = await started(processes)
    await processes.mirror.push()
    ended_for: list[str] = []
    frozen.fail = ended_for.append
    with processes.elsewhere() as logs:
        adopted = await logs.adopt(frozen.key, "user:1", "t1", "same")
        adopted.append(b"id: 2\ndata: {}\n\n")
        await logs.mirror.push()
        if is_silent:
            await logs.server.delete([ThreadKeys.for_thread("user:1", "t1").lock])
    for number in (2, 3):
        frozen.append(b"id: %d\ndata: other\n\n" % number)
    await processes.mirror.push()
    assert ended_for == ["interrupted"]
    assert await processes.server.frames(frozen.key) == (adopted.frames, False)


async def test_a_process_that_was_silent_goes_on_with_its_log_and_takes_its_thread_again(processes: Processes):
    log = await started(processes)
    await processes.mirror.push()
    lock = ThreadKeys.for_thread("user:1", "t1").lock
    failed: list[str] = []
    log.fail = failed.append
    [held] = await processes.server.values([lock])
    await processes.server.delete([lock])  # As Redis does after five seconds
    log.append(b"id: 2\ndata: {}\n\n")
    await processes.mirror.push()
    assert await processes.server.values([lock]) == [held]
    assert await processes.server.frames(log.key) == (log.frames, False)
    assert failed == []


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


async def test_who_still_asks_when_connections_are_closed_gets_an_answer_and_leaves_none_open(server: RedisServer):
    asked = Server(server.url)
    asked.start()
    assert asked._client
    pool = asked._client.connection_pool
    asking = asyncio.create_task(asked.read({asked.inbox: "0-0"}, 60_000))
    while not any(one.is_connected for one in pool._in_use_connections):  # noqa: ASYNC110 # nothing else tells it
        await asyncio.sleep(0)
    await asked.aclose()
    with server.client() as redis:
        redis.xadd(asked.inbox, {"run": ""})
    assert asked.inbox in await asking
    assert pool._available_connections
    assert not any(one.is_connected for one in pool._available_connections)


def test_a_job_with_an_event_loop_of_its_own_leaves_no_connection_open(server: RedisServer):
    logs = RedisLogs(server.url, recovery)
    with server.client() as redis:
        before = len(redis.client_list())
        assert async_to_sync(logs.find)("user:1", "t1") is None
        wait_until(lambda: len(redis.client_list()) == before)
