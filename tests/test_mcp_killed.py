"""Calls of MCP clients that wait or last, with two real servers on PostgreSQL: each runs once, or never again.

Decisions race each other over both servers, and the server that executes a call is killed at any moment.
"""

import json
import random
import re
import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode

import pytest
from mcp_message import TASKS, call_tool, message_of_2026
from postgresql import PostgreSQL
from servers import Client, Daphne, serve, wait_until

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

RACES, KILLS, DECISIONS = 40, 12, 6
HOUR_AGO = """
from datetime import timedelta
from django.db.models import F
from agui.contrib.mcp.models import ClientQuestion
ClientQuestion.objects.filter(state="executing").update(decided_at=F("decided_at") - timedelta(hours=1))
"""
TOOL = '''
import asyncio
import time
from pathlib import Path

HERE = Path(__file__).parents[1]


@tool(registry, requires_approval=True)
def pay(name: str) -> str:
    """Pay somebody, which must not happen twice."""
    with (HERE / "effects").open("a") as effects:
        effects.write(f"{name}\\n")
    while name.startswith("slow") and not (HERE / "go-on").exists():
        time.sleep(0.05)
    return f"Paid {name}"


@tool(registry)
async def labour(name: str) -> str:
    """Last until it may end."""
    with (HERE / "effects").open("a") as effects:
        effects.write(f"{name}\\n")
    while not (HERE / "go-on").exists():
        await asyncio.sleep(0.05)
    return f"Done with {name}"
'''
TASKS_AT_ONCE = '\nAGUI["MCP"] = {"ENDPOINT": True, "TASK_AFTER_SECONDS": 0.2}\n'


class Site:
    """The two servers, a client without forms, and the person in whose name it calls."""

    def __init__(self, project: Path, servers: list[Daphne]) -> None:
        self.effects, self.servers = project / "effects", servers
        self.go_on = project / "go-on"
        self.effects.touch()

    def call(self, tool: str, arguments: dict[str, str], server: int = 0) -> Any:
        return call_tool(self.servers[server], tool, arguments)

    def send_2026(self, method: str, name: str, params: dict[str, Any], server: int) -> Any:
        """Send a request of a client that takes tasks."""
        live = self.servers[server]
        body, headers = message_of_2026(method, name, params, TASKS)
        return json.loads(live.client(live.token).fetch("POST", "/agent/mcp/", body, headers)[1])["result"]

    def begin(self, name: str, server: int) -> str:
        """The id of the task of a call that lasts, and is at work."""
        call = {"name": "labour", "arguments": {"name": name}}
        handle = self.send_2026("tools/call", "labour", call, server)
        assert (handle["resultType"], handle["status"]) == ("task", "working")
        wait_until(lambda: self.times(name))
        return handle["taskId"]

    def task(self, key: str, server: int, method: str = "get") -> Any:
        return self.send_2026(f"tasks/{method}", key, {"taskId": key}, server)

    def ask(self, name: str) -> str:
        """The id of a call that waits."""
        approval = self.call("pay", {"name": name})["structuredContent"]["approval"]
        assert approval["state"] == "pending"
        return approval["id"]

    def state(self, question: str, server: int = 0) -> tuple[str, str]:
        told = self.call("approval_status", {"id": question}, server)
        approval = told.get("structuredContent", {}).get("approval") or told["_meta"]["approval"]
        return approval["state"], told["content"][0]["text"]

    def person(self, server: int) -> Client:
        live = self.servers[server]
        browser = live.client()
        browser.login(live.username, live.password)
        return browser

    def times(self, name: str) -> int:
        return self.effects.read_text().splitlines().count(name)


def form_of(browser: Client, question: str) -> dict[str, str]:
    """What the page sends beside the decision."""
    page = browser.fetch("GET", f"/agent/mcp/approvals/{question}/")[1]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]+)"', page))


def decide(browser: Client, question: str, form: dict[str, str], decision: str) -> int:
    """Send a decision; its status, or 0 if the server died meanwhile."""
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    address = f"/agent/mcp/approvals/{question}/"
    try:
        return browser.fetch("POST", address, urlencode({**form, "do": decision}), headers)[0]
    except (OSError, HTTPException):
        return 0


@pytest.fixture
def site(furnished, postgresql_server: PostgreSQL) -> Iterator[Site]:
    project = furnished()
    for name, code in {"assistant/tools.py": TOOL, "config/settings.py": TASKS_AT_ONCE}.items():
        with (project / name).open("a") as file:
            file.write(code)
    database = f"mcp_killed_{secrets.token_hex(4)}"
    settings = {"DATABASE_URL": postgresql_server.create(database), "MCP_ENDPOINT": "1", "DEBUG": "1"}
    with ExitStack() as stack:
        yield Site(project, [stack.enter_context(serve(project, Daphne, **settings)) for _ in range(2)])


def test_of_many_decisions_at_once_one_counts(site: Site):
    people = [site.person(number % 2) for number in range(DECISIONS)]
    chance = random.Random(4)  # noqa: S311
    outcomes = {"done": 0, "denied": 0}
    with ThreadPoolExecutor(DECISIONS) as threads:
        for number in range(RACES):
            name = f"race-{number}"
            question = site.ask(name)
            forms = [form_of(person, question) for person in people]
            decisions = [chance.choice(["approve", "approve", "deny"]) for _ in people]
            begin = Event()

            def send(one: int, question: str = question, forms: Any = forms, decisions: Any = decisions, begin=begin):
                begin.wait()
                return decide(people[one], question, forms[one], decisions[one])

            racing = [threads.submit(send, one) for one in range(DECISIONS)]
            begin.set()
            statuses = [each.result() for each in racing]
            state, words = site.state(question, server=1)
            assert statuses.count(303) == 1, (decisions, statuses)
            assert set(statuses) <= {303, 409}, statuses
            assert site.times(name) == (state == "done"), (state, decisions)
            assert (words == f"Paid {name}") == (state == "done")
            outcomes[state] += 1
    assert all(outcomes.values()), f"{outcomes}: there was no race"


def test_call_whose_server_was_killed_never_runs_again(site: Site):
    chance = random.Random(5)  # noqa: S311
    killed_at_work = 0
    with ThreadPoolExecutor(1) as thread:
        for number in range(KILLS):
            name = f"slow-{number}"
            question = site.ask(name)
            person, other = site.person(1), site.person(0)
            form, form_of_other = form_of(person, question), form_of(other, question)
            deciding = thread.submit(decide, person, question, form, "approve")
            if number % 2:
                wait_until(lambda name=name: site.times(name))
            else:
                time.sleep(chance.uniform(0, 0.1))  # How far it comes is the input.
            site.servers[1].kill()
            assert deciding.result() == 0
            site.servers[1].start()
            state, _ = site.state(question)
            if state == "pending":
                # It had not been decided, so it still can be: deny it, which runs nothing.
                assert site.times(name) == 0
                assert decide(other, question, form_of_other, "deny") == 303
                continue
            assert state == "executing"
            killed_at_work += site.times(name)
            assert decide(other, question, form_of_other, "approve") == 409
            assert site.state(question)[0] == "executing"
            before = site.times(name)
            site.servers[0].manage("shell", "-c", HOUR_AGO)
            assert "never runs again" in site.state(question)[1]
            assert decide(person, question, form, "approve") == 409
            assert site.ask(name) != question, "another call is asked about again"
            assert site.times(name) == before <= 1
    assert killed_at_work >= KILLS // 2


def test_task_of_one_server_is_told_and_cancelled_by_the_other_and_ends_with_its_own(site: Site):
    done, cancelled = [site.begin(name, server=1) for name in ("done", "cancelled")]
    for key in (done, cancelled):
        assert site.task(key, server=0)["status"] == "working"
    site.task(cancelled, 0, "cancel")
    wait_until(lambda: site.task(cancelled, server=0)["status"] == "cancelled")
    site.go_on.touch()
    wait_until(lambda: site.task(done, server=0)["status"] == "completed")
    assert site.task(done, server=0)["result"]["content"][0]["text"] == "Done with done"
    site.go_on.unlink()
    killed = site.begin("killed", server=1)
    site.servers[1].kill()
    told = site.task(killed, server=0)
    assert told["status"] == "failed"
    assert "Nobody knows whether the tool has acted" in told["error"]["message"]
    site.servers[1].start()
    site.go_on.touch()
    assert site.task(killed, server=1)["error"] == told["error"]
    assert site.task(done, server=1)["status"] == "completed"
    assert [site.times(name) for name in ("done", "cancelled", "killed")] == [1, 1, 1]
