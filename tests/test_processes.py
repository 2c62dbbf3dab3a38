"""Two processes behind nginx, with PostgreSQL and Redis: any of them may be asked, stopped or killed at any time."""

import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from threading import Event

import pytest
from nginx import find_nginx, nginx
from postgresql import PostgreSQL
from reading import Reading
from redis_server import RedisServer
from servers import HANG_SECONDS, Client, Daphne, contents, run_input, serve, wait_until

pytestmark = [pytest.mark.servers, pytest.mark.skipif(not find_nginx(), reason="nginx is not installed")]

KILLS = int(os.environ.get("KILLS", "6"))
READERS = 4


@dataclass
class Site:
    """Two processes, what is behind them, and the proxy before them."""

    processes: list[Daphne]
    database: PostgreSQL
    redis: RedisServer
    port: int
    token: str

    def query(self, sql: str) -> list[str]:
        return self.database.query("processes", sql)

    def client(self, process: int | None = None) -> Client:
        """Make a client of this process, or of the site."""
        return Client(self.port if process is None else self.processes[process].port, self.token)


@pytest.fixture(scope="module")
def site(
    furnished, postgresql_server: PostgreSQL, redis: RedisServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    project = furnished("killed")
    settings = {
        "DJANGO_SETTINGS_MODULE": "killed_settings",
        "DATABASE_URL": postgresql_server.create("processes"),
        "REDIS_URL": redis.url,
        "DEBUG": "1",
    }
    with ExitStack() as stack:
        processes = [stack.enter_context(serve(project, Daphne, **settings)) for _ in range(2)]
        ports = [process.port for process in processes]
        port = stack.enter_context(nginx(project / "nginx.conf", ports, tmp_path_factory.mktemp("nginx")))
        yield Site(processes, postgresql_server, redis, port, processes[0].token)


def in_background(pool: ThreadPoolExecutor, site: Site, process: int | None, text: str, thread_id: str) -> Reading:
    """Start a run, and read it in a thread."""
    reading = Reading(thread_id)
    reading.start(pool, site.client(process), run_input(text, threadId=thread_id))
    assert reading.begun.wait(HANG_SECONDS)
    return reading


def test_a_run_is_stopped_through_the_other_process(site: Site):
    with ThreadPoolExecutor() as pool:
        reading = in_background(pool, site, 0, "slow endless", "stopped")
        assert site.client(1).fetch("POST", "/agent/threads/stopped/cancel/")[0] == 202
        reading.read_to_the_end(site.client(1))
    assert reading.last["type"] == "RUN_FINISHED", reading.last  # Nothing else ends it
    thread = site.client(1).thread("stopped")
    assert (thread["running"], "".join(contents(thread, "assistant"))) == (False, reading.text)


def test_an_equal_request_is_one_run_which_is_followed_through_any_process(site: Site):
    body = run_input("slow twice", threadId="twice")
    with ThreadPoolExecutor() as pool:
        first, *others = readings = [Reading("twice") for _ in range(4)]
        for number, reading in enumerate(readings):
            pool.submit(reading.read, site.client(number % 2), body)
        assert all(reading.begun.wait(HANG_SECONDS) for reading in readings)
        assert [site.client(process).thread("twice")["running"] for process in (0, 1)] == [True, True]
        assert site.client(1).fetch("POST", "/agent/", run_input("other", threadId="twice"))[0] == 409
    first.check()
    assert all(reading.frames == first.frames for reading in others)
    # Cut anywhere, and joined again: by either process, or by the one that the proxy chooses.
    for number, process in zip((0, 1, 7, 40), (1, 0, 1, None), strict=True):
        joined = Reading("twice", first.frames[:number])
        assert joined.read_to_the_end(site.client(process)).frames == first.frames


def test_redis_is_restarted_in_mid_run(site: Site):
    with ThreadPoolExecutor() as pool:
        first = in_background(pool, site, 0, "slow restart", "restarted")
        second = Reading("restarted")
        pool.submit(second.read_to_the_end, site.client(1))
        assert second.begun.wait(HANG_SECONDS)
        site.redis.stop()
        # Nobody waits for it: a process says what it lacks, and a run begins and ends before Redis is back.
        wait_until(lambda: has_redis(site, 0) is has_redis(site, 1) is False)
        assert Reading("alone").read_to_the_end(site.client(0), run_input("quick", threadId="alone")).text == "Fine."
        assert has_redis(site, 0) is has_redis(site, 1) is False
        site.redis.start()
    assert first.last["type"] == "RUN_FINISHED"
    assert second.frames == first.frames
    assert contents(site.client(1).thread("restarted"))[0] == "slow restart"
    assert Reading("restarted").read_to_the_end(site.client(1)).frames == first.frames
    assert has_redis(site, 1) is True


def has_redis(site: Site, process: int) -> bool:
    return site.client(process).read("/healthz")["redis"]


def test_a_process_that_was_taken_for_dead_changes_nothing_when_it_is_back(site: Site):
    with ThreadPoolExecutor() as pool:
        stopped = in_background(pool, site, 0, "slow zombie", "zombie")
        with site.database.paused("processes", site.processes[0].process):
            # A stopped process keeps its runs. So it has to look as if it were another one, which has ended.
            site.query("UPDATE agui_run SET process = regexp_replace(process, '/[0-9]+/', '/2147483646/')")
            told = Reading("zombie").read_to_the_end(site.client(1))
            assert told.last["code"] == "interrupted"
            answer = Reading("zombie").read_to_the_end(site.client(1), run_input("next", threadId="zombie"))
            assert answer.text == "Fine."
        stopped.read_to_the_end(site.client(0))
    assert (stopped.last["type"], stopped.last["code"]) == ("RUN_ERROR", "interrupted")
    for process in range(2):
        thread = site.client(process).thread("zombie")
        assert thread["running"] is False
        assert contents(thread)[-2:] == ["next", "Fine."]
        assert contents(thread).count("next") == 1


@pytest.mark.nightly
def test_one_process_after_the_other_is_killed(site: Site):
    """The pauses between the kills are its input: a run may be killed at any moment."""
    seed = time.time_ns()
    print(f"The seed of the moments: {seed}")
    chance = random.Random(seed)  # noqa: S311 # not a secret
    is_over = Event()
    readings: list[Reading] = []

    def talk(number: int) -> None:
        for turn in count(1):
            is_last = is_over.is_set()  # Nobody kills it any more
            name = f"talk-{number}-{turn}"
            reading = Reading(name)
            readings.append(reading)
            reading.read_to_the_end(site.client(), run_input(f"slow {name}", threadId=name))
            next_turn(site, name)
            if is_last:
                return

    with ThreadPoolExecutor(READERS) as pool:
        talks = [pool.submit(talk, number) for number in range(READERS)]
        try:
            for kill in range(KILLS):
                time.sleep(chance.uniform(0.2, 1.5))
                site.processes[kill % 2].kill()
                site.processes[kill % 2].start()
        finally:
            is_over.set()
        for one in talks:
            one.result()
    effects = (site.processes[0].path / "effects").read_text().splitlines()
    assert len(effects) == len(set(effects)), "A tool was called twice."
    codes = [reading.last.get("code") for reading in readings]
    print({code: codes.count(code) for code in set(codes)})
    assert {"interrupted", None} <= set(codes) <= {"interrupted", "log_lost", None}
    for reading in readings:
        check_thread(site, reading)


def next_turn(site: Site, thread_id: str) -> None:
    """The thread becomes free."""
    body = run_input("next", threadId=thread_id)
    reading = Reading(thread_id)
    wait_until(lambda: reading.read(site.client(), body) == 200)
    reading.read_to_the_end(site.client(), body)
    if reading.last["type"] == "RUN_ERROR":
        next_turn(site, thread_id)  # A kill has struck this one, too


def check_thread(site: Site, reading: Reading) -> None:
    """What a thread has of a run is what its reader was shown of it, except the last moments of a killed process."""
    thread = site.client().thread(reading.thread_id)
    messages = thread["messages"]
    assert (thread["running"], messages[0]["content"]) == (False, f"slow {reading.thread_id}")
    answers = contents(thread, "assistant")
    assert answers[-1] == "Fine."
    assert answers.count("Fine.") <= contents(thread).count("next")
    kept = "".join(answers).replace("Fine.", "")
    ids = [message["id"] for message in messages]
    assert len(ids) == len(set(ids))
    if reading.last["type"] == "RUN_FINISHED":
        assert kept == reading.text
    else:
        assert reading.text.startswith(kept) or kept.startswith(reading.text)
