"""The server is killed in the middle of runs: what had been reached is there, once, and the threads go on at once."""

import json
import random
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, at_night, furnish_project
from postgresql import PostgreSQL
from servers import LiveProject, events, run_input, serve

pytestmark = pytest.mark.servers

THREADS = 6
LONGEST = 5
# What may be lost: the text of the last moments, and a result on its way to the disk. A machine that is too slow to
# write is too slow to speak as well: so many words at least may follow, which the agent says in less time than that.
TEXT_SECONDS, RESULT_SECONDS = 3, 1
TEXT_WORDS, RESULT_WORDS = 25, 10
WORDS = (10, 25, 30)
CALLS = (["a"], ["b", "long c"], [])


@pytest.fixture
def make_live(rendered, environment: Path, tmp_path: Path) -> Callable[..., Any]:
    def make_live(**settings: str):
        project = tmp_path / "project"
        shutil.copytree(rendered["demo"], project)
        furnish_project(project, environment)
        shutil.copytree(ROOT / "tests/fixtures/killed", project, dirs_exist_ok=True)
        (project / "effects").touch()
        return serve(project, DJANGO_SETTINGS_MODULE="killed_settings", **settings)

    return make_live


class Watched:
    """A run that a client follows until the server is gone."""

    def __init__(self, live: LiveProject, thread_id: str, text: str) -> None:
        self.live, self.text = live, text
        self.body = run_input(text, threadId=thread_id)
        self.events: list[tuple[float, dict[str, Any]]] = []

    def follow(self, delay: float) -> None:
        time.sleep(delay)
        try:
            with self.live.client(self.live.token).open("POST", "/agent/", self.body) as response:
                assert response.status == 200, response.read()
                for event in events(response):
                    self.events.append((time.monotonic(), event))
        except (OSError, HTTPException, json.JSONDecodeError):
            pass  # The server is gone

    def received(self, kind: str, until: float = float("inf"), words: int = 0) -> list[dict[str, Any]]:
        """What came until a moment, and before the last words."""
        end = len(self.events)
        while end and words > 0:
            end -= 1
            event = self.events[end][1]
            words -= event["delta"].count("/") if event["type"] == "TEXT_MESSAGE_CONTENT" else 0
        return [event for moment, event in self.events[:end] if event["type"] == kind and moment <= until]

    @property
    def has_finished(self) -> bool:
        return bool(self.received("RUN_FINISHED"))

    @property
    def script(self) -> list[tuple[str, str]]:
        """All that the agent says and does, in order: text, calls, results."""
        script = []
        for step, (words, calls) in enumerate(zip(WORDS, CALLS, strict=True)):
            script.append(("text", "".join(f"{self.text}/{step}.{word} " for word in range(words))))
            names = [f"{self.text}/{call}" for call in calls]
            script += [("call", name) for name in names] + [("result", name) for name in names]
        return script


def read_thread(live: LiveProject, thread_id: str) -> list[dict[str, Any]]:
    status, text = live.client(live.token).fetch("GET", f"/agent/threads/{thread_id}/")
    if status == 404:
        return []
    assert status == 200, text
    thread = json.loads(text)
    assert thread["running"] is False
    return thread["messages"]


def go_on(live: LiveProject, thread_id: str) -> None:
    """Take the next turn."""
    stream = live.client(live.token).run("next", threadId=thread_id)
    assert stream[-1]["type"] == "RUN_FINISHED", stream[-1]
    assert "".join(event["delta"] for event in stream if event["type"] == "TEXT_MESSAGE_CONTENT") == "Fine."


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


def check(run: Watched, messages: list[dict[str, Any]], killed_at: float, effects: list[str]) -> None:
    """Compare what a thread has of a run with the script, and with what the client had seen of it."""
    if not messages:
        assert not run.events, "The client was answered, but the user's message is not there."
        return
    prompt, answer = messages[0], messages[1:]
    assert (prompt["id"], prompt["content"]) == (run.body["messages"][0]["id"], run.text)
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
    texts = run.received("TEXT_MESSAGE_CONTENT", killed_at - TEXT_SECONDS, TEXT_WORDS)
    seen = "".join(event["delta"] for event in texts)
    assert "".join(message["content"] for message in answer if message["role"] == "assistant").startswith(seen)
    for event in run.received("TOOL_CALL_RESULT", killed_at - RESULT_SECONDS, RESULT_WORDS):
        assert event["toolCallId"] in results
    streamed = {event["messageId"] for event in run.received("TEXT_MESSAGE_START")}
    texts = [message["id"] for message in answer if message["role"] == "assistant" and message.get("content")]
    # What came after the last event that the client got has an id that it has not heard of.
    assert set(texts[:-1]) <= streamed
    assert set(results) <= set(effects)


def kill_again_and_again(live: LiveProject, kills: int, other: LiveProject | None = None, seed: int = 0) -> None:
    """Kill a server; the threads go on through the same, which is started again, or through another."""
    seed = seed or time.time_ns()
    print(f"The seed of the moments: {seed}")
    chance = random.Random(seed)  # noqa: S311 # not a secret
    threads = {f"thread {number}": [] for number in range(THREADS)}
    runs: list[Watched] = []
    for number in range(kills):
        watched = {name: Watched(live, name.replace(" ", "-"), f"slow {number} {name}") for name in threads}
        # Half of the threads are read first, the others go on at once.
        looked_at = {name for name in threads if chance.random() < 0.5}
        runs += watched.values()
        with ThreadPoolExecutor(THREADS) as pool:
            following = [pool.submit(run.follow, chance.uniform(0, 1)) for run in watched.values()]
            time.sleep(chance.uniform(0, LONGEST))
            live.kill()
            killed_at = time.monotonic()
        for future in following:
            future.result()
        if other is None:
            live.start()
        effects = (live.path / "effects").read_text().splitlines()
        assert len(effects) == len(set(effects)), "A tool was called twice."

        def look(name: str, watched=watched, looked_at=looked_at, killed_at=killed_at, effects=effects) -> None:
            thread_id = name.replace(" ", "-")
            read = read_thread(other or live, thread_id) if name in looked_at else None
            go_on(other or live, thread_id)
            messages = read_thread(other or live, thread_id)
            ids = [message["id"] for message in messages]
            assert len(ids) == len(set(ids)), "A message is there twice."
            known, following = threads[name], messages[-2:]
            assert messages[: len(known)] == known
            assert [message["content"] for message in following] == ["next", "Fine."]
            assert read in (None, messages[:-2])
            check(watched[name], messages[len(known) : -2], killed_at, effects)
            threads[name] = messages

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(look, threads))
        if other is not None:
            live.start()
    check_records(live, runs)


def check_records(live: LiveProject, runs: list[Watched]) -> None:
    """Each run's row says how it ended, and holds nothing any more."""
    code = """
import json
from agui.models import Run
print(json.dumps([[run.run_id, run.status, run.draft] for run in Run.objects.all()]))
"""
    records = json.loads(live.manage("shell", "-v", "0", "-c", code))
    assert [record for record in records if record[2] is not None] == []
    statuses = {run_id: status for run_id, status, _ in records}
    for run in runs:
        expected = {"finished"} if run.has_finished else {"interrupted", "finished"} if run.events else {None}
        assert statuses.get(run.body["runId"]) in expected | ({None, "interrupted"} if not run.events else set())


@pytest.mark.parametrize("kills", [3, *at_night(30)])
def test_killed_server_starts_again(make_live, kills: int):
    with make_live() as live:
        kill_again_and_again(live, kills)


@pytest.mark.nightly
def test_another_server_takes_up_what_a_killed_one_left(make_live, postgresql_server: PostgreSQL):
    url = postgresql_server.create("killed")
    with make_live(DATABASE_URL=url) as live, serve(live.path, **live.settings) as other:
        kill_again_and_again(live, 5, other)
