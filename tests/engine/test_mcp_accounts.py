"""Users connect their own accounts at a remote MCP server: a real one, with its sign-in, over HTTP."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("fastmcp")

from asgiref.sync import sync_to_async
from django.test import AsyncClient

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.contrib.mcp import connections
from agui.contrib.mcp.models import RemoteAccount, RemoteClient
from agui.testing import ScriptedModel, call, say
from engine import urls
from engine.conftest import Client, results_of
from engine.remote_site import RemoteSite, query_of, remote_site

SITE = "https://us.example"
PAGE = "/agent/mcp/accounts/"


@pytest.fixture(autouse=True)
async def no_connection_outlives_its_test() -> AsyncIterator[None]:
    yield
    await connections.close_all()


@pytest.fixture
async def remote(settings: Any, tmp_path: Path) -> AsyncIterator[RemoteSite]:
    async with remote_site() as site:
        configure(settings, tmp_path, {"shop": {"url": site.mcp_url, "auth": "oauth"}})
        yield site


def configure(settings: Any, tmp_path: Path, servers: dict[str, Any], **values: Any) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    mcp = {"CONFIG": path, "TIMEOUT_SECONDS": 60.0, "SITE_URL": SITE, **values}
    settings.AGUI = {**settings.AGUI, "MCP": mcp}


def agent(settings: Any, *answers: Any) -> ScriptedModel:
    """An agent with these answers, and the tools of the remote servers."""
    llm = ScriptedModel(answers)
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=llm))
    # The other routes are those of an agent without these tools.
    routes = [*get_urls(view, "agent/"), *urls.urlpatterns]
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": routes})
    return llm


class Browser:
    """The browser of a user who is signed in here."""

    def __init__(self, user: Any) -> None:
        self.user = user
        self.http = AsyncClient(enforce_csrf_checks=True)

    async def sign_in(self) -> "Browser":
        await self.http.aforce_login(self.user)
        return self

    async def page(self) -> str:
        answer = await self.http.get(PAGE)
        assert answer.status_code == 200, answer.content
        return answer.content.decode()

    async def do(self, do: str, server: str = "shop") -> Any:
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', await self.page())
        assert token
        return await self.http.post(PAGE, {"csrfmiddlewaretoken": token[1], "do": do, "server": server})

    async def begin(self, server: str = "shop") -> str:
        answer = await self.do("connect", server)
        assert answer.status_code == 303, answer.content.decode()
        return str(answer["Location"])

    async def come_back(self, landed: str) -> Any:
        assert landed.startswith(SITE)
        return await self.http.get(landed.removeprefix(SITE))

    async def connect(self, remote: RemoteSite, who: str = "ada", server: str = "shop") -> None:
        remote.accounts.who = who
        answer = await self.come_back(await remote.consent(await self.begin(server)))
        assert answer.status_code == 303 and answer["Location"] == PAGE, answer.content.decode()


@pytest.fixture
async def browser(user: Any) -> Browser:
    return await Browser(user).sign_in()


async def account(user: Any) -> RemoteAccount:
    return await RemoteAccount.objects.aget(user=user)


# --- Connecting


async def test_user_connects_calls_and_disconnects(
    client: Client, browser: Browser, remote: RemoteSite, settings: Any
):
    llm = agent(settings, say("Nothing."), call("shop_whoami", _id="c1"), say("Done."), say("Nothing."))
    await client.run("Who?")
    assert "Not connected" in await browser.page() and llm.requests[0].tools == {}

    address = await browser.begin()
    asked = query_of(address)
    assert asked["redirect_uri"] == f"{SITE}{PAGE}shop/callback/" and asked["resource"] == remote.mcp_url
    assert asked["code_challenge_method"] == "S256"
    answer = await browser.come_back(await remote.consent(address))
    assert answer.status_code == 303 and answer["Location"] == PAGE
    assert "Connected" in await browser.page()

    await client.run("Who?")
    assert [*llm.requests[1].tools] == ["shop_whoami"]
    assert results_of(llm.requests[2])["c1"].content == "ada"

    await browser.do("disconnect")
    assert await RemoteAccount.objects.acount() == 0
    assert len(remote.accounts.revoked) == 2, "both tokens are revoked"
    await client.run("Who?")
    assert llm.requests[3].tools == {}


async def test_each_user_acts_as_their_own_account(
    client: Client, browser: Browser, other: Any, remote: RemoteSite, settings: Any
):
    await browser.connect(remote, "ada there")
    await (await Browser(other).sign_in()).connect(remote, "bob there")
    bob = await sync_to_async(Client)(other)
    llm = agent(settings, *[call("shop_whoami", _id="c1"), say("Done.")] * 2)
    await client.run("Who?")
    await bob.run("Who?")
    assert results_of(llm.requests[1])["c1"].content == "ada there"
    assert results_of(llm.requests[3])["c1"].content == "bob there"
    assert await RemoteClient.objects.acount() == 1, "this project registers once"
    assert len(remote.accounts.clients) == 1
