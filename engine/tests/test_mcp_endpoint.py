"""The project's tools for MCP clients: the official client against a real socket, and bodies that no client sends."""

import asyncio
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.core.exceptions import ImproperlyConfigured
from django.urls import path

pytest.importorskip("fastmcp")

from pydantic_ai import Agent, BinaryContent, RunContext
from pydantic_ai.usage import RequestUsage

from agui import AgentDeps, conf, get_urls
from agui.contrib.spending.models import Spending
from agui.models import AuditRecord
from agui.runs.shutdown import calls, end_runs
from agui.testing import Response, ScriptedModel, collect, say, wait
from tests import urls
from tests.calling import ENDPOINT, JSON, client_of, mcp_client, person_of, serve_last, serve_tools, site, text_of
from tests.conftest import Client, run_input, script

ECHO = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": %s}}}'


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}}
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": get_urls(urls.view)})


async def permit(user: Any) -> None:
    permission = await Permission.objects.aget(codename="view_run", content_type__app_label="agui")
    await user.user_permissions.aadd(permission)


# --- What the official client sees


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_lists_and_calls_tools(user: Any, settings: Any, mode: str):
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": [*get_urls(urls.view), path("admin/", admin.site.urls)]})
    async with client_of(user, mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        who = await client.call_tool("whoami", {})
        await AuditRecord.objects.all().adelete()
        echoed = await client.call_tool("echo", {"text": "ä"})
    assert tools["echo"].description == "Repeat a text."
    assert tools["echo"].input_schema["properties"]["text"] == {"type": "string"}
    assert (text_of(echoed), echoed.is_error) == ("ä", False)
    assert text_of(who) == "ada"
    # The admin shows a call without a thread.
    user.is_staff = user.is_superuser = True
    await user.asave()
    browser = (await person_of(user)).http
    listed = (await browser.get("/admin/agui/auditrecord/")).content.decode()
    record = await AuditRecord.objects.aget()
    shown = (await browser.get(f"/admin/agui/auditrecord/{record.pk}/change/")).content.decode()
    assert "echo" in listed
    assert "(deleted)" not in listed + shown
    assert record.run_id in shown


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


async def test_results_have_their_forms(user: Any, settings: Any):
    def table() -> dict[str, Any]:
        """Answer with an object."""
        return {"rows": [1, 2]}

    def picture() -> Any:
        """Answer with a picture and a text."""
        return ["Look:", BinaryContent(b"\x89PNG", media_type="image/png"), BinaryContent(b"x", media_type="a/b")]

    serve_tools(settings, table, picture)
    async with client_of(user) as client:
        structured = await client.call_tool("table", {})
        blocks = (await client.call_tool("picture", {})).content
    assert structured.structured_content == {"rows": [1, 2]}
    assert json.loads(text_of(structured)) == {"rows": [1, 2]}
    assert [block.type for block in blocks] == ["text", "image", "resource"]


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
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": patterns})
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
        b"",
        b"{",
        b"null",
        b"5",
        b"[]",
        b'"text"',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": 5}',
        b'{"jsonrpc": "1.0", "id": 1, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": {}, "method": "tools/list"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": 5}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", "arguments": []}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "no/such"}',
        b'[{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}]',
        b'{"jsonrpc": "2.0", "id": 1, "result": {}}',
        ECHO % b"1e999",
        ECHO % b'"\\ud800"',
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


async def test_a_session_needs_the_csrf_token(user: Any):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    browser = (await person_of(user)).http
    response = await browser.post(ENDPOINT, body, content_type="application/json", headers=JSON)
    assert response.status_code == 403


def test_without_the_library_the_setting_says_so(monkeypatch: Any):
    monkeypatch.setattr("agui.contrib.mcp.conf.find_spec", lambda name: None)
    with pytest.raises(ImproperlyConfigured, match=r"AGUI\['MCP'\]\['ENDPOINT'\].*EXTRAS=mcp"):
        conf.load({"MCP": {"ENDPOINT": True}})


@pytest.mark.nightly
def test_without_the_setting_the_library_is_not_imported(settings: Any):
    code = (
        "import sys, django; django.setup(); from agui.server.warm_up import build_agents; build_agents(); "
        "print({'fastmcp', 'agui.contrib.mcp.server'} & {*sys.modules})"
    )
    environment = os.environ | {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "config.settings"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("set()")
