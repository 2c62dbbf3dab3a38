"""Calls of MCP clients that wait on our page: the decision executes them, once, and nothing else does."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.test import AsyncClient
from pydantic import SecretStr

pytest.importorskip("fastmcp")

import httpx2
from mcp import Client as McpClient
from mcp import types
from mcp.client.streamable_http import streamable_http_client
from pydantic_ai import ApprovalRequired, RunContext

from agui import AgentConfig, AgentDeps, DjangoAGUIView, ToolRegistry, get_urls, tool
from agui.contrib.mcp.models import ClientQuestion
from agui.http.tokens import create_token
from agui.models import AuditRecord
from agui.testing import ScriptedModel
from engine.serving import serving

PAGE = "/agent/mcp/approvals/"
effects: list[str] = []


def make_registry() -> ToolRegistry:
    registry = ToolRegistry()

    @tool(registry, destructive=True, confirm="Really wipe it?")
    def wipe(what: str, times: int = 1) -> dict[str, str]:
        """Wipe something."""
        effects.append(f"wiped {what} {times}")
        return {"wiped": what}

    @tool(registry, requires_approval=True)
    def pay(amount: int, to: str = "Bo", pin: SecretStr | None = None) -> str:
        """Pay an amount."""
        effects.append(f"paid {amount} to {to}")
        return f"paid {amount}"

    @tool(registry)
    def transfer(ctx: RunContext[AgentDeps], amount: int) -> str:
        """Ask in words that are made from the arguments."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired({"x-confirm": f"Transfer {amount}?"})
        effects.append(f"transferred {amount}")
        return "transferred"

    @tool(registry)
    def echo(text: str) -> str:
        """Repeat a text."""
        return text

    return registry


def mount(settings: Any, registry: ToolRegistry) -> None:
    view = DjangoAGUIView(registry, AgentConfig(model=ScriptedModel([])))
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": get_urls(view)})


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    effects.clear()
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}, "MAX_RUNS_PER_USER": 50}
    mount(settings, make_registry())


@asynccontextmanager
async def client_of(user: Any, mode: Any, opened: list[Any] | None = None) -> AsyncIterator[McpClient]:
    """The official client of a user. With `opened`, it opens links for its user."""
    token = (await sync_to_async(create_token)(user))[1]

    async def elicit(context: Any, params: Any) -> types.ElicitResult:
        assert opened is not None
        opened.append(params)
        return types.ElicitResult(action="accept")

    async with (
        serving(ASGIHandler(), grace_seconds=10) as url,
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        McpClient(
            streamable_http_client(f"{url}/agent/mcp/", http_client=http),
            mode=mode,
            elicitation_callback=None if opened is None else elicit,
        ) as client,
    ):
        yield client


class Person:
    """A signed-in browser."""

    def __init__(self, user: Any) -> None:
        self.http = AsyncClient(enforce_csrf_checks=True)
        self.http.force_login(user)

    async def read(self, question: ClientQuestion) -> str:
        response = await self.http.get(f"{PAGE}{question.pk}/")
        assert response.status_code == 200
        return response.content.decode()

    async def decide(self, question: ClientQuestion, do: str = "approve", **form: str) -> Any:
        page = await self.read(question)
        fields = dict(re.findall(r'name="(csrfmiddlewaretoken|shown)" value="(\w+)"', page))
        return await self.http.post(f"{PAGE}{question.pk}/", {**fields, "do": do, **form})


async def person_of(user: Any) -> Person:
    return await sync_to_async(Person)(user)


def text_of(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_call_waits_is_approved_and_returns_its_result(user: Any, mode: str):
    person = await person_of(user)
    async with client_of(user, mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        waits = await client.call_tool("wipe", {"what": "disk"})
        again = await client.call_tool("wipe", {"what": "disk"})
        about = waits.structured_content["approval"]
        question = await ClientQuestion.objects.aget()
        before = await client.call_tool("approval_status", {"id": about["id"]})
        assert effects == []
        response = await person.decide(question)
        assert response.status_code == 303
        assert effects == ["wiped disk 1"]
        status = await client.call_tool("approval_status", {"id": about["id"]})
        anew = await client.call_tool("wipe", {"what": "disk"})
    assert {"wipe", "pay", "approval_status"} <= listed.keys()
    assert not waits.is_error
    assert "Nothing was done" in text_of(waits)
    assert about["link"].endswith(f"{PAGE}{question.pk}/")
    assert about["link"] in text_of(waits)
    assert again.structured_content == before.structured_content == waits.structured_content
    assert status.structured_content == {"wiped": "disk"}
    # The result is that of one call: the next one is asked about.
    assert anew.structured_content["approval"]["id"] != about["id"]
    assert effects == ["wiped disk 1"]
    [record] = [record async for record in AuditRecord.objects.all()]
    assert (record.outcome, record.approved_by, record.via) == ("success", str(user.pk), "mcp: mcp")
