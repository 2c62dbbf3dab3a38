"""Sign-in for MCP hosts: a host finds its way, a user agrees, and the host's calls count as theirs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

pytest.importorskip("oauth2_provider")

import httpx2
from asgiref.sync import sync_to_async
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.asgi import ASGIHandler
from django.urls import resolve
from django.utils.translation import gettext_lazy
from fastmcp.client.auth.oauth import TokenStorageAdapter
from key_value.aio.stores.memory import MemoryStore
from mcp import Client as McpClient
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from mcp_message import TASKS
from oauth2_provider.models import AccessToken, Application, RefreshToken

from agui import ToolRegistry, conf
from agui.contrib.mcp.models import ClientQuestion, ClientTask
from agui.contrib.mcp.resources import resource
from agui.contrib.oauth import connections
from agui.contrib.oauth.conf import OauthSettings
from agui.contrib.oauth.scopes import needed_scopes
from agui.models import AuditRecord
from tests import urls
from tests.calling import permit, person_of, raw_of
from tests.conftest import query_of
from tests.hosting import (
    CALLBACK,
    CLAUDE,
    RESOURCE,
    SITE,
    Host,
    Visitor,
    add_client,
    answered,
    error_of,
    open_doors,
    text_of,
)
from tests.serving import serving

pytestmark = pytest.mark.database


async def document(host: Host, where: str) -> dict[str, Any]:
    response = await host.http.get(f"/.well-known/{where}")
    assert (response.status_code, response["Access-Control-Allow-Origin"]) == (200, "*"), where
    found: dict[str, Any] = response.json()
    return found


async def test_host_finds_all_addresses_from_the_first_refusal(host: Host):
    refused = await host.call("ping")
    assert refused.status_code == 401
    challenge = refused["WWW-Authenticate"]
    assert f'resource_metadata="{SITE}/.well-known/oauth-protected-resource/agent/mcp/"' in challenge
    assert 'scope="tools:read tools:write"' in challenge
    assert "error=" not in challenge
    stale = await host.call("ping", token="unknown")
    assert 'error="invalid_token"' in stale["WWW-Authenticate"]
    resource = await document(host, "oauth-protected-resource/agent/mcp/")
    assert (resource["resource"], resource["authorization_servers"]) == (RESOURCE, [SITE])
    server = await document(host, "oauth-authorization-server")
    assert server == server | {
        "issuer": SITE,
        "authorization_endpoint": f"{SITE}/oauth/authorize",
        "token_endpoint": f"{SITE}/oauth/token",
        "code_challenge_methods_supported": ["S256"],
        "client_id_metadata_document_supported": True,
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "response_types_supported": ["code"],
    }
    assert "none" in server["token_endpoint_auth_methods_supported"]
    assert "registration_endpoint" not in server
    # The documents are at the root, too, and nowhere else.
    assert (await document(host, "oauth-protected-resource"))["resource"] == RESOURCE
    assert (await document(host, "oauth-authorization-server/agent/mcp"))["issuer"] == SITE
    for where in ("agent/", "second/tools/", "none/mcp", "agent/mcp//", "accounts/login/"):
        assert (await host.http.get(f"/.well-known/oauth-protected-resource/{where}")).status_code == 404


@pytest.mark.parametrize("typed", ["agent/mcp/", "agent/mcp", "mcp", "mcp/"])
async def test_each_form_of_the_address_is_one_resource(host: Host, typed: str):
    """People type the address as they like, and hosts compare the document with what was typed."""
    refused = await host.call("ping", path=f"/{typed}")
    assert f'oauth-protected-resource/{typed}"' in refused["WWW-Authenticate"]
    found = await document(host, f"oauth-protected-resource/{typed}")
    assert found["resource"] == f"{SITE}/{typed}"
    code = await host.get_code(resource=found["resource"])
    tokens = (await host.redeem(code, resource=found["resource"])).json()
    host.token = tokens["access_token"]
    for address in ("agent/mcp/", "agent/mcp", "mcp", "mcp/"):
        assert text_of(await host.call("ping", path=f"/{address}")) == "pong"


async def test_user_connects_a_host_and_its_calls_are_theirs(host: Host):
    words = (await host.ask()).content.decode()
    for word in ("Claude", "claude.ai", "ada", "change nothing", "create, change or delete"):
        assert word in words
    told = answered(await host.decide("deny"))
    assert (told["error"], told["iss"], "code" in told) == ("access_denied", SITE, False)
    answer = await host.decide()
    told = answered(answer)
    assert answer["Location"].startswith(CALLBACK + "?")
    assert (told["state"], told["iss"]) == ("state-of-the-host", SITE)
    tokens = await host.connect()
    assert (tokens["token_type"], tokens["expires_in"]) == ("Bearer", 8 * 3600)
    assert set(tokens["scope"].split()) == {"tools:read", "tools:write"}
    assert text_of(await host.call("whoami")) == "ada"
    record = await AuditRecord.objects.aget(tool_name="whoami")
    assert (record.via, record.user_id) == ("mcp: Claude", host.user.pk)
    # Nothing that opens the door is stored.
    rows = AccessToken.objects.values_list("token", "resource")
    assert [row async for row in rows] == [("", [RESOURCE])]
    stored = [value async for value in RefreshToken.objects.values_list("token", "token_checksum")]
    assert all(tokens["refresh_token"] not in pair for pair in stored)


async def test_consent_page_and_tokens_are_at_the_root_too(host: Host):
    visitor = await host.browser.get(host.question())
    assert visitor.status_code == 302
    assert visitor["Location"].startswith("/accounts/login/?next=/oauth/authorize%3F")
    await host.browser.aforce_login(host.user)
    asked = host.question().partition("?")[2]
    for path in ("/authorize", "/authorize/", "/oauth/authorize/"):
        assert (await host.browser.get(f"{path}?{asked}")).status_code == 200, path
    for path in ("/token", "/token/", "/oauth/token/"):
        assert (await host.redeem(await host.get_code(), path=path)).status_code == 200, path
    for path in ("/oauth/revoke", "/oauth/revoke/"):
        assert error_of(await host.post(path, client_id="x"))


# --- Scopes


async def test_user_keeps_a_host_from_changing_anything(host: Host, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(vars(urls.registry.get("ping").spec), "read_only", True)
    tokens = await host.connect(write=False)
    assert tokens["scope"] == "tools:read"
    listed = (await host.send("tools/list")).json()["result"]["tools"]
    assert "echo" in {tool["name"] for tool in listed}, "a host has to know what it can ask for"
    assert text_of(await host.call("ping")) == "pong"
    refused = await host.call("echo", {"text": "hi"})
    assert refused.status_code == 403
    for words in ('error="insufficient_scope"', 'scope="tools:read tools:write"', "resource_metadata="):
        assert words in refused["WWW-Authenticate"]
    # The host asks for more, and the user agrees this time.
    assert text_of(await host.call("echo", {"text": "hi"}, token=(await host.connect())["access_token"])) == "hi"
    await host.connect(scope="tools:write")
    assert (await host.call("ping")).status_code == 403, "one scope does not hold the other"


@pytest.mark.parametrize(
    "body",
    [
        '{"jsonrpc":"2.0","id":1,"method":"tools/list","method":"tools/call","params":{"name":"wipe","arguments":{}}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"},"params":{"name":"wipe"}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools\\u002fcall","params":{"name":"echo","arguments":{"text":"hi"}}}',
        '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}]',
        '{"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"x","inputResponses":{}}}',
    ],
)
async def test_no_form_of_a_call_goes_round_its_scope(host: Host, body: str):
    await host.connect(write=False)
    assert (await host.send_body(body)).status_code == 403
    assert not await AuditRecord.objects.aexists()


async def test_result_is_told_to_hosts_that_may_still_make_the_call(host: Host):
    """The user can take a scope from a host after its call."""
    await host.connect()
    approval = (await host.call("wipe")).json()["result"]["structuredContent"]["approval"]
    question = await ClientQuestion.objects.aget(pk=approval["id"])
    person = await person_of(host.user)
    await person.decide(question)
    about = {name: getattr(question, name) for name in ("caller", "scope", "tool_name", "expires_at")}
    task = await ClientTask.objects.acreate(state="waiting", question=question, **about)
    raw = await raw_of(None, TASKS)

    async def told() -> tuple[str, Any]:
        status = (await host.call("approval_status", {"id": approval["id"]})).json()["result"]
        raw.token = {"authorization": f"Bearer {host.token}"}
        answer = await raw.send("tasks/get", str(task.pk), taskId=str(task.pk))
        return status["content"][0]["text"], answer.get("result", {}).get("status")

    assert await told() == ("wiped all", "completed")
    await host.connect(write=False)
    assert await told() == ("This was decided, and you may not see its result any more.", None)


GROUPS = {"work": {"WORDS": gettext_lazy("Monday"), "PERMISSIONS": ["agui.view_run"]}}


@pytest.fixture
def groups(host: Host, settings: Any) -> None:
    settings.AGUI = {**settings.AGUI, "OAUTH": {"GROUPS": GROUPS}}


@pytest.mark.usefixtures("groups")
async def test_group_of_tools_is_a_scope_of_its_own(host: Host, settings: Any):
    await permit(host.user)
    everything = "tools:read tools:write tools:work"
    assert f'scope="{everything}"' in (await host.call("ping"))["WWW-Authenticate"]
    assert (await document(host, "oauth-protected-resource/agent/mcp/"))["scopes_supported"] == everything.split()
    settings.LANGUAGE_CODE = "de"
    page = (await host.ask(scope=everything)).content.decode()
    assert 'value="tools:work" checked> Montag' in page
    await host.connect(scope="tools:read tools:write")
    assert text_of(await host.call("echo", {"text": "hi"})) == "hi"
    refused = await host.call("inspect")
    assert refused.status_code == 403
    assert f'scope="{everything}"' in refused["WWW-Authenticate"]
    assert (await host.connect(scope=everything))["scope"] == everything
    assert text_of(await host.call("inspect")) == "all is well"
    listed = await host.browser.get("/oauth/connections/")
    assert "Montag" in listed.content.decode()
    # It gives no permission, and the user may keep it from a host.
    await host.user.user_permissions.aclear()
    assert b"Unknown tool" in (await host.call("inspect")).content
    assert (await host.connect(write=False, scope="tools:read tools:work"))["scope"] == "tools:read"
    await permit(host.user)
    assert (await host.call("inspect")).status_code == 403


@pytest.mark.usefixtures("groups")
def test_resources_of_a_group_need_its_scope():
    registry = ToolRegistry("reports")

    @resource(registry, "shop://reports/{kind}", permission="agui.view_run")
    def report(kind: str) -> str:
        """A report."""
        return kind

    resource(registry, "shop://terms", name="terms", description="The terms.")(lambda: "")

    def needed(method: str, **params: Any) -> list[str]:
        return needed_scopes({"method": method, "params": params}, registry)

    template = {"type": "ref/resource", "uri": "shop://reports/{kind}"}
    assert needed("resources/read", uri="shop://reports/sales") == ["tools:read", "tools:work"]
    assert needed("resources/subscribe", uri="shop://reports/sales") == ["tools:read", "tools:work"]
    assert needed("completion/complete", ref=template) == ["tools:read", "tools:work"]
    for uri in ("shop://terms", "shop://other", None, {}):
        assert needed("resources/read", uri=uri) == ["tools:read"]
    assert needed("completion/complete", ref="shop://reports/sales") == ["tools:read"]


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ({"read": GROUPS["work"]}, "neither read"),
        ({"two words": GROUPS["work"]}, "small letters"),
        ({"work": {"WORDS": "Work", "PERMISSIONS": []}}, "at least 1"),
        ({"work": {"WORDS": 1, "PERMISSIONS": ["a.b"]}}, "write a text"),
    ],
)
def test_mistakes_in_groups_are_told(settings: Any, groups: Any, words: str):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"GROUPS": groups}}
    with pytest.raises(ImproperlyConfigured, match=words):
        conf.part(OauthSettings)


# --- The end of a connection


async def test_user_sees_and_ends_a_connection(host: Host, other: Any):
    assert (await host.http.get("/oauth/connections/")).status_code == 302
    tokens = await host.connect()
    unused_code = await host.get_code()
    theirs = Host(other)
    await theirs.connect()
    assert "Claude" in (await host.browser.get("/oauth/connections/")).content.decode()
    form = {"application": (await Application.objects.aget(client_id=CLAUDE)).pk}
    assert (await host.browser.post("/oauth/connections/", form)).status_code == 403
    assert text_of(await host.call("ping")) == "pong"
    form["csrfmiddlewaretoken"] = host.browser.cookies["csrftoken"].value
    assert (await host.browser.post("/oauth/connections/", form)).status_code == 302
    assert (await host.call("ping")).status_code == 401
    assert (await host.refresh(tokens["refresh_token"])).status_code == 400
    assert (await host.redeem(unused_code)).status_code == 400
    assert not await RefreshToken.objects.filter(user=host.user, revoked=None).aexists()
    assert "Claude" not in (await host.browser.get("/oauth/connections/")).content.decode()
    assert text_of(await theirs.call("ping")) == "pong", "only the own connection ends"
    assert len(await sync_to_async(connections.connected_apps)(other)) == 1


@pytest.mark.parametrize("by", ["time", "the host", "an administrator", "the end of the account"])
async def test_connection_ends_without_its_user(host: Host, clock: Any, by: str):
    token, code = (await host.connect())["refresh_token"], await host.get_code()
    if by == "time":
        clock.advance(8 * 3600 + 60)
    elif by == "the host":
        assert (await host.post("/oauth/revoke", token=token, client_id=CLAUDE)).status_code == 200
    elif by == "an administrator":
        await Application.objects.all().adelete()
        assert error_of(await host.refresh(token)) == "invalid_client"
    else:
        host.user.is_active = False
        await host.user.asave()
        assert error_of(await host.refresh(token)) == error_of(await host.redeem(code)) == "invalid_grant"
    assert (await host.call("ping")).status_code == 401


# --- The project around it


async def test_middleware_that_asks_everybody_to_sign_in_lets_hosts_pass(host: Host, settings: Any):
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    await document(host, "oauth-protected-resource/mcp")
    await document(host, "oauth-authorization-server")
    await host.connect()
    for path in ("/mcp", "/mcp/", "/agent/mcp/"):
        view: Any = resolve(path).func
        assert (view.max_body_bytes(), view.csrf_exempt) == (conf.get().max_body_bytes, True)
        assert text_of(await host.call("ping", path=path)) == "pong"
    assert (await host.http.get("/oauth/connections/")).status_code == 302


# --- The official Python client, which signs in by itself: discovery, consent, PKCE, refreshing, more scopes

LANDING = "http://127.0.0.1:9/callback"  # Nothing listens: the browser of the test reads the address
DOCUMENT = "https://editor.example/client.json"


@pytest.fixture(params=["agent/mcp/", "mcp"])
async def address(request: Any, settings: Any, user: Any) -> AsyncIterator[str]:
    open_doors(settings, REGISTRATION=True)
    async with serving(ASGIHandler(), grace_seconds=10) as url:
        yield f"{url}/{request.param}"


@asynccontextmanager
async def signed_in(sign_in: OAuthClientProvider) -> AsyncIterator[McpClient]:
    async with (
        httpx2.AsyncClient(auth=sign_in, timeout=60) as http,
        McpClient(streamable_http_client(sign_in.context.server_url, http_client=http)) as client,
    ):
        yield client


def sign_in_of(visitor: Visitor, address: str, storage: TokenStorage, **options: Any) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="A client", redirect_uris=[LANDING])  # type: ignore[list-item]

    async def come_back() -> AuthorizationCodeResult:
        assert visitor.landed.startswith(LANDING)
        return AuthorizationCodeResult(**query_of(visitor.landed))

    return OAuthClientProvider(address, metadata, storage, visitor.visit, come_back, **options)


async def test_client_registers_connects_refreshes_and_calls(address: str):
    visitor, storage = Visitor(True), TokenStorageAdapter(MemoryStore(), address)
    sign_in = sign_in_of(visitor, address, storage)
    async with signed_in(sign_in) as client:
        assert (await client.call_tool("whoami", {})).content[0].text == "ada"
        sign_in.context.token_expiry_time = 1  # The client takes its token for one that has expired
        assert (await client.call_tool("echo", {"text": "hi"})).content[0].text == "hi"
    assert visitor.allows_changes == [], "the user was asked once"
    assert await AccessToken.objects.filter(source_refresh_token__isnull=False).acount() == 1
    # The next process begins with what was kept.
    async with signed_in(sign_in_of(visitor, address, storage)) as client:
        assert (await client.call_tool("whoami", {})).content[0].text == "ada"
    assert await Application.objects.acount() == 1


async def test_client_with_a_document_asks_for_more_when_it_needs_it(address: str):
    await add_client(DOCUMENT, "http://127.0.0.1/callback", registration_source="cimd")
    visitor, storage = Visitor(False, True), TokenStorageAdapter(MemoryStore(), address)
    async with signed_in(sign_in_of(visitor, address, storage, client_metadata_url=DOCUMENT)) as client:
        assert (await client.call_tool("echo", {"text": "hi"})).content[0].text == "hi"
        assert visitor.allows_changes == [], "the user was asked again for the call that changes something"
    assert await Application.objects.acount() == 1
