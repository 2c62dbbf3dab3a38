"""Users connect their own accounts at a remote MCP server: a real one, with its sign-in, over HTTP."""

import asyncio
import importlib
import json
import logging
import re
import zlib
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args
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
from servers import wait_until

from agui import AgentConfig, DjangoAGUIView, ToolRegistry, get_urls
from agui.contrib.mcp import connections, outside
from agui.contrib.mcp.accounts import clients, tokens
from agui.contrib.mcp.accounts.page import SESSION_KEY
from agui.contrib.mcp.conf import McpSettings
from agui.contrib.mcp.models import RemoteAccount, RemoteClient
from agui.contrib.mcp.servers import Server, configured_servers, read_servers
from agui.testing import ScriptedModel, call, say, wait
from tests import pages, urls
from tests.clock import Clock
from tests.conftest import Client, results_of
from tests.remote_site import LIFETIME, RemoteSite, query_of, remote_site, respond
from tests.serving import serving

SITE = "https://us.example"
PAGE = "/agent/mcp/accounts/"


@pytest.fixture(autouse=True)
async def no_connection_outlives_its_test() -> AsyncIterator[None]:
    yield
    await connections.close_all()


@pytest.fixture(autouse=True)
def revoking(monkeypatch: Any) -> ThreadPoolExecutor:
    """The threads that revoke tokens. A server of a test must not end before them."""
    threads = ThreadPoolExecutor(4)
    monkeypatch.setattr(tokens, "_revoking", threads)
    return threads


@pytest.fixture
async def remote(settings: Any, tmp_path: Path, revoking: ThreadPoolExecutor) -> AsyncIterator[RemoteSite]:
    async with remote_site() as site:
        configure(settings, tmp_path, {"shop": {"url": site.mcp_url, "auth": "oauth"}})
        yield site
        await asyncio.to_thread(revoking.shutdown)


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
    """The browser of a user who is signed in here, and has accounts at the server."""

    def __init__(self, user: Any, remote: RemoteSite) -> None:
        self.user = user
        self.remote = remote
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
        assert answer["Location"] == PAGE


@pytest.fixture
async def browser(user: Any, remote: RemoteSite) -> Browser:
    return await Browser(user, remote).sign_in()


@pytest.fixture
async def others(other: Any, remote: RemoteSite) -> Browser:
    return await Browser(other, remote).sign_in()


async def account(user: Any) -> RemoteAccount:
    return await RemoteAccount.objects.aget(user=user)


async def both_tokens_are_revoked(remote: RemoteSite) -> None:
    await asyncio.to_thread(wait_until, lambda: len(remote.accounts.revoked) == 2)
    assert not remote.accounts.access
    assert not remote.accounts.refresh


# --- Connecting


async def test_user_connects_calls_and_disconnects(client: Client, browser: Browser, remote: RemoteSite, settings: Any):
    llm = agent(settings, say("Nothing."), call("shop_whoami", _id="c1"), say("Done."), say("Nothing."))
    await client.run("Who?")
    assert "Not connected" in await browser.page()
    assert llm.requests[0].tools == {}

    address = await browser.begin()
    asked = query_of(address)
    assert asked["redirect_uri"] == f"{SITE}{PAGE}shop/callback/"
    assert asked["resource"] == remote.mcp_url
    assert asked["code_challenge_method"] == "S256"
    answer = await browser.come_back(await remote.consent(address))
    assert answer.status_code == 303
    assert answer["Location"] == PAGE
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
    client: Client, browser: Browser, other_client: Client, others: Browser, remote: RemoteSite, settings: Any
):
    await browser.connect("ada there")
    await others.connect("bob there")
    llm = agent(settings, *[call("shop_whoami", _id="c1"), say("Done.")] * 2)
    await client.run("Who?")
    await other_client.run("Who?")
    assert results_of(llm.requests[1])["c1"].content == "ada there"
    assert results_of(llm.requests[3])["c1"].content == "bob there"
    assert await RemoteClient.objects.acount() == 1, "this project registers once"
    assert len(remote.accounts.clients) == 1


async def headers_of(user: Any) -> Any:
    (server,) = configured_servers()
    return await tokens.headers_of(user, server)


@pytest.fixture
async def expired(browser: Browser, user: Any, remote: RemoteSite, clock: Clock) -> Any:
    """The headers of an account whose token has ended by now."""
    await browser.connect()
    headers = await headers_of(user)
    clock.advance(LIFETIME)
    return headers


def tell(**metadata: Any) -> Any:
    """Change what the server says about its sign-in."""

    async def around(scope: Any, message: Any, send: Any) -> bool:
        if scope["path"] != "/.well-known/oauth-authorization-server":
            return False
        site = f"http://{dict(scope['headers'])[b'host'].decode()}"
        document = {
            "issuer": f"{site}/",
            "authorization_endpoint": f"{site}/authorize",
            "token_endpoint": f"{site}/token",
            "registration_endpoint": f"{site}/register",
            "revocation_endpoint": f"{site}/revoke",
            "code_challenge_methods_supported": ["S256"],
            **metadata,
        }
        body = json.dumps({name: value for name, value in document.items() if value is not None})
        return await respond(send, 200, body.encode(), content_type="application/json")

    return around


# --- Attacks on the way back


async def test_state_of_another_user_or_browser_is_refused(
    browser: Browser, others: Browser, remote: RemoteSite, settings: Any
):
    settings.LOGIN_URL = "/accounts/login/"
    landed = await browser.land()
    elsewhere = await Browser(browser.user, remote).sign_in()
    answer = await others.come_back(landed)
    assert answer.status_code == 404
    assert "begun elsewhere" in answer.content.decode()
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
    assert (await account(user)).tokens


async def test_answer_of_another_issuer_is_a_mix_up(browser: Browser, remote: RemoteSite):
    remote.around = tell(authorization_response_iss_parameter_supported=True)
    for issuer in ({"iss": "https://evil.example"}, {"iss": ""}, {}):
        query = query_of(await browser.land()) | issuer
        answer = await browser.http.get(f"{PAGE}shop/callback/", query)
        assert answer.status_code == 400
        assert "another service" in answer.content.decode()
        assert "/token" not in remote.paths, "the code was not sent"
    query = query_of(await browser.land()) | {"iss": f"{remote.url}/"}
    assert (await browser.http.get(f"{PAGE}shop/callback/", query)).status_code == 303


async def test_code_of_another_server_is_refused(browser: Browser, remote: RemoteSite, settings: Any, tmp_path: Path):
    async with remote_site() as evil:
        servers = {"shop": {"url": remote.mcp_url, "auth": "oauth"}, "evil": {"url": evil.mcp_url, "auth": "oauth"}}
        configure(settings, tmp_path, servers)
        state = query_of(await browser.land())["state"]
        theirs = query_of(await evil.consent(await browser.begin("evil")))
        # The state of one server at the address of the other
        answer = await browser.http.get(f"{PAGE}evil/callback/", {"code": theirs["code"], "state": state})
        assert answer.status_code == 404
        # The code of one server with the state of the other
        answer = await browser.http.get(f"{PAGE}shop/callback/", {"code": theirs["code"], "state": state})
        assert answer.status_code == 400
        assert "refused the sign-in" in answer.content.decode()
        assert "/token" not in evil.paths
    assert not [row async for row in RemoteAccount.objects.exclude(tokens="")]


async def test_nothing_leads_elsewhere(browser: Browser):
    landed = await browser.land()
    answer = await browser.come_back(f"{landed}&next=https://evil.example&redirect_uri=https://evil.example")
    assert answer["Location"] == PAGE
    answer = await browser.http.get(f"{PAGE}nothing/callback/?next=https://evil.example")
    assert answer.status_code == 404
    assert "Location" not in answer


async def test_words_of_the_server_are_not_repeated(browser: Browser):
    for error, status in (("access_denied", 200), ("<script>evil</script>", 400)):
        state = query_of(await browser.land())["state"]
        query = {"state": state, "error": error, "error_description": "<b>evil words</b>", "error_uri": "https://evil"}
        answer = await browser.http.get(f"{PAGE}shop/callback/", query)
        assert answer.status_code == status
        assert "Nothing was connected." in answer.content.decode()
        assert "evil" not in answer.content.decode()


async def test_only_the_form_of_the_page_begins(client: Client, browser: Browser, remote: RemoteSite):
    before = len(remote.requests)
    connects = {"do": "connect", "server": "shop"}
    assert (await browser.http.post(PAGE, connects)).status_code == 403
    assert (await client.http.get(PAGE)).status_code == 403, "a token is no person"
    assert (await client.http.post(PAGE, connects)).status_code == 403
    assert (await browser.do("connect", "nothing")).status_code == 404
    assert (await browser.do("wipe")).status_code == 400
    page = await browser.http.get(PAGE, connects)
    assert page.status_code == 200
    assert len(remote.requests) == before
    assert page["Cache-Control"] == "no-store"
    assert page["X-Frame-Options"] == "DENY"
    policy = page["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert policy.endswith("form-action 'self' https:")
    assert "<script" not in page.content.decode()


# --- What the server says about its sign-in


@pytest.mark.parametrize(
    "told",
    [
        {"issuer": "https://evil.example"},
        {"code_challenge_methods_supported": ["plain"]},
        {"code_challenge_methods_supported": None},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"authorization_endpoint": "https://us.example@evil.example/"},
        {"registration_endpoint": "http://127.0.0.1:1/register"},
        {"registration_endpoint": "https://169.254.169.254/register"},
        {"registration_endpoint": "https://localhost/register"},
    ],
)
async def test_sign_in_that_is_not_safe_is_not_begun(browser: Browser, remote: RemoteSite, told: dict[str, Any]):
    remote.around = tell(**told)
    answer = await browser.do("connect")
    assert answer.status_code == 502
    assert 'role="alert"' in answer.content.decode()
    assert await RemoteAccount.objects.acount() == 0


@pytest.mark.parametrize(
    "told", [{"token_endpoint": "https://10.0.0.1/token"}, {"token_endpoint": "http://evil.example/token"}]
)
async def test_code_is_not_sent_to_an_address_that_is_not_public(browser: Browser, remote: RemoteSite, told: Any):
    remote.around = tell(**told)
    answer = await browser.come_back(await browser.land())
    assert answer.status_code == 400
    assert "reached" in answer.content.decode()


@pytest.mark.parametrize(
    ("url", "addresses"),
    [
        ("https://1.1.1.1/token", {"1.1.1.1"}),
        ("https://localhost/token", {"127.0.0.1", "::1"}),
        ("http://1.1.1.1/token", None),
        ("https://ada@1.1.1.1/token", None),
        ("ftp://1.1.1.1/token", None),
        ("https://127.0.0.1/token", None),
        ("https://192.168.1.1/token", None),
        ("https://[::1]/token", None),
        ("https://[fd00::1]/token", None),
        ("https://168.63.129.16/token", None),
    ],
)
async def test_addresses_are_public_and_secure_or_named_by_the_project(
    settings: Any, url: str, addresses: set[str] | None
):
    settings.AGUI = {"MCP": {"AUTH_HOSTS": ["localhost"]}}
    asked = outside._addresses_of(outside.httpx2.URL(url))
    if addresses:
        found = await asked
        assert found
        assert set(found) <= addresses
    else:
        with pytest.raises(outside.NotAllowed):
            await asked


@pytest.mark.parametrize("where", ["/elsewhere", "http://127.0.0.1:{port}/token"])
async def test_no_redirect_is_followed(browser: Browser, remote: RemoteSite, where: str):
    async with remote_site() as evil:
        landed = await browser.land()
        remote.answer(307, "/token", location=where.format(port=evil.url.rpartition(":")[2]))
        assert (await browser.come_back(landed)).status_code == 400
        assert "/elsewhere" not in remote.paths
        assert evil.requests == []


async def test_token_does_not_follow_a_redirect(client: Client, browser: Browser, remote: RemoteSite, settings: Any):
    await browser.connect()
    agent(settings, say("Hi."))
    async with remote_site() as evil:
        remote.answer(307, location=evil.mcp_url)
        await client.run("Hi")
        assert evil.requests == []


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b"x" * 300_000, {}), (zlib.compress(b"x" * 10**7), {"content_encoding": "deflate"})],
    ids=["long", "compressed"],
)
async def test_long_answers_are_refused(browser: Browser, remote: RemoteSite, body: bytes, encoding: dict[str, str]):
    metadata = "/.well-known/oauth-protected-resource/mcp"
    remote.answer(200, metadata, body, content_type="application/json", **encoding)
    answer = await browser.do("connect")
    assert answer.status_code == 502
    assert "reached" in answer.content.decode()


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
    answer = await browser.do("connect")
    gone.set()
    assert answer.status_code == 502
    assert "reached" in answer.content.decode()


@pytest.mark.parametrize("way", ["long", "compressed"])
async def test_long_result_of_a_tool_fails_its_call(
    client: Client, browser: Browser, remote: RemoteSite, settings: Any, monkeypatch: Any, way: str
):
    await browser.connect()
    monkeypatch.setattr(outside, "MAX_RESULT_BYTES", 10_000)
    result = {"content": [{"type": "text", "text": "x" * (20_000 if way == "long" else 10)}]}

    async def around(scope: Any, message: Any, send: Any) -> bool:
        if b'"tools/call"' not in message["body"]:
            return False
        body = json.dumps({"jsonrpc": "2.0", "id": json.loads(message["body"])["id"], "result": result}).encode()
        encoding = {} if way == "long" else {"content_encoding": "deflate"}
        body = body if way == "long" else zlib.compress(body)
        return await respond(send, 200, body, content_type="application/json", **encoding)

    remote.around = around
    llm = agent(settings, call("shop_whoami", _id="c1"), say("Done."))
    await client.run("Who?")
    assert "did not answer" in str(results_of(llm.requests[1])["c1"].content)


@pytest.mark.parametrize(
    ("site", "auth", "ids"),
    [
        (None, "oauth", ["agui_mcp.W001"]),
        ("http://us.example", "oauth", ["agui_mcp.W001"]),
        (SITE, "oauth", []),
        (None, None, []),
    ],
)
def test_deployment_without_a_fixed_address_is_found(
    settings: Any, tmp_path: Path, site: str | None, auth: str | None, ids: list[str]
):
    configure(settings, tmp_path, {"shop": {"url": "https://shop.example/mcp", "auth": auth}}, SITE_URL=site)
    found = [message.id for message in run_checks(include_deployment_checks=True)]
    assert [each for each in found if each.startswith("agui_mcp")] == ids


def test_menu_has_the_page(settings: Any, tmp_path: Path):
    menu = Template('{% include "agui/pages.html" with agent="agui" %}')
    configure(settings, tmp_path, {"shop": {"url": "https://shop.example/mcp"}})
    assert PAGE not in menu.render(Context())
    configure(settings, tmp_path, {"shop": {"url": "https://shop.example/mcp", "auth": "oauth"}})
    assert f'<a href="{PAGE}">Your accounts at other services</a>' in menu.render(Context())


async def test_client_of_the_settings_is_used(browser: Browser, remote: RemoteSite, settings: Any, tmp_path: Path):
    uri = f"{SITE}{PAGE}shop/callback/"
    # Without one, servers read this document.
    document = json.loads((await AsyncClient().get(f"{PAGE}client.json")).content)
    assert document["client_id"] == f"{SITE}{PAGE}client.json"
    assert document["redirect_uris"] == [uri]
    assert document["token_endpoint_auth_method"] == "none"
    remote.accounts.clients["by-hand"] = OAuthClientInformationFull(
        client_id="by-hand",
        client_secret="hush",
        redirect_uris=[uri],
        token_endpoint_auth_method="client_secret_post",
        scope="read",
    )
    own = {"clientId": "by-hand", "clientSecret": "hush", "scopes": ["read"]}
    configure(settings, tmp_path, {"shop": {"url": remote.mcp_url, "auth": "oauth", "oauth": own}})
    asked = query_of(address := await browser.begin())
    assert (asked["client_id"], asked["scope"]) == ("by-hand", "read")
    assert (await browser.come_back(await remote.consent(address))).status_code == 303
    assert [path for path, _, form in remote.requests if "hush" in form.values()] == ["/token"]
    assert "/register" not in remote.paths
    assert "hush" not in repr(configured_servers())


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "x", "auth": "oauth"}, '"auth" is for a "url"'),
        ({"url": "http://shop.example/mcp", "auth": "oauth"}, "begins with https"),
        ({"url": "https://a@shop.example/mcp", "auth": "oauth"}, '"auth" is for a "url"'),
        ({"url": "https://shop.example/mcp", "auth": "oauth", "type": "sse"}, '"auth" is for a "url"'),
        ({"url": "https://shop.example/mcp", "auth": "secret-token"}, "'auth'"),
        ({"url": "https://shop.example/mcp", "auth": "oauth", "oauth": {"clientSecret": "hush"}}, "'oauth'"),
    ],
)
def test_mistakes_in_the_file_are_told(tmp_path: Path, entry: dict[str, Any], words: str):
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"shop": entry}}))
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        read_servers(tmp_path / "mcp.json")
    assert "hush" not in str(raised.value)
    assert "secret-token" not in str(raised.value)


# --- Tokens


async def test_tokens_are_secret(
    client: Client, browser: Browser, user: Any, remote: RemoteSite, settings: Any, caplog: Any
):
    caplog.set_level(logging.DEBUG)
    await browser.connect()
    agent(settings, call("shop_whoami", _id="c1"), say("Done."))
    events = await client.run("Who?")
    row = await account(user)
    kept = [*remote.accounts.access, *remote.accounts.refresh]
    exported = b"".join([chunk async for chunk in (await client.get("export/")).streaming_content]).decode()
    user.is_staff = user.is_superuser = True
    await user.asave()
    shown = await browser.page() + json.dumps(events) + exported + repr(row.__dict__)
    assert '"server": "shop"' in exported
    assert kept
    assert not [secret for secret in kept if secret in shown or secret in caplog.text]
    assert row.tokens not in exported


async def test_tokens_are_for_one_row_and_one_address_and_are_read_with_an_old_key(
    browser: Browser, others: Browser, user: Any, other: Any, remote: RemoteSite, settings: Any, tmp_path: Path
):
    await browser.connect()
    await others.do("disconnect")
    assert await headers_of(user) is not None
    assert remote.accounts.revoked == []
    await RemoteAccount.objects.acreate(user=other, server="shop", tokens=(await account(user)).tokens)
    assert await headers_of(other) is None
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another" * 9
    assert await headers_of(user) is None
    settings.SECRET_KEY_FALLBACKS = [old]
    configure(settings, tmp_path, {"shop": {"url": "https://evil.example/mcp", "auth": "oauth"}})
    assert await headers_of(user) is None
    configure(settings, tmp_path, {"shop": {"url": remote.mcp_url, "auth": "oauth"}})
    assert await headers_of(user) is not None


async def test_token_is_renewed_before_its_end_and_once(browser: Browser, user: Any, remote: RemoteSite, clock: Clock):
    await browser.connect()
    first = await headers_of(user)
    clock.advance(LIFETIME - 61)
    assert await headers_of(user) == first
    clock.advance(2)
    renewed = await asyncio.gather(*(headers_of(user) for _ in range(5)))
    assert len({*renewed}) == 1
    assert renewed[0] != first
    granted = [form["grant_type"] for path, _, form in remote.requests if path == "/token"]
    assert granted == ["authorization_code", "refresh_token"]


async def test_renewing_that_fails_for_now_keeps_the_token(expired: Any, user: Any, remote: RemoteSite, clock: Clock):
    remote.answer(503)
    assert await headers_of(user) == expired
    remote.around = None
    assert await headers_of(user) == expired, "not yet"
    clock.advance(31)
    assert await headers_of(user) not in (None, expired)


async def test_stopped_run_does_not_lose_a_renewed_token(expired: Any, user: Any, remote: RemoteSite):
    asked, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> None:
        asked.set()
        await go_on.wait()

    remote.before_token(wait)
    run = asyncio.create_task(headers_of(user))
    await asked.wait()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    other = asyncio.create_task(headers_of(user))
    go_on.set()
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
    assert (await account(user)).tokens == "newer"


async def test_token_that_ended_early_is_renewed_and_the_call_goes_on(
    client: Client, browser: Browser, remote: RemoteSite, settings: Any
):
    await browser.connect()
    llm = agent(settings, say("Hi."), call("shop_whoami", _id="c1"), say("Done."))
    await client.run("Hi")
    remote.accounts.access.clear()
    await client.run("Who?")
    assert results_of(llm.requests[2])["c1"].content == "ada"


async def test_revoked_token_is_told_with_the_page(client: Client, browser: Browser, remote: RemoteSite, settings: Any):
    await browser.connect()

    go_on, reached = asyncio.Event(), asyncio.Event()
    llm = agent(settings, [wait(go_on, reached), call("shop_whoami", _id="c1")], say("Connect it."), say("Nothing."))
    run = asyncio.create_task(client.run("Who?"))
    await reached.wait()
    remote.accounts.access.clear()
    remote.accounts.refresh.clear()
    go_on.set()
    await run
    told = str(results_of(llm.requests[1])["c1"].content)
    assert f"{SITE}{PAGE}" in told
    assert "not connected" in told
    assert llm.requests[1].tools == {}
    assert remote.accounts.calls == []
    assert "has ended the connection" in await browser.page()
    await client.run("Again")
    assert llm.requests[2].tools == {}
    await browser.connect()
    assert "has ended the connection" not in await browser.page()


@pytest.mark.parametrize("way", ["disabled", "disconnected"])
async def test_next_call_is_refused(
    client: Client, browser: Browser, user: Any, remote: RemoteSite, settings: Any, way: str
):
    await browser.connect()

    go_on, reached = asyncio.Event(), asyncio.Event()
    second = [wait(go_on, reached), call("shop_whoami", _id="c2")]
    llm = agent(settings, call("shop_whoami", _id="c1"), second, say("Done."))
    run = asyncio.create_task(client.run("Who?"))
    await reached.wait()
    if way == "disabled":
        user.is_active = False
        await user.asave()
    else:
        await browser.do("disconnect")
    go_on.set()
    await run
    assert remote.accounts.calls == [("whoami", "ada")]
    assert "not connected" in str(results_of(llm.requests[2])["c2"].content)


async def test_disconnecting_deletes_even_if_the_server_is_away(browser: Browser, user: Any, remote: RemoteSite):
    await browser.connect()
    remote.answer(503)
    assert (await browser.do("disconnect")).status_code == 303
    assert await headers_of(user) is None
    assert await RemoteAccount.objects.acount() == 0


async def test_tokens_of_a_deleted_user_are_revoked(browser: Browser, user: Any, remote: RemoteSite):
    await browser.connect()

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


async def test_user_is_deleted_without_the_library(browser: Browser, user: Any, monkeypatch: Any, caplog: Any):
    await browser.connect()
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


async def test_visitors_have_no_accounts(remote: RemoteSite, settings: Any, transactional_db: None):
    llm = ScriptedModel([say("Hi.")])
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model=llm), require_authenticated=False)
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": get_urls(view)})
    visitor = Client(None)
    await visitor.run("Hi")
    assert llm.requests[0].tools == {}
    answer = await visitor.http.get(PAGE)
    assert answer.status_code == 401
    assert remote.requests == []


# --- This engine as the other site


async def test_user_connects_at_a_site_of_this_engine(
    browser: Browser, user: Any, settings: Any, tmp_path: Path, revoking: ThreadPoolExecutor
):
    """Discovery, a client id metadata document, consent, `iss`, renewing and revoking, with the part `oauth`."""
    pytest.importorskip("oauth2_provider")
    hosting = importlib.import_module("tests.hosting")
    hosting.open_doors(settings)
    oauth_routes = settings.ROOT_URLCONF.urlpatterns
    await hosting.add_client(f"{SITE}{PAGE}client.json", f"{SITE}{PAGE}shop/callback/", registration_source="cimd")
    async with serving(ASGIHandler(), grace_seconds=10) as url:
        configure(settings, tmp_path, {"shop": {"url": f"{url}/agent/mcp/", "auth": "oauth"}}, ENDPOINT=True)
        settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": oauth_routes})
        address = await browser.begin()
        assert query_of(address)["client_id"] == f"{SITE}{PAGE}client.json"
        # A person who signs in there in a browser of their own and agrees.
        person = importlib.import_module("tests.test_oauth_python_client").Person(True)
        await person.visit(address)
        assert query_of(person.landed)["iss"] == url
        answer = await browser.come_back(person.landed)
        assert answer.status_code == 303
        (server,) = configured_servers()
        first = await tokens.headers_of(user, server)
        assert first
        async with httpx2.AsyncClient() as http:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
            accepts = {"Accept": "application/json, text/event-stream"}
            listed = await http.post(str(server.url), json=body, headers={**dict(first), **accepts})
            assert listed.status_code == 200
            second = await tokens.headers_after_refusal(user, server, first)
            assert second not in (None, first)
            await browser.do("disconnect")
            headers = {**dict(second or ()), **accepts}

            def is_refused() -> bool:
                return httpx2.post(str(server.url), json=body, headers=headers).status_code == 401

            await asyncio.to_thread(wait_until, is_refused)
            await asyncio.to_thread(revoking.shutdown)


# --- What the manual says


def test_file_of_the_manual_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Any):
    manual = pages.read("mcp.md")
    example = re.search(r"```json\n(.*?)```", manual.partition("\n## Accounts at other services\n")[2], re.DOTALL)
    assert example
    monkeypatch.setenv("MAIL_SECRET", "hush")
    (tmp_path / "mcp.json").write_text(example[1])
    shop, mail = read_servers(tmp_path / "mcp.json")
    assert (shop.auth, shop.oauth, mail.auth) == ("oauth", None, "oauth")
    assert mail.oauth
    assert (mail.oauth.client_id, mail.oauth.client_secret, mail.oauth.scopes) == ("our-id", "hush", ("read",))
    # The addresses to come back to, and of the document
    settings.AGUI = {"MCP": {"SITE_URL": "https://agent.example.com"}}
    address = clients.redirect_uri("https://agent.example.com", Server(name="mail", url="https://mail.example.com/mcp"))
    assert f"`{address}`" in manual
    assert f"`{PAGE}client.json`" in manual


def test_choices_of_the_manual_are_those_of_the_setting():
    choices = McpSettings.model_fields["pin"].annotation
    table = pages.read("mcp.md").partition('| `AGUI["MCP"]["PIN"]` |')[2]
    assert re.findall(r'^\| `"(\w+)"` \|', table, re.MULTILINE) == [*get_args(choices)]
