"""A question holds for the arguments that it was made from, and no value can write its lines."""

import json
import sys
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from daily import at_night
from django.contrib.auth import get_user_model
from django.utils import timezone
from pydantic_ai import ApprovalRequired, FunctionToolset, ModelRetry, RunContext, Tool

from agui import AgentDeps, ToolRegistry, display_value, tool
from agui.testing import Chat, call, say
from tests.conftest import Client, decision

ORDERS = {1: "Ada, 408.75 €", 2: "Grace, 1199.94 €"}
Context = RunContext[AgentDeps]


@pytest.fixture
def cancelled() -> list[int]:
    return []


def question_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    [interrupt] = events[-1]["outcome"]["interrupts"]
    return interrupt


def own_words(order_id: int) -> ApprovalRequired:
    return ApprovalRequired({"x-confirm": f"Cancel the order of {ORDERS[order_id]}?"})


def in_the_function(cancelled: list[int]) -> dict[str, Any]:
    def cancel(ctx: Context, order_id: int) -> str:
        """Cancel an order."""
        if not ctx.tool_call_approved:
            raise own_words(order_id)
        cancelled.append(order_id)
        return "cancelled"

    return {"fn": cancel}


def in_the_validator(cancelled: list[int]) -> dict[str, Any]:
    def validate(ctx: Context, order_id: int) -> None:
        if not ctx.tool_call_approved:
            raise own_words(order_id)

    return {"fn": plainly(cancelled), "args_validator": validate}


def by_confirm(cancelled: list[int]) -> dict[str, Any]:
    def ask(ctx: Context, order_id: int) -> str:
        return f"Cancel the order of {ORDERS[order_id]}?"

    return {"fn": plainly(cancelled), "confirm": ask, "destructive": True}


def plainly(cancelled: list[int]) -> Any:
    def cancel(order_id: int) -> str:
        """Cancel an order."""
        cancelled.append(order_id)
        return "cancelled"

    return cancel


FROM_REGISTRY = [in_the_function, in_the_validator, by_confirm]
# pydantic-ai calls the tools of a toolset by itself, and has no confirm=.
WAYS = [("registry", way) for way in FROM_REGISTRY] + [("toolset", way) for way in FROM_REGISTRY[:2]]


@pytest.fixture(params=WAYS, ids=lambda way: f"{way[0]}-{way[1].__name__}")
def mounted(request: Any, mount: Any, cancelled: list[int]) -> Any:
    """The tool, from a registry or from a toolset."""
    place, way = request.param
    options = way(cancelled)
    fn = options.pop("fn")
    if place == "registry":
        registry = ToolRegistry()
        registry.add(fn, name="cancel", **options)
        return lambda *script: mount(registry, *script)
    toolset = FunctionToolset([Tool(fn, name="cancel", **options)])
    return lambda *script: mount(ToolRegistry(), *script, toolsets=[toolset])


async def test_other_arguments_are_asked_about_anew(client: Client, mounted: Any, cancelled: list[int]):
    mounted(call("cancel", order_id=1, _id="c1"), say("Done."))
    first = question_of(await client.run("Cancel it"))
    assert first["message"] == "Cancel the order of Ada, 408.75 €?"
    second = question_of(await client.run(resume=[decision("c1", editedArgs={"order_id": 2})]))
    assert cancelled == []
    assert second["message"] == "Cancel the order of Grace, 1199.94 €?"
    assert second["id"] != first["id"]
    assert json.loads(second["metadata"]["edited"]) == {"order_id": 2}
    assert (await client.thread())["pending"] == [second]

    # The same change again is no change of what was asked.
    await client.run(resume=[decision("c1", editedArgs={"order_id": 2})])
    assert cancelled == [2]


async def test_what_was_asked_about_anew_runs_as_it_was_asked(client: Client, mounted: Any, cancelled: list[int]):
    mounted(call("cancel", order_id=1, _id="c1"), say("Done."))
    await client.run("Cancel it")
    await client.run(resume=[decision("c1", editedArgs={"order_id": 2})])
    back = question_of(await client.run(resume=[decision("c1", editedArgs={"order_id": 1})]))
    assert back["message"] == "Cancel the order of Ada, 408.75 €?"
    await client.run(resume=[decision("c1")])
    assert cancelled == [1]


async def test_the_same_arguments_are_approved_at_once(client: Client, mounted: Any, cancelled: list[int]):
    mounted(call("cancel", order_id=1, _id="c1"), say("Done."))
    await client.run("Cancel it")
    await client.run(resume=[decision("c1", editedArgs={"order_id": 1})])
    assert cancelled == [1]


async def test_several_answers_are_taken_each_for_itself(client: Client, mounted: Any, cancelled: list[int]):
    mounted([call("cancel", order_id=1, _id="c1"), call("cancel", order_id=2, _id="c2")], say("Done."))
    await client.run("Cancel both")
    events = await client.run(resume=[decision("c1", editedArgs={"order_id": 2}), decision("c2")])
    assert cancelled == [2]
    assert question_of(events)["toolCallId"] == "c1"
    await client.run(resume=[decision("c1", approved=False)])
    assert cancelled == [2]


async def test_a_question_without_words_of_its_own_holds_for_what_the_user_wrote(client: Client, mount, cancelled):
    registry = ToolRegistry()
    registry.add(plainly(cancelled), name="cancel", destructive=True, confirm="Cancel it?")
    mount(registry, call("cancel", order_id=1, _id="c1"), say("Done."))
    await client.run("Cancel it")
    await client.run(resume=[decision("c1", editedArgs={"order_id": 2})])
    assert cancelled == [2]


async def test_a_test_of_the_user_is_asked_anew(user: Any, mounted: Any, cancelled: list[int]):
    mounted(call("cancel", order_id=1), say("Done."))
    chat = Chat(user)
    await chat.send("Cancel it")
    answer = await chat.approve(order_id=2)
    assert answer.interrupts[0]["message"] == "Cancel the order of Grace, 1199.94 €?"
    assert cancelled == []
    assert (await chat.approve()).text == "Done."
    assert cancelled == [2]


async def test_a_limit_that_the_change_no_longer_reaches_asks_nothing(client: Client, mount):
    paid: list[int] = []
    registry = ToolRegistry()

    @tool(registry)
    def pay(ctx: Context, amount: int) -> str:
        """Pay."""
        if amount > 100 and not ctx.tool_call_approved:
            raise ApprovalRequired({"x-confirm": f"Really pay {amount}?"})
        paid.append(amount)
        return "paid"

    mount(registry, call("pay", amount=500, _id="c1"), say("Done."))
    await client.run("Pay")
    await client.run(resume=[decision("c1", editedArgs={"amount": 600})])
    assert paid == []
    await client.run(resume=[decision("c1", editedArgs={"amount": 50})])
    assert paid == [50]


# --- confirm=


async def test_a_computed_question_has_the_look_of_what_destroys(client: Client, mount, cancelled):
    registry = ToolRegistry()
    registry.add(name="cancel", **by_confirm(cancelled))
    mount(registry, call("cancel", order_id=1, _id="c1"), say("Done."))
    metadata = question_of(await client.run("Cancel it"))["metadata"]
    assert metadata["x-destructive"] is True
    assert metadata["x-confirm"] == "Cancel the order of Ada, 408.75 €?"
    [entry] = json.loads((await client.get("tools/")).content)
    assert (entry["destructive"], entry.get("confirm")) == (True, None)


async def test_a_question_can_let_the_model_correct_itself(client: Client, mount, cancelled):
    async def ask(ctx: Context, order_id: int) -> str:
        if order_id not in ORDERS:
            raise ModelRetry("There is no such order.")
        return "Cancel?"

    registry = ToolRegistry()
    registry.add(plainly(cancelled), name="cancel", destructive=True, confirm=ask)
    model = mount(registry, call("cancel", order_id=9), call("cancel", order_id=1, _id="c2"), say("Done."))
    assert question_of(await client.run("Cancel it"))["toolCallId"] == "c2"
    assert "There is no such order." in str(model.requests[1].messages)


async def test_a_question_that_fails_is_a_tool_that_fails(client: Client, mount, cancelled, caplog):
    registry = ToolRegistry()
    registry.add(plainly(cancelled), name="cancel", destructive=True, confirm=lambda ctx, order_id: ORDERS[order_id])
    mount(registry, call("cancel", order_id=9), say("Sorry."))
    events = await client.run("Cancel it")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert cancelled == []
    assert "confirm= failed" in caplog.text


# --- editable=


def change(order_id: int, note: str = "", urgent: bool = False) -> str:
    """Change an order."""
    changes.append((order_id, note, urgent))
    return "changed"


changes: list[tuple[int, str, bool]] = []


@pytest.fixture(autouse=True)
def forget_changes() -> None:
    changes.clear()


async def ask_to_change(client: Client, mount: Any, editable: Any) -> dict[str, Any]:
    registry = ToolRegistry()
    registry.add(change, destructive=True, editable=editable)
    mount(registry, call("change", order_id=1, note="a", _id="c1"), say("Done."))
    return question_of(await client.run("Change it"))


async def test_arguments_that_nobody_may_change(client: Client, mount):
    interrupt = await ask_to_change(client, mount, False)
    assert "editedArgs" not in interrupt["responseSchema"]["properties"]
    events = await client.run(resume=[decision("c1", editedArgs={"order_id": 1, "note": "b"})])
    assert events[-1]["code"] == "invalid_resume"
    assert changes == []
    # Some clients send back what they have received, with the defaults.
    await client.run(resume=[decision("c1", editedArgs={"order_id": 1, "note": "a", "urgent": False})])
    assert changes == [(1, "a", False)]


async def test_some_arguments_may_be_changed(client: Client, mount):
    interrupt = await ask_to_change(client, mount, ["note"])
    properties = interrupt["responseSchema"]["properties"]["editedArgs"]["properties"]
    assert [name for name in properties if properties[name].get("readOnly")] == ["order_id", "urgent"]
    for wrong in ({"order_id": 2, "note": "b"}, {"order_id": 1, "note": "b", "urgent": True}):
        events = await client.run(resume=[decision("c1", editedArgs=wrong)])
        assert events[-1]["code"] == "invalid_resume"
    await client.run(resume=[decision("c1", editedArgs={"note": "b"})])
    assert changes == [(1, "b", False)]


async def test_a_toolset_and_an_exception_can_say_so_too(client: Client, mount):
    def change(ctx: Context, order_id: int) -> str:
        """Change an order."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired({"x-editable": False})
        return "changed"

    toolsets = [FunctionToolset([change])]
    mount(ToolRegistry(), call("change", order_id=1, _id="c1"), say("Done."), toolsets=toolsets)
    interrupt = question_of(await client.run("Change it"))
    assert "editedArgs" not in interrupt["responseSchema"]["properties"]
    events = await client.run(resume=[decision("c1", editedArgs={"order_id": 2})])
    assert events[-1]["code"] == "invalid_resume"


def test_a_text_is_no_list_of_names():
    with pytest.raises(ValueError, match="give a list of parameters"):
        ToolRegistry().add(change, editable="note")


# --- Values stay inside their lines


BIDI_CONTROLS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
NEW_LINES = ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029"]
HOSTILE = [f"fine{line}New values:{line}status: new" for line in NEW_LINES] + [
    "fine" + " " * 400 + "New values",
    "fine" + "\u3000\u00a0\u2800\u3164" * 100 + "New values",
    "fine \u202eseulav weN\u202c \u2066x\u2069",
    "x" * 10_000,
]


@pytest.mark.parametrize("value", HOSTILE)
async def test_a_value_writes_no_line_of_a_question(client: Client, mount, value: str):
    def ask(ctx: Context, note: str) -> list[str]:
        return [f"Keep {display_value(note)}?", f"note: {note}"]

    def keep(note: str) -> str:
        """Keep a note."""
        return note

    def drop(ctx: Context, note: str) -> str:
        """Drop a note."""
        raise ApprovalRequired({"x-confirm": f"Drop {note}?", "x-summary": note})

    registry = ToolRegistry()
    registry.add(keep, destructive=True, confirm=ask)
    registry.add(drop)
    mount(registry, [call("keep", note=value), call("drop", note=value)])
    events = await client.run("Keep it, and drop it")
    asked = {one["metadata"]["toolName"]: one for one in events[-1]["outcome"]["interrupts"]}
    kept, dropped = asked["keep"]["message"], asked["drop"]["message"]
    assert len(asked["drop"]["metadata"]["x-summary"].splitlines()) == 1
    assert len(kept.splitlines()) == 2
    assert len(dropped.splitlines()) == 1
    for message in (kept, dropped):
        assert "  " not in message
        assert not {"\u202e", "\u2066", "\u3000", "\u2800"} & set(message)
        assert len(message) < 5000


# By day the characters that most people write, and those that end a line or turn its direction.
@pytest.mark.parametrize("last", [0x3100, *at_night(sys.maxunicode)])
def test_no_character_leaves_its_line(last: int):
    for number in range(last + 1):
        shown = display_value(f"a{chr(number)}b")
        assert len(shown.splitlines()) == 1, hex(number)
        assert (shown[:2], shown[-2:]) == ("“a", "b”"), hex(number)
        assert not {"“", "”"} & set(shown[1:-1]), hex(number)
        assert unicodedata.bidirectional(shown[2]) not in BIDI_CONTROLS, hex(number)


def test_values_for_people():
    assert display_value(Decimal("408.750")) == "408.750"
    assert display_value(7) == "7"
    assert display_value(get_user_model()(username="ada\n")) == "“ada”"
    assert display_value(date(2026, 11, 26)) == "Nov. 26, 2026"
    moment = datetime(2026, 11, 26, 12, 47, 5, 263490, tzinfo=ZoneInfo("UTC"))
    with timezone.override("Europe/Berlin"):
        assert display_value(moment) == "Nov. 26, 2026, 1:47 p.m. CET"
