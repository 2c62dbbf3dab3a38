"""Clients of the MCP endpoint: the official one, one that sends what it likes, and a person with a browser."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from inspect import isawaitable
from typing import Any

import httpx2
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission
from django.core.handlers.asgi import ASGIHandler
from django.test import AsyncClient
from mcp import Client as McpClient
from mcp import types
from mcp.client.streamable_http import streamable_http_client
from mcp_message import message_of_2026

from agui import ToolRegistry
from agui.contrib.mcp.approvals import version_of
from agui.contrib.mcp.models import ClientQuestion
from agui.http.tokens import create_token
from tests.serving import serve_to_mcp, serving
from tests.transcript_tools import Gate

ENDPOINT = "/agent/mcp/"
PAGE = "/agent/mcp/approvals/"
JSON = {"Accept": "application/json, text/event-stream"}
FORMS = {"elicitation": {}}
ACCEPTED = types.ElicitResult(action="accept", content={"approval": True})


async def permit(user: Any) -> None:
    """Let a user look at runs."""
    permission = await Permission.objects.aget(codename="view_run", content_type__app_label="agui")
    await user.user_permissions.aadd(permission)


@asynccontextmanager
async def site() -> AsyncIterator[str]:
    async with serving(ASGIHandler(), grace_seconds=10) as url:
        yield f"{url}{ENDPOINT}"


@asynccontextmanager
async def mcp_client(user: Any, url: str, mode: Any = "auto", **callbacks: Any) -> AsyncIterator[McpClient]:
    """The official client, with a token of the user."""
    token = (await sync_to_async(create_token)(user))[1]
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=60) as http,
        McpClient(streamable_http_client(url, http_client=http), mode=mode, **callbacks) as client,
    ):
        yield client


@asynccontextmanager
async def client_of(
    user: Any, mode: Any = "auto", answer: Callable[[Any], Any] | None = None
) -> AsyncIterator[McpClient]:
    """The official client at the site. With `answer`, it asks its user, who answers so."""

    async def elicit(context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert answer
        given = answer(params)
        return await given if isawaitable(given) else given

    callbacks = {"elicitation_callback": elicit} if answer else {}
    async with site() as url, mcp_client(user, url, mode, **callbacks) as client:
        yield client


def text_of(result: Any) -> str:
    """The text of a result, which the official client has read, or which is JSON still."""
    [block] = result["content"] if isinstance(result, dict) else result.content
    return str(block["text"] if isinstance(block, dict) else block.text)


def serve_tools(settings: Any, *functions: Callable[..., Any], **options: Any) -> None:
    """Mount an agent with these functions as tools, which MCP clients may call."""
    registry = ToolRegistry()
    for function in functions:
        registry.add(function, **options)
    serve_to_mcp(settings, registry)


def serve_last(settings: Any, **options: Any) -> Gate:
    """Mount an agent with a tool that lasts until its gate is opened."""
    gate = Gate()

    async def last() -> str:
        """Last until it may end."""
        await gate.passed()
        return "at last"

    serve_tools(settings, last, **options)
    return gate


class Raw:
    """A client of 2026 that sends what it likes, with a token of its user, if it has one."""

    def __init__(self, user: Any, capabilities: Any = None) -> None:
        self.user = user
        self.http = AsyncClient()
        self.token = {"authorization": f"Bearer {create_token(user)[1]}"} if user else {}
        self.capabilities = capabilities or {}

    def message(self, method: str, about: str, **params: Any) -> tuple[dict[str, Any], dict[str, str]]:
        """The body and the headers of a request."""
        body, headers = message_of_2026(method, about, params, self.capabilities)
        return body, headers | JSON | self.token

    async def send(self, method: str, about: str, **params: Any) -> dict[str, Any]:
        body, headers = self.message(method, about, **params)
        response = await self.http.post(ENDPOINT, body, content_type="application/json", headers=headers)
        answer: dict[str, Any] = json.loads(response.content)
        return answer

    async def call(self, name: str = "pay", arguments: Any = None, **params: Any) -> dict[str, Any]:
        given = {"amount": 5} if arguments is None else arguments
        return await self.send("tools/call", name, name=name, arguments=given, **params)

    async def waiting(self, name: str = "pay", arguments: Any = None) -> ClientQuestion:
        """The row of a new call that waits for a decision on the page."""
        about = (await self.call(name, arguments))["result"]["structuredContent"]["approval"]
        assert about["state"] == "pending"
        return await ClientQuestion.objects.aget(pk=about["id"])

    async def status(self, question: ClientQuestion) -> tuple[str, str]:
        """The state of a call, and the words about it."""
        result = (await self.call("approval_status", {"id": str(question.pk)}))["result"]
        about = result.get("structuredContent", {}).get("approval") or result.get("_meta", {}).get("approval", {})
        return about.get("state", ""), text_of(result)


raw_of = sync_to_async(Raw)


def fields_of(page: str) -> dict[str, str]:
    """The hidden fields of a page's form."""
    return dict(re.findall(r'name="(csrfmiddlewaretoken|shown)" value="(\w+)"', page))


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
        token = self.http.cookies["csrftoken"].value
        fields = {"shown": version_of(question), "csrfmiddlewaretoken": token, **fields_of(page)}
        return await self.http.post(f"{PAGE}{question.pk}/", {**fields, "do": do, **form})


person_of = sync_to_async(Person)
