"""Long calls of MCP clients as tasks: a handle, and a result for the client that has called, and for nobody else."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

pytest.importorskip("fastmcp")

from mcp import MCPError
from mcp_message import TASKS, message_of_2026

from agui.contrib.mcp import approvals, gate, task_rows, tasks
from agui.contrib.mcp.approvals import version_of
from agui.contrib.mcp.models import ClientQuestion, ClientTask
from agui.http.tokens import create_token
from agui.models import AuditRecord
from agui.runs.processes import process_name
from agui.runs.shutdown import calls, end_runs
from tests import transcript_tools
from tests.serving import serve_to_mcp
from tests.transcript_tools import Gate, effects, make_slow

FORMS = {"elicitation": {}}
UNKNOWN = -32602


held: Gate


@pytest.fixture(autouse=True)
async def mounted(settings: Any, monkeypatch: Any) -> AsyncIterator[None]:
    global held
    held = Gate()
    monkeypatch.setattr(transcript_tools, "gates", lambda name: held)
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True, "TASK_AFTER_SECONDS": 0.05}}
    serve_to_mcp(settings, make_slow()[0])
    monkeypatch.setattr(tasks, "POLL_SECONDS", 0.02)
    yield
    held.opened.set()
    await tasks.finish()


@pytest.fixture
def patient(settings: Any) -> None:
    """Only what waits becomes a task, however slow this machine is."""
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True, "TASK_AFTER_SECONDS": 60}}


class Caller:
    """A client with a token, which sends what it likes."""

    def __init__(self, user: Any, capabilities: Any = TASKS) -> None:
        self.http = AsyncClient()
        self.token = {"authorization": f"Bearer {create_token(user)[1]}"}
        self.capabilities = capabilities

    async def send(self, method: str, header: str, **params: Any) -> dict[str, Any]:
        body, headers = message_of_2026(method, header, params, self.capabilities)
        headers |= self.token
        response = await self.http.post("/agent/mcp/", body, content_type="application/json", headers=headers)
        answer: dict[str, Any] = json.loads(response.content)
        return answer

    async def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        return (await self.send("tools/call", name, name=name, arguments=arguments))["result"]

    async def task(self, name: str, **arguments: Any) -> str:
        """The id of the task that a call has become."""
        handle = await self.call(name, **arguments)
        assert handle["resultType"] == "task", handle
        return str(handle["taskId"])

    async def ask(self, method: str, key: str, **params: Any) -> dict[str, Any]:
        return await self.send(f"tasks/{method}", key, taskId=key, **params)

    async def get(self, key: str) -> dict[str, Any]:
        answer = await self.ask("get", key)
        assert "result" in answer, answer
        return answer["result"]

    async def state(self, key: str) -> str:
        return str((await self.get(key))["status"])

    async def settled(self, key: str) -> dict[str, Any]:
        """What is told of a task after its call has ended."""
        held.opened.set()
        await tasks.finish()
        return await self.get(key)

    async def code(self, method: str, key: str, **params: Any) -> int:
        return int((await self.ask(method, key, **params))["error"]["code"])


async def caller_of(user: Any, capabilities: Any = TASKS) -> Caller:
    return await sync_to_async(Caller)(user, capabilities)


class Person:
    """A signed-in browser."""

    def __init__(self, user: Any) -> None:
        self.http = AsyncClient()
        self.http.force_login(user)

    async def decide(self, question: ClientQuestion, do: str) -> int:
        form = {"shown": version_of(question), "do": do}
        return (await self.http.post(f"/agent/mcp/approvals/{question.pk}/", form)).status_code


async def person_of(user: Any) -> Person:
    return await sync_to_async(Person)(user)


def text_of(told: dict[str, Any]) -> str:
    [block] = told["result"]["content"]
    return str(block["text"])


async def audited() -> list[tuple[str, str, str]]:
    records = AuditRecord.objects.order_by("started_at")
    return [(record.tool_name, record.outcome, record.error) async for record in records]


# --- A long call


async def test_a_long_call_gives_a_handle_and_then_its_result(user: Any):
    caller = await caller_of(user)
    handle = await caller.call("last", text="done")
    key = handle["taskId"]
    assert (handle["resultType"], handle["status"]) == ("task", "working")
    assert handle["ttlMs"] > 0
    assert not {"result", "error", "inputRequests", "requestState"} & handle.keys()
    working = await caller.get(key)
    assert (working["resultType"], working["status"], effects) == ("complete", "working", [])
    told = await caller.settled(key)
    assert (told["status"], text_of(told), told["result"]["isError"]) == ("completed", "done", False)
    assert told == await caller.get(key)
    assert effects == ["done"]
    assert await audited() == [("last", "success", "")]
    row = await ClientTask.objects.aget()
    assert "done" not in row.result


async def test_a_client_without_tasks_waits_for_the_result(user: Any):
    plain = await caller_of(user, {})
    waits = asyncio.create_task(plain.call("last"))
    await held.reached.wait()
    done, _ = await asyncio.wait([waits], timeout=0.2)
    assert not done
    held.opened.set()
    result = await waits
    assert (result["resultType"], result["content"][0]["text"]) == ("complete", "at last")
    assert not await ClientTask.objects.aexists()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(MCPError(-32011, "Not now"), -32011, "Not now"), (OSError("a secret"), -32603, "Nobody knows whether")],
)
async def test_a_failure_of_the_server_is_an_error(user: Any, monkeypatch: Any, error: Any, code: int, words: str):
    async def break_down(*args: Any) -> None:
        raise error

    monkeypatch.setattr(gate, "record_call", break_down)
    caller = await caller_of(user)
    failed = await caller.settled(await caller.task("last"))
    assert (failed["status"], failed["error"]["code"]) == ("failed", code)
    assert words in failed["error"]["message"]
    assert not {"result", "secret"} & failed.keys()
    assert "secret" not in json.dumps(failed)


# --- Whose it is


async def test_a_client_of_2025_has_no_tasks(user: Any):
    caller = await caller_of(user)
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": str(uuid4())}}
    headers = {"Accept": "application/json, text/event-stream", **caller.token}
    response = await caller.http.post("/agent/mcp/", body, content_type="application/json", headers=headers)
    assert json.loads(response.content)["error"]["code"] == -32601


# --- Questions, asked late or on the page


async def test_a_late_approval_is_asked_of_the_client_and_the_call_is_executed_once(user: Any):
    caller = await caller_of(user, {**TASKS, **FORMS})
    key = await caller.task("inquire", amount=5)
    asks = await caller.settled(key)
    [(name, request)] = asks["inputRequests"].items()
    assert (asks["status"], request["method"]) == ("input_required", "elicitation/create")
    assert "Spend 5?" in request["params"]["message"]
    assert "amount" not in (await ClientTask.objects.aget()).arguments
    yes = {"action": "accept", "content": {"approval": True}}
    for other in ({}, {"approval": yes}, {name: {"action": "perhaps"}}, {name: "yes"}):
        assert (await caller.ask("update", key, inputResponses=other))["result"]["resultType"] == "complete"
    assert (await caller.state(key), effects) == ("input_required", [])
    held.opened.clear()
    twice = [caller.ask("update", key, inputResponses={name: yes}) for _ in range(5)]
    for answer in await asyncio.gather(*twice):
        assert answer["result"]["resultType"] == "complete"
    # Only one of them has begun a call.
    await asyncio.wait(tasks.keepers, timeout=0.3, return_when=asyncio.FIRST_COMPLETED)
    assert await caller.state(key) == "working"
    told = await caller.settled(key)
    assert (told["status"], text_of(told), effects) == ("completed", "spent 5", ["spent 5"])
    assert await audited() == [("inquire", "success", "")]
    record = await AuditRecord.objects.aget()
    assert record.approved_by == str(user.pk)


async def test_of_two_answers_that_find_the_same_question_one_counts(user: Any):
    caller = await caller_of(user, {**TASKS, **FORMS})
    await caller.settled(await caller.task("inquire", amount=5))
    seen = await ClientTask.objects.select_related("question").aget()
    assert [await sync_to_async(task_rows.resume)(seen) for _ in range(2)] == [True, False]


async def test_an_answer_counts_for_its_own_task_alone(user: Any):
    caller = await caller_of(user, {**TASKS, **FORMS})
    keys = [await caller.task("inquire", amount=amount) for amount in (5, 500)]
    [name] = (await caller.settled(keys[0]))["inputRequests"]
    await caller.ask("update", keys[1], inputResponses={name: {"action": "accept", "content": {"approval": True}}})
    assert (await caller.settled(keys[1]))["status"] == "input_required"
    assert effects == []


# --- Cancelling


async def test_a_cancelled_call_is_recorded_whenever_the_cancelling_comes(user: Any, monkeypatch: Any):
    """A client can't cancel the record of what it has done."""
    recording, go_on = asyncio.Event(), asyncio.Event()

    async def slow(*args: Any) -> None:
        recording.set()
        await go_on.wait()
        await record(*args)

    record = gate.record_call
    monkeypatch.setattr(gate, "record_call", slow)
    caller = await caller_of(user)
    key = await caller.task("last")
    held.opened.set()
    await recording.wait()
    await caller.ask("cancel", key)
    await asyncio.sleep(0.2)
    go_on.set()
    assert (await caller.settled(key))["status"] == "completed"
    assert await audited() == [("last", "success", "")]


# --- The end of a process, and limits


async def test_a_task_of_a_dead_process_has_failed(user: Any):
    caller = await caller_of(user)
    key = await caller.task("last")
    ours = process_name()
    head, _, word = ours.rpartition("/")
    dead = f"{head.rpartition('/')[0]}/{2**22 + 1}/{word}"
    await ClientTask.objects.aupdate(process=dead)
    told = await caller.get(key)
    assert (told["status"], told["error"]["code"]) == ("failed", -32603)
    assert "Nobody knows whether the tool has acted" in told["statusMessage"]


async def test_a_process_that_nobody_can_ask_about_is_dead_when_its_time_is_over(user: Any, clock: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "RUN_TIMEOUT_SECONDS": 100}
    caller = await caller_of(user)
    key = await caller.task("last")
    await caller.settled(key)
    await ClientTask.objects.aupdate(state="working", process="elsewhere/1/word")
    assert await caller.state(key) == "working"
    clock.advance(100 + 61)
    assert await caller.state(key) == "failed"


async def test_a_server_that_ends_keeps_how_its_tasks_ended(user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "SHUTDOWN_SECONDS": 0.0}
    caller = await caller_of(user)
    key = await caller.task("last")
    await end_runs()
    assert not tasks.keepers
    told = await caller.get(key)
    assert (told["status"], text_of(told)) == ("completed", "The server ended before the tool did.")


async def test_who_has_too_many_tasks_waits_as_others_do(user: Any, monkeypatch: Any):
    monkeypatch.setattr(task_rows, "MAX_OPEN", 1)
    caller = await caller_of(user)
    key = await caller.task("last")
    waits = await caller.call("wipe", what="disk")
    assert waits["structuredContent"]["approval"]["state"] == "pending"
    second = asyncio.create_task(caller.call("last"))
    done, _ = await asyncio.wait([second], timeout=0.2)
    assert not done
    await caller.settled(key)
    assert (await second)["content"][0]["text"] == "at last"


async def test_a_giant_result_is_not_kept(user: Any, settings: Any, monkeypatch: Any):
    monkeypatch.setattr(approvals, "MAX_RESULT_BYTES", 1000)
    caller = await caller_of(user)
    key = await caller.task("last", text="x" * 2000)
    assert text_of(await caller.settled(key)) == "The result is too large to be kept."


async def test_a_task_is_kept_for_a_day(user: Any, clock: Any):
    caller = await caller_of(user)
    key = await caller.task("last")
    told = await caller.settled(key)
    clock.advance(23 * 3600)
    assert (await caller.get(key))["result"] == told["result"]
    assert not await ClientTask.outdated().aexists()
    clock.advance(2 * 3600)
    assert await caller.code("get", key) == UNKNOWN
    assert await ClientTask.outdated().aexists()


async def test_the_client_that_leaves_before_its_handle_loses_nothing_else(user: Any):
    caller = await caller_of(user)
    call = asyncio.create_task(caller.call("last"))
    await held.reached.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    held.opened.set()
    await asyncio.gather(*calls)
    assert (effects, await audited()) == (["at last"], [("last", "success", "")])
