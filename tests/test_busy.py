"""A process that is busy, stopped, slow or in another place is alive: its runs go on, and nothing is done twice.

BUSY_SECONDS says for how long they are kept busy, ROUNDS how often. That time is the input of these tests: nothing may
happen in it, however long it is.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pytest
from elsewhere import elsewhere, send_signal
from postgresql import PostgreSQL
from reading import Reading
from redis_server import RedisServer
from servers import HANG_SECONDS, Client, Daphne, LiveProject, Worker, free_port, run_input, serve, wait_until

pytestmark = [pytest.mark.servers, pytest.mark.nightly, pytest.mark.alone]

ROUNDS = int(os.environ.get("ROUNDS", "1"))
# Well past the time after which a process that says nothing may count as dead, and another one has looked.
BUSY_SECONDS = float(os.environ.get("BUSY_SECONDS", "18"))

# The database's clock, as the engine asks for it, which tests set; and what makes heartbeats wait.
DISTURB = """
CREATE TABLE public.disturbance (shift interval NOT NULL, wait_seconds float NOT NULL);
INSERT INTO public.disturbance VALUES ('0', 0);
CREATE FUNCTION public.statement_timestamp() RETURNS timestamptz LANGUAGE sql
    AS 'SELECT pg_catalog.statement_timestamp() + shift FROM public.disturbance';
CREATE FUNCTION public.wait() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep((SELECT wait_seconds FROM public.disturbance)); RETURN NULL; END $$;
CREATE TRIGGER wait BEFORE UPDATE OF seen_at ON agui_run FOR EACH STATEMENT EXECUTE FUNCTION public.wait();
ALTER DATABASE {name} SET search_path = public, pg_catalog;
"""


class Executor(Daphne):
    """A web process that is disturbed: what it says to that is no mistake."""

    @property
    def log(self) -> Path:
        return self.path / "executors.log"


class Site:
    """Processes with one database and one Redis. In the durable one, those that execute runs are workers."""

    def __init__(self, watcher: Daphne, query: Callable[[str], list[str]], stack: ExitStack) -> None:
        self.watcher, self.query, self.stack = watcher, query, stack
        self.path = watcher.path
        self.is_durable = watcher.settings["RUN_EXECUTOR"] == "dbos"
        self.executors: dict[str, LiveProject] = {}

    def add(self, name: str) -> None:
        prefix, environment = elsewhere() if name.startswith("elsewhere") else ([], {})
        settings = {**self.watcher.settings, **environment, "PROCESS": name}
        kind, port = (Worker, 0) if self.is_durable else (Executor, free_port())
        live = kind(self.path, port, "", "", self.watcher.token, settings, prefix)
        live.start()
        self.stack.callback(live.kill)
        self.executors[name] = live

    def client(self, name: str = "") -> Client:
        """Make a client of the process that begins the runs of this one, or of the watcher."""
        live = self.watcher if self.is_durable else self.executors.get(name, self.watcher)
        return live.client(live.token)

    @contextmanager
    def stopped(self, name: str) -> Iterator[None]:
        send_signal(self.executors[name].process, signal.SIGSTOP)
        try:
            yield
        finally:
            send_signal(self.executors[name].process, signal.SIGCONT)

    @contextmanager
    def disturbed(self, column: str, value: str) -> Iterator[None]:
        self.query(f"UPDATE public.disturbance SET {column} = {value}")  # noqa: S608
        try:
            yield
        finally:
            self.query("UPDATE public.disturbance SET shift = '0', wait_seconds = 0")


class Run(Reading):
    """A run as a client sees it that follows it through a process that nothing disturbs."""

    def __init__(self, site: Site, kind: str, name: str) -> None:
        super().__init__(f"thread-{name}")
        self.site, self.kind, self.name = site, kind, name
        self.client = site.client()

    def begin(self, process: str) -> "Run":
        body = run_input(f"{self.kind} {self.name}", threadId=self.thread_id)
        with self.site.client(process).open("POST", "/agent/", body) as response:
            assert response.status == 200, response.read()
        return self

    def follow(self) -> Reading:
        """Read to the end, from the beginning. One process may have to do with all runs one after the other."""
        return self.read_to_the_end(self.client, seconds=HANG_SECONDS + 10 * BUSY_SECONDS)

    def effects(self) -> list[list[str]]:
        """What has been done for it: the tool, its name, by which process, and when."""
        lines = (self.site.path / "effects").read_text().splitlines()
        return [effect for effect in map(str.split, lines) if effect[1] == self.name]

    def executor(self) -> str:
        """Which process has called its first tool."""
        return wait_until(self.effects)[0][2]

    def go_on(self) -> None:
        """Tell the agent that this is enough."""
        (self.site.path / f"enough-{self.name}").touch()

    def check_busy(self, after_seconds: float = 0) -> None:
        """Nobody else may begin on its thread, so long after its first tool has begun."""
        began = float(wait_until(self.effects)[0][3])
        time.sleep(max(0, began + after_seconds - time.time()))
        assert self.client.thread(self.thread_id)["running"]
        body = run_input("talk intruder", threadId=self.thread_id)
        status, text = self.client.fetch("POST", "/agent/", body)
        assert status == 409, text
        self.go_on()

    def check_end(self) -> None:
        """It has ended as if nothing had been, and what it said and did is in its thread."""
        assert self.last.get("outcome") == {"type": "success"}, (self.name, self.last)
        assert [event["type"] for event in self.events].count("RUN_STARTED") == 1
        expected = [*([self.kind] if self.kind != "talk" else []), "effect", "last"]
        assert [effect[0] for effect in self.effects()] == expected
        thread = self.client.thread(self.thread_id)
        assert not thread["running"]
        assert [message["role"] for message in thread["messages"]].count("tool") == len(expected)
        assert thread["messages"][-1]["content"].endswith(f"and that is all of {self.name}.")


@pytest.fixture(scope="module", params=["local", "dbos"])
def site(
    request: pytest.FixtureRequest, furnished, postgresql_server: PostgreSQL, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    name = f"busy_{request.param}"
    with RedisServer(tmp_path_factory.mktemp("redis")) as redis, ExitStack() as stack:
        settings = {
            "DJANGO_SETTINGS_MODULE": "busy_settings",
            "DATABASE_URL": postgresql_server.create(name),
            "REDIS_URL": redis.url,
            "RUN_EXECUTOR": request.param,
            "DEBUG": "1",
        }
        watcher = stack.enter_context(serve(furnished("busy"), Daphne, **settings))
        site = Site(watcher, partial(postgresql_server.query, name), stack)
        site.query(DISTURB.format(name=name))
        yield site
        assert "Traceback" not in watcher.log.read_text()


@pytest.fixture
def executors(site: Site) -> list[str]:
    """The processes that execute runs: two of this place, two of others."""
    names = ["here-1", "here-2", "elsewhere-1", "elsewhere-2"]
    with ThreadPoolExecutor() as pool:
        list(pool.map(site.add, [name for name in names if name not in site.executors]))
    return names


def begin_runs(site: Site, executors: list[str], label: str, *kinds: str) -> list[Run]:
    """A run of each kind for each of the processes, which in the durable executor take what they get."""
    with ThreadPoolExecutor() as pool:  # Begun one after the other, the first would be over before the last begins
        begun = []
        for number, executor in enumerate(executors):
            for kind in kinds:
                run = Run(site, kind, f"{label}-{kind}-{number}")
                begun.append(pool.submit(run.begin, executor))
        return [one.result() for one in begun]


@contextmanager
def followed(runs: list[Run]) -> Iterator[None]:
    """Follow all of them meanwhile, and check how they have ended."""
    with ThreadPoolExecutor(len(runs)) as pool:
        following = [pool.submit(run.follow) for run in runs]
        yield
        for run, one in zip(runs, following, strict=True):
            one.result()
            run.check_end()


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_blocked_event_loop_ends_no_run(site: Site, executors: list[str], number: int):
    talks = begin_runs(site, executors, f"blocked-{number}", "talk")
    # A worker may take all of them: then it is blocked by one after the other.
    blocked = executors[::2] if site.is_durable else executors
    blocks = begin_runs(site, blocked, f"blocked-{number}", "block")
    with followed([*talks, *blocks]), ThreadPoolExecutor(len(blocks)) as pool:
        for one in [pool.submit(run.check_busy, BUSY_SECONDS) for run in blocks]:
            one.result()
        for run in talks:
            run.go_on()


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_stopped_process_keeps_its_runs(site: Site, executors: list[str], number: int):
    """Some of them in another place, as a container is that is paused."""
    runs = begin_runs(site, executors, f"stopped-{number}", "work")
    with followed(runs):
        names = {run.executor() for run in runs}
        with ExitStack() as stack:
            for name in names:
                stack.enter_context(site.stopped(name))
            time.sleep(BUSY_SECONDS)
            for run in runs:
                run.check_busy()


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_slow_database_whose_clock_is_set_ends_no_run(site: Site, executors: list[str], number: int):
    runs = begin_runs(site, executors, f"slow-{number}", "talk")
    with followed(runs):
        wait_until(lambda: site.query("SELECT count(*) FROM agui_run WHERE process = ''") == ["0"])
        # First heartbeats come with another clock, and then late.
        late = str(BUSY_SECONDS * 0.8)
        for column, value in (("shift", "'1 hour'"), ("shift", "'-1 hour'"), ("wait_seconds", late)):
            with site.disturbed(column, value):
                time.sleep(BUSY_SECONDS / (2 if value == late else 4))
        for run in runs:
            run.go_on()


def test_a_killed_process_of_another_place_is_missed(site: Site, executors: list[str]):
    """The proof is not too hard to find: its lock is gone, and it is silent."""
    if site.is_durable:  # Workers take what they get, and those of this place could take all
        for name in executors[:2]:
            site.executors.pop(name).kill()
    runs = begin_runs(site, executors, "killed", "work")
    names = {run.name: run.executor() for run in runs}
    killed = next(name for name in names.values() if name.startswith("elsewhere"))
    site.executors.pop(killed).kill()
    for run in runs:
        run.go_on()
    with ThreadPoolExecutor(len(runs)) as pool:
        list(pool.map(Run.follow, runs))
        for run in runs:
            if names[run.name] != killed:
                run.check_end()
            elif site.is_durable:
                # Another worker goes on, and begins anew what nobody knows the end of.
                assert run.last.get("outcome") == {"type": "success"}
            else:
                assert run.last.get("code") == "interrupted"
                assert not run.client.thread(run.thread_id)["running"]
