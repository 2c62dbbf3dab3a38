"""What `@tool` can be told, and what holds for tools of toolsets, as a client of the endpoint sees it."""

import asyncio
import inspect
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
from pydantic import SecretStr
from pydantic_ai import FunctionToolset, ModelRetry, RunContext, Tool
from pydantic_ai.tools import GenerateToolJsonSchema, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset

from agui import AgentConfig, AgentDeps, DjangoAGUIView, ToolRegistry, tool
from agui.models import AuditRecord
from agui.testing import Chat, call, say
from agui.tools.call import DENIED, FAILED, TIMED_OUT, build_toolset
from agui.tools.schema import ToolOptions
from tests import pages
from tests.conftest import Client, decision, parts_of, results_of
from tests.wire import check_stream


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

    registry.add(echo, name="wipe_all", destructive=True, prepare=innocent)
    mount(registry, call("wipe_all", _id="c1"))
    [asked] = interrupts(await client.run("Go"))
    assert (asked["toolCallId"], asked["metadata"]["x-summary"]) == ("c1", "Wipe all")


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
    [told] = [record.getMessage() for record in caplog.records if record.name == "agui.tools"]
    assert told == "Tool 'import_all' timed out after 60 s"
    assert await asyncio.to_thread(ended.wait, 60)
    assert calls == [1]


# --- All that pydantic-ai's Tool takes


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
        sequential=True,
        summary="Say it",
    )
    (binding,) = registry
    assert binding.input_schema["title"] == "Made by Titled"
    assert binding.input_schema["properties"]["text"]["description"] == "What to say."
    built = build_toolset(registry, "mine")
    assert built.id == "mine"
    assert built.tools["documented"].max_retries == 4
    assert built.tools["documented"].metadata == {"team": "red", "x-category": "other", "x-summary": "Say it"}
    model = mount(registry, call("documented", text="Hi"), say("Done."))
    assert results(await client.run("Go")) == [("success", '{"said":"Hi"}')]
    definition = model.requests[0].tools["documented"]
    assert "Return schema:" in definition.description
    assert definition.sequential


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


# --- The name of the search among many tools, `search_tools` (transcripts/tool_search.yaml has the search)


@pytest.mark.parametrize("order", [1, -1])
def test_a_tool_named_like_the_search_and_a_deferred_one_exclude_each_other(registry, settings, order):
    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    first, second = [("search_tools", None), ("rare", True)][::order]
    registry.add(echo, name=first[0], defer_loading=first[1])
    with pytest.raises(ValueError, match="rename yours, or leave out defer_loading=True"):
        registry.add(echo, name=second[0], defer_loading=second[1])


async def test_the_name_of_the_search_is_refused_where_something_may_be_searched(
    client: Client, mount, registry, settings
):
    config = AgentConfig(model="demo", toolsets=[FunctionToolset([Tool(echo, name="search_tools")])])
    cure = r"rename yours, or set AGUI\[\"SEARCH_TOOLS_ABOVE\"\] = None"
    with pytest.raises(ImproperlyConfigured, match=cure):
        DjangoAGUIView(ToolRegistry(), config)
    with pytest.raises(ValueError, match=f"'search_tools': .*{cure}"):
        registry.add(echo, name="search_tools")

    settings.AGUI = {"SEARCH_TOOLS_ABOVE": None}
    DjangoAGUIView(ToolRegistry(), config)
    registry.add(echo, name="search_tools")
    mount(registry, call("search_tools", text="mine"), say("Done."))
    assert results(await client.run("Go")) == [("success", "mine")]


# --- Tools of AgentConfig.toolsets: what `@tool` promises of a call, but no question, no permission


def raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


async def broken_async() -> None:
    raise KeyError("hunter2")


async def hang() -> None:
    await asyncio.Event().wait()


def look(ctx: RunContext[AgentDeps]) -> list[str]:
    """Use the database, and see where."""
    return [ctx.deps.user.get_username(), f"{get_user_model().objects.count()}", threading.current_thread().name]


def sign_in(login: str, password: SecretStr) -> None:
    raise ValueError(password.get_secret_value())


toolset = FunctionToolset[AgentDeps]([broken_async, hang, look, sign_in], id="mine")
toolset.add_function(raising(ValueError("postgres://user:hunter2@db/prod")), name="broken")
toolset.add_function(raising(PermissionDenied()), name="forbidden")
toolset.add_function(lambda: get_user_model().objects.all(), name="queryset")


class Raises(WrapperToolset[AgentDeps]):
    """A toolset of another kind, which fails by itself."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        if name == "broken":
            raise RuntimeError("hunter2")
        return await super().call_tool(name, tool_args, ctx, tool)


KINDS: dict[str, AbstractToolset[AgentDeps]] = {
    "functions": toolset,
    "wrapper": Raises(toolset),
    "prefixed": toolset.prefixed("a"),
}


async def run_tool(client: Client, mount: Any, name: str, tools: Any = toolset, **arguments: Any) -> Any:
    """Let the model call a tool; the events, and what the model was told."""
    model = mount(ToolRegistry(), call(name, **arguments), say("Well."), toolsets=[tools])
    events = await client.run("Go")
    check_stream(events)
    assert events[-1]["type"] == "RUN_FINISHED"
    [told] = results_of(model.requests[1]).values()
    return events, told


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["broken", "broken_async", "queryset", "forbidden"])
async def test_a_failing_tool_of_a_toolset_ends_its_call_only(client: Client, mount, kind: str, name: str, caplog):
    prefix = "a_" if kind == "prefixed" else ""
    events, told = await run_tool(client, mount, prefix + name, KINDS[kind])
    is_refusal = name == "forbidden"
    assert (told.content, told.outcome) == ((DENIED, "denied") if is_refusal else (FAILED, "failed"))
    [result] = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == told.outcome
    assert "hunter2" not in str(events)
    assert (f"Tool {prefix + name!r} failed" in caplog.text) is not is_refusal


async def test_a_call_of_a_toolset_has_the_time_of_the_settings_and_is_not_repeated(client: Client, mount, settings):
    settings.AGUI = {**settings.AGUI, "TOOL_TIMEOUT_SECONDS": 0.05}
    _, told = await run_tool(client, mount, "hang")
    assert (told.content, told.outcome) == (TIMED_OUT, "failed")


async def test_a_blocking_function_of_a_toolset_runs_in_a_thread_of_the_tools(client: Client, mount):
    _, told = await run_tool(client, mount, "look")
    user, count, thread = told.content
    assert (user, count) == ("ada", "1")
    assert thread.startswith("agui-tools")


async def test_a_call_of_a_toolset_is_audited_with_its_cause_and_without_secrets(client: Client, mount):
    await run_tool(client, mount, "sign_in", login="ada", password="hunter2")
    [record] = [record async for record in AuditRecord.objects.all()]
    assert (record.tool_name, record.outcome) == ("sign_in", "failed")
    assert record.error.startswith("ValueError: ")
    assert record.arguments["login"] == "ada"
    assert "hunter2" not in str(record.arguments) + record.error


# --- The manual

PAGE = pages.read("tools.md").partition("\n*Part `")[0]


def test_each_option_is_on_the_page():
    first_cells = re.findall(r"^\| (`.*?) \|", PAGE, re.M)
    told = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    assert told == {"name", "description"} | set(ToolOptions.__annotations__)
    theirs = set(inspect.signature(Tool).parameters) - {"function"}
    assert theirs - told == set()


async def test_the_tools_of_the_manual_do_as_it_says(client: Client, user: Any, mount):
    defined: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(code, "agui/manual/tools.md", "exec"), defined)  # noqa: S102
    calls = [call("pay", amount=5), call("pay", amount=500, _id="p1"), call("train", dataset="a", _id="t1")]
    model = mount(defined["registry"], calls, say("Done."), say("Hi."))
    asked = {one["toolCallId"]: one for one in interrupts(await client.run("Go"))}
    assert asked["p1"]["message"] == "Really pay 500?"
    assert asked["t1"]["metadata"]["job"] == "training on a"
    trained = {"id": "m1", "role": "tool", "toolCallId": "t1", "content": "0.9"}
    await client.run(messages=[trained], resume=[decision("p1")])
    assert {content for _, content in outcomes(model.requests[1])} >= {"Paid 500.", "0.9"}
    assert "forecast" not in model.requests[0].tools
    await user.groups.acreate(name="beta")
    await client.run("And now?")
    assert "forecast" in model.requests[2].tools


async def test_tools_show_progress_and_cards_and_ask_as_the_manual_says(user: Any, mount):
    defined: dict[str, Any] = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.S):
        exec(compile(code, "agui/manual/tools.md", "exec"), defined)  # noqa: S102
    calls = [call("write_report", year=2026), call("list_prices"), call("choose_size")]
    mount(defined["registry"], calls, say("A large one."))
    chat = Chat(user)
    answer = await chat.send("Go")
    assert [one["title"] for one in answer.activities["plan"]["steps"]] == defined["STEPS"]
    assert answer.activities["table"]["rows"] == [["Tea", 2.5], ["Coffee", 3.0]]
    [question] = answer.interrupts
    assert (question["message"], question["responseSchema"]["enum"]) == ("Which size?", ["S", "M", "L"])
    assert (await chat.resume("L")).text == "A large one."
