"""What holds for a tool of AgentConfig.toolsets: what `@tool` promises of a call, but no question, no permission."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from pydantic import SecretStr
from pydantic_ai import ApprovalRequired, FunctionToolset, RunContext
from pydantic_ai.toolsets import AbstractToolset, WrapperToolset

from agui import AgentDeps, ToolRegistry
from agui.models import AuditRecord
from agui.testing import call, say
from agui.tools.call import DENIED, FAILED, TIMED_OUT
from tests.conftest import Client, decision, results_of
from tests.wire import check_stream

toolset: FunctionToolset[AgentDeps] = FunctionToolset(id="mine")
let_go = threading.Event()
seen: dict[str, Any] = {}


@toolset.tool_plain
def broken() -> str:
    """Fail."""
    raise ValueError("postgres://user:hunter2@db/prod")


@toolset.tool_plain
async def broken_async() -> str:
    """Fail."""
    raise KeyError("hunter2")


@toolset.tool_plain
def forbidden() -> str:
    """Refuse."""
    raise PermissionDenied


@toolset.tool_plain
def queryset() -> Any:
    """Return what has no JSON form."""
    return get_user_model().objects.all()


@toolset.tool_plain
def hang() -> str:
    """Wait until the test lets go."""
    let_go.wait(60)
    return "at last"


@toolset.tool_plain
async def hang_async() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return "never"


@toolset.tool
def look(ctx: RunContext[AgentDeps]) -> str:
    """Use the database, and see where."""
    seen["thread"] = threading.current_thread().name
    seen["user"] = ctx.deps.user.get_username()
    return str(get_user_model().objects.count())


@toolset.tool
def ask(ctx: RunContext[AgentDeps]) -> str:
    """Ask before."""
    if not ctx.tool_call_approved:
        raise ApprovalRequired
    return "asked"


@toolset.tool_plain
def sign_in(login: str, password: SecretStr) -> str:
    """Take a secret."""
    raise ValueError(password.get_secret_value())


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


@pytest.fixture
def run(client: Client, mount: Callable[..., Any]) -> Any:
    """Let the model call a tool, and return the events and what the model was told."""

    async def run_tool(name: str, tools: AbstractToolset[AgentDeps] = toolset, **arguments: Any) -> Any:
        model = mount(ToolRegistry(), call(name, **arguments), say("Well."), toolsets=[tools])
        events = await client.run("Go")
        check_stream(events)
        assert events[-1]["type"] == "RUN_FINISHED"
        [told] = results_of(model.requests[1]).values()
        return events, told

    return run_tool


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["broken", "broken_async", "queryset", "forbidden"])
async def test_a_failure_ends_its_call_only(run: Any, kind: str, name: str, caplog: Any):
    prefix = "a_" if kind == "prefixed" else ""
    events, told = await run(prefix + name, KINDS[kind])

    is_refusal = name == "forbidden"
    assert (told.content, told.outcome) == ((DENIED, "denied") if is_refusal else (FAILED, "failed"))
    [result] = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == told.outcome
    assert "hunter2" not in str(events)
    assert (f"Tool {prefix + name!r} failed" in caplog.text) is not is_refusal


@pytest.mark.parametrize("name", ["hang", "hang_async"])
async def test_a_call_has_the_time_of_the_settings_and_is_not_repeated(run: Any, settings: Any, name: str):
    settings.AGUI = {**settings.AGUI, "TOOL_TIMEOUT_SECONDS": 0.05}
    let_go.clear()
    _, told = await run(name)
    let_go.set()

    assert (told.content, told.outcome) == (TIMED_OUT, "failed")


async def test_a_blocking_function_runs_in_a_thread_of_the_tools(run: Any):
    _, told = await run("look")

    assert told.content == "1"
    assert seen == {"thread": seen["thread"], "user": "ada"}
    assert seen["thread"].startswith("agui-tools")


async def test_a_call_is_audited_with_its_cause_and_without_secrets(run: Any):
    await run("sign_in", login="ada", password="hunter2")

    [record] = [record async for record in AuditRecord.objects.all()]
    assert (record.tool_name, record.outcome) == ("sign_in", "failed")
    assert record.error.startswith("ValueError: ")
    assert record.arguments["login"] == "ada"
    assert "hunter2" not in str(record.arguments) + record.error


async def test_a_toolset_may_ask_the_user(client: Client, mount: Callable[..., Any]):
    mount(ToolRegistry(), call("ask"), say("Done."), toolsets=[toolset])
    [interrupt] = (await client.run("Go"))[-1]["outcome"]["interrupts"]
    events = await client.run(resume=[decision(interrupt["toolCallId"])])

    assert [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"] == ["asked"]
