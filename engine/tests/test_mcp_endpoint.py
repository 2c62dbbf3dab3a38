"""What MCP clients find at the endpoint: tools, resources and prompts, by the official client against a real socket."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pytest
from django.contrib import admin
from django.core.exceptions import ImproperlyConfigured, ObjectDoesNotExist
from django.http import Http404
from django.urls import path

pytest.importorskip("fastmcp")

from mcp import MCPError, types
from pydantic_ai import Agent, ApprovalRequired, BinaryContent, RunContext
from pydantic_ai.usage import RequestUsage

from agui import AgentConfig, AgentDeps, DjangoAGUIView, SkillRegistry, ToolRegistry, conf, get_urls, tool
from agui.contrib.mcp.models import ClientQuestion
from agui.contrib.mcp.resources import MISSING, resource
from agui.contrib.spending.models import Spending
from agui.models import AuditRecord
from agui.runs.shutdown import calls, end_runs
from agui.testing import Response, ScriptedModel, collect, say, wait
from tests import pages, urls
from tests.calling import (
    ENDPOINT,
    JSON,
    client_of,
    mcp_client,
    permit,
    person_of,
    serve_last,
    serve_tools,
    site,
    text_of,
)
from tests.conftest import Client, run_input, script
from tests.mounting import serve_urls
from tests.serving import serve_to_mcp

CALL = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %s}'


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}}
    serve_urls(settings, get_urls(urls.view))


# --- What the official client sees


async def test_the_admin_shows_a_call_without_a_thread(user: Any, settings: Any):
    serve_urls(settings, [*get_urls(urls.view), path("admin/", admin.site.urls)])
    async with client_of(user) as client:
        await client.call_tool("echo", {"text": "x"})
    user.is_staff = user.is_superuser = True
    await user.asave()
    browser = (await person_of(user)).http
    record = await AuditRecord.objects.aget()
    for address, words in (("", "echo"), (f"{record.pk}/change/", record.run_id)):
        shown = (await browser.get(f"/admin/agui/auditrecord/{address}")).content.decode()
        assert (words in shown, "(deleted)" in shown) == (True, False)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_steps_and_activities_are_progress_and_state_starts_afresh(user: Any, mode: str):
    steps: list[Any] = [{"step": "s"}, {"activity": {"title": "a"}}, {"note": "n"}]
    plan: list[Any] = [{"step": "one", "of": ["one", "two"]}, {"step": "two", "of": ["one", "two"]}]
    heard: list[tuple[float, float | None, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with client_of(user, mode) as client:
        worked = await client.call_tool("work", {"events": steps}, progress_callback=hear)
        recalled = await client.call_tool("recall", {})
        assert heard == [(0.5, None, "s"), (1, None, "s"), (2, None, "a")]
        heard.clear()
        await client.call_tool("work", {"events": plan}, progress_callback=hear)
    assert (text_of(worked), text_of(recalled)) == ("worked", "")
    assert heard == [(0.5, 2, "one"), (1, 2, None), (1.5, 2, "two"), (2, 2, None)]


# --- Clients that leave, and too many of them


async def test_a_call_outlives_its_client(user: Any, settings: Any):
    gate = serve_last(settings)
    async with asyncio.timeout(60):
        async with client_of(user) as client:
            call = asyncio.create_task(client.call_tool("last", {}))
            await gate.reached.wait()
            call.cancel()
            await asyncio.wait([call])
        (left,) = calls
        gate.opened.set()
        await asyncio.wait([left])
    assert [record.outcome async for record in AuditRecord.objects.all()] == ["success"]


async def test_a_users_calls_and_runs_at_all_agents_are_counted_together(client: Client, user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "MAX_RUNS_PER_USER": 2}
    patterns = [*get_urls(urls.view), *get_urls(urls.view, "other/", namespace="other")]
    serve_urls(settings, patterns)
    go_on = asyncio.Event()
    async with site() as url, mcp_client(user, url) as caller:
        with script([wait(go_on), say("Hi")], say("Ho")):
            run = await client.post(run_input("Hi"))
            call = asyncio.create_task(caller.call_tool("hang", {}))
            assert await asyncio.to_thread(urls.hanging.wait, 60)
            async with mcp_client(user, url.replace("/agent/", "/other/")) as other:
                refused = [await each.call_tool("echo", {"text": "x"}) for each in (caller, other)]
            assert {text_of(one) for one in refused} == {"Too many runs at once. Try again in 1 seconds."}
            assert all(one.is_error for one in refused)
            assert (await client.post(run_input("Ho", thread="t2"))).status_code == 429
            go_on.set()
            assert (await collect(run))[-1]["type"] == "RUN_FINISHED"
            assert text_of(await caller.call_tool("echo", {"text": "x"})) == "x"
            urls.let_go.set()
            assert text_of(await call) == "at last"
            assert (await client.run("Ho", thread="t2"))[-1]["type"] == "RUN_FINISHED"


async def test_what_a_tool_spends_on_models_counts_for_budgets(user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "SPENDING": {"DAY": {"TOKENS": 10}}}

    async def spend(ctx: RunContext[AgentDeps]) -> str:
        """Ask another agent."""
        answer = Response([say("Done.")], usage=RequestUsage(input_tokens=8, output_tokens=2))
        return (await Agent(ScriptedModel([answer])).run("Work", usage=ctx.usage)).output

    serve_tools(settings, spend)
    async with client_of(user) as client:
        first, second = [await client.call_tool("spend", {}) for _ in range(2)]
    assert (text_of(first), first.is_error) == ("Done.", False)
    spent = await Spending.objects.aget(owner=user)
    assert (spent.requests, spent.input_tokens, spent.output_tokens) == (1, 8, 2)
    assert second.is_error
    assert text_of(second).startswith("Your budget for this day is used up. Try again in ")


async def test_a_server_that_ends_waits_for_calls_and_then_stops_them(user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "SHUTDOWN_SECONDS": 0.0}
    gate = serve_last(settings)
    async with asyncio.timeout(60), client_of(user) as client:
        call = asyncio.create_task(client.call_tool("last", {}))
        await gate.reached.wait()
        await end_runs()
        result = await call
    assert (result.is_error, text_of(result)) == (True, "The server ended before the tool did.")
    assert [record.outcome async for record in AuditRecord.objects.all()] == ["failed"]


# --- Bodies


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"null", b"5", b"[]", b"\xff\xfe", b"[" * 100_000),
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
        b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": 5}',
        *(CALL % params for params in (b"{}", b'{"name": 5}', b'{"name": "echo", "arguments": []}')),
        *(CALL % b'{"name": "echo", "arguments": {"text": %s}}' % text for text in (b"1e999", b'"\\ud800"')),
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        b'{"jsonrpc": "2.0", "id": 99999999999999999999999999, "method": "ping"}',
        b'{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}',
    ],
)
@pytest.mark.parametrize("version", [None, "2025-11-25", "2026-07-28", "9999-01-01"])
async def test_an_odd_body_gets_an_answer(client: Client, body: bytes, version: str | None):
    headers = JSON | ({"MCP-Protocol-Version": version} if version else {})
    async with asyncio.timeout(60):
        response = await client.http.post(ENDPOINT, body, content_type="application/json", headers=headers)
    assert response.status_code < 500
    if response.status_code != 202:
        assert json.loads(response.content or b"null") is not None
        assert b"Traceback" not in response.content


def test_without_the_library_the_setting_says_so(monkeypatch: Any):
    monkeypatch.setattr("agui.contrib.mcp.conf.find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['MCP'\]\['ENDPOINT'\].*agui-django\[mcp\]"):
        conf.load({"MCP": {"ENDPOINT": True}})


@pytest.mark.nightly
def test_without_settings_the_libraries_are_not_imported(settings: Any):
    code = (
        "import sys, django; django.setup(); from agui import *; from agui.server.warm_up import build_agents; "
        "build_agents(); print({'mcp', 'fastmcp', 'agui.contrib.mcp.server', 'rest_framework', 'rest_framework_mcp', "
        "'agui.contrib.drf_mcp.toolset'} & {*sys.modules})"
    )
    environment = os.environ | {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("set()")


# --- Resources and prompts: who may read what, and how a tool is described

registry = ToolRegistry()
skills = SkillRegistry()
skills.add("brief", "Be brief", "Answer {question} in {words} words: {question}", description="A short answer")
skills.add("review", "Review", server_prompt="Secret words.")
skills.add("bare", "Bare")


@dataclass
class Order:
    number: int
    customer: str


def orders(ctx: RunContext[AgentDeps], typed: str) -> Iterator[int]:
    """Complete the number of an order."""
    return iter([12, 123, 1234, 5])


@resource(registry, "shop://orders/{number}", complete={"number": orders})
def order(ctx: RunContext[AgentDeps], number: int) -> Order:
    """An order of the user."""
    if number == 404:
        raise Http404
    if number == 405:
        raise ObjectDoesNotExist
    if number == 500:
        raise ValueError("postgres://secret")
    return Order(number, ctx.deps.user.get_username())


@resource(registry, "shop://terms", title="Terms and conditions")
async def terms() -> str:
    """What customers agree to."""
    return "Be kind."


@resource(registry, "shop://files/{name}")
def file(name: str) -> BinaryContent | None:
    """A file."""
    return BinaryContent(name.encode(), media_type="text/csv") if name == "a b.csv" else None


@resource(registry, "shop://reports/{kind}", permission="agui.view_run")
def report(kind: Literal["daily", "weekly"]) -> str:
    """A report for those who may."""
    return kind


@resource(registry, "shop://stock")
def stock(ctx: RunContext[AgentDeps]) -> str:
    """What asks for an approval."""
    raise ApprovalRequired


@tool(registry, read_only=True)
def find_order(number: int) -> Order:
    """Find an order."""
    return Order(number, "ada")


@tool(registry)
def wrong() -> Order:
    """Return what was not promised."""
    return "no order"  # type: ignore[return-value]


resource(registry, "shop://logo", name="logo", description="The logo.", mime_type="image/png")(lambda: b"\x89PNG")
registry.add(lambda: "sent", name="mail", description="Send mail.", idempotent=True, open_world=True)
registry.add(lambda: "x" * 10_000, name="long", description="Return too much.")


@pytest.fixture(params=["auto", "legacy"])
def connect(request: Any, user: Any, settings: Any) -> Any:
    """Connect the official client with a shop, in each version of the protocol."""
    view = DjangoAGUIView(registry, AgentConfig(model=ScriptedModel([]), name="shop"), skills=skills)
    serve_urls(settings, get_urls(view))
    return partial(client_of, user, request.param)


async def test_resources_are_listed_and_read(connect: Any):
    async with connect() as client:
        listed = {each.name: each for each in (await client.list_resources()).resources}
        templates = {each.name: each for each in (await client.list_resource_templates()).resource_templates}
        assert listed.keys() == {"terms", "logo", "stock"}
        assert listed["terms"].title == "Terms and conditions"
        assert listed["logo"].description == "The logo."
        assert templates["order"].uri_template == "shop://orders/{number}"
        assert "report" not in templates
        uris = ("shop://orders/7", "shop://terms", "shop://logo", "shop://files/a%20b.csv")
        [[order], [text], [blob], [csv]] = [(await client.read_resource(uri)).contents for uri in uris]
        assert json.loads(order.text) == {"number": 7, "customer": "ada"}
        assert (order.uri, order.mime_type) == ("shop://orders/7", "application/json")
        assert (text.text, blob.blob, csv.text, csv.mime_type) == ("Be kind.", "iVBORw==", "a b.csv", "text/csv")
        with pytest.raises(MCPError, match="only be given in the chat"):
            await client.read_resource("shop://stock")
        with pytest.raises(MCPError, match="The failure was logged"):
            await client.read_resource("shop://orders/500")
    calls = [(one.tool_name, one.outcome) async for one in AuditRecord.objects.order_by("started_at")[:4]]
    assert calls == [("order", "success"), ("terms", "success"), ("logo", "success"), ("file", "success")]
    assert not await ClientQuestion.objects.aexists()


@pytest.mark.parametrize(
    "uri",
    [
        *(f"shop://orders/{number}" for number in ("404", "405", "many", "", "1/2")),
        *(f"shop://files/{name}" for name in ("none", "..", ".", "..%2Fa", "%5C", "%00", "a%20b.csv?q=1")),
        *("shop://reports/daily", "file:///etc/passwd"),
    ],
)
async def test_what_is_not_there_is_said_in_one_way(connect: Any, uri: str):
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
        assert (caught.value.error.message, caught.value.error.data) == (MISSING, {"uri": uri})
        assert caught.value.error.code in (types.INVALID_PARAMS, -32002)


async def test_values_are_completed_and_a_permission_opens_a_resource(connect: Any, user: Any):
    async with connect() as client:

        async def complete(uri: str, name: str, value: str) -> list[str]:
            reference = types.ResourceTemplateReference(type="ref/resource", uri=uri)
            values: list[str] = (await client.complete(reference, {"name": name, "value": value})).completion.values
            return values

        assert await complete("shop://orders/{number}", "number", "12") == ["12", "123", "1234"]
        with pytest.raises(MCPError, match="Unknown resource template"):
            await complete("shop://reports/{kind}", "kind", "")
        await permit(user)
        assert await complete("shop://reports/{kind}", "kind", "w") == ["weekly"]
        (read,) = (await client.read_resource("shop://reports/daily")).contents
        assert read.text == "daily"


async def test_skills_are_prompts(connect: Any):
    async with connect() as client:
        listed = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert listed.keys() == {"brief", "bare"}
        assert [argument.name for argument in listed["brief"].arguments] == ["question", "words"]
        result = await client.get_prompt("brief", {"question": "{words}", "words": "two"})
        assert result.messages[0].content.text == "Answer {words} in two words: {words}"
        with pytest.raises(MCPError, match="Missing arguments: words"):
            await client.get_prompt("brief", {"question": "Why?"})
        with pytest.raises(MCPError, match="Unknown prompt"):
            await client.get_prompt("review", {})
        words = types.PromptReference(type="ref/prompt", name="brief")
        assert (await client.complete(words, {"name": "question", "value": "W"})).completion.values == []


async def test_tools_have_hints_and_the_schema_of_their_results(connect: Any, settings: Any):
    async with connect() as client:
        info = client.server_info
        assert (info.name, info.title, info.version) == ("shop", "Shop", "0.1.0")
        assert info.website_url.startswith("http://127.0.0.1:")
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "approval_status" not in tools, "no tool needs an approval"
        hints = {name: each.annotations.model_dump() for name, each in tools.items()}
        assert hints["find_order"] == {
            "title": "Find order",
            "read_only_hint": True,
            "destructive_hint": False,
            "idempotent_hint": True,
            "open_world_hint": False,
        }
        known = [hints["mail"][name] for name in ("read_only_hint", "idempotent_hint", "open_world_hint")]
        assert known == [False, True, True]
        assert tools["find_order"].output_schema["required"] == ["number", "customer"]
        assert tools["mail"].output_schema is None
        found = await client.call_tool("find_order", {"number": 3})
        assert found.structured_content == json.loads(text_of(found)) == {"number": 3, "customer": "ada"}
        assert (await client.call_tool("wrong", {})).is_error
        # A long result is cut as in a run.
        settings.AGUI = {**settings.AGUI, "MAX_RESULT_BYTES": 1000}
        cut = text_of(await client.call_tool("long", {}))
        assert len(cut) < 1200
        assert "Cut off" in cut


async def test_long_lists_have_pages(user: Any, settings: Any):
    many = ToolRegistry()
    for number in range(230):
        many.add(lambda: "", name=f"tool_{number}", description="One of many")
    serve_to_mcp(settings, many)
    async with client_of(user) as client:
        first = await client.list_tools()
        last = await client.list_tools(cursor="200")
        with pytest.raises(MCPError, match="no such page"):
            await client.list_tools(cursor="999")
    assert (len(first.tools), first.next_cursor) == (100, "100")
    assert (len(last.tools), last.next_cursor) == (30, None)


# --- Mistakes


def test_mistakes_are_named():
    for uri, message in (
        ("orders/{number}", "write an address"),
        ("shop://orders/{id}", "placeholders and the parameters"),
        ("shop://orders", "placeholders and the parameters"),
    ):
        with pytest.raises(ValueError, match=message):
            resource(ToolRegistry(), uri)(order)
    with pytest.raises(TypeError, match="@resource lacks the registry"):
        resource("shop://terms", "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="registered twice"):
        resource(registry, "shop://terms", name="two", description="Two")(lambda: "")
    with pytest.raises(ValueError, match="keep the one that is true"):
        tool(ToolRegistry(), destructive=True, read_only=True)(terms)


# --- The manual


def block_of(words: str) -> str:
    """The block of Python in mcp.md that has these words."""
    blocks = re.findall(r"^```python\n(.*?)^```$", pages.read("mcp.md"), re.M | re.S)
    (code,) = [code for code in blocks if words in code]
    return str(code)


@pytest.mark.usefixtures("example")
async def test_the_manual_reads_tasks(user: Any, settings: Any):
    own = ToolRegistry()
    code = block_of("@resource").replace("from assistant.tools import registry", "")
    exec(code, {"registry": own, "Any": Any})  # noqa: S102 # the manual's own code
    serve_to_mcp(settings, own)
    task = await user.tasks.acreate(title="Write")
    async with client_of(user) as client:
        (listed,) = (await client.read_resource("tasks://open")).contents
        (one,) = (await client.read_resource(f"tasks://{task.pk}")).contents
        with pytest.raises(MCPError, match=MISSING):
            await client.read_resource("tasks://999999")
    assert (listed.text, json.loads(one.text)) == ("- Write", {"title": "Write", "category": "general"})


async def test_the_manual_has_a_route_without_a_redirect(client: Client, settings: Any):
    patterns: list[Any] = []
    exec(block_of("re_path"), {"urlpatterns": patterns})  # noqa: S102 # the manual's own code
    serve_urls(settings, patterns)
    for address in ("/mcp", "/mcp/"):
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        response = await client.http.post(address, body, content_type="application/json", headers=JSON)
        assert response.json()["result"] == {}
