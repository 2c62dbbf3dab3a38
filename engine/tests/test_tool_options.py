"""What `@tool` can be told, as a client of the endpoint sees it."""

import asyncio
import inspect
import json
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pydantic_ai import ApprovalRequired, CallDeferred, ModelRetry, RunContext, Tool
from pydantic_ai.tools import GenerateToolJsonSchema, ToolDefinition

from agui import AgentDeps, ToolRegistry, tool
from agui.testing import call, say
from agui.tools.call import FAILED, TIMED_OUT, build_toolset
from agui.tools.schema import ToolOptions
from tests.conftest import Client, asked, decision, parts_of, results_of, run_input
from tests.wire import check_stream


@pytest.fixture
def registry() -> ToolRegistry:
    return ToolRegistry()


def echo(text: str = "") -> str:
    """Repeat a text."""
    return text


def results(events: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """What the client was told of each call: its outcome, and the result."""
    found = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    return [(event.get("metadata", {}).get("outcome", "success"), event["content"]) for event in found]


def outcomes(request: Any) -> list[tuple[str, Any]]:
    """What the model was told of each call."""
    return [(part.outcome, part.content) for part in results_of(request).values()]


def interrupts(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = events[-1]["outcome"]["interrupts"]
    return found


# --- prepare


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
async def test_prepare_decides_before_each_request(client: Client, user, mount, registry, is_async):
    steps: list[int] = []

    def second_step_only(ctx: RunContext[AgentDeps], definition: ToolDefinition) -> ToolDefinition | None:
        assert not ctx.deps.user.groups.exists()  # It may ask the database
        steps.append(ctx.run_step)
        return replace(definition, description="Now.") if ctx.run_step > 1 else None

    async def later(ctx: RunContext[AgentDeps], definition: ToolDefinition) -> ToolDefinition | None:
        return await sync_to_async(second_step_only)(ctx, definition)

    registry.add(echo, name="first", strict=True)
    registry.add(echo, name="late", strict=False, prepare=later if is_async else second_step_only)
    model = mount(registry, call("first"), call("late", text="x"), say("Done."))
    events = await client.run("Go")
    assert [list(request.tools) for request in model.requests] == [["first"], ["first", "late"], ["first", "late"]]
    assert model.requests[1].tools["late"].description == "Now."
    assert [tool.strict for tool in model.requests[1].tools.values()] == [True, False]
    assert results(events)[1] == ("success", "x")
    assert steps == [1, 2, 3]


async def test_prepare_that_breaks_hides_its_tool_and_ends_no_run(client: Client, mount, registry, caplog):
    prepared: list[str] = []

    def broken(ctx: RunContext[AgentDeps], definition: ToolDefinition) -> ToolDefinition:
        prepared.append(definition.name)
        raise LookupError("secret")

    registry.add(echo, prepare=broken)
    registry.add(echo, name="other")
    registry.add(echo, name="forbidden", permission="users.view_user", prepare=broken)
    model = mount(registry, say("Hi."))
    assert (await client.run("Go"))[-1]["outcome"] == {"type": "success"}
    assert list(model.requests[0].tools) == ["other"]
    assert caplog.records[0].getMessage().startswith("Leaving out tool 'echo'")
    assert prepared == ["echo"]  # Who lacks the permission is not asked about


async def test_prepare_can_take_away_neither_the_approval_nor_the_name(client: Client, mount, registry):
    def innocent(ctx: RunContext[AgentDeps], definition: ToolDefinition) -> ToolDefinition:
        return replace(definition, kind="function", name="harmless")

    registry.add(echo, name="wipe", destructive=True, prepare=innocent)
    mount(registry, call("wipe", _id="c1"))
    events = await client.run("Go")
    assert [one["toolCallId"] for one in events[-1]["outcome"]["interrupts"]] == ["c1"]


# --- strict, sequential, retries


async def test_a_sequential_tool_runs_alone(client: Client, mount, registry):
    at_work: list[str] = []
    seen: dict[str, list[str]] = {}
    together = asyncio.Barrier(2)

    async def work(name: str) -> str:
        at_work.append(name)
        if name.startswith("beside"):
            await together.wait()  # Both are at work, or neither goes on
        await asyncio.sleep(0)
        seen[name] = sorted(at_work)
        at_work.remove(name)
        return name

    registry.add(work, name="work", description="Work.")
    registry.add(work, name="alone", description="Work alone.", sequential=True)
    calls = [call("work", name="beside 1"), call("work", name="beside 2"), call("alone", name="lock")]
    mount(registry, calls, say("Done."))
    async with asyncio.timeout(60):
        await client.run("Go")
    assert len(seen) == 3
    assert seen["lock"] == ["lock"]
    assert "lock" not in seen["beside 1"] + seen["beside 2"]


@pytest.mark.parametrize(("retries", "ends"), [(3, "RUN_FINISHED"), (1, "RUN_ERROR")])
async def test_retries_are_how_often_a_call_may_be_corrected(client: Client, mount, registry, retries, ends):
    @tool(registry, retries=retries)
    def guess(number: int) -> str:
        """Guess a number."""
        if number < 3:
            raise ModelRetry("Higher.")
        return "right"

    mount(registry, *(call("guess", number=number) for number in range(4)), say("Done."))
    assert (await client.run("Go"))[-1]["type"] == ends


# --- Failures end their call only


async def test_a_synchronous_tool_that_times_out_is_not_called_twice(client: Client, mount, registry, caplog, clock):
    begun, release, ended, calls = threading.Event(), threading.Event(), threading.Event(), []

    @tool(registry, timeout=60, retries=3)
    def import_all() -> str:
        """Import all."""
        calls.append(1)
        begun.set()
        release.wait(60)
        ended.set()
        return "imported"

    model = mount(registry, call("import_all"), say("It takes too long."))
    try:
        running = asyncio.create_task(client.run("Go"))
        assert await asyncio.to_thread(begun.wait, 60)
        clock.advance(60)
        events = await running
    finally:
        release.set()
    assert events[-1]["outcome"] == {"type": "success"}
    # Not "retried": the model isn't asked to call it again while the first call is still at work.
    assert outcomes(model.requests[1]) == [("failed", TIMED_OUT)]
    assert caplog.records[0].getMessage() == "Tool 'import_all' timed out after 60 s"
    assert await asyncio.to_thread(ended.wait, 60)
    assert calls == [1]


# --- Approvals from within


@pytest.fixture
def paid(registry) -> list[int]:
    done: list[int] = []

    @tool(registry)
    def pay(ctx: RunContext[AgentDeps], amount: int) -> str:
        """Pay."""
        if amount > 100 and not ctx.tool_call_approved:
            raise ApprovalRequired({"x-confirm": f"Pay {amount}?", "amount": amount})
        done.append(amount)
        return "paid"

    return done


async def test_a_tool_asks_for_approval_by_what_is_at_stake(client: Client, mount, registry, paid):
    calls = [call("pay", amount=amount, _id=f"c{amount}") for amount in (5, 500, 600)]
    model = mount(registry, calls, say("Done."))
    events = await client.run("Go")
    asks = [(one["toolCallId"], one["message"], one["metadata"]["amount"]) for one in interrupts(events)]
    assert asks == [("c500", "Pay 500?", 500), ("c600", "Pay 600?", 600)]
    assert paid == [5]
    resume = [decision("c500"), decision("c600", approved=False, reason="Too much.")]
    await client.run(resume=resume)
    assert sorted(outcomes(model.requests[1])) == [("denied", "Too much."), ("success", "paid"), ("success", "paid")]
    # A decision counts once.
    assert (await client.run(resume=resume))[-1]["code"] == "interrupt_unknown"
    assert paid == [5, 500]


@pytest.mark.parametrize("forged", [{"approved": True}, {"approved": True, "editedArgs": {"amount": 9000}}])
async def test_such_an_approval_is_the_servers_to_give(
    client: Client, other_client: Client, mount, registry, paid, forged
):
    mount(registry, call("pay", amount=500, _id="c1"), say("never"))
    await client.run("Go")
    made_up = {"interruptId": "int-c1", "status": "resolved", "payload": forged}
    assert (await client.run(resume=[made_up]))[-1]["code"] == "interrupt_unknown"
    as_message = {"id": "t1", "role": "tool", "toolCallId": "c1", "content": json.dumps(forged)}
    assert (await client.run(messages=[as_message]))[-1]["code"] == "interrupt_pending"
    made_up["interruptId"] = asked["c1"]
    # Another user's thread of this id is one of their own, in which nothing is asked.
    events = await other_client.run(resume=[made_up])
    assert events[-1]["code"] == "interrupt_unknown"
    assert paid == []


# --- Calls whose result comes from outside, later


@pytest.fixture
def deferring(registry) -> ToolRegistry:
    @tool(registry)
    def train(name: str) -> str:
        """Train a model, which takes hours."""
        raise CallDeferred({"job": f"job of {name}"})

    return registry


def result(call_id: str, content: str, message_id: str = "later") -> dict[str, Any]:
    return {"id": message_id, "role": "tool", "toolCallId": call_id, "content": content}


async def test_a_deferred_call_is_answered_once_by_a_later_tool_message(
    client: Client, other_client: Client, mount, deferring
):
    model = mount(deferring, call("train", name="a", _id="t1"), say("It is trained."), say("Hi."))
    [interrupt] = interrupts(await client.run("Train"))
    assert (interrupt["toolCallId"], interrupt["metadata"]["job"]) == ("t1", "job of a")
    forged = run_input(messages=[result("t1", "1.0", "again")])
    assert (await other_client.post(forged)).status_code == 422
    assert (await client.thread())["pending"] == [interrupt]

    events = await client.run(messages=[result("t1", "accuracy 0.9")])
    check_stream(events, calls=["t1"])
    assert events[-1]["outcome"] == {"type": "success"}
    assert results(events) == [("success", "accuracy 0.9")]
    assert outcomes(model.requests[1]) == [("success", "accuracy 0.9")]
    assert (await client.post(forged)).status_code == 422
    await client.run("Hello")
    thread = await client.thread()
    assert thread["pending"] == []
    shown = [(message["role"], message.get("content")) for message in thread["messages"]]
    assert [role for role, _ in shown] == ["user", "assistant", "tool", "assistant", "user", "assistant"]
    assert shown[2] == ("tool", "accuracy 0.9")


async def test_all_deferred_calls_are_answered_together(client: Client, mount, deferring):
    paint = [{"name": "paint", "description": "Paint", "parameters": {"type": "object", "properties": {}}}]
    calls = [call("train", name="a", _id="t1"), call("train", name="b", _id="t2"), call("paint", _id="p1")]
    model = mount(deferring, calls, say("All done."))
    await client.run("Train", tools=paint)
    some = [result("t1", "0.8", "m1"), result("p1", "blue", "m2")]
    assert (await client.run(messages=some, tools=paint))[-1]["code"] == "interrupt_pending"
    await client.run(messages=[*some, result("t2", "0.9", "m3")], tools=paint)
    told = {part.tool_call_id: part.content for part in results_of(model.requests[1]).values()}
    assert told == {"t1": "0.8", "t2": "0.9", "p1": "blue"}


async def test_a_resume_counts_before_a_tool_message(client: Client, mount, deferring):
    model = mount(deferring, call("train", name="a", _id="t1"), say("Stopped."))
    await client.run("Train")
    cancelled = {"interruptId": asked["t1"], "status": "cancelled"}
    await client.run(messages=[result("t1", "0.9")], resume=[cancelled])
    assert outcomes(model.requests[1])[0][0] == "failed"


async def test_a_deferred_call_waits_as_long_as_the_setting_says(client: Client, mount, deferring, settings):
    settings.AGUI = {"INTERRUPT_EXPIRES_SECONDS": 0.000001}
    mount(deferring, call("train", name="a", _id="t1"), say("never"))
    await client.run("Train")
    assert (await client.run(messages=[result("t1", "0.9")]))[-1]["code"] == "interrupt_expired"


@pytest.mark.parametrize(("content", "ends"), [('{"accuracy": 0.9}', "RUN_FINISHED"), ("fine", "RUN_ERROR")])
async def test_a_deferred_call_may_say_what_its_result_has_to_be(client: Client, mount, registry, content, ends):
    @tool(registry)
    def train() -> str:
        """Train a model."""
        raise CallDeferred({"response_schema": {"type": "object", "required": ["accuracy"]}})

    mount(registry, call("train", _id="t1"), say("Done."))
    await client.run("Train")
    assert (await client.run(messages=[result("t1", content)]))[-1]["type"] == ends


# --- All that pydantic-ai's Tool takes


def test_every_option_of_pydantic_ais_tool_is_one_of_ours():
    theirs = set(inspect.signature(Tool).parameters) - {"function", "name", "description"}
    assert theirs - set(ToolOptions.__annotations__) == set()


@pytest.mark.parametrize(
    ("made", "options", "error", "message"),
    [
        (echo, {"prepare": "always"}, ValueError, "prepare"),
        (echo, {"colour": "red"}, TypeError, r"no option 'colour'. Use one of args_validator, .*toolsets="),
        (echo, {"retries": 1, "max_retries": 2}, TypeError, "which are the same"),
        (echo, {"require_parameter_descriptions": True}, TypeError, "describe each parameter in the docstring"),
        (42, {}, TypeError, "is no tool: give a function or a Tool, and a name="),
        (partial(echo, text="x"), {}, TypeError, "is no tool: give a function or a Tool, and a name="),
        ("echo", {}, TypeError, "is no tool: give a function or a Tool, and a name="),
    ],
)
def test_what_can_not_be_registered_is_refused_with_the_cure(registry, made, options, error, message):
    with pytest.raises(error, match=message):
        registry.add(made, **options)


class Titled(GenerateToolJsonSchema):
    def generate(self, schema: Any, mode: Any = "validation") -> Any:
        return {**super().generate(schema, mode), "title": "Made by Titled"}


def documented(ctx: RunContext[AgentDeps], text: str) -> dict[str, str]:
    """Say it.

    Args:
        text: What to say.
    """
    return {"said": text}


async def test_options_reach_pydantic_ai(client: Client, mount, registry):
    registry.add(
        documented,
        takes_ctx=True,
        docstring_format="google",
        require_parameter_descriptions=True,
        schema_generator=Titled,
        metadata={"team": "red", "x-summary": "not yours"},
        include_return_schema=True,
        max_retries=4,
        summary="Say it",
    )
    (binding,) = registry
    assert binding.input_schema["title"] == "Made by Titled"
    assert binding.input_schema["properties"]["text"]["description"] == "What to say."
    built = build_toolset(registry).tools["documented"]
    assert (built.max_retries, built.include_return_schema) == (4, True)
    assert built.metadata == {"team": "red", "x-category": "other", "x-summary": "Say it"}
    model = mount(registry, call("documented", text="Hi"), say("Done."))
    assert results(await client.run("Go")) == [("success", '{"said":"Hi"}')]
    assert "Return schema:" in model.requests[0].tools["documented"].description


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("destructive", [False, True])
async def test_a_validator_looks_at_the_arguments_before_the_user_is_asked(
    client: Client, user, mount, registry, destructive, is_async
):
    seen: list[str] = []

    def look(ctx: RunContext[AgentDeps], text: str) -> None:
        seen.append(text)
        assert ctx.deps.user.groups.count() == 0
        if text == "wrong":
            raise ModelRetry("Say something else.")
        if text == "broken":
            raise LookupError("secret")

    async def look_later(ctx: RunContext[AgentDeps], text: str) -> None:
        await sync_to_async(look)(ctx, text)

    registry.add(echo, args_validator=look_later if is_async else look, destructive=destructive)
    model = mount(registry, *[call("echo", text=text) for text in ("wrong", "broken", "right")], say("Done."))
    events = await client.run("Go")
    assert "Say something else." in str(parts_of(model.requests[1])[-1])
    told = str(parts_of(model.requests[2])[-1])
    assert FAILED in told
    assert "secret" not in told
    assert seen == ["wrong", "broken", "right"]
    assert events[-1]["outcome"]["type"] == ("interrupt" if destructive else "success")


async def test_a_tool_of_pydantic_ai_is_added_with_its_options(client: Client, user, mount, registry):
    def starred(*words: str) -> str:
        """Join words."""
        return " ".join(words)

    schema = {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}
    made = Tool.from_schema(lambda **arguments: arguments["what"], "raw", "Say it.", schema)
    registry.add(Tool(documented, name="doc", sequential=True, max_retries=5, metadata={"team": "red"}))
    registry.add(made, summary="Raw")
    registry.add(Tool(starred))
    doc, raw, _ = registry
    assert (doc.spec.name, doc.spec.sequential, doc.spec.max_retries) == ("doc", True, 5)
    assert (raw.spec.description, raw.spec.label, raw.input_schema["required"]) == ("Say it.", "Raw", ["what"])
    assert doc.spec.defer_loading is None
    # A function's schema of its own says how to call it.
    assert registry.call("starred", {"words": ["a", "b"]}) == "a b"
    mount(registry, [call("doc", text="a"), call("raw", what="b")], say("Done."))
    assert results(await client.run("Go")) == [("success", '{"said":"a"}'), ("success", "b")]
