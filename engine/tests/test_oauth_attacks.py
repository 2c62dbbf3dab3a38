"""Attacks on the sign-in for MCP hosts: each is tried, and refused."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("oauth2_provider")

from asgiref.sync import sync_to_async
from django.test import AsyncClient
from django.utils import timezone
from oauth2_provider.models import AccessToken, Grant, RefreshToken, set_token_value

from agui.contrib.oauth.mcp_view import ConnectedMcpView
from tests import urls
from tests.hosting import (
    CALLBACK,
    CLAUDE,
    RESOURCE,
    SITE,
    Host,
    add_client,
    answered,
    known_client,
    open_doors,
    text_of,
)

pytestmark = pytest.mark.database


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    open_doors(settings)


@pytest.fixture
def host(user: Any) -> Host:
    known_client()
    return Host(user)


def error_of(response: Any) -> str:
    assert response.status_code in (400, 401), response.content
    return str(json.loads(response.content)["error"])


# --- Audience confusion


@pytest.mark.parametrize(
    "resource",
    [
        None,
        "",
        SITE,
        f"{SITE}/",
        f"{SITE}/agent/",
        f"{SITE}/agent/mcp/more",
        f"{SITE}/agent/mcp?x=1",
        f"{SITE}/agent/mcp#x",
        f"{SITE}/agent/../agent/mcp/",
        f"{SITE}/AGENT/mcp/",
        "https://testserver/agent/mcp/",
        "http://testserver.evil.example/agent/mcp/",
        "http://testserver@evil.example/agent/mcp/",
        "http://evil.example/agent/mcp/",
    ],
)
async def test_code_is_for_an_endpoint_of_this_site(host: Host, resource: str | None):
    refused = await host.ask(resource=resource)
    assert answered(refused)["error"] == "invalid_target"
    assert answered(refused)["iss"] == SITE
    assert not await Grant.objects.aexists()


async def test_code_is_for_one_endpoint(host: Host):
    await host.browser.aforce_login(host.user)
    refused = await host.browser.get(f"{host.question()}&resource={SITE}/second/mcp/")
    assert answered(refused)["error"] == "invalid_target"


async def test_token_of_one_agent_opens_no_other(host: Host):
    code = await host.get_code(resource=f"{SITE}/second/mcp/")
    other = json.loads((await host.redeem(code, resource=f"{SITE}/second/mcp/")).content)["access_token"]
    assert (await host.call("ping", token=other)).status_code == 401
    await host.connect()
    assert text_of(await host.call("ping")) == "pong"
    assert (await host.call("ping", path="/second/mcp/")).status_code == 401
    wider = await host.redeem(await host.get_code(), resource=f"{SITE}/second/mcp/")
    assert error_of(wider) == "invalid_target"
    elsewhere = await host.redeem(await host.get_code(), resource="https://evil.example/mcp")
    assert error_of(elsewhere) == "invalid_target"


async def make_token(host: Host, resource: list[str], **fields: Any) -> str:
    """A token as another part of the project could issue one."""
    application = await known_application(host)
    expires = timezone.now() + timedelta(hours=1)
    values = {"user": host.user, "application": application, "scope": "tools:read tools:write", "expires": expires}
    token = AccessToken(resource=resource, **(values | fields))
    set_token_value(token, "made-elsewhere")
    await token.asave()
    return "made-elsewhere"


async def known_application(host: Host) -> Any:
    from oauth2_provider.models import Application

    return await Application.objects.aget(client_id=host.asks["client_id"])


@pytest.mark.parametrize(
    "resource",
    [
        [],
        [SITE],
        [f"{SITE}/"],
        [f"{SITE}/agent/"],
        [f"{SITE}/agent/mcp"],
        [RESOURCE, f"{SITE}/other"],
        [f"{RESOURCE}x"],
    ],
)
async def test_audience_is_compared_exactly(host: Host, resource: list[str]):
    """The toolkit lets a token without a resource in everywhere, and compares others by their beginning."""
    assert (await host.call("ping", token=await make_token(host, resource))).status_code == 401


async def test_exact_audience_is_let_in(host: Host):
    assert text_of(await host.call("ping", token=await make_token(host, [RESOURCE]))) == "pong"


@pytest.mark.parametrize("fields", [{"user": None}, {"application": None}])
async def test_token_without_user_or_app_is_refused(host: Host, fields: dict[str, Any]):
    assert (await host.call("ping", token=await make_token(host, [RESOURCE], **fields))).status_code == 401


async def test_token_opens_no_other_route(host: Host):
    """Whatever stands under the agent's prefix, and the site's own pages."""
    await host.connect()
    headers = {"Authorization": f"Bearer {host.token}"}
    for route in ("tools/", "skills/", "threads/", "capabilities/", "attachments/"):
        assert (await host.http.get(f"/agent/{route}", headers=headers)).status_code == 401, route
    body = {"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
    run = await host.http.post("/agent/", json.dumps(body), content_type="application/json", headers=headers)
    assert run.status_code == 401
    assert (await host.http.get("/oauth/connections/", headers=headers)).status_code == 302


async def test_token_counts_in_the_header_only(host: Host):
    await host.connect()
    body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert (await host.send_body(body, f"/agent/mcp/?access_token={host.token}", "")).status_code == 401


# --- Redirect tricks


@pytest.mark.parametrize(
    "uri",
    [
        "https://evil.example/api/mcp/auth_callback",
        "https://claude.ai.evil.example/api/mcp/auth_callback",
        "https://claude.ai@evil.example/api/mcp/auth_callback",
        "https://claude.ai\\@evil.example/api/mcp/auth_callback",
        "https://claude.ai/api/mcp/auth_callback/",
        "https://claude.ai/api/mcp/auth_callback/../../x",
        "https://claude.ai/api/mcp/auth_callback?next=//evil.example",
        "https://claude.ai/api/mcp/auth_callback#x",
        "https://claude.ai/api/mcp/auth_callback;x",
        "https://claude.ai/api/mcp/auth_callback\n",
        "https://CLAUDE.ai/api/mcp/auth_callback",
        "https://claude.ai:443/api/mcp/auth_callback",
        "http://claude.ai/api/mcp/auth_callback",
        "//claude.ai/api/mcp/auth_callback",
        "javascript:alert(1)",
        "",
    ],
)
@pytest.mark.parametrize("decision", ["get", "post"])
async def test_nothing_goes_to_an_address_that_is_not_registered(host: Host, uri: str, decision: str):
    if decision == "get":
        refused = await host.ask(redirect_uri=uri)
    else:
        await host.ask()
        csrf = host.browser.cookies["csrftoken"].value
        form = {"csrfmiddlewaretoken": csrf, "decision": "allow", "redirect_uri": uri}
        refused = await host.browser.post(host.question(redirect_uri=uri), form)
    assert refused.status_code == 400
    assert "Location" not in refused
    assert not await Grant.objects.aexists()


async def test_what_a_form_says_beside_the_decision_counts_for_nothing(host: Host):
    """The address of the page was checked and shown. A form could say something else."""
    await host.ask(scope="tools:read")
    form = {
        "csrfmiddlewaretoken": host.browser.cookies["csrftoken"].value,
        "decision": "allow",
        "scope": "tools:write",
        "resource": f"{SITE}/second/mcp/",
        "code_challenge": "x" * 43,
        "state": "x",
        "user": "1",
    }
    told = answered(await host.browser.post(host.question(scope="tools:read"), form))
    grant = await Grant.objects.aget(code=told["code"])
    assert grant.user_id == host.user.pk
    assert grant.scope == "tools:read"
    assert grant.resource == [RESOURCE]
    assert grant.code_challenge == host.asks["code_challenge"]


async def test_errors_of_unknown_apps_stay_here(host: Host):
    for changes in ({"client_id": "unknown"}, {"client_id": None}, {"client_id": "a\0b"}):
        refused = await host.ask(**changes)
        assert refused.status_code == 400, changes
        assert "Location" not in refused
        assert "evil" not in refused.content.decode()


async def test_editor_may_choose_its_port_only(user: Any):
    await add_client("https://editor.example/client.json", "http://127.0.0.1/callback", "cursor://app.mcp/callback")
    host = Host(user, "https://editor.example/client.json", "http://127.0.0.1:51234/callback")
    page = await host.ask()
    assert "your own device" in page.content.decode()
    assert "form-action 'self' http://127.0.0.1:51234" in page["Content-Security-Policy"]
    assert (await host.ask(redirect_uri="cursor://app.mcp/callback")).status_code == 200
    for uri in (
        "http://127.0.0.1:51234/other",
        "http://localhost:51234/callback",
        "http://127.0.0.1:51234/callback\n",
        "http://127.0.0.1:51234/call\tback",
        "http://127.0.0.1.evil.example/callback",
        "http://127.0.0.1:5@evil.example/callback",
        "https://127.0.0.1:51234/callback",
        "cursor://app.mcp/other",
        "vscode://app.mcp/callback",
    ):
        assert (await host.ask(redirect_uri=uri)).status_code == 400, uri


async def test_code_does_not_travel_unencrypted(user: Any):
    """Even if an administrator has entered such an address."""
    await add_client("intranet", "http://intranet.example/cb")
    assert (await Host(user, "intranet", "http://intranet.example/cb").ask()).status_code == 400


# --- Codes: injection and replay


async def test_code_is_used_once(host: Host):
    code = await host.get_code()
    assert (await host.redeem(code)).status_code == 200
    assert error_of(await host.redeem(code)) == "invalid_grant"


async def test_code_that_comes_again_ends_the_tokens_that_it_gave(host: Host):
    """The first who came with it may have been a thief (RFC 6749, 4.1.2)."""
    await host.connect()
    code = await host.get_code()
    first = json.loads((await host.redeem(code)).content)
    second = json.loads((await host.refresh(first["refresh_token"])).content)
    assert error_of(await host.redeem("another-code")) == "invalid_grant"
    assert text_of(await host.call("ping", token=second["access_token"])) == "pong"
    assert error_of(await host.redeem(code)) == "invalid_grant"
    assert (await host.call("ping", token=second["access_token"])).status_code == 401
    assert error_of(await host.refresh(second["refresh_token"])) == "invalid_grant"
    assert text_of(await host.call("ping")) == "pong", "those of another sign-in go on"


async def test_code_of_another_host_is_refused(host: Host, user: Any):
    """A thief, who is a client of the same site, has got a code of Claude's."""
    await add_client("https://thief.example/client.json", "https://thief.example/cb", CALLBACK)
    code = await host.get_code()
    assert error_of(await host.redeem(code, client_id="https://thief.example/client.json")) == "invalid_grant"
    assert (await host.redeem(code)).status_code == 200


async def test_code_needs_the_verifier_and_the_address_that_it_was_asked_with(host: Host):
    code = await host.get_code()
    assert error_of(await host.redeem(code, code_verifier="another-" * 8)) == "invalid_grant"
    assert error_of(await host.redeem(code, code_verifier=None)) in ("invalid_grant", "invalid_request")
    assert error_of(await host.redeem(code, code_verifier=host.asks["code_challenge"])) == "invalid_grant"
    assert error_of(await host.redeem(code, redirect_uri="https://claude.ai/other")) == "invalid_request"
    assert (await host.redeem(code)).status_code == 200


async def test_code_that_another_user_gave_is_theirs(host: Host, other: Any):
    """Who injects the code of their own account into another's host acts as themselves."""
    mine = Host(other)
    mine.verifier, mine.asks = host.verifier, host.asks
    tokens = json.loads((await host.redeem(await mine.get_code())).content)
    assert text_of(await host.call("whoami", token=tokens["access_token"])) == "bob"


async def test_late_code_is_refused(host: Host):
    code = await host.get_code()
    await Grant.objects.aupdate(expires=timezone.now())
    assert error_of(await host.redeem(code)) == "invalid_grant"


# --- PKCE downgrade


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge": None},
        {"code_challenge": ""},
        {"code_challenge_method": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": "s256"},
        {"code_challenge": "short"},
    ],
)
async def test_host_without_pkce_by_s256_is_refused(host: Host, changes: dict[str, str | None]):
    refused = await host.ask(**changes)
    assert answered(refused)["error"] == "invalid_request"
    assert not await Grant.objects.aexists()


@pytest.mark.parametrize("kind", ["token", "id_token", "code token", "none", None])
async def test_only_codes_are_answered_with(host: Host, kind: str | None):
    refused = await host.ask(response_type=kind)
    told = answered(refused)
    assert told["error"] in ("unsupported_response_type", "unauthorized_client", "invalid_request")
    assert "#" not in refused["Location"]


@pytest.mark.parametrize("kind", ["password", "client_credentials", "implicit", "", None])
async def test_no_other_grant_is_known(host: Host, kind: str | None):
    refused = await host.post(
        grant_type=kind, username="ada", password="lovelace-1815", client_id=CLAUDE, scope="tools:read"
    )
    assert error_of(refused) in ("unsupported_grant_type", "invalid_request")
    assert not await AccessToken.objects.aexists()


@pytest.mark.parametrize("scope", ["tools:admin", "tools:read openid", "*", "TOOLS:READ"])
async def test_unknown_scope_is_refused(host: Host, scope: str):
    assert answered(await host.ask(scope=scope))["error"] == "invalid_scope"


# --- Mix-up


async def test_every_answer_says_who_answers(host: Host, settings: Any):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"SITE_URL": SITE}}
    for answer in (await host.decide(), await host.decide("deny"), await host.ask(scope="x")):
        assert answered(answer)["iss"] == SITE


async def test_issuer_does_not_follow_the_host_of_a_request(host: Host, settings: Any):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"SITE_URL": "https://real.example"}}
    found = json.loads((await host.http.get("/.well-known/oauth-authorization-server")).content)
    assert found["issuer"] == "https://real.example"
    assert urlsplit(found["token_endpoint"]).netloc == "real.example"
    refused = await host.http.post("/agent/mcp/", "{}", content_type="application/json")
    assert "https://real.example/.well-known" in refused["WWW-Authenticate"]


async def test_issuer_in_a_registered_address_is_replaced(user: Any):
    await add_client(CLAUDE, f"{CALLBACK}?iss=https://evil.example")
    answer = await Host(user, redirect_uri=f"{CALLBACK}?iss=https://evil.example").decide()
    assert answer["Location"].count("iss=") == 1
    assert answered(answer)["iss"] == SITE


# --- Refresh tokens


async def test_reuse_of_a_refresh_token_ends_the_whole_family(host: Host):
    first = await host.connect()
    second = json.loads((await host.refresh(first["refresh_token"])).content)
    third = json.loads((await host.refresh(second["refresh_token"])).content)
    assert text_of(await host.call("ping", token=third["access_token"])) == "pong"
    # A thief comes with an old one, or the host does after the thief.
    assert error_of(await host.refresh(first["refresh_token"])) == "invalid_grant"
    assert (await host.call("ping", token=third["access_token"])).status_code == 401
    assert error_of(await host.refresh(third["refresh_token"])) == "invalid_grant"


async def test_refresh_gives_no_more_than_there_was(host: Host):
    tokens = await host.connect(write=False)
    wider = await host.refresh(tokens["refresh_token"], scope="tools:read tools:write")
    assert error_of(wider) == "invalid_scope"
    elsewhere = await host.refresh(tokens["refresh_token"], resource=f"{SITE}/second/mcp/")
    assert error_of(elsewhere) == "invalid_target"
    kept = json.loads((await host.refresh(tokens["refresh_token"])).content)
    assert kept["scope"] == "tools:read"
    assert (await host.call("echo", {"text": "hi"}, token=kept["access_token"])).status_code == 403


async def test_refresh_token_is_its_hosts_own(host: Host):
    await add_client("https://thief.example/client.json", "https://thief.example/cb")
    tokens = await host.connect()
    stolen = await host.refresh(tokens["refresh_token"], client_id="https://thief.example/client.json")
    assert error_of(stolen) == "invalid_grant"
    assert (await host.call("ping", token=tokens["refresh_token"])).status_code == 401


async def test_connection_that_nobody_uses_ends(host: Host):
    tokens = await host.connect()
    await AccessToken.objects.aupdate(expires=timezone.now() - timedelta(days=61))
    assert error_of(await host.refresh(tokens["refresh_token"])) == "invalid_grant"


async def test_host_ends_no_connection_of_another(host: Host):
    await add_client("https://thief.example/client.json", "https://thief.example/cb")
    tokens = await host.connect()
    await host.post("/oauth/revoke", token=tokens["refresh_token"], client_id="https://thief.example/client.json")
    assert text_of(await host.call("ping")) == "pong"
    assert await RefreshToken.objects.filter(revoked=None).aexists()


# --- Consent by a cross-site request


async def test_consent_by_a_cross_site_request_is_refused(host: Host):
    await host.ask()
    for form in ({"decision": "allow"}, {"decision": "allow", "csrfmiddlewaretoken": "x" * 64}):
        assert (await host.browser.post(host.question(), form)).status_code == 403
    foreign = {"Origin": "https://evil.example"}
    form = {"decision": "allow", "csrfmiddlewaretoken": host.browser.cookies["csrftoken"].value}
    assert (await host.browser.post(host.question(), form, headers=foreign)).status_code == 403
    assert not await Grant.objects.aexists()


async def test_consent_is_checked_without_the_middleware(host: Host, settings: Any):
    """A project may have its own. The page checks for itself."""
    settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "Csrf" not in name]
    await host.browser.aforce_login(host.user)
    assert (await host.browser.post(host.question(), {"decision": "allow"})).status_code == 403


async def test_looking_at_the_page_connects_nothing(host: Host):
    """However often, and after the user has agreed before: a page could make a browser go there."""
    await host.connect()
    await Grant.objects.all().adelete()
    assert (await host.ask()).status_code == 200
    assert (await host.ask(prompt="none")).status_code == 200
    assert (await host.browser.get(f"{host.question()}&decision=allow&allow=true")).status_code == 200
    assert not await Grant.objects.aexists()


async def test_page_can_be_framed_by_nobody_and_runs_nothing(host: Host, settings: Any):
    settings.X_FRAME_OPTIONS = "SAMEORIGIN"
    page = await host.ask()
    policy = page["Content-Security-Policy"]
    assert page["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "form-action 'self' https://claude.ai" in policy
    assert "<script" not in page.content.decode()
    assert page["Cache-Control"] == "no-store"


async def test_name_of_an_app_is_text(user: Any):
    await add_client(name='<b>Claude</b>"><script>')
    page = (await Host(user).ask()).content.decode()
    assert "<b>Claude" not in page
    assert "&lt;b&gt;Claude" in page


async def test_form_of_another_user_decides_nothing(host: Host, other: Any):
    """The person has signed in as somebody else meanwhile: the page's token is not theirs."""
    await host.ask()
    csrf = host.browser.cookies["csrftoken"].value
    stranger = AsyncClient(enforce_csrf_checks=True)
    await stranger.aforce_login(other)
    assert (await stranger.post(host.question(), {"decision": "allow", "csrfmiddlewaretoken": csrf})).status_code == 403
    assert not await Grant.objects.aexists()


# --- Two clients of one user


async def test_two_hosts_of_a_user_have_different_keys(host: Host, user: Any, rf: Any):
    """A question belongs to one of them (mcp/forms.py). A renewed token is the same host's."""
    from agui.actor import Actor
    from agui.contrib.mcp.caller import Caller

    await add_client("https://other.example/client.json", "https://other.example/cb")
    second = Host(user, "https://other.example/client.json", "https://other.example/cb")
    keys = []
    tokens = await host.connect()
    renewed = json.loads((await host.refresh(tokens["refresh_token"])).content)["access_token"]
    again = (await second.connect())["access_token"]
    view = ConnectedMcpView.mounted(urls.view)
    for token in (renewed, (await host.connect())["access_token"], again):
        request = rf.post("/agent/mcp/", headers={"Authorization": f"Bearer {token}"})
        found = await view.get_user(request)  # type: ignore[misc]
        assert found == user
        keys.append(Caller(Actor(user, f"user:{user.pk}"), request).key)
    assert keys[0] == keys[1] != keys[2]


async def test_values_with_a_zero_byte_are_refused(host: Host):
    """PostgreSQL can't look for them."""
    assert error_of(await host.redeem("a\0b")) == "invalid_request"
    assert error_of(await host.redeem("x", client_id="a\0b")) == "invalid_request"
    assert error_of(await host.post("/oauth/revoke", token="x", client_id="a\0b")) == "invalid_request"
    assert (await host.ask(code_challenge="x" * 42 + "\0")).status_code == 400
    assert (await sync_to_async(Grant.objects.count)()) == 0
