"""Messages while the agent works, over two processes with PostgreSQL and Redis: none is lost, none is read twice.

Talks are generated (queue_talks.py), many at once. Processes are killed and told to end while their agents are at every
point. The model itself says what it has read.
"""

import asyncio
import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from daily import at_night, rows_at_night
from gates import Point, fetch, gates
from postgresql import PostgreSQL
from queue_talks import Talk
from reading import Reading
from redis_server import RedisServer
from servers import HANG_SECONDS, Client, Daphne, LiveProject, Worker, contents, free_port, run_input, serve, wait_until

pytestmark = pytest.mark.servers

AT_ONCE = 8
SEED = int(os.environ.get("SEED", "0"))
TALKS = int(os.environ.get("TALKS", "75"))


class Site:
    """Two processes that serve, those that execute runs, if the site has any, and the points that they reach."""

    def __init__(self, servers: list[Daphne], workers: list[Worker], gates_port: int) -> None:
        self.servers, self.workers, self.gates_port = servers, workers, gates_port
        self.kinds: Counter[str] = Counter()
        """How many processes were ended, by how and when."""
        self.stuck: list[int] = []
        """The processes that did not end when they were told to."""
        self.disturbing = asyncio.Lock()
        self.talks: dict[str, Talk] = {}

    async def fetch(self, process: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        return await fetch(self.client(process), method, path, body)

    def client(self, process: int) -> Client:
        return self.servers[process].client(self.servers[process].token)

    def pid(self, process: int) -> int:
        return self.servers[process].process.pid

    def arrive(self, point: Point) -> None:
        talk = self.talks.get(point.thread)
        if talk:
            talk.arrive(point)

    async def disturb(self, chance: random.Random, point: Point | None) -> None:
        """End a process, most often the one that is at this point, and start it again in the background."""
        if self.disturbing.locked():
            return
        await self.disturbing.acquire()
        everybody = [*self.servers, *self.workers]
        own = [each for each in everybody if point and each.process.pid == point.pid]
        ending = chance.choice(own if own and chance.random() < 0.8 else everybody)
        number = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        what = f"{number.name} at {point.name if point else 'rest'}"
        self.kinds[what] += 1
        if point:
            self.talks[point.thread].log.append(f"{what}: {ending.process.pid}")
        ending.process.send_signal(number)
        self.restarting = asyncio.create_task(asyncio.to_thread(self.restart, ending))
        self.restarting.add_done_callback(lambda _: self.disturbing.release())

    def restart(self, ending: LiveProject) -> None:
        try:
            ending.process.wait(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.stuck.append(ending.process.pid)
            ending.kill()
        ending.start()

    async def play(self, talks: int, messages: int) -> None:
        """Let many talks go on at once, and raise what was wrong with them."""
        seed = SEED or time.time_ns() % 10**9
        self.disturbing = asyncio.Lock()
        self.talks, self.kinds = {}, Counter()
        places = asyncio.Semaphore(AT_ONCE)

        async def play_one(number: int) -> Talk:
            async with places:
                talk = Talk(self, f"{seed}-{number}", messages)
                self.talks[talk.thread] = talk
                await talk.drive()
                return talk

        async with gates(self.gates_port, self.arrive):
            ended = await asyncio.gather(*map(play_one, range(talks)), return_exceptions=True)
            async with self.disturbing:
                pass  # All processes are there again.
        wrong = [talk for talk in self.talks.values() if talk.mistakes]
        errors = [each for each in ended if isinstance(each, BaseException)]
        sent = [sent for talk in self.talks.values() for sent in talk.sent.values()]
        statuses = Counter(each.status for each in sent)
        print(f"seed {seed}: {dict(statuses)}, {sum(bool(each.read) for each in sent)} read, {dict(self.kinds)}")
        assert not wrong, "\n".join(["", *wrong[0].log, "", *(each for talk in wrong for each in talk.mistakes)])
        assert self.stuck == []
        if errors:
            raise errors[0]


@pytest.fixture(scope="module", params=[0, *at_night(2)], ids=["servers", "workers"])
def site(request: pytest.FixtureRequest, furnished, postgresql_server: PostgreSQL) -> Iterator[Site]:
    """Two servers, and so many workers."""
    project, port = furnished("queued"), free_port()
    with RedisServer(project) as redis, ExitStack() as stack:
        settings = {
            "DJANGO_SETTINGS_MODULE": "queued_settings",
            "AGENT_MODEL": "python:gated.model",
            "GATES_PORT": str(port),
            "DATABASE_URL": postgresql_server.create(f"queued_{request.param}"),
            "REDIS_URL": redis.url,
            "RUN_EXECUTOR": "dbos" if request.param else "local",
        }
        servers = [stack.enter_context(serve(project, Daphne, **settings)) for _ in range(2)]
        site = Site(servers, [servers[0].start_worker() for _ in range(request.param)], port)
        for worker in site.workers:
            stack.callback(worker.kill)
        yield site


def run(talking: Coroutine[Any, Any, None]) -> None:
    """Run it on a thread of its own: Playwright's event loop may be on in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, talking).result()


@pytest.mark.parametrize(("talks", "messages"), [(3, 8), *rows_at_night((TALKS, 14))])
def test_no_message_is_lost_or_read_twice(site: Site, talks: int, messages: int):
    run(site.play(talks, messages))


# --- The project's own code, in another process


class Job:
    """A command of the project that sends a message and follows the answer."""

    def __init__(self, site: Site, thread: str, mode: str, text: str) -> None:
        live = site.servers[0]
        command = ["manage.py", "tell_agent", live.username, thread, mode, text]
        self.process = live.begin(*command, stdout=subprocess.PIPE)

    async def line(self) -> dict[str, Any]:
        return json.loads(await asyncio.to_thread(self.process.stdout.readline))

    async def end(self) -> list[dict[str, Any]]:
        """The events that it has not printed before."""
        output, _ = await asyncio.to_thread(self.process.communicate)
        assert self.process.returncode == 0
        return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("site", [0], indirect=True, ids=["servers"])
def test_a_job_begins_a_run_that_pages_follow_and_speaks_into_the_run_of_a_server(site: Site):
    thread = str(uuid4())
    points: asyncio.Queue[Point] = asyncio.Queue()

    def arrive(point: Point) -> None:
        if point.thread == thread:
            points.put_nowait(point)

    async def pass_points(*names: str) -> list[Point]:
        passed = []
        for name in names:
            point = await points.get()
            assert point.name == name
            point.release("text" if name == "request" else "go on")
            passed.append(point)
        return passed

    def watch(page: Reading) -> "asyncio.Task[Reading]":
        return asyncio.create_task(asyncio.to_thread(page.read_to_the_end, site.client(1)))

    async def play() -> None:
        async with asyncio.timeout(240), gates(site.gates_port, arrive):
            job, page = Job(site, thread, "queue", "report"), Reading(thread)
            assert await job.line() == {"state": "read"}
            point = await points.get()
            assert (point.pid, point.prompts) == (job.process.pid, ["report"])
            watching = watch(page)
            await asyncio.to_thread(wait_until, lambda: page.frames)
            point.release("text")
            await pass_points("text", "end")
            await watching
            assert await job.end() == page.events
            kinds = [event["type"] for event in page.events]
            assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
            assert [event["value"]["messageId"] for event in page.events if event["type"] == "CUSTOM"] == ["report"]

            assert (await site.fetch(0, "POST", "/agent/", run_input("Go", threadId=thread)))[0] == 200
            point = await points.get()
            assert point.pid == site.pid(0)
            job, page = Job(site, thread, "steer", "addition"), Reading(thread)
            assert await job.line() == {"state": "waiting"}
            watching = watch(page)
            # The job's words come to the other process through Redis.
            while (told := await job.line()).get("name") != "message_queued":
                pass
            assert told["value"]["messageId"] == "addition"
            point.release("text")
            *_, second, _, _ = await pass_points("text", "end", "request", "text", "end")
            assert (second.prompts, second.run) == (["report", "Go", "addition"], point.run)
            await job.end()
            await watching
        assert "message_delivered" in [event.get("name") for event in page.events]
        assert contents(site.client(1).thread(thread), "user") == ["report", "Go", "addition"]

    run(play())
