"""Runs that workers execute: when a worker is killed, the next one brings them to their end, and does nothing twice."""

import json
import os
import random
import signal
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any
from uuid import uuid4

import pytest
from postgresql import PostgreSQL
from redis_server import RedisServer
from servers import Client, LiveProject, Worker, contents, end, events, run_input, serve, wait_until
from tests.wire import check_stream

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

KILLS = int(os.environ.get("KILLS", "5"))
AT_ONCE = 4
# How long the runs of a round take, from the first one's start.
ROUND_SECONDS = 2.4


class Site:
    """A web process, a worker that can be replaced, and what they have done."""

    def __init__(self, live: LiveProject, database: PostgreSQL, redis: RedisServer) -> None:
        self.live, self.database, self.redis = live, database, redis
        self.worker: Worker = live.start_worker()

    def replace_worker(self, by: signal.Signals = signal.SIGKILL) -> None:
        end(self.worker.process, by)
        self.worker.start()

    def run(self, body: dict[str, Any], headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
        return self.client.run("", headers=headers, **body)

    @property
    def client(self) -> Client:
        return self.live.client(self.live.token)

    def cancel(self, body: dict[str, Any]) -> None:
        assert self.client.fetch("POST", f"/agent/threads/{body['threadId']}/cancel/")[0] == 202

    def post(self, thread: str, text: str, mode: str) -> None:
        """Send a message while the agent works."""
        message = {"id": text, "role": "user", "content": text}
        body = {"message": message, "mode": mode}
        assert self.client.fetch("POST", f"/agent/threads/{thread}/messages/", body)[0] == 202

    def prompts(self, thread: str) -> list[str]:
        return contents(self.client.thread(thread), "user")

    def query(self, sql: str) -> list[str]:
        return self.database.query("durable", sql)

    def wait_for_row(self, body: dict[str, Any]) -> None:
        wait_until(lambda: self.query(f"SELECT 1 FROM agui_run WHERE thread_id = '{body['threadId']}'"))  # noqa: S608

    def effects(self, prompt: str) -> list[str]:
        return self.query(f"SELECT title FROM assistant_task WHERE title LIKE '{prompt} %' ORDER BY id")  # noqa: S608

    def requests(self, prompt: str, noted: str = "requests") -> list[int]:
        """Which of the run's requests the model was asked, by the number of tools that had ended."""
        lines = [line.rpartition(" ") for line in (self.live.path / noted).read_text().splitlines()]
        return [int(number) for text, _, number in lines if text == prompt]

    def calls(self, prompt: str) -> list[int]:
        """Which tools have begun."""
        return self.requests(prompt, "calls")


@pytest.fixture(scope="module")
def site(furnished, postgresql_server: PostgreSQL, redis: RedisServer) -> Iterator[Site]:
    settings = {
        "DJANGO_SETTINGS_MODULE": "probing_settings",
        "AGENT_MODEL": "python:probing.model",
        "DATABASE_URL": postgresql_server.create("durable"),
        "REDIS_URL": redis.url,
        "RUN_EXECUTOR": "dbos",
    }
    with serve(furnished("durable"), **settings) as live:
        # From here on: what a paused worker has locked is free again before a test has waited for long.
        postgresql_server.query("durable", "ALTER DATABASE durable SET idle_in_transaction_session_timeout = '5s'")
        site = Site(live, postgresql_server, redis)
        yield site
        site.worker.kill()
        assert "Traceback" not in live.log.read_text(), "None of it was an error for the web process."


@contextmanager
def running(site: Site, *bodies: dict[str, Any]) -> Iterator[list[Future[list[dict[str, Any]]]]]:
    with ThreadPoolExecutor(len(bodies)) as pool:
        yield [pool.submit(site.run, body) for body in bodies]


def transcript(stream: list[dict[str, Any]]) -> list[Any]:
    """The messages of a run as a client has them after its last event, in the form of `plain`."""
    messages: dict[str, dict[str, Any]] = {}

    def message(message_id: str, role: str) -> dict[str, Any]:
        return messages.setdefault(message_id, {"id": message_id, "role": role, "content": "", "toolCalls": []})

    for event in stream:
        match event["type"]:
            case "MESSAGES_SNAPSHOT":
                told = deepcopy(event["messages"])
                messages = {one["id"]: {"content": "", "toolCalls": []} | one for one in told}
            case "TEXT_MESSAGE_START" | "REASONING_MESSAGE_START":
                message(event["messageId"], event["role"])
            case "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT":
                messages[event["messageId"]]["content"] += event["delta"]
            case "TOOL_CALL_START":
                call = {"id": event["toolCallId"], "function": {"arguments": ""}}
                message(event["parentMessageId"], "assistant")["toolCalls"].append(call)
            case "TOOL_CALL_ARGS":
                call["function"]["arguments"] += event["delta"]
            case "TOOL_CALL_RESULT":
                result = {"content": event["content"], "toolCallId": event["toolCallId"]}
                message(event["messageId"], "tool").update(result)
    return plain(messages.values())


def plain(messages: Iterable[dict[str, Any]]) -> list[Any]:
    found = []
    for one in messages:
        if one["role"] != "user":
            calls = [(call["id"], json.loads(call["function"]["arguments"])) for call in one.get("toolCalls", ())]
            found.append((one["role"], one["id"], one.get("content") or "", one.get("toolCallId"), calls))
    return found


def check(site: Site, body: dict[str, Any], stream: list[dict[str, Any]]) -> None:
    """One whole run, whatever happened to its workers: well-formed, as it is stored, and each effect once."""
    prompt = body["messages"][0]["content"]
    assert [event["type"] for event in stream].count("RUN_STARTED") == 1
    assert check_stream(stream, body).ended == stream[-1]
    assert stream[-1].get("outcome") == {"type": "success"}, stream[-1]
    thread = site.client.thread(body["threadId"])
    assert transcript(stream) == plain(thread["messages"])
    assert thread["state"] == {"category": f"{prompt} 1"}
    assert site.effects(prompt) == [f"{prompt} 0", f"{prompt} 1"]


def begin(prompt: str, **changes: Any) -> dict[str, Any]:
    return run_input(prompt, protocolVersion="1.0", **changes)


@pytest.mark.parametrize("number", range(KILLS))
def test_killed_at_any_moment_each_run_ends_and_each_effect_is_there_once(site: Site, number: int):
    chance = random.Random(number)  # noqa: S311
    bodies = [begin(f"round {number} run {one}") for one in range(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        streams = []
        for body in bodies:
            streams.append(pool.submit(site.run, body))
            time.sleep(chance.random() * ROUND_SECONDS / 2 / AT_ONCE)
        wait_until(lambda: site.requests(bodies[0]["messages"][0]["content"]))
        time.sleep(chance.random() * ROUND_SECONDS / 2)
        # A worker that is told to end has no time for them either.
        site.replace_worker(signal.SIGTERM if number == 1 else signal.SIGKILL)
    for body, stream in zip(bodies, streams, strict=True):
        check(site, body, stream.result())
        asked = site.requests(body["messages"][0]["content"])
        # None again after a later one: what was asked before is known.
        assert asked == sorted(asked)
        assert len(asked) <= 4
        # And its thread is free.
        following = begin("next turn", threadId=body["threadId"])
        assert check_stream(site.run(following), following).ended["outcome"] == {"type": "success"}
    for left in ("agui_durable_tooloutcome", "agui_durable_runorder", "agui_run WHERE status = 'running'"):
        wait_until(lambda: site.query(f"SELECT count(*) FROM {left}") == ["0"])  # noqa: B023, S608


def test_what_the_user_and_the_page_answer_counts_once(site: Site):
    prompt, tools = "risk and page", [{"name": "paint", "description": "Paint", "parameters": {"type": "object"}}]
    body = begin(prompt, tools=tools)
    first = site.run(body)
    [asked] = check_stream(first, body).interrupts
    assert site.effects(prompt) == []
    resume = begin("", threadId=body["threadId"], messages=[], tools=tools)
    resume["resume"] = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": True}}]
    with running(site, resume) as [second]:
        wait_until(lambda: site.effects(prompt))
        site.replace_worker()
    ended = check_stream(second.result(), resume, calls=[asked["toolCallId"]]).ended
    [painting] = ended["outcome"]["pendingToolCallIds"]
    result = {"id": "painted", "role": "tool", "toolCallId": painting, "content": "blue"}
    last = begin("", threadId=body["threadId"], messages=[result], tools=tools)
    with running(site, last) as [third]:
        wait_until(lambda: 2 in site.requests(prompt))
        site.replace_worker()
    assert check_stream(third.result(), last, calls=[painting]).ended["outcome"] == {"type": "success"}
    assert site.effects(prompt) == [f"{prompt} 0"]
    assert site.requests(prompt) == sorted(site.requests(prompt))
    thread = site.client.thread(body["threadId"])
    # The third run tells all messages again only if the killed worker had told some of its answer.
    painted = {"type": "TOOL_CALL_RESULT", "messageId": "painted", "toolCallId": painting, "content": "blue"}
    assert transcript([*first, *second.result(), painted, *third.result()]) == plain(thread["messages"])


def test_a_worker_that_was_paused_while_another_took_over_adds_nothing(site: Site, request: pytest.FixtureRequest):
    prompt = "pause me"
    body = begin(prompt)
    paused = site.worker
    request.addfinalizer(paused.kill)
    with running(site, body) as [stream]:
        wait_until(lambda: site.calls(prompt))
        try:
            with site.database.paused("durable", paused.process):
                # A paused worker keeps its runs. So it has to look as if it were another one, which has ended.
                other = "regexp_replace(process, '/[0-9]+/', '/2147483646/')"
                site.query(f"UPDATE agui_run SET process = {other} WHERE thread_id = '{body['threadId']}'")  # noqa: S608
                site.worker = site.live.start_worker()
                wait_until(lambda: len(site.calls(prompt)) == 2)
        finally:
            (site.live.path / "go-on").touch()
    check(site, body, stream.result())


def test_redis_forgets_everything_under_a_worker(site: Site):
    prompt = "restart"
    body = begin(prompt)
    with running(site, body) as [stream]:
        wait_until(lambda: site.effects(prompt))
        site.redis.stop()
        site.redis.start()
    check(site, body, stream.result())


def test_a_worker_says_why_a_run_failed_in_the_language_of_its_user(site: Site):
    for language, sentence in {"ja": "モデルが混み合っているか、", "en": "The model is busy"}.items():
        *_, last = site.run(begin("fail"), {"Accept-Language": language})
        assert (last["type"], last["code"]) == ("RUN_ERROR", "model_unavailable")
        assert last["message"].startswith(sentence)


def test_a_run_is_stopped_while_a_worker_is_at_it(site: Site):
    body = begin("stop me")
    with running(site, body) as [stream]:
        wait_until(lambda: site.effects("stop me"))
        site.cancel(body)
    assert check_stream(stream.result(), body).ended["outcome"] == {"type": "cancelled"}
    assert site.requests("stop me")[-1] < 2


def test_a_run_is_stopped_while_it_waits_for_a_worker(site: Site):
    site.worker.kill()
    body = begin("not even begun")
    with running(site, body) as [stream]:
        site.wait_for_row(body)
        site.cancel(body)
        site.query("UPDATE dbos.workflow_status SET created_at = 0 WHERE status <> 'ENQUEUED'")
        site.worker.start()
    assert check_stream(stream.result(), body).ended["outcome"] == {"type": "cancelled"}
    assert site.effects("not even begun") == []
    # The run of the test before may be there: its worker was ended while it cleaned up.
    assert f"of thread {body['threadId']}: no worker has it" not in (site.live.path / "worker.log").read_text()
    # What the queue knows of old runs goes, however they ended.
    wait_until(lambda: site.query("SELECT count(*) FROM dbos.workflow_status WHERE created_at = 0") == ["0"])


def delivered(stream: list[dict[str, Any]]) -> list[str]:
    """The messages of which clients were told that the run has read them."""
    return [event["value"]["messageId"] for event in stream if event.get("name") == "message_delivered"]


def test_a_message_that_came_before_its_worker_is_read(site: Site):
    # From here on, the worker knows which threads had messages when it began.
    site.run(begin("before"))
    body = begin("early")
    pause = ExitStack()
    pause.enter_context(site.database.paused("durable", site.worker.process))
    with running(site, body) as [stream], pause:
        site.wait_for_row(body)
        site.post(body["threadId"], "early steer", "steer")
    assert delivered(stream.result()) == ["early steer"]
    assert site.prompts(body["threadId"]) == ["early", "early steer"]


def test_a_worker_tells_with_which_messages_a_run_begins(site: Site):
    prompt, queued = str(uuid4()), str(uuid4())
    body = begin(prompt)
    thread = body["threadId"]
    with running(site, body) as [stream]:
        wait_until(lambda: site.effects(prompt))
        site.post(thread, queued, "queue")
    assert delivered(stream.result()) == []
    wait_until(lambda: site.requests(queued))
    with site.client.open("GET", f"/agent/threads/{thread}/events/") as response:
        assert delivered(list(events(response))) == [queued]
    assert site.prompts(thread) == [prompt, queued]


def test_a_message_stays_in_its_place_if_the_worker_is_killed_after_reading_it(site: Site):
    prompt, steered = str(uuid4()), str(uuid4())
    body = begin(prompt)
    with running(site, body) as [stream]:
        wait_until(lambda: site.effects(prompt))
        site.post(body["threadId"], steered, "steer")
        wait_until(lambda: site.requests(steered))
        site.replace_worker()
    # The next worker asks again, with the result of the tool and the message.
    assert site.requests(steered)[:2] == [1, 1]
    # The first worker may have been killed before it could tell clients: the messages have it, too.
    snapshots = [event for event in stream.result() if event["type"] == "MESSAGES_SNAPSHOT"]
    assert steered in delivered(stream.result()) or any(steered in contents(one, "user") for one in snapshots)
    messages = site.client.thread(body["threadId"])["messages"]
    assert site.prompts(body["threadId"]) == [prompt, steered]
    place = [message.get("content") for message in messages].index(steered)
    assert messages[place - 1]["role"] == "tool"


def test_a_user_who_has_gone_is_told_once_although_a_worker_was_killed(site: Site):
    site.query("UPDATE users_user SET email = 'ada@example.com'")
    body = begin("tell me")
    with site.client.open("POST", "/agent/", body) as response:
        assert next(events(response))["type"] == "RUN_STARTED"
    wait_until(lambda: site.effects("tell me"))
    site.replace_worker()
    told = f"SELECT kind, state FROM agui_notifications_notification WHERE thread_id = '{body['threadId']}'"  # noqa: S608
    wait_until(lambda: site.query(told) == ["run.finished|sent"])
    mails = [path.read_text() for path in (site.live.path / "mails").iterdir()]
    [mail] = [mail for mail in mails if body["threadId"] in mail]
    assert "\nTo: ada@example.com\n" in mail
    assert f"https://assistant.example.com/?thread={body['threadId']}" in mail.replace("=\n", "")
