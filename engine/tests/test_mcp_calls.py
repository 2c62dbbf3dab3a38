"""Calls of MCP clients that ask with forms or become tasks. (transcripts/mcp_forms.yaml, mcp_tasks.yaml have more.)"""

import asyncio
import json
from collections.abc import AsyncIterator
from enum import Enum
from typing import Any, Literal
from unittest.mock import AsyncMock, MagicMock, Mock
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel

pytest.importorskip("fastmcp")

import httpx2
from mcp import MCPError, types
from mcp_message import TASKS
from pydantic_ai import ApprovalRequired, RunContext

from agui import AgentDeps, Question
from agui.contrib.mcp import approvals, forms, gate, task_rows, tasks
from agui.contrib.mcp.flat import NotFlat, form_of
from agui.contrib.mcp.models import ClientQuestion, ClientTask
from agui.models import AuditRecord
from agui.runs.processes import process_name
from agui.runs.shutdown import calls, end_runs
from tests import transcript_tools, urls
from tests.calling import ACCEPTED, ENDPOINT, FORMS, JSON, Raw, client_of, raw_of, serve_tools, site, text_of
from tests.conftest import until
from tests.serving import serve_to_mcp
from tests.transcript_tools import Gate, effects, make_shop, make_slow

YES = {"approval": {"action": "accept", "content": {"approval": True}}}
DECLINED = "The user declined. Nothing was done."
each_version = pytest.mark.parametrize("mode", ["auto", "legacy"])


class Trip(BaseModel):
    seats: list[urls.Seat]


def plan() -> str:
    """Ask for what no form has."""
    raise Question("Which trip?", answer=Trip)


def name() -> str:
    """Ask for a name."""
    raise Question("Which name?")


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    registry = make_shop()[0]
    for function in (urls.choose_day, plan, name):
        registry.add(function)
    serve_to_mcp(settings, registry)


# --- What the official client sees, in both versions of the protocol


@each_version
async def test_a_form_asks_for_approval(user: Any, mode: str):
    asked: list[str] = []
    no = types.ElicitResult(action="accept", content={"approval": False})
    answers = [ACCEPTED, ACCEPTED, no, types.ElicitResult(action="decline"), types.ElicitResult(action="cancel")]

    def answer(params: Any) -> types.ElicitResult:
        asked.append(params.message)
        return answers[len(asked) - 1]

    async with client_of(user, mode, answer) as client:
        paid = await client.call_tool("pay", {"amount": 5, "pin": "1234"})
        within = await client.call_tool("transfer", {"amount": 5})
        others = [await client.call_tool("pay", {"amount": amount}) for amount in (6, 7, 8)]
    assert [(text_of(each), each.is_error) for each in (paid, within)] == [("paid 5", False), ("transferred", False)]
    assert [(text_of(each), each.is_error) for each in others] == [(DECLINED, True)] * 3
    assert effects == ["paid 5 to Bo with 1234", "transferred 5"]
    assert asked[0] == 'Run "Pay"?\namount: 5\npin: “[redacted]”'
    records = AuditRecord.objects.order_by("started_at").values_list("outcome", "approved_by", "via")
    yes, denied = ("success", str(user.pk), "mcp: mcp"), ("denied", "", "mcp: mcp")
    assert [record async for record in records] == [yes, yes, denied, denied, denied]
    assert {row.state async for row in ClientQuestion.objects.all()} == {"used", "declined"}
    assert not await ClientQuestion.objects.exclude(answer__isnull=True).aexists()


@each_version
async def test_a_form_asks_a_question_once(user: Any, mode: str):
    def answer(params: Any) -> types.ElicitResult:
        wrapped = "answer" in params.requested_schema["properties"]
        content: Any = {"answer": "2026-12-24"} if wrapped else {"row": 3, "window": True}
        return types.ElicitResult(action="accept", content=content)

    async with client_of(user, mode, answer) as client:
        seat = await client.call_tool("book", {})
        day = await client.call_tool("choose_day", {})
        nested = await client.call_tool("plan", {})
    assert text_of(seat) == '{"row": 3, "window": true}'
    assert text_of(day) == "2026-12-24"
    assert "only be given in the chat" in text_of(nested)


@each_version
async def test_odd_characters_are_asked_about_and_answered(user: Any, mode: str):
    given = types.ElicitResult(action="accept", content={"approval": True, "answer": "a\x00b"})
    async with client_of(user, mode, lambda _: given) as client:
        sent = await client.call_tool("send", {"to": "a\x00b"})
        named = await client.call_tool("name", {})
    assert text_of(sent) == "sent"
    assert text_of(named) in ("a\x00b", "a\ufffdb")


@pytest.mark.database
async def test_an_answer_may_reach_another_process(user: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(forms, "_arrivals", MagicMock(get=lambda key: None))
    async with client_of(user, "legacy", lambda _: ACCEPTED) as client:
        assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"


async def test_an_answer_on_a_stream_counts_from_its_client_alone(user: Any, other: Any):
    """Somebody else, and another client of the user, post answers to a question that waits."""
    strangers = [await raw_of(other), await raw_of(user)]

    async def decline(params: Any) -> types.ElicitResult:
        key = str((await ClientQuestion.objects.aget()).pk)
        body = {"jsonrpc": "2.0", "id": key, "result": {"action": "accept", "content": {"approval": True}}}
        for stranger in strangers:
            headers = JSON | stranger.token | {"MCP-Protocol-Version": "2025-11-25"}
            posted = await stranger.http.post(ENDPOINT, body, content_type="application/json", headers=headers)
            assert posted.status_code == 202
        return types.ElicitResult(action="decline")

    async with client_of(user, "legacy", decline) as client:
        assert text_of(await client.call_tool("pay", {"amount": 5})) == DECLINED
    assert effects == []


async def test_who_leaves_while_asked_is_waited_for_no_longer(user: Any):
    about = {"protocolVersion": "2025-11-25", "capabilities": FORMS, "clientInfo": {"name": "x", "version": "1"}}
    called = {"name": "pay", "arguments": {"amount": 5}}
    headers = JSON | (await raw_of(user)).token
    async with asyncio.timeout(60), site() as url, httpx2.AsyncClient(headers=headers, timeout=60) as http:
        begun = await http.post(url, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about})
        session = {"Mcp-Session-Id": begun.headers["mcp-session-id"]}
        body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": called}
        async with http.stream("POST", url, json=body, headers=session) as response:
            async for line in response.aiter_lines():
                if "elicitation/create" in line:
                    break
        await asyncio.gather(*calls, return_exceptions=True)
    assert effects == []
    assert [record.outcome async for record in AuditRecord.objects.all()] == ["failed"]


# --- States that nobody should send


async def asked(raw: Raw, *call: Any) -> str:
    """The state of a new question."""
    result = (await raw.call(*call))["result"]
    assert result["resultType"] == "input_required"
    return str(result["requestState"])


@pytest.mark.database
async def test_of_answers_at_once_one_runs(user: Any):
    raw = await raw_of(user, FORMS)
    state = await asked(raw)
    answers = await asyncio.gather(*(raw.call(requestState=state, inputResponses=YES) for _ in range(10)))
    assert sum("result" in answer for answer in answers) == 1
    assert effects == ["paid 5 to Bo"]


# --- Forms


async def test_words_of_a_question_are_one_line_without_odd_characters(user: Any, settings: Any):
    def label(ctx: RunContext[AgentDeps], text: str = "a\x00b\ud800c") -> str:
        """Label something."""
        raise ApprovalRequired({"x-confirm": f"Label\n{text}?"})

    serve_tools(settings, label)
    await asked(await raw_of(user, FORMS), "label", {})
    message = (await ClientQuestion.objects.aget()).form["message"]
    assert message.startswith("Label a")
    assert "\x00" not in message


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Painting(BaseModel):
    color: Color
    tags: list[Literal["a", "b"]] = []


def test_choices_are_in_a_form():
    form, is_wrapped = form_of(Painting.model_json_schema())
    assert not is_wrapped
    assert form["properties"]["color"]["enum"] == ["red", "blue"]
    assert form["properties"]["tags"]["items"] == {"type": "string", "enum": ["a", "b"]}
    assert form["required"] == ["color"]
    assert form_of({})[1], "a value of any kind is wrapped"


@pytest.mark.parametrize("schema", [Trip.model_json_schema(), {"type": "array", "items": {}}, {"type": "object"}])
def test_what_is_nested_has_no_form(schema: dict[str, Any]):
    with pytest.raises(NotFlat):
        form_of(schema)


# --- Calls that last so long that they become tasks: a result for the client that has called, and for nobody else


class Caller(Raw):
    """A client that takes tasks. Its tools last until `held` is opened."""

    def __init__(self, user: Any) -> None:
        super().__init__(user, {**TASKS, **FORMS})
        self.held = Gate()

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
        self.held.opened.set()
        await tasks.finish()
        return await self.get(key)


@pytest.fixture
async def caller(user: Any, settings: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Caller]:
    caller = await sync_to_async(Caller)(user)
    monkeypatch.setattr(transcript_tools, "gates", lambda name: caller.held)
    monkeypatch.setattr(tasks, "POLL_SECONDS", 0.02)
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True, "TASK_AFTER_SECONDS": 0.05}}
    serve_to_mcp(settings, make_slow()[0])
    yield caller
    caller.held.opened.set()
    await tasks.finish()


async def audited() -> list[tuple[str, str, str]]:
    records = AuditRecord.objects.order_by("started_at")
    return [(record.tool_name, record.outcome, record.error) async for record in records]


async def test_a_client_of_2025_or_without_tasks_has_none(caller: Caller):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"taskId": str(uuid4())}}
    headers = JSON | caller.token
    response = await caller.http.post(ENDPOINT, body, content_type="application/json", headers=headers)
    assert json.loads(response.content)["error"]["code"] == -32601
    caller.capabilities = {}
    waits = asyncio.create_task(caller.get_result("last"))
    await caller.held.reached.wait()
    done, _ = await asyncio.wait([waits], timeout=0.2)
    assert not done
    caller.held.opened.set()
    result = await waits
    assert (result["resultType"], text_of(result)) == ("complete", "at last")
    assert not await ClientTask.objects.aexists()


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(MCPError(-32011, "Not now"), -32011, "Not now"), (OSError("a secret"), -32603, "Nobody knows whether")],
)
async def test_a_failure_of_the_server_is_an_error(caller: Caller, monkeypatch: Any, error: Any, code: int, words: str):
    monkeypatch.setattr(gate, "record_call", AsyncMock(side_effect=error))
    failed = await caller.settled(await caller.task("last"))
    assert (failed["status"], failed["error"]["code"]) == ("failed", code)
    assert words in failed["error"]["message"]
    assert not {"result", "secret"} & failed.keys()
    assert "secret" not in json.dumps(failed)


async def test_of_two_answers_that_find_the_same_question_one_counts(caller: Caller):
    await caller.settled(await caller.task("inquire", amount=5))
    seen = await ClientTask.objects.select_related("question").aget()
    assert "amount" not in seen.arguments, "they are encrypted"
    assert [await sync_to_async(task_rows.resume)(seen) for _ in range(2)] == [True, False]


async def test_an_answer_counts_for_its_own_task_alone(caller: Caller):
    keys = [await caller.task("inquire", amount=amount) for amount in (5, 500)]
    [name] = (await caller.settled(keys[0]))["inputRequests"]
    await caller.ask("update", keys[1], inputResponses={name: YES["approval"]})
    assert (await caller.settled(keys[1]))["status"] == "input_required"
    assert effects == []


async def test_a_cancelled_call_is_recorded_whenever_the_cancelling_comes(
    caller: Caller, monkeypatch: Any, intercept: Any
):
    """A client can't cancel the record of what it has done."""
    recording, record = Gate(), gate.record_call

    async def slow(*args: Any) -> None:
        await recording.passed()
        await record(*args)

    monkeypatch.setattr(gate, "record_call", slow)
    key = await caller.task("last")
    caller.held.opened.set()
    await recording.reached.wait()
    looked: list[bool] = []
    intercept(task_rows, "should_be_cancelled", after=looked.append)
    await caller.ask("cancel", key)
    await until(lambda: looked.count(True) > 1)
    recording.opened.set()
    assert (await caller.settled(key))["status"] == "completed"
    assert await audited() == [("last", "success", "")]


async def test_a_task_of_a_dead_process_has_failed(caller: Caller):
    key = await caller.task("last")
    head, _, word = process_name().rpartition("/")
    dead = f"{head.rpartition('/')[0]}/{2**22 + 1}/{word}"
    await ClientTask.objects.aupdate(process=dead)
    told = await caller.get(key)
    assert (told["status"], told["error"]["code"]) == ("failed", -32603)
    assert "Nobody knows whether the tool has acted" in told["statusMessage"]


async def test_a_process_elsewhere_is_dead_when_its_time_is_over(caller: Caller, clock: Any, settings: Any):
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


async def test_a_result_is_encrypted_and_only_kept_if_it_is_small(caller: Caller, monkeypatch: Any):
    monkeypatch.setattr(approvals, "MAX_RESULT_BYTES", 1000)
    giant = await caller.settled(await caller.task("last", text="x" * 2000))
    assert text_of(giant["result"]) == "The result is too large to be kept."
    caller.held.opened.clear()
    assert text_of((await caller.settled(await caller.task("last")))["result"]) == "at last"
    assert not [row async for row in ClientTask.objects.all() if "at last" in row.result]


async def test_a_result_that_can_not_be_kept_is_logged(caller: Caller, monkeypatch: Any, caplog: Any):
    looking = Mock(side_effect=OSError)
    monkeypatch.setattr(task_rows, "should_be_cancelled", looking)
    key = await caller.task("last")
    await until(lambda: looking.call_count > 1)
    assert (await caller.settled(key))["status"] == "completed"
    monkeypatch.setattr(task_rows, "settle", Mock(side_effect=OSError))
    caller.held.opened.clear()
    await caller.settled(await caller.task("last"))
    assert "Keeping the result of MCP task" in caplog.text


async def test_the_client_that_leaves_before_its_handle_loses_nothing_else(caller: Caller):
    call = asyncio.create_task(caller.get_result("last"))
    await caller.held.reached.wait()
    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    caller.held.opened.set()
    await asyncio.gather(*calls)
    assert (effects, await audited()) == (["at last"], [("last", "success", "")])
