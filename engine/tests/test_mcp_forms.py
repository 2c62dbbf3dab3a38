"""Approvals and questions that MCP clients show as forms: what is answered runs once, and nothing else runs."""

import asyncio
import json
import random
from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from asgiref.sync import sync_to_async
from pydantic import BaseModel, Field, SecretStr

pytest.importorskip("fastmcp")

import httpx2
from fastmcp import Client as FastClient
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from mcp import types
from pydantic_ai import ApprovalRequired, RunContext

from agui import AgentDeps, Question, ToolRegistry, tool
from agui.contrib.mcp import forms
from agui.contrib.mcp.flat import NotFlat, form_of
from agui.contrib.mcp.models import ClientQuestion
from agui.models import AuditRecord
from agui.runs.shutdown import calls
from tests.calling import ACCEPTED, ENDPOINT, FORMS, JSON, Raw, client_of, raw_of, serve_tools, site, text_of
from tests.conftest import Client
from tests.serving import serve_to_mcp

YES = {"approval": {"action": "accept", "content": {"approval": True}}}
effects: list[str] = []


class Seat(BaseModel):
    row: int = Field(ge=1)
    window: bool = False


class Trip(BaseModel):
    seats: list[Seat]


def make_registry() -> ToolRegistry:
    registry = ToolRegistry()

    @tool(registry, requires_approval=True)
    def pay(amount: int, pin: SecretStr | None = None) -> str:
        """Pay an amount."""
        effects.append(f"paid {amount}")
        return f"paid {amount}"

    @tool(registry)
    def inquire(ctx: RunContext[AgentDeps]) -> str:
        """Ask from within."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired({"x-confirm": "Shall I?\nreally"})
        effects.append("inquired")
        return "inquired"

    @tool(registry)
    def book() -> str:
        """Ask for a seat."""
        effects.append("asked for a seat")
        raise Question("Which seat?", answer=Seat)

    @tool(registry)
    def choose_day() -> str:
        """Ask for a day."""
        raise Question("Which day?", answer=date)

    @tool(registry)
    def plan() -> str:
        """Ask for what no form has."""
        raise Question("Which trip?", answer=Trip)

    return registry


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    effects.clear()
    serve_to_mcp(settings, make_registry())


# --- What the official client sees, in both versions of the protocol


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_form_asks_for_approval(user: Any, mode: str):
    asked: list[Any] = []

    def approve(params: Any) -> types.ElicitResult:
        asked.append(params)
        return types.ElicitResult(action="accept", content={"approval": len(asked) != 2})

    async with client_of(user, mode, approve) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        approved = await client.call_tool("pay", {"amount": 5, "pin": "1234"})
        denied = await client.call_tool("pay", {"amount": 6})
        within = await client.call_tool("inquire", {})
    assert {"pay", "approval_status"} <= names
    assert [text_of(approved), text_of(denied), text_of(within)] == [
        "paid 5",
        "The user declined. Nothing was done.",
        "inquired",
    ]
    assert [approved.is_error, denied.is_error] == [False, True]
    assert effects == ["paid 5", "inquired"]
    assert asked[0].message == 'Run "Pay"?\namount: 5\npin: “[redacted]”'
    assert asked[2].message == "Shall I? really"
    records = AuditRecord.objects.order_by("started_at").values_list("outcome", "approved_by", "via")
    assert [record async for record in records] == [
        ("success", str(user.pk), "mcp: mcp"),
        ("denied", "", "mcp: mcp"),
        ("success", str(user.pk), "mcp: mcp"),
    ]
    assert {row.state async for row in ClientQuestion.objects.all()} == {"used", "declined"}
    assert not await ClientQuestion.objects.exclude(answer=None).aexists()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_what_is_not_accepted_does_not_run(user: Any, mode: str, action: Literal["decline", "cancel"]):
    async with client_of(user, mode, lambda _: types.ElicitResult(action=action)) as client:
        result = await client.call_tool("pay", {"amount": 5})
        question = await client.call_tool("book", {})
    assert [text_of(result), text_of(question)] == ["The user declined. Nothing was done."] * 2
    assert effects == ["asked for a seat"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_form_asks_a_question_once(user: Any, mode: str):
    def answer(params: Any) -> types.ElicitResult:
        wrapped = "answer" in params.requested_schema["properties"]
        content: Any = {"answer": "2026-12-24"} if wrapped else {"row": 3, "window": True}
        return types.ElicitResult(action="accept", content=content)

    async with client_of(user, mode, answer) as client:
        seat = await client.call_tool("book", {})
        day = await client.call_tool("choose_day", {})
        nested = await client.call_tool("plan", {})
    assert json.loads(text_of(seat)) == {"row": 3, "window": True}
    assert text_of(day) == "2026-12-24"
    assert "only be given in the chat" in text_of(nested)
    assert effects == ["asked for a seat"]


@pytest.mark.database
async def test_an_answer_may_reach_another_process(user: Any, monkeypatch: pytest.MonkeyPatch):
    class Elsewhere(dict[Any, Any]):
        def get(self, key: Any, default: Any = None) -> Any:
            return None

    monkeypatch.setattr(forms, "_arrivals", Elsewhere())
    async with client_of(user, "legacy", lambda _: ACCEPTED) as client:
        assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"


async def test_an_answer_on_a_stream_counts_from_its_client_alone(user: Any, other: Any):
    """Somebody else, and another client of the user, post answers to a question that waits."""
    strangers = [await sync_to_async(Client)(other), await sync_to_async(Client)(user)]
    headers = JSON | {"MCP-Protocol-Version": "2025-11-25"}

    async def interfere() -> None:
        while (question := await ClientQuestion.objects.afirst()) is None:  # noqa: ASYNC110 # rows have no event
            await asyncio.sleep(0.01)
        result = {"action": "accept", "content": {"approval": True}}
        for client in strangers:
            body = json.dumps({"jsonrpc": "2.0", "id": str(question.pk), "result": result})
            response = await client.http.post(ENDPOINT, body, content_type="application/json", headers=headers)
            assert response.status_code == 202
        interfered.set()

    interfered = asyncio.Event()

    async def decline(params: Any) -> types.ElicitResult:
        await interfered.wait()
        return types.ElicitResult(action="decline")

    async with client_of(user, "legacy", decline) as client:
        task = asyncio.create_task(interfere())
        result = await client.call_tool("pay", {"amount": 5})
        await task
    assert result.is_error
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
        while calls:  # noqa: ASYNC110 # what has ended removes itself
            await asyncio.sleep(0.01)
    assert effects == []
    assert [record.outcome async for record in AuditRecord.objects.all()] == ["failed"]


async def test_fastmcp_asks_with_forms_too(user: Any):
    async def elicit(message: str, *_: Any) -> dict[str, Any]:
        return {"approval": "amount: 5" in message}

    token = (await raw_of(user)).token
    async with site() as url:
        transport = StreamableHttpTransport(url, headers=token)
        async with FastClient(transport, elicitation_handler=elicit) as client:
            assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
            with pytest.raises(ToolError, match="The user declined"):
                await client.call_tool("pay", {"amount": 6})
    assert effects == ["paid 5"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_who_has_no_forms_is_asked_no_question(user: Any, mode: str):
    async with client_of(user, mode, None) as client:
        waits = await client.call_tool("pay", {"amount": 5})
        asked = await client.call_tool("book", {})
    assert "Nothing was done" in text_of(waits)
    assert "only be given in the chat" in text_of(asked)
    assert effects == ["asked for a seat"]
    assert (await ClientQuestion.objects.aget()).state == "pending"


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
    assert effects == ["paid 5"]


async def test_a_thousand_forged_states_run_nothing(user: Any):
    raw = await raw_of(user, FORMS)
    chance = random.Random(39)  # noqa: S311 # no secret
    state = await asked(raw)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_."
    forged = {"", "x", "v1.", state + "A", state[:-1], state.upper(), str((await ClientQuestion.objects.aget()).pk)}
    while len(forged) < 1000:
        at = chance.randrange(len(state))
        mixed = state[:at] + chance.choice(letters) + state[at + chance.randrange(2) :]
        if mixed != state:
            forged.add(mixed)
    for sent in forged:
        answer = await raw.call(requestState=sent, inputResponses=YES)
        assert answer.get("error", {}).get("data") == {"reason": "invalid_request_state"}, (sent, answer)
    assert effects == []
    assert (await ClientQuestion.objects.aget()).state == "open"
    assert not await AuditRecord.objects.aexists()


async def test_after_a_change_of_the_key_open_forms_can_be_answered(user: Any, settings: Any):
    raw = await raw_of(user, FORMS)
    state = await asked(raw)
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another key that is long enough for anything, and new"
    assert "result" in await raw.call(requestState=state, inputResponses=YES)
    assert effects == ["paid 5"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_odd_characters_are_asked_about_and_answered(user: Any, settings: Any, mode: str):
    registry = ToolRegistry()

    @tool(registry, requires_approval=True)
    def label(text: str) -> str:
        """Label something."""
        return "labelled"

    @tool(registry)
    def name() -> str:
        """Ask for a name."""
        raise Question("Which name?")

    serve_to_mcp(settings, registry)
    given = types.ElicitResult(action="accept", content={"approval": True, "answer": "a\x00b"})
    async with client_of(user, mode, lambda _: given) as client:
        labelled = await client.call_tool("label", {"text": "a\x00b"})
        named = await client.call_tool("name", {})
    assert text_of(labelled) == "labelled"
    assert text_of(named) in ("a\x00b", "a\ufffdb")


async def test_half_of_a_character_is_asked_about(user: Any, settings: Any):
    def label(ctx: RunContext[AgentDeps], text: str = "a\x00b\ud800c") -> str:
        """Label something."""
        raise ApprovalRequired({"x-confirm": f"Label {text}?"})

    serve_tools(settings, label)
    assert await asked(await raw_of(user, FORMS), "label", {})
    assert "\x00" not in (await ClientQuestion.objects.aget()).form["message"]


# --- Forms


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Painting(BaseModel):
    color: Color
    size: Literal["big", "small"] = "big"
    tags: list[Literal["a", "b"]] = []


def test_choices_are_in_a_form():
    form, is_wrapped = form_of(Painting.model_json_schema())
    assert not is_wrapped
    assert form["properties"]["color"]["enum"] == ["red", "blue"]
    assert form["properties"]["tags"]["items"] == {"type": "string", "enum": ["a", "b"]}
    assert form["required"] == ["color"]


@pytest.mark.parametrize("schema", [Trip.model_json_schema(), {"type": "array", "items": {}}, {}, {"type": "object"}])
def test_what_is_nested_has_no_form(schema: dict[str, Any]):
    if schema:
        with pytest.raises(NotFlat):
            form_of(schema)
    else:
        assert form_of(schema)[1]
