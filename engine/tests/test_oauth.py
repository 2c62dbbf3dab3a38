"""Sign-in for MCP hosts: a host finds its way, a user agrees, and the host's calls count as theirs."""

import json
from typing import Any

import pytest

pytest.importorskip("oauth2_provider")

from asgiref.sync import sync_to_async
from django.contrib.auth.models import Permission
from django.core.exceptions import ImproperlyConfigured
from django.test import AsyncClient
from django.urls import resolve
from django.utils.translation import gettext_lazy
from oauth2_provider.models import AccessToken, Application, RefreshToken

from agui import ToolRegistry, conf
from agui.contrib.mcp.approvals import version_of
from agui.contrib.mcp.models import ClientQuestion, ClientTask
from agui.contrib.mcp.resources import resource
from agui.contrib.oauth import connections
from agui.contrib.oauth.conf import OauthSettings
from agui.contrib.oauth.scopes import needed_scopes
from agui.models import AuditRecord
from tests import urls
from tests.conftest import Client
from tests.hosting import CALLBACK, CLAUDE, RESOURCE, SITE, Host, answered, known_client, open_doors, text_of

pytestmark = pytest.mark.database


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    open_doors(settings)


@pytest.fixture
def host(user: Any) -> Host:
    known_client()
    return Host(user)


async def document(host: Host, where: str) -> dict[str, Any]:
    response = await host.http.get(f"/.well-known/{where}")
    assert response.status_code == 200, where
    assert response["Access-Control-Allow-Origin"] == "*"
    found: dict[str, Any] = json.loads(response.content)
    return found


async def test_host_finds_all_addresses_from_the_first_refusal(host: Host):
    refused = await host.call("echo", {"text": "hi"})
    assert refused.status_code == 401
    challenge = refused["WWW-Authenticate"]
    assert f'resource_metadata="{SITE}/.well-known/oauth-protected-resource/agent/mcp/"' in challenge
    assert 'scope="tools:read tools:write"' in challenge
    assert "error=" not in challenge
    stale = await host.call("echo", {"text": "hi"}, token="unknown")
    assert 'error="invalid_token"' in stale["WWW-Authenticate"]
    resource = await document(host, "oauth-protected-resource/agent/mcp/")
    assert resource["resource"] == RESOURCE
    assert resource["authorization_servers"] == [SITE]
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
    assert (await host.ask()).status_code == 200
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
    tokens = json.loads((await host.redeem(code, resource=found["resource"])).content)
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


async def test_tokens_of_the_chat_work_as_before(client: Client):
    host = Host(client.user)
    token = client.http.defaults["authorization"].removeprefix("Bearer ")
    assert text_of(await host.call("whoami", token=token)) == "ada"
    assert (await AuditRecord.objects.aget(tool_name="whoami")).via == "mcp"
    assert (await host.call("whoami", token="agt_unknown")).status_code == 401


async def test_refreshed_connection_goes_on(host: Host):
    first = await host.connect()
    second = json.loads((await host.refresh(first["refresh_token"])).content)
    assert second["refresh_token"] != first["refresh_token"]
    assert text_of(await host.call("ping", token=second["access_token"])) == "pong"
    # The old one has ended with its refresh token.
    assert (await host.call("ping")).status_code == 401


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


# --- Scopes


async def test_user_keeps_a_host_from_changing_anything(host: Host):
    tokens = await host.connect(write=False)
    assert tokens["scope"] == "tools:read"
    listed = json.loads((await host.send("tools/list")).content)["result"]["tools"]
    assert "echo" in {tool["name"] for tool in listed}, "a host has to know what it can ask for"
    refused = await host.call("echo", {"text": "hi"})
    assert refused.status_code == 403
    challenge = refused["WWW-Authenticate"]
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="tools:read tools:write"' in challenge, "all scopes of the operation"
    assert "resource_metadata=" in challenge
    # The host asks for more, and the user agrees this time.
    assert text_of(await host.call("echo", {"text": "hi"}, token=(await host.connect())["access_token"])) == "hi"


async def test_read_only_tool_needs_to_read_only(host: Host, monkeypatch: pytest.MonkeyPatch):
    binding = urls.registry.get("ping")
    monkeypatch.setitem(vars(binding.spec), "read_only", True)
    await host.connect(write=False)
    assert text_of(await host.call("ping")) == "pong"
    tokens = await host.connect(scope="tools:write")
    assert (await host.call("ping", token=tokens["access_token"])).status_code == 403
    assert (await host.connect(scope=None))["scope"] == "tools:read", "who names no scope may read"


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
    approval = json.loads((await host.call("wipe")).content)["result"]["structuredContent"]["approval"]
    question = await ClientQuestion.objects.aget(pk=approval["id"])
    person = AsyncClient()
    await person.aforce_login(host.user)
    await person.post(f"/agent/mcp/approvals/{question.pk}/", {"shown": version_of(question), "do": "approve"})
    task = await ClientTask.objects.acreate(
        caller=question.caller,
        scope=question.scope,
        tool_name="wipe",
        state="waiting",
        question=question,
        expires_at=question.expires_at,
    )

    async def told() -> tuple[str, Any]:
        status = json.loads((await host.call("approval_status", {"id": approval["id"]})).content)["result"]
        answer = json.loads((await host.send_2026("tasks/get", str(task.pk), taskId=str(task.pk))).content)
        return status["content"][0]["text"], answer.get("result", {}).get("status")

    assert await told() == ("wiped all", "completed")
    await host.connect(write=False)
    assert await told() == ("This was decided, and you may not see its result any more.", None)


async def test_scope_gives_nothing_that_the_user_may_not(host: Host):
    await host.connect()
    refused = await host.call("inspect")
    assert b"Unknown tool" in refused.content
    await host.user.user_permissions.aadd(await view_run())
    assert text_of(await host.call("inspect")) == "all is well"
    await host.user.user_permissions.aclear()
    assert b"Unknown tool" in (await host.call("inspect")).content


GROUPS = {"work": {"WORDS": gettext_lazy("Monday"), "PERMISSIONS": ["agui.view_run"]}}


@pytest.fixture
def groups(settings: Any) -> None:
    settings.AGUI = {**settings.AGUI, "OAUTH": {"GROUPS": GROUPS}}


async def view_run() -> Permission:
    return await Permission.objects.aget(codename="view_run", content_type__app_label="agui")


@pytest.mark.usefixtures("groups")
async def test_group_of_tools_is_a_scope_of_its_own(host: Host, settings: Any):
    await host.user.user_permissions.aadd(await view_run())
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
    await host.user.user_permissions.aadd(await view_run())
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
        ({"work": {"PERMISSIONS": ["a.b"]}}, "required"),
    ],
)
def test_mistakes_in_groups_are_told(settings: Any, groups: Any, words: str):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"GROUPS": groups}}
    with pytest.raises(ImproperlyConfigured, match=words):
        conf.part(OauthSettings)


# --- The end of a connection


async def test_disabled_account_is_refused_at_the_next_call(host: Host):
    tokens = await host.connect()
    code = await host.get_code()
    host.user.is_active = False
    await host.user.asave()
    assert (await host.call("ping")).status_code == 401
    assert json.loads((await host.refresh(tokens["refresh_token"])).content)["error"] == "invalid_grant"
    assert json.loads((await host.redeem(code)).content)["error"] == "invalid_grant"


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


@pytest.mark.parametrize("by", ["time", "the host", "an administrator"])
async def test_connection_ends_without_its_user(host: Host, clock: Any, by: str):
    token = (await host.connect())["refresh_token"]
    if by == "time":
        clock.advance(8 * 3600 + 60)
    elif by == "the host":
        assert (await host.post("/oauth/revoke", token=token, client_id=CLAUDE)).status_code == 200
    else:
        await Application.objects.all().adelete()
        assert json.loads((await host.refresh(token)).content)["error"] == "invalid_client"
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
