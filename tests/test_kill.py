"""The server is killed in the middle of runs, or its database: what had been reached is there, once."""

import ast
import json
import random
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import own_postgresql
from daily import at_night
from postgresql import PostgreSQL
from reading import Reading
from servers import LiveProject, run_input, serve, text_of, wait_until

pytestmark = pytest.mark.servers

THREADS = 6
LONGEST = 5
WORDS = (10, 25, 30)
CALLS = (["a"], ["b", "long c"], [])


@pytest.fixture
def make_live(furnished: Callable[..., Path]) -> Callable[..., Any]:
    def make_live(**settings: str):
        return serve(furnished("killed"), DJANGO_SETTINGS_MODULE="killed_settings", **settings)

    return make_live


class Watched(Reading):
    """A run that a client follows until the server is gone."""

    def __init__(self, live: LiveProject, thread_id: str, text: str) -> None:
        super().__init__(thread_id)
        self.live, self.said = live, text
        self.body = run_input(text, threadId=thread_id)

    def follow(self, delay: float) -> None:
        time.sleep(delay)
        # 0: the server is gone.
        assert self.read(self.live.client(self.live.token), self.body) in (200, 0)

    @property
    def has_finished(self) -> bool:
        return bool(self.frames) and self.last["type"] == "RUN_FINISHED"

    @property
    def script(self) -> list[tuple[str, str]]:
        """All that the agent says and does, in order: text, calls, results."""
        script = []
        for step, (words, calls) in enumerate(zip(WORDS, CALLS, strict=True)):
            script.append(("text", "".join(f"{self.said}/{step}.{word} " for word in range(words))))
            names = [f"{self.said}/{call}" for call in calls]
            script += [("call", name) for name in names] + [("result", name) for name in names]
        return script


def read_thread(live: LiveProject, thread_id: str) -> list[dict[str, Any]]:
    client = live.client(live.token)
    if client.fetch("GET", f"/agent/threads/{thread_id}/")[0] == 404:
        return []
    thread = client.thread(thread_id)
    assert thread["running"] is False
    return thread["messages"]


def kept(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What a thread has of a run, in the form of its script."""
    found = []
    for message in messages:
        if message["role"] == "tool":
            assert message["content"] == f"recorded {message['toolCallId']}"
            found.append(("result", message["toolCallId"]))
            continue
        if message.get("content"):
            found.append(("text", message["content"]))
        for call in message.get("toolCalls", ()):
            # Whole, not half of it.
            assert json.loads(call["function"]["arguments"]) == {"what": call["id"]}
            found.append(("call", call["id"]))
    return found


def written_drafts(live: LiveProject) -> str:
    """The drafts that the database had before the server was killed: the last line may be half of one."""
    return (live.path / "drafts").read_text().rpartition("\n")[0]


def check(run: Watched, messages: list[dict[str, Any]], drafts: str, effects: list[str]) -> None:
    """Compare what a thread has of a run with the script, with its drafts, and with what the client had seen of it."""
    if not messages:
        assert not run.events, "The client was answered, but the user's message is not there."
        return
    prompt, answer = messages[0], messages[1:]
    assert (prompt["id"], prompt["content"]) == (run.body["messages"][0]["id"], run.said)
    found = kept(answer)
    results = [name for kind, name in found if kind == "result"]
    whole = [item for item in run.script if item[0] != "result" or item[1] in results]
    if found and found[-1][0] == "text":
        begun = whole[len(found) - 1][1]
        assert begun.startswith(found[-1][1])
        found[-1] = ("text", begun)
    assert found == whole[: len(found)], "Not what was said and done, or not in its order."
    if run.has_finished:
        assert (found, answer[-1]["content"]) == (run.script, run.script[-1][1])
    words = "".join(message["content"] for message in answer if message["role"] == "assistant").split()
    drafted = re.findall(rf"{re.escape(run.said)}(/\d\.\d+) ", drafts)
    assert {word for word in drafted if f"{run.said.split()[-1]}{word}" not in words} == set()
    assert set(re.findall(rf"recorded ({re.escape(run.said)}/\w[\w ]*)", drafts)) <= set(results)
    streamed = {event["messageId"] for event in run.events if event["type"] == "TEXT_MESSAGE_START"}
    texts = [message["id"] for message in answer if message["role"] == "assistant" and message.get("content")]
    # What came after the last event that the client got has an id that it has not heard of.
    assert set(texts[:-1]) <= streamed
    assert set(results) <= set(effects)


def kill_again_and_again(live: LiveProject, kills: int, other: LiveProject | None = None) -> None:
    """Kill a server; the threads go on through the same, which is started again, or through another.

    The first kill comes when there are drafts, the others at any moment: their pauses are the input.
    """
    seed = time.time_ns()
    print(f"The seed of the moments: {seed}")
    chance = random.Random(seed)  # noqa: S311 # not a secret
    threads = {f"thread-{number}": [] for number in range(THREADS)}
    runs: list[Watched] = []
    for number in range(kills):
        watched = {name: Watched(live, name, f"slow {number} {name}") for name in threads}
        # Half of the threads are read first, the others go on at once.
        looked_at = {name for name in threads if chance.random() < 0.5}
        runs += watched.values()
        with ThreadPoolExecutor(THREADS) as pool:
            following = [pool.submit(run.follow, chance.uniform(0, 1)) for run in watched.values()]
            if number == 0:
                wait_until(lambda: written_drafts(live))
            time.sleep(chance.uniform(0, LONGEST))
            live.kill()
        for future in following:
            future.result()
        if other is None:
            live.start()
        drafts, effects = written_drafts(live), (live.path / "effects").read_text().splitlines()
        assert len(effects) == len(set(effects)), "A tool was called twice."

        def look(name: str, watched=watched, looked_at=looked_at, drafts=drafts, effects=effects) -> None:
            server = other or live
            read = read_thread(server, name) if name in looked_at else None
            stream = server.client(live.token).run("next", threadId=name)
            assert (stream[-1]["type"], text_of(stream)) == ("RUN_FINISHED", "Fine.")
            messages = read_thread(server, name)
            ids = [message["id"] for message in messages]
            assert len(ids) == len(set(ids)), "A message is there twice."
            known, following = threads[name], messages[-2:]
            assert messages[: len(known)] == known
            assert [message["content"] for message in following] == ["next", "Fine."]
            assert read in (None, messages[:-2])
            check(watched[name], messages[len(known) : -2], drafts, effects)
            threads[name] = messages

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(look, threads))
        if other is not None:
            live.start()
    check_records(live, runs)


def check_records(live: LiveProject, runs: list[Watched]) -> None:
    """Each run's row says how it ended, and holds nothing any more."""
    code = "import json; from agui.models import Run; print(json.dumps([*Run.objects.values_list({})]))"
    records = json.loads(live.manage("shell", "-v", "0", "-c", code.format("'run_id', 'status', 'draft'")))
    assert all(draft is None for *_, draft in records)
    statuses = {run_id: status for run_id, status, _ in records}
    for run in runs:
        expected = {"finished"} if run.has_finished else {"interrupted", "finished"} if run.events else {None}
        assert statuses.get(run.body["runId"]) in expected | ({None, "interrupted"} if not run.events else set())


@pytest.mark.parametrize("kills", [1, *at_night(30)])
def test_killed_server_starts_again(make_live, kills: int):
    with make_live() as live:
        kill_again_and_again(live, kills)


@pytest.mark.nightly
def test_another_server_takes_up_what_a_killed_one_left(make_live, postgresql_server: PostgreSQL):
    url = postgresql_server.create("killed")
    with make_live(DATABASE_URL=url) as live, serve(live.path, **live.settings) as other:
        kill_again_and_again(live, 5, other)


# --- PostgreSQL is restarted in the middle of runs: they wait for it


RUNS = 4
# What the log says once for each run that has missed its database.
WAITS = "Database unavailable: "


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    """A server of our own: others' tests would miss the common one."""
    yield from own_postgresql()


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_runs_wait_for_a_database_that_is_away(make_live, server: PostgreSQL, mode: str):
    with make_live(DATABASE_URL=server.create("away")) as live:
        watched = [Watched(live, f"thread-{number}", f"slow held {number}") for number in range(RUNS)]
        with ThreadPoolExecutor(RUNS) as pool:
            # The runs begin one after the other, so the database goes away at another moment of each.
            following = [pool.submit(run.follow, number * 0.3) for number, run in enumerate(watched)]
            wait_until(lambda: all(run.events for run in watched))
            wait_until(lambda: any(event["type"] == "TOOL_CALL_RESULT" for run in watched for event in run.events))
            server.stop(mode)
            status, _ = live.client(live.token).fetch("GET", "/agent/threads/")
            # None can end before it has missed the database.
            (live.path / "go-on").touch()
            wait_until(lambda: live.log.read_text().count(WAITS) == RUNS, failure_message=live.log.read_text)
            assert not any(future.done() for future in following)
            server.start()
        for future in following:
            future.result()
        assert status == 503  # A request does not wait
        for run in watched:
            assert run.has_finished, run.events[-2:]
            prompt, *answer = read_thread(live, run.thread_id)
            assert prompt["content"] == run.said
            assert kept(answer) == run.script
        effects = sorted((live.path / "effects").read_text().splitlines())
        assert effects == sorted(f"{run.said}/{name}" for run in watched for name in ("a", "b", "long c"))
        code = "from agui.models import AuditRecord; print(*AuditRecord.objects.values_list('tool_call_id'), sep='\\n')"
        audited = [ast.literal_eval(line)[0] for line in live.manage("shell", "-v", "0", "-c", code).splitlines()]
        assert sorted(audited) == effects
        check_records(live, watched)
