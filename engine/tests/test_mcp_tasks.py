"""Long calls of MCP clients as tasks: a handle, and a result for the client that has called, and for nobody else."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

pytest.importorskip("fastmcp")

from mcp import MCPError
from mcp_message import TASKS

from agui.contrib.mcp import approvals, gate, task_rows, tasks
from agui.contrib.mcp.models import ClientTask
from agui.models import AuditRecord
from agui.runs.processes import process_name
from agui.runs.shutdown import calls, end_runs
from tests import transcript_tools
from tests.calling import ENDPOINT, FORMS, JSON, Raw, text_of
from tests.serving import serve_to_mcp
from tests.transcript_tools import Gate, effects, make_slow

YES = {"action": "accept", "content": {"approval": True}}
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


class Caller(Raw):
    """A client that takes tasks."""

    async def get_result(self, name: str, **arguments: Any) -> dict[str, Any]:
        return (await self.call(name, arguments))["result"]

    async def task(self, name: str, **arguments: Any) -> str:
        """The id of the task that a call has become."""
        handle = await self.get_result(name, **arguments)
        assert handle["resultType"] == "task", handle
        return str(handle["taskId"])

    async def ask(self, method: str, key: str, **params: Any) -> dict[str, Any]:
        return await self.send(f"tasks/{method}", key, taskId=key, **params)

    async def get(self, key: str) -> dict[str, Any]:
        answer = await self.ask("get", key)
        assert "result" in answer, answer
        return answer["result"]

    async def settled(self, key: str) -> dict[str, Any]:
        """What is told of a task after its call has ended."""
        held.opened.set()
        await tasks.finish()
        return await self.get(key)


@pytest.fixture
def caller(user: Any) -> Caller:
    return Caller(user, {**TASKS, **FORMS})


async def audited() -> list[tuple[str, str, str]]:
    records = AuditRecord.objects.order_by("started_at")
    return [(record.tool_name, record.outcome, record.error) async for record in records]


# --- A long call


async def test_a_client_of_2025_or_without_tasks_has_none(caller: Caller):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": str(uuid4())}}
    headers = JSON | caller.token
    response = await caller.http.post(ENDPOINT, body, content_type="application/json", headers=headers)
    assert json.loads(response.content)["error"]["code"] == -32601
    caller.capabilities = {}
    waits = asyncio.create_task(caller.get_result("last"))
    await held.reached.wait()
    done, _ = await asyncio.wait([waits], timeout=0.2)
    assert not done
    held.opened.set()
    result = await waits
    assert (result["resultType"], text_of(result)) == ("complete", "at last")
    assert not await ClientTask.objects.aexists()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(MCPError(-32011, "Not now"), -32011, "Not now"), (OSError("a secret"), -32603, "Nobody knows whether")],
)
async def test_a_failure_of_the_server_is_an_error(caller: Caller, monkeypatch: Any, error: Any, code: int, words: str):
    async def break_down(*args: Any) -> None:
        raise error

    monkeypatch.setattr(gate, "record_call", break_down)
    failed = await caller.settled(await caller.task("last"))
    assert (failed["status"], failed["error"]["code"]) == ("failed", code)
    assert words in failed["error"]["message"]
    assert not {"result", "secret"} & failed.keys()
    assert "secret" not in json.dumps(failed)


# --- Questions, asked late or on the page


async def test_of_answers_at_once_one_executes_the_call(caller: Caller):
    key = await caller.task("inquire", amount=5)
    [name] = (await caller.settled(key))["inputRequests"]
    assert "amount" not in (await ClientTask.objects.aget()).arguments
    held.opened.clear()
    answers = [caller.ask("update", key, inputResponses={name: YES}) for _ in range(5)]
    for answer in await asyncio.gather(*answers):
        assert answer["result"]["resultType"] == "complete"
    # Only one of them has begun a call.
    await asyncio.wait(tasks.keepers, timeout=0.3, return_when=asyncio.FIRST_COMPLETED)
    assert (await caller.get(key))["status"] == "working"
    told = await caller.settled(key)
    assert (told["status"], text_of(told["result"]), effects) == ("completed", "spent 5", ["spent 5"])
    assert await audited() == [("inquire", "success", "")]
    assert (await AuditRecord.objects.aget()).approved_by == str(caller.user.pk)


async def test_of_two_answers_that_find_the_same_question_one_counts(caller: Caller):
    await caller.settled(await caller.task("inquire", amount=5))
    seen = await ClientTask.objects.select_related("question").aget()
    assert [await sync_to_async(task_rows.resume)(seen) for _ in range(2)] == [True, False]


async def test_an_answer_counts_for_its_own_task_alone(caller: Caller):
    keys = [await caller.task("inquire", amount=amount) for amount in (5, 500)]
    [name] = (await caller.settled(keys[0]))["inputRequests"]
    await caller.ask("update", keys[1], inputResponses={name: YES})
    assert (await caller.settled(keys[1]))["status"] == "input_required"
    assert effects == []


# --- Cancelling


async def test_a_cancelled_call_is_recorded_whenever_the_cancelling_comes(caller: Caller, monkeypatch: Any):
    """A client can't cancel the record of what it has done."""
    recording, go_on = asyncio.Event(), asyncio.Event()

    async def slow(*args: Any) -> None:
        recording.set()
        await go_on.wait()
        await record(*args)

    record = gate.record_call
    monkeypatch.setattr(gate, "record_call", slow)
    key = await caller.task("last")
    held.opened.set()
    await recording.wait()
    await caller.ask("cancel", key)
    await asyncio.sleep(0.2)
    go_on.set()
    assert (await caller.settled(key))["status"] == "completed"
    assert await audited() == [("last", "success", "")]


# --- The end of a process, and limits


async def test_a_task_of_a_dead_process_has_failed(caller: Caller):
    key = await caller.task("last")
    head, _, word = process_name().rpartition("/")
    dead = f"{head.rpartition('/')[0]}/{2**22 + 1}/{word}"
    await ClientTask.objects.aupdate(process=dead)
    told = await caller.get(key)
    assert (told["status"], told["error"]["code"]) == ("failed", -32603)
    assert "Nobody knows whether the tool has acted" in told["statusMessage"]


async def test_a_process_that_nobody_can_ask_about_is_dead_when_its_time_is_over(
    caller: Caller, clock: Any, settings: Any
):
    settings.AGUI = {**settings.AGUI, "RUN_TIMEOUT_SECONDS": 100}
    key = await caller.task("last")
    await caller.settled(key)
    await ClientTask.objects.aupdate(state="working", process="elsewhere/1/word")
    assert (await caller.get(key))["status"] == "working"
    clock.advance(100 + 61)
    assert (await caller.get(key))["status"] == "failed"


async def test_a_server_that_ends_keeps_how_its_tasks_ended(caller: Caller, settings: Any):
    settings.AGUI = {**settings.AGUI, "SHUTDOWN_SECONDS": 0.0}
    key = await caller.task("last")
    await end_runs()
    assert not tasks.keepers
    told = await caller.get(key)
    assert (told["status"], text_of(told["result"])) == ("completed", "The server ended before the tool did.")


async def test_who_has_too_many_tasks_waits_as_others_do(caller: Caller, monkeypatch: Any):
    monkeypatch.setattr(task_rows, "MAX_OPEN", 1)
    caller.capabilities = TASKS
    key = await caller.task("last")
    waits = await caller.get_result("wipe", what="disk")
    assert waits["structuredContent"]["approval"]["state"] == "pending"
    second = asyncio.create_task(caller.get_result("last"))
    done, _ = await asyncio.wait([second], timeout=0.2)
    assert not done
    await caller.settled(key)
    assert text_of(await second) == "at last"


async def test_a_result_is_encrypted_and_kept_for_a_day_unless_it_is_giant(
    caller: Caller, monkeypatch: Any, clock: Any
):
    monkeypatch.setattr(approvals, "MAX_RESULT_BYTES", 1000)
    giant = await caller.settled(await caller.task("last", text="x" * 2000))
    assert text_of(giant["result"]) == "The result is too large to be kept."
    held.opened.clear()
    assert text_of((await caller.settled(await caller.task("last")))["result"]) == "at last"
    assert not [row async for row in ClientTask.objects.all() if "at last" in row.result]
    clock.advance(23 * 3600)
    assert not await ClientTask.outdated().aexists()
    clock.advance(2 * 3600)
    assert await ClientTask.outdated().acount() == 2


async def test_the_client_that_leaves_before_its_handle_loses_nothing_else(caller: Caller):
    call = asyncio.create_task(caller.get_result("last"))
    await held.reached.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    held.opened.set()
    await asyncio.gather(*calls)
    assert (effects, await audited()) == (["at last"], [("last", "success", "")])
