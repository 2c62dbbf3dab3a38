"""Users connect their own accounts at a remote MCP server: a real one, with its sign-in, over HTTP."""

import asyncio
import importlib
import json
import logging
import re
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest.mock import Mock

import pytest

pytest.importorskip("fastmcp")

import httpx2
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.core.checks import run_checks
from django.core.handlers.asgi import ASGIHandler
from django.db import transaction
from django.template import Context, Template
from django.test import AsyncClient
from mcp.shared.auth import OAuthClientInformationFull
from pytest_django.asserts import assertContains, assertNotContains
from servers import wait_until

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.contrib.mcp import incoming, outside
from agui.contrib.mcp.accounts import clients, tokens
from agui.contrib.mcp.accounts.page import SESSION_KEY
from agui.contrib.mcp.models import RemoteAccount, RemoteClient
from agui.contrib.mcp.servers import configured_servers
from agui.testing import ScriptedModel, call, say, wait
from tests import pages
from tests.calling import Person, fields_of
from tests.clock import Clock
from tests.conftest import Client, query_of, results_of
from tests.connecting import Project
from tests.mounting import serve_urls
from tests.remote_site import LIFETIME, RemoteSite, remote_site
from tests.serving import serving
from tests.transcript_tools import Gate

SITE = "https://us.example"
PAGE = "/agent/mcp/accounts/"


@pytest.fixture(autouse=True)
def revoking(monkeypatch: Any) -> ThreadPoolExecutor:
    """The threads that revoke tokens. A server of a test must not end before them."""
    threads = ThreadPoolExecutor(4)
    monkeypatch.setattr(tokens, "_revoking", threads)
    return threads


@pytest.fixture
async def remote(project: Project, revoking: ThreadPoolExecutor) -> AsyncIterator[RemoteSite]:
    async with remote_site() as site:
        project.set(SITE_URL=SITE)
        project.configure(shop={"url": site.mcp_url, "auth": "oauth"})
        yield site
        await asyncio.to_thread(revoking.shutdown)


class Browser(Person):
    """The browser of a user who is signed in here, and has accounts at the server."""

    def __init__(self, user: Any, remote: RemoteSite) -> None:
        super().__init__(user)
        self.remote = remote

    async def page(self) -> str:
        answer = await self.http.get(PAGE)
        assert answer.status_code == 200, answer.content
        return answer.content.decode()

    async def do(self, do: str, server: str = "shop") -> Any:
        return await self.http.post(PAGE, {**fields_of(await self.page()), "do": do, "server": server})

    async def begin(self, server: str = "shop") -> str:
        answer = await self.do("connect", server)
        assert answer.status_code == 303, answer.content.decode()
        return str(answer["Location"])

    async def land(self) -> str:
        """Sign in there; the address at which the user comes back."""
        return await self.remote.consent(await self.begin())

    async def come_back(self, landed: str) -> Any:
        assert landed.startswith(SITE)
        return await self.http.get(landed.removeprefix(SITE))

    async def connect(self, who: str = "ada") -> None:
        self.remote.accounts.who = who
        answer = await self.come_back(await self.land())
        assert answer.status_code == 303, answer.content.decode()


@pytest.fixture
def browser(user: Any, remote: RemoteSite) -> Browser:
    return Browser(user, remote)


@pytest.fixture
def others(other: Any, remote: RemoteSite) -> Browser:
    return Browser(other, remote)


async def both_tokens_are_revoked(remote: RemoteSite) -> None:
    await asyncio.to_thread(wait_until, lambda: len(remote.accounts.revoked) == 2)
    assert not remote.accounts.access
    assert not remote.accounts.refresh


# --- Connecting


async def test_user_connects_calls_and_disconnects(project: Project, browser: Browser, remote: RemoteSite):
    client = project.client
    llm = project.script(say("Nothing."), call("shop_whoami", _id="c1"), say("Done."), say("Nothing."))
    await client.run("Who?")
    assert "Not connected" in await browser.page()
    assert llm.requests[0].tools == {}

    address = await browser.begin()
    asked = query_of(address)
    assert asked["redirect_uri"] == f"{SITE}{PAGE}shop/callback/"
    assert asked["resource"] == remote.mcp_url
    assert asked["code_challenge_method"] == "S256"
    landed = await remote.consent(address)
    answer = await browser.come_back(f"{landed}&next=https://evil.example&redirect_uri=https://evil.example")
    assert (answer.status_code, answer["Location"]) == (303, PAGE)
    assert "Connected" in await browser.page()

    await client.run("Who?")
    assert [*llm.requests[1].tools] == ["shop_whoami"]
    assert results_of(llm.requests[2])["c1"].content == "ada"

    await browser.do("disconnect")
    assert await RemoteAccount.objects.acount() == 0
    await both_tokens_are_revoked(remote)
    await client.run("Who?")
    assert llm.requests[3].tools == {}


async def test_each_user_acts_as_their_own_account(
    project: Project, browser: Browser, other_client: Client, others: Browser, remote: RemoteSite
):
    await browser.connect("ada there")
    await others.connect("bob there")
    llm = project.script(*[call("shop_whoami", _id="c1"), say("Done.")] * 2)
    await project.client.run("Who?")
    await other_client.run("Who?")
    assert results_of(llm.requests[1])["c1"].content == "ada there"
    assert results_of(llm.requests[3])["c1"].content == "bob there"
    assert await RemoteClient.objects.acount() == 1, "this project registers once"
    assert len(remote.accounts.clients) == 1


async def headers_of(user: Any) -> Any:
    (server,) = configured_servers()
    return await tokens.headers_of(user, server)


@pytest.fixture
async def connected(browser: Browser) -> Browser:
    """The browser of a user who has connected an account."""
    await browser.connect()
    return browser


@pytest.fixture
async def expired(connected: Browser, user: Any, remote: RemoteSite, clock: Clock) -> Any:
    """The headers of an account whose token has ended by now."""
    headers = await headers_of(user)
    clock.advance(LIFETIME)
    return headers


def tell(remote: RemoteSite, **metadata: Any) -> None:
    """Change what the server says about its sign-in."""
    document = {
        "issuer": f"{remote.url}/",
        "authorization_endpoint": f"{remote.url}/authorize",
        "token_endpoint": f"{remote.url}/token",
        "registration_endpoint": f"{remote.url}/register",
        "code_challenge_methods_supported": ["S256"],
        **metadata,
    }
    body = json.dumps({name: value for name, value in document.items() if value is not None})
    remote.answer(200, "/.well-known/oauth-authorization-server", body.encode(), content_type="application/json")


# --- Attacks on the way back


async def test_state_of_another_user_or_browser_is_refused(
    browser: Browser, others: Browser, user: Any, remote: RemoteSite, settings: Any
):
    settings.LOGIN_URL = "/accounts/login/"
    landed = await browser.land()
    elsewhere = await sync_to_async(Browser)(user, remote)
    assertContains(await others.come_back(landed), "begun elsewhere", status_code=404)
    # Even in a session that is like the user's.
    mine, copied = await browser.http.asession(), await others.http.asession()
    await copied.aset(SESSION_KEY, await mine.aget(SESSION_KEY))
    await copied.asave()
    assert (await others.come_back(landed)).status_code == 404
    assert (await elsewhere.come_back(landed)).status_code == 404
    visitor = await AsyncClient().get(landed.removeprefix(SITE), headers={"Sec-Fetch-Mode": "navigate"})
    assert visitor.status_code == 302
    assert visitor["Location"].startswith("/accounts/login/?next=/agent/mcp/")
    code = query_of(landed)["code"]
    for changes in ({"state": "x" * 43}, {"state": ""}, {}):
        assert (await browser.http.get(f"{PAGE}shop/callback/", {"code": code, **changes})).status_code == 404
    assert not [row async for row in RemoteAccount.objects.exclude(tokens="")]
    assert "/token" not in remote.paths
    assert (await browser.come_back(landed)).status_code == 303, "it was not used up"


async def test_state_counts_once_and_for_ten_minutes(browser: Browser, user: Any, remote: RemoteSite, clock: Clock):
    landed = await browser.land()
    clock.advance(601)
    assert (await browser.come_back(landed)).status_code == 404
    landed = await browser.land()
    clock.advance(599)
    answers = await asyncio.gather(browser.come_back(landed), browser.come_back(landed))
    assert sorted(answer.status_code for answer in answers) == [303, 404]
    assert (await browser.come_back(landed)).status_code == 404
    assert remote.paths.count("/token") == 1
    assert (await RemoteAccount.objects.aget()).tokens


async def test_answer_of_another_issuer_is_a_mix_up(browser: Browser, remote: RemoteSite):
    tell(remote, authorization_response_iss_parameter_supported=True)
    for issuer in ({"iss": "https://evil.example"}, {"iss": ""}, {}):
        query = query_of(await browser.land()) | issuer
        answer = await browser.http.get(f"{PAGE}shop/callback/", query)
        assertContains(answer, "another service", status_code=400)
        assert "/token" not in remote.paths, "the code was not sent"
    query = query_of(await browser.land()) | {"iss": f"{remote.url}/"}
    assert (await browser.http.get(f"{PAGE}shop/callback/", query)).status_code == 303


async def test_code_of_another_server_is_refused(project: Project, browser: Browser, remote: RemoteSite):
    async with remote_site() as evil:
        servers = {"shop": remote, "evil": evil}
        project.configure(**{name: {"url": site.mcp_url, "auth": "oauth"} for name, site in servers.items()})
        state = query_of(await browser.land())["state"]
        theirs = query_of(await evil.consent(await browser.begin("evil")))
        mixed = {"code": theirs["code"], "state": state}
        assert (await browser.http.get(f"{PAGE}evil/callback/", mixed)).status_code == 404
        answer = await browser.http.get(f"{PAGE}shop/callback/", mixed)
        assertContains(answer, "refused the sign-in", status_code=400)
        assert "/token" not in evil.paths
    assert not [row async for row in RemoteAccount.objects.exclude(tokens="")]


async def test_words_of_the_server_are_not_repeated(browser: Browser):
    for error, status in (("access_denied", 200), ("<script>evil</script>", 400)):
        state = query_of(await browser.land())["state"]
        query = {"state": state, "error": error, "error_description": "<b>evil words</b>", "error_uri": "https://evil"}
        answer = await browser.http.get(f"{PAGE}shop/callback/", query)
        assertContains(answer, "Nothing was connected.", status_code=status)
        assertNotContains(answer, "evil", status_code=status)


async def test_only_the_form_of_the_page_begins(
    client: Client, browser: Browser, remote: RemoteSite, monkeypatch: pytest.MonkeyPatch
):
    before = len(remote.requests)
    connects = {"do": "connect", "server": "shop"}
    assert (await client.http.get(PAGE)).status_code == 403, "a token is no person"
    assert (await browser.do("connect", "nothing")).status_code == 404
    assert (await browser.http.get(f"{PAGE}nothing/callback/?next=https://evil.example")).status_code == 404
    assert (await browser.do("wipe")).status_code == 400
    page = await browser.http.get(PAGE, connects)
    assert (page.status_code, page["Cache-Control"], page["X-Frame-Options"]) == (200, "no-store", "DENY")
    assert len(remote.requests) == before
    policy = page["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("form-action 'self' https:")
    assert "<script" not in page.content.decode()
    # Static files may have a host of their own.
    monkeypatch.setattr("agui.contrib.mcp.page.static", "https://static.example/{}".format)
    policy = (await browser.http.get(PAGE))["Content-Security-Policy"]
    assert "style-src 'self' https://static.example; img-src 'self' https://static.example data:;" in policy


# --- What the server says about its sign-in


@pytest.mark.parametrize(
    "told",
    [
        {"issuer": "https://evil.example"},
        *({"code_challenge_methods_supported": methods} for methods in (["plain"], None)),
        *({"authorization_endpoint": f"{before}evil.example/"} for before in ("http://", "https://us.example@")),
        {"authorization_endpoint": "javascript:alert(1)"},
        *({"registration_endpoint": f"https://{host}/register"} for host in ("169.254.169.254", "localhost")),
        {"registration_endpoint": "http://127.0.0.1:1/register"},
    ],
)
async def test_sign_in_that_is_not_safe_is_not_begun(browser: Browser, remote: RemoteSite, told: dict[str, Any]):
    tell(remote, **told)
    assertContains(await browser.do("connect"), 'role="alert"', status_code=502)
    assert await RemoteAccount.objects.acount() == 0


@pytest.mark.parametrize("endpoint", ["https://10.0.0.1/token", "http://evil.example/token"])
async def test_code_is_not_sent_to_an_address_that_is_not_public(browser: Browser, remote: RemoteSite, endpoint: str):
    tell(remote, token_endpoint=endpoint)
    assertContains(await browser.come_back(await browser.land()), "reached", status_code=400)


async def test_addresses_are_public_and_secure_or_named_by_the_project(settings: Any):
    settings.AGUI = {"MCP": {"AUTH_HOSTS": ["localhost"]}}
    for url, addresses in (("https://1.1.1.1/token", {"1.1.1.1"}), ("https://localhost/token", {"127.0.0.1", "::1"})):
        found = await outside._addresses_of(outside.httpx2.URL(url))
        assert found
        assert set(found) <= addresses
    # test_notifications_webhook.py has all kinds of addresses.
    for url in ("http://1.1.1.1/", "https://ada@1.1.1.1/", "ftp://1.1.1.1/", "https://127.0.0.1/", "https://[::1]/"):
        with pytest.raises(outside.NotAllowed):
            await outside._addresses_of(outside.httpx2.URL(url))


@pytest.mark.parametrize("where", ["/elsewhere", "http://127.0.0.1:{port}/token"])
async def test_no_redirect_is_followed(browser: Browser, remote: RemoteSite, where: str):
    async with remote_site() as evil:
        landed = await browser.land()
        remote.answer(307, "/token", location=where.format(port=evil.url.rpartition(":")[2]))
        assert (await browser.come_back(landed)).status_code == 400
        assert "/elsewhere" not in remote.paths
        assert evil.requests == []


async def test_token_does_not_follow_a_redirect(project: Project, connected: Browser, remote: RemoteSite):
    project.script(say("Hi."))
    async with remote_site() as evil:
        remote.answer(307, location=evil.mcp_url)
        await project.client.run("Hi")
        assert evil.requests == []


# How an answer is too long, and what its body is then.
LONG: dict[str, Any] = {
    "long": lambda body: {"body": body},
    "compressed": lambda body: {"body": zlib.compress(body), "content_encoding": "deflate"},
}


@pytest.mark.parametrize("way", LONG)
async def test_long_answers_are_refused(browser: Browser, remote: RemoteSite, way: str):
    path = "/.well-known/oauth-protected-resource/mcp"
    remote.answer(200, path, **LONG[way](b"x" * 10**7), content_type="application/json")
    assertContains(await browser.do("connect"), "reached", status_code=502)


async def test_answer_that_never_ends_is_given_up(browser: Browser, remote: RemoteSite, monkeypatch: Any):
    monkeypatch.setattr(outside, "TOTAL_SECONDS", 0.2)
    gone = asyncio.Event()

    async def drip(scope: Any, message: Any, send: Any) -> bool:
        await send({"type": "http.response.start", "status": 401, "headers": []})
        while not gone.is_set():
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
            await asyncio.sleep(0.01)
        return True

    remote.around = drip
    assertContains(await browser.do("connect"), "reached", status_code=502)
    gone.set()


@pytest.mark.parametrize("way", LONG)
async def test_long_result_of_a_tool_fails_its_call(
    project: Project, connected: Browser, remote: RemoteSite, monkeypatch: Any, way: str
):
    monkeypatch.setattr(incoming, "MAX_MESSAGE_BYTES", 10_000)

    def body_of(asked: Any) -> dict[str, Any]:
        answer = answer_of(asked, content=[{"type": "text", "text": "x" * size}])
        return {**LONG[way](answer.encode()), "content_type": "application/json"}

    for size in (100, 20_000):
        remote.answer_method("tools/call", body_of)
        told = str((await project.call("shop_whoami")).content)
        is_refused = size > 10_000 or way == "compressed"
        assert ("did not answer" in told) == is_refused, told


def answer_of(asked: Any, **result: Any) -> str:
    """The answer to a call of whoami, or to a question for the tools."""
    kind = {"ttlMs": 0, "cacheScope": "private"} if "tools" in result else {"structuredContent": {"result": "ada"}}
    result = {"resultType": "complete", **kind, **result}
    return json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result})


PART = {"type": "text", "text": "a"}
TOOL = {"name": "whoami", "inputSchema": {"type": "object"}}
HEAVY: dict[str, Any] = {
    "few": {"content": [PART] * 3},
    "few tools": {"tools": [TOOL] * 3},
    "parts": {"content": [PART] * 20_000},
    "values": {"content": [], "structuredContent": {"result": "", **dict.fromkeys(map(str, range(20_000)), [0] * 20)}},
    "tools": {"tools": [TOOL] * 12_000},
}


@pytest.mark.parametrize("as_events", [False, True])
@pytest.mark.parametrize("kind", HEAVY)
async def test_answer_of_many_parts_is_refused_before_it_is_built(
    project: Project, connected: Browser, remote: RemoteSite, kind: str, as_events: bool
):
    """The library would build them on the event loop, several times: a few megabytes take a minute."""

    def body_of(asked: Any) -> dict[str, Any]:
        answer = answer_of(asked, **HEAVY[kind])
        if not as_events:
            return {"body": answer.encode(), "content_type": "application/json"}
        # Not even a quotation mark in a comment hides them.
        return {"body": f': "\nevent: message\ndata: {answer}\n\n'.encode(), "content_type": "text/event-stream"}

    is_list = kind.endswith("tools")
    remote.answer_method("tools/list" if is_list else "tools/call", body_of)
    if is_list:
        llm = project.script(say("Nothing."))
        await project.client.run("Who?")
        assert [*llm.requests[0].tools] == (["shop_whoami"] if kind == "few tools" else [])
    else:
        told = str((await project.call("shop_whoami")).content)
        assert ("did not answer" in told) == (kind != "few"), told


@pytest.mark.parametrize(
    ("site", "auth", "is_fine"),
    [(None, "oauth", False), ("http://us.example", "oauth", False), (SITE, "oauth", True), (None, None, True)],
)
def test_deployment_without_a_fixed_address_is_found(project: Project, site: str | None, auth: Any, is_fine: bool):
    project.set(SITE_URL=site)
    project.configure(shop={"url": "https://shop.example/mcp", "auth": auth})
    found = {message.id for message in run_checks(include_deployment_checks=True)}
    assert ("agui_mcp.W001" in found) is not is_fine


def test_menu_has_the_page(project: Project):
    menu = Template('{% include "agui/pages.html" with agent="agui" %}')
    project.configure(shop={"url": "https://shop.example/mcp"})
    assert PAGE not in menu.render(Context())
    project.configure(shop={"url": "https://shop.example/mcp", "auth": "oauth"})
    assert f'<a href="{PAGE}">Your accounts at other services</a>' in menu.render(Context())


async def test_client_of_the_settings_is_used(project: Project, browser: Browser, remote: RemoteSite):
    uri = f"{SITE}{PAGE}shop/callback/"
    # Without one, servers read this document.
    document = json.loads((await AsyncClient().get(f"{PAGE}client.json")).content)
    assert document["client_id"] == f"{SITE}{PAGE}client.json"
    assert document["redirect_uris"] == [uri]
    assert document["token_endpoint_auth_method"] == "none"
    about = {"client_id": "by-hand", "client_secret": "hush", "redirect_uris": [uri], "scope": "read"}
    by_hand = OAuthClientInformationFull(**about, token_endpoint_auth_method="client_secret_post")
    remote.accounts.clients["by-hand"] = by_hand
    own = {"clientId": "by-hand", "clientSecret": "hush", "scopes": ["read"]}
    project.configure(shop={"url": remote.mcp_url, "auth": "oauth", "oauth": own})
    asked = query_of(address := await browser.begin())
    assert (asked["client_id"], asked["scope"]) == ("by-hand", "read")
    assert (await browser.come_back(await remote.consent(address))).status_code == 303
    assert [path for path, _, form in remote.requests if "hush" in form.values()] == ["/token"]
    assert "/register" not in remote.paths
    assert "hush" not in repr(configured_servers())


# --- Tokens


async def test_tokens_are_secret(project: Project, browser: Browser, user: Any, remote: RemoteSite, caplog: Any):
    client = project.client
    caplog.set_level(logging.DEBUG)
    await browser.connect()
    project.script(call("shop_whoami", _id="c1"), say("Done."))
    events = await client.run("Who?")
    row = await RemoteAccount.objects.aget()
    kept = [*remote.accounts.access, *remote.accounts.refresh]
    exported = b"".join([chunk async for chunk in (await client.get("export/")).streaming_content]).decode()
    shown = await browser.page() + json.dumps(events) + exported + repr(row.__dict__)
    assert '"server": "shop"' in exported
    assert kept
    assert not [secret for secret in kept if secret in shown or secret in caplog.text]
    assert row.tokens not in exported


async def test_tokens_are_for_one_row_and_one_address_and_are_read_with_an_old_key(
    connected: Browser, others: Browser, user: Any, other: Any, remote: RemoteSite, project: Project
):
    await others.do("disconnect")
    assert await headers_of(user) is not None
    assert remote.accounts.revoked == []
    await RemoteAccount.objects.acreate(user=other, server="shop", tokens=(await RemoteAccount.objects.aget()).tokens)
    assert await headers_of(other) is None
    settings = project.settings
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 9
    assert await headers_of(user) is None
    settings.SECRET_KEY_FALLBACKS = [old]
    project.configure(shop={"url": "https://evil.example/mcp", "auth": "oauth"})
    assert await headers_of(user) is None
    project.configure(shop={"url": remote.mcp_url, "auth": "oauth"})
    assert await headers_of(user) is not None


async def test_token_is_renewed_before_its_end_and_once(
    connected: Browser, user: Any, remote: RemoteSite, clock: Clock
):
    first = await headers_of(user)
    clock.advance(LIFETIME - 61)
    assert await headers_of(user) == first
    clock.advance(2)
    renewed = await asyncio.gather(*(headers_of(user) for _ in range(5)))
    assert len({*renewed}) == 1
    assert renewed[0] != first
    granted = [form["grant_type"] for path, _, form in remote.requests if path == "/token"]
    assert granted == ["authorization_code", "refresh_token"]


async def test_renewing_that_fails_for_now_keeps_the_token(
    expired: Any, user: Any, remote: RemoteSite, clock: Clock, caplog: Any
):
    remote.answer(503)
    assert await headers_of(user) == expired
    assert "Renewing a token for MCP server" in caplog.text
    remote.around = None
    assert await headers_of(user) == expired, "not yet"
    clock.advance(31)
    assert await headers_of(user) not in (None, expired)


@pytest.mark.parametrize("given", [{}, {"refresh_token": "another"}])
async def test_renewing_sends_the_newest_refresh_token(
    expired: Any, user: Any, remote: RemoteSite, clock: Clock, given
):
    """A server that does not rotate them leaves it out of its answers."""
    [first] = remote.accounts.refresh
    token = {"access_token": "second", "token_type": "Bearer", "expires_in": LIFETIME} | given
    remote.answer(200, "/token", json.dumps(token).encode())
    await headers_of(user)
    clock.advance(LIFETIME)
    await headers_of(user)
    asked = [form["refresh_token"] for path, _, form in remote.requests if path == "/token" and "refresh_token" in form]
    assert asked == [first, given.get("refresh_token", first)]


async def test_stopped_run_does_not_lose_a_renewed_token(expired: Any, user: Any, remote: RemoteSite):
    gate = Gate()
    remote.before_token(gate.passed)
    run = asyncio.create_task(headers_of(user))
    await gate.reached.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    other = asyncio.create_task(headers_of(user))
    gate.opened.set()
    assert await asyncio.wait_for(other, 20) is not None
    assert len(remote.accounts.refresh) == 1
    assert remote.paths.count("/token") == 2


async def test_account_that_is_disconnected_while_it_is_renewed_stays_so(expired: Any, user: Any, remote: RemoteSite):
    known = [*remote.accounts.access]
    remote.before_token(RemoteAccount.objects.all().adelete)
    assert await headers_of(user) is None
    assert not remote.accounts.access.keys() - known, "the new token was revoked"


async def test_what_has_changed_while_a_token_is_renewed_stays(expired: Any, user: Any, remote: RemoteSite):
    remote.before_token(lambda: RemoteAccount.objects.aupdate(tokens="newer"))
    await headers_of(user)
    assert (await RemoteAccount.objects.aget()).tokens == "newer"


async def test_token_that_ended_early_is_renewed_and_the_call_goes_on(
    project: Project, connected: Browser, remote: RemoteSite
):
    await project.call("shop_whoami")
    remote.accounts.access.clear()
    assert (await project.call("shop_whoami")).content == "ada"


async def test_page_says_that_the_server_has_ended_a_connection(
    project: Project, connected: Browser, remote: RemoteSite
):
    remote.accounts.end_all()
    llm = project.script(say("Nothing."))
    await project.client.run("Hi")
    assert llm.requests[0].tools == {}
    assert "has ended the connection" in await connected.page()
    await connected.connect()
    assert "has ended the connection" not in await connected.page()


@pytest.mark.parametrize("way", ["revoked", "disabled", "disconnected"])
async def test_next_call_is_refused_and_names_the_page(
    project: Project, connected: Browser, user: Any, remote: RemoteSite, way: str
):
    go_on, reached = asyncio.Event(), asyncio.Event()
    second = [wait(go_on, reached), call("shop_whoami", _id="c2")]
    llm = project.script(call("shop_whoami", _id="c1"), second, say("Connect it."))
    run = asyncio.create_task(project.client.run("Who?"))
    await reached.wait()
    if way == "revoked":
        remote.accounts.end_all()
    elif way == "disabled":
        user.is_active = False
        await user.asave()
    else:
        await connected.do("disconnect")
    go_on.set()
    await run
    assert remote.accounts.calls == [("whoami", "ada")]
    told = str(results_of(llm.requests[2])["c2"].content)
    assert f"{SITE}{PAGE}" in told
    assert "not connected" in told


async def test_disconnecting_deletes_even_if_the_server_is_away(connected: Browser, user: Any, remote: RemoteSite):
    remote.answer(503)
    assert (await connected.do("disconnect")).status_code == 303
    assert await headers_of(user) is None
    assert await RemoteAccount.objects.acount() == 0


async def test_tokens_of_a_deleted_user_are_revoked(connected: Browser, user: Any, remote: RemoteSite):
    @sync_to_async
    def begin_to_delete() -> None:
        with transaction.atomic():
            user.delete()
            transaction.set_rollback(True)

    await begin_to_delete()
    assert await RemoteAccount.objects.aget()
    assert remote.accounts.revoked == [], "the user is still there"
    await get_user_model().objects.all().adelete()
    await both_tokens_are_revoked(remote)


async def test_user_is_deleted_without_the_library(connected: Browser, user: Any, monkeypatch: Any, caplog: Any):
    monkeypatch.setattr(tokens, "revoke_later", Mock(side_effect=ModuleNotFoundError))
    await user.adelete()
    assert await get_user_model().objects.acount() == 0
    assert "ModuleNotFoundError" in caplog.text


async def test_server_that_forgot_this_project_is_registered_at_anew(browser: Browser, remote: RemoteSite):
    landed = await browser.land()
    remote.accounts.clients.clear()
    assert (await browser.come_back(landed)).status_code == 400
    await browser.connect()
    assert len(remote.accounts.clients) == 1


async def test_visitors_have_no_accounts(remote: RemoteSite, settings: Any):
    llm = ScriptedModel([say("Hi.")])
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=llm), require_authenticated=False)
    serve_urls(settings, get_urls(view))
    visitor = Client(None)
    await visitor.run("Hi")
    assert llm.requests[0].tools == {}
    assert (await visitor.http.get(PAGE)).status_code == 401
    assert remote.requests == []


# --- This engine as the other site


async def test_user_connects_at_a_site_of_this_engine(
    browser: Browser, user: Any, settings: Any, project: Project, revoking: ThreadPoolExecutor
):
    """Discovery, a client id metadata document, consent, `iss`, renewing and revoking, with the part `oauth`."""
    pytest.importorskip("oauth2_provider")
    hosting = importlib.import_module("tests.hosting")
    hosting.open_doors(settings)
    await hosting.add_client(f"{SITE}{PAGE}client.json", f"{SITE}{PAGE}shop/callback/", registration_source="cimd")
    async with serving(ASGIHandler(), grace_seconds=10) as url:
        project.set(CONFIG=project.file, SITE_URL=SITE, TIMEOUT_SECONDS=60.0)
        project.configure(shop={"url": f"{url}/agent/mcp/", "auth": "oauth"})
        address = await browser.begin()
        assert query_of(address)["client_id"] == f"{SITE}{PAGE}client.json"
        visitor = hosting.Visitor(True)
        await visitor.visit(address)
        assert query_of(visitor.landed)["iss"] == url
        assert (await browser.come_back(visitor.landed)).status_code == 303

        def status(headers: Any) -> int:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            headers = {**dict(headers), "Accept": "application/json, text/event-stream"}
            return httpx2.post(f"{url}/agent/mcp/", json=body, headers=headers).status_code

        (server,) = configured_servers()
        first = await headers_of(user)
        assert await asyncio.to_thread(status, first) == 200
        second = await tokens.headers_after_refusal(user, server, first)
        assert second not in (None, first)
        await browser.do("disconnect")
        await asyncio.to_thread(wait_until, lambda: status(second) == 401)
        await asyncio.to_thread(revoking.shutdown)


# --- What the manual says


def test_file_of_the_manual_is_read(project: Project, monkeypatch: pytest.MonkeyPatch):
    manual = pages.read("mcp.md")
    example = re.search(r"```json\n(.*?)```", manual.partition("\n## Accounts at other services\n")[2], re.DOTALL)
    assert example
    monkeypatch.setenv("MAIL_SECRET", "hush")
    project.file.write_text(example[1])
    shop, mail = configured_servers()
    assert (shop.auth, shop.oauth, mail.auth) == ("oauth", None, "oauth")
    assert mail.oauth
    assert (mail.oauth.client_id, mail.oauth.client_secret, mail.oauth.scopes) == ("our-id", "hush", ("read",))
    # The addresses to come back to, and of the document
    address = clients.redirect_uri("https://agent.example.com", mail)
    assert f"`{address}`" in manual
    assert f"`{PAGE}client.json`" in manual
