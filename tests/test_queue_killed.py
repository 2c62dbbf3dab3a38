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
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any
from uuid import uuid4

import pytest
from gates import Point, fetch, gates
from postgresql import PostgreSQL
from queue_talks import Talk, user_texts
from reading import Reading
from redis_server import RedisServer
from servers import HANG_SECONDS, Client, Daphne, free_port, run_input, serve, wait_until

pytestmark = pytest.mark.servers

AT_ONCE = 8
MESSAGES = 14
"""Of one talk."""
SEED = int(os.environ.get("SEED", "0"))
TALKS = int(os.environ.get("TALKS", "75"))


class Worker:
    """A process that executes runs."""

    def __init__(self, live: Daphne) -> None:
        self.live = live

    def start(self) -> None:
        self.process = self.live.begin_worker()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


class Site:
    """Two processes that serve, those that execute runs, if the site has any, and the points that they reach."""

    def __init__(self, servers: list[Daphne], workers: list[Worker], gates_port: int) -> None:
        self.servers, self.workers, self.gates_port = servers, workers, gates_port
        self.has_workers = bool(workers)
        self.disturbances = 0
        """It is even while all processes are there, and grows when one goes and when it is back."""
        self.kinds: dict[str, int] = {}
        """How many processes were ended, by how and when."""
        self.stuck: list[int] = []
        """The processes that did not end when they were told to."""
        self.disturbing = asyncio.Lock()
        self.talks: dict[str, Talk] = {}

    async def fetch(self, process: int, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        server = self.servers[process]
        return await fetch(server.port, server.token, method, path, body)

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
        self.disturbances += 1
        everybody: list[Any] = [*self.servers, *self.workers]
        own = [each for each in everybody if point and each.process.pid == point.pid]
        ending = chance.choice(own if own and chance.random() < 0.8 else everybody)
        number = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
        what = f"{number.name} at {point.name if point else 'rest'}"
        self.kinds[what] = self.kinds.get(what, 0) + 1
        if point:
            self.talks[point.thread].log.append(f"{what}: {ending.process.pid}")
        ending.process.send_signal(number)
        self.restarting = asyncio.create_task(asyncio.to_thread(self.restart, ending))
        self.restarting.add_done_callback(self.end_disturbance)

    def restart(self, ending: Any) -> None:
        try:
            ending.process.wait(timeout=HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.stuck.append(ending.process.pid)
            ending.process.kill()
            ending.process.wait()
        ending.start()

    def end_disturbance(self, task: "asyncio.Task[None]") -> None:
        self.disturbances += 1
        self.disturbing.release()
        task.result()

    async def play(self, seed: int, talks: int, messages: int, disturbing: float) -> None:
        """Let many talks go on at once, and raise what was wrong with them."""
        self.disturbing = asyncio.Lock()
        self.talks, self.kinds = {}, {}
        places = asyncio.Semaphore(AT_ONCE)

        async def play_one(number: int) -> Talk:
            async with places:
                talk = Talk(self, f"{seed}-{number}", messages, disturbing)
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
        statuses = [each.status for each in sent]
        print(
            f"seed {seed}: {len(sent)} messages, { ({each: statuses.count(each) for each in set(statuses)}) }, "
            f"{sum(bool(each.read) for each in sent)} read, {sum(bool(each.due) for each in sent)} due, {self.kinds}"
        )
        assert not wrong, "\n".join(["", *wrong[0].log, "", *(each for talk in wrong for each in talk.mistakes)])
        assert self.stuck == []
        if errors:
            raise errors[0]


Serving = Callable[..., AbstractContextManager[Site]]


@pytest.fixture(scope="module")
def serving(furnished, postgresql_server: PostgreSQL) -> Serving:
    """Serve a project with a database of this name, and with so many workers."""
    project = furnished("queued")

    @contextmanager
    def serving(database: str, *, workers: int = 0) -> Iterator[Site]:
        port, redis = free_port(), RedisServer(project)
        settings = {
            "DJANGO_SETTINGS_MODULE": "queued_settings",
            "AGENT_MODEL": "python:gated.model",
            "GATES_PORT": str(port),
            "DATABASE_URL": postgresql_server.create(database),
            "REDIS_URL": redis.url,
            **({"RUN_EXECUTOR": "dbos"} if workers else {}),
        }
        with redis, ExitStack() as stack:
            servers = [stack.enter_context(serve(project, Daphne, **settings)) for _ in range(2)]
            executing = [Worker(servers[0]) for _ in range(workers)]
            for worker in executing:
                worker.start()
                stack.callback(worker.end)
            yield Site(servers, executing, port)

    return serving


@pytest.fixture(scope="module")
def site(serving: Serving) -> Iterator[Site]:
    with serving("queued") as site:
        yield site


def run(talking: Coroutine[Any, Any, None]) -> None:
    """Run it on a thread of its own: Playwright's event loop may be on in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, talking).result()


def seed_of_now() -> int:
    return SEED or time.time_ns() % 10**9


def test_no_message_is_lost_or_read_twice(site: Site):
    run(site.play(seed_of_now(), talks=3, messages=8, disturbing=0.03))


@pytest.mark.nightly
def test_none_of_a_thousand_messages_is_lost_or_read_twice(site: Site):
    run(site.play(seed_of_now(), TALKS, MESSAGES, disturbing=0.03))


@pytest.mark.nightly
def test_none_of_a_thousand_messages_is_lost_or_read_twice_with_workers(serving: Serving):
    with serving("queued_for_workers", workers=2) as site:
        run(site.play(seed_of_now(), TALKS, MESSAGES, disturbing=0.03))


# --- The project's own code, in another process


class Job:
    """A command of the project that sends a message and follows the answer."""

    def __init__(self, site: Site, thread: str, mode: str, text: str) -> None:
        live = site.servers[0]
        command = ["manage.py", "tell_agent", live.username, thread, mode, text]
        self.process = live.begin(*command, stdout=subprocess.PIPE)

    async def line(self) -> dict[str, Any]:
        assert self.process.stdout
        return json.loads(await asyncio.to_thread(self.process.stdout.readline))

    async def event(self, name: str) -> dict[str, Any]:
        """Read up to an event with this name."""
        while True:
            event = await self.line()
            if event.get("name") == name:
                return event

    async def end(self) -> list[dict[str, Any]]:
        """The events that it has not printed before."""
        output, _ = await asyncio.to_thread(self.process.communicate)
        assert self.process.returncode == 0
        return [json.loads(line) for line in output.splitlines()]


def points_of(thread: str, points: "asyncio.Queue[Point]") -> Callable[[Point], None]:
    return lambda point: points.put_nowait(point) if point.thread == thread else None


async def pass_points(points: "asyncio.Queue[Point]", *names: str) -> list[Point]:
    passed = []
    for name in names:
        point = await points.get()
        assert point.name == name
        point.release("text" if name == "request" else "go on")
        passed.append(point)
    return passed


def test_a_job_begins_a_run_that_pages_can_follow(site: Site):
    thread = str(uuid4())

    async def play() -> None:
        points: asyncio.Queue[Point] = asyncio.Queue()
        async with asyncio.timeout(120), gates(site.gates_port, points_of(thread, points)):
            job = Job(site, thread, "queue", "report")
            assert await job.line() == {"state": "read"}
            point = await points.get()
            assert (point.pid, point.prompts) == (job.process.pid, ["report"])
            page = Reading(thread)
            watching = asyncio.create_task(asyncio.to_thread(page.read_to_the_end, site.client(1)))
            await asyncio.to_thread(wait_until, lambda: page.frames)
            point.release("text")
            await pass_points(points, "text", "end")
            await watching
            seen = page.events
            assert await job.end() == seen
        kinds = [event["type"] for event in seen]
        assert (kinds[0], kinds[-1]) == ("RUN_STARTED", "RUN_FINISHED")
        assert [event["value"]["messageId"] for event in seen if event["type"] == "CUSTOM"] == ["report"]

    run(play())


def test_a_job_speaks_into_the_run_of_a_server(site: Site):
    thread = str(uuid4())

    async def play() -> None:
        points: asyncio.Queue[Point] = asyncio.Queue()
        async with asyncio.timeout(120), gates(site.gates_port, points_of(thread, points)):
            assert (await site.fetch(0, "POST", "/agent/", run_input("Go", threadId=thread)))[0] == 200
            point = await points.get()
            assert point.pid == site.pid(0)
            job = Job(site, thread, "steer", "report")
            assert await job.line() == {"state": "waiting"}
            page = Reading(thread)
            watching = asyncio.create_task(asyncio.to_thread(page.read_to_the_end, site.client(1)))
            async with asyncio.timeout(60):
                # The job's words come to the other process through Redis.
                told = await job.event("message_queued")
            assert told["value"]["messageId"] == "report"
            point.release("text")
            *_, second, _, _ = await pass_points(points, "text", "end", "request", "text", "end")
            assert (second.prompts, second.run) == (["Go", "report"], point.run)
            await job.end()
            await watching
        assert "message_delivered" in [event.get("name") for event in page.events]
        assert user_texts(site.client(1).thread(thread)) == ["Go", "report"]

    run(play())
