"""Attacks on the sign-in for MCP hosts: each is tried, and refused."""

import json
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("oauth2_provider")

from django.test import AsyncClient
from django.utils import timezone
from oauth2_provider.models import AccessToken, Application, Grant, set_token_value

from tests.conftest import run_input
from tests.hosting import CALLBACK, CLAUDE, RESOURCE, SITE, Host, add_client, answered, error_of, text_of

pytestmark = pytest.mark.database

THIEF = "https://thief.example/client.json"


# --- Audience confusion


@pytest.mark.parametrize(
    "resource",
    [
        *(None, "", SITE, f"{SITE}/", f"{SITE}/agent/", f"{SITE}/AGENT/mcp/", f"{SITE}/agent/../agent/mcp/"),
        *(f"{SITE}/agent/mcp{more}" for more in ("/more", "?x=1", "#x")),
        *(f"http://{host}/agent/mcp/" for host in ("testserver.evil.example", "testserver@evil.example")),
        *("https://testserver/agent/mcp/", "http://evil.example/agent/mcp/"),
    ],
)
async def test_code_is_for_an_endpoint_of_this_site(host: Host, resource: str | None):
    refused = answered(await host.ask(resource=resource))
    assert (refused["error"], refused["iss"]) == ("invalid_target", SITE)
    twice = await host.browser.get(f"{host.question()}&resource={SITE}/second/mcp/")
    assert answered(twice)["error"] == "invalid_target"
    assert not await Grant.objects.aexists()


async def test_token_of_one_agent_opens_no_other(host: Host):
    second = f"{SITE}/second/mcp/"
    other = (await host.redeem(await host.get_code(resource=second), resource=second)).json()["access_token"]
    assert (await host.call("ping", token=other)).status_code == 401
    token = (await host.connect())["refresh_token"]
    assert text_of(await host.call("ping")) == "pong"
    assert (await host.call("ping", path="/second/mcp/")).status_code == 401
    assert error_of(await host.refresh(token, resource=second)) == "invalid_target"
    for resource in (second, "https://evil.example/mcp"):
        assert error_of(await host.redeem(await host.get_code(), resource=resource)) == "invalid_target"


@pytest.mark.parametrize(
    ("resource", "fields", "status"),
    [
        ([RESOURCE], {}, 200),
        *(([RESOURCE], {name: None}, 401) for name in ("user", "application")),
        *(([SITE + path], {}, 401) for path in ("", "/", "/agent/", "/agent/mcp", "/agent/mcp/x")),
        *((resources, {}, 401) for resources in ([], [RESOURCE, f"{SITE}/other"])),
    ],
)
async def test_token_is_for_this_endpoint_exactly(host: Host, resource: list[str], fields: Any, status: int):
    """The toolkit lets a token without a resource in everywhere, and compares others by their beginning."""
    about = {"user": host.user, "application": await Application.objects.aget(), "scope": "tools:read tools:write"}
    token = AccessToken(resource=resource, expires=timezone.now() + timedelta(hours=1), **(about | fields))
    set_token_value(token, "made-elsewhere")
    await token.asave()
    assert (await host.call("ping", token="made-elsewhere")).status_code == status


async def test_token_opens_no_other_route_and_counts_in_the_header_only(host: Host):
    """Whatever stands under the agent's prefix, and the site's own pages."""
    tokens = await host.connect()
    assert (await host.call("ping", token=tokens["refresh_token"])).status_code == 401
    headers = {"Authorization": f"Bearer {host.token}"}
    for route in ("tools/", "skills/", "threads/", "capabilities/", "attachments/"):
        assert (await host.http.get(f"/agent/{route}", headers=headers)).status_code == 401, route
    run = await host.http.post("/agent/", json.dumps(run_input("Hi")), content_type="application/json", headers=headers)
    assert run.status_code == 401
    assert (await host.http.get("/oauth/connections/", headers=headers)).status_code == 302
    body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    assert (await host.send_body(body, f"/agent/mcp/?access_token={host.token}", "")).status_code == 401


# --- Redirect tricks


@pytest.mark.parametrize(
    "uri",
    [
        *(f"https://{before}evil.example/api/mcp/auth_callback" for before in ("", "claude.ai.", "claude.ai@")),
        "https://claude.ai\\@evil.example/api/mcp/auth_callback",
        *(CALLBACK + more for more in ("/", "/../../x", "?next=//evil.example", "#x", ";x", "\n")),
        *(f"https://{host}/api/mcp/auth_callback" for host in ("CLAUDE.ai", "claude.ai:443")),
        *(f"{scheme}//claude.ai/api/mcp/auth_callback" for scheme in ("http:", "")),
        *("javascript:alert(1)", ""),
    ],
)
async def test_nothing_goes_to_an_address_that_is_not_registered(host: Host, uri: str):
    await host.ask()
    csrf = host.browser.cookies["csrftoken"].value
    form = {"csrfmiddlewaretoken": csrf, "decision": "allow", "redirect_uri": uri}
    for refused in (await host.ask(redirect_uri=uri), await host.browser.post(host.question(redirect_uri=uri), form)):
        assert (refused.status_code, "Location" in refused) == (400, False)
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
    assert (grant.user_id, grant.scope, grant.resource) == (host.user.pk, "tools:read", [RESOURCE])
    assert grant.code_challenge == host.asks["code_challenge"]


async def test_errors_of_unknown_apps_and_values_with_a_zero_byte_stay_here(host: Host):
    """PostgreSQL can't look for a zero byte."""
    for changes in ({"client_id": "unknown"}, {"client_id": None}, {"client_id": "a\0b"}):
        refused = await host.ask(**changes)
        assert (refused.status_code, "Location" in refused) == (400, False), changes
    assert error_of(await host.redeem("a\0b")) == "invalid_request"
    assert error_of(await host.redeem("x", client_id="a\0b")) == "invalid_request"
    assert error_of(await host.post("/oauth/revoke", token="x", client_id="a\0b")) == "invalid_request"
    assert (await host.ask(code_challenge="x" * 42 + "\0")).status_code == 400
    assert not await Grant.objects.aexists()


async def test_editor_may_choose_its_port_only(host: Host, user: Any):
    await add_client("https://editor.example/client.json", "http://127.0.0.1/callback", "cursor://app.mcp/callback")
    host = Host(user, "https://editor.example/client.json", "http://127.0.0.1:51234/callback")
    page = await host.ask()
    assert "your own device" in page.content.decode()
    assert "form-action 'self' http://127.0.0.1:51234" in page["Content-Security-Policy"]
    assert (await host.ask(redirect_uri="cursor://app.mcp/callback")).status_code == 200
    for uri in (
        *(f"http://127.0.0.1:51234/{path}" for path in ("other", "callback\n", "call\tback")),
        *(f"http://{host}/callback" for host in ("127.0.0.1.evil.example", "127.0.0.1:5@evil.example")),
        *("http://localhost:51234/callback", "https://127.0.0.1:51234/callback", "https://a;script-src/cb"),
        *("cursor://app.mcp/other", "vscode://app.mcp/callback"),
    ):
        assert (await host.ask(redirect_uri=uri)).status_code == 400, uri
    # A code does not travel unencrypted, even if an administrator has entered such an address.
    await add_client("intranet", "http://intranet.example/cb")
    assert (await Host(user, "intranet", "http://intranet.example/cb").ask()).status_code == 400


# --- Codes (test_oauth_families.py has injection, replay and refresh tokens)


async def test_codes_and_refresh_tokens_end_if_nobody_uses_them(host: Host):
    token, code = (await host.connect())["refresh_token"], await host.get_code()
    await Grant.objects.aupdate(expires=timezone.now())
    await AccessToken.objects.aupdate(expires=timezone.now() - timedelta(days=61))
    assert error_of(await host.redeem(code)) == error_of(await host.refresh(token)) == "invalid_grant"


# --- PKCE downgrade


@pytest.mark.parametrize(
    "changes",
    [
        {"code_challenge": None, "code_challenge_method": None},
        *({"code_challenge": given} for given in (None, "", "short")),
        *({"code_challenge_method": given} for given in (None, "plain", "s256")),
    ],
)
async def test_host_without_pkce_by_s256_is_refused(host: Host, changes: dict[str, str | None]):
    refused = await host.ask(**changes)
    assert answered(refused)["error"] == "invalid_request"
    assert not await Grant.objects.aexists()


async def test_parameter_that_comes_twice_is_refused(host: Host):
    """Who reads the first one and who reads the last one would see different things."""
    challenge = f"&code_challenge={host.asks['code_challenge']}"
    await host.browser.aforce_login(host.user)
    refused = answered(await host.browser.get(host.question() + challenge))
    assert (refused["error"], refused["error_description"]) == ("invalid_request", "code_challenge comes twice.")
    form = "grant_type=refresh_token&client_id=a&client_id=b&refresh_token=c"
    answer = await host.http.post("/oauth/token", form, content_type="application/x-www-form-urlencoded")
    assert error_of(answer) == "invalid_request"


async def test_only_codes_are_answered_with_and_no_other_grant_is_known(host: Host):
    for kind in ("token", "id_token", "code token", "none", None):
        refused = await host.ask(response_type=kind)
        told = answered(refused)
        assert told["error"] in ("unsupported_response_type", "unauthorized_client", "invalid_request"), kind
        assert "#" not in refused["Location"]
    form = {"username": "ada", "password": "lovelace-1815", "client_id": CLAUDE, "scope": "tools:read"}
    for kind in ("password", "client_credentials", "implicit", "", None):
        assert error_of(await host.post(grant_type=kind, **form)) in ("unsupported_grant_type", "invalid_request"), kind
    assert not await AccessToken.objects.aexists()


# --- Mix-up


async def test_every_answer_says_who_answers(host: Host, user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"SITE_URL": SITE}}
    for answer in (await host.decide(), await host.decide("deny"), await host.ask(code_challenge="x")):
        assert answered(answer)["iss"] == SITE
    # An issuer in a registered address is replaced.
    await add_client(THIEF, f"{CALLBACK}?iss=https://evil.example")
    answer = await Host(user, THIEF, f"{CALLBACK}?iss=https://evil.example").decide()
    assert answer["Location"].count("iss=") == 1
    assert answered(answer)["iss"] == SITE
    # It does not follow the host of a request.
    settings.AGUI = {**settings.AGUI, "OAUTH": {"SITE_URL": "https://real.example"}}
    found = (await host.http.get("/.well-known/oauth-authorization-server")).json()
    assert found["issuer"] == "https://real.example"
    assert urlsplit(found["token_endpoint"]).netloc == "real.example"
    refused = await host.http.post("/agent/mcp/", "{}", content_type="application/json")
    assert "https://real.example/.well-known" in refused["WWW-Authenticate"]


# --- Consent by a cross-site request


@pytest.mark.parametrize("without_middleware", [False, True])
async def test_consent_by_a_cross_site_request_or_another_user_is_refused(
    host: Host, other: Any, settings: Any, without_middleware: bool
):
    """A project may have middleware of its own. The page checks for itself."""
    if without_middleware:
        settings.MIDDLEWARE = [name for name in settings.MIDDLEWARE if "Csrf" not in name]
    await host.ask()
    for form in ({"decision": "allow"}, {"decision": "allow", "csrfmiddlewaretoken": "x" * 64}):
        assert (await host.browser.post(host.question(), form)).status_code == 403
    foreign = {"Origin": "https://evil.example"}
    form = {"decision": "allow", "csrfmiddlewaretoken": host.browser.cookies["csrftoken"].value}
    assert (await host.browser.post(host.question(), form, headers=foreign)).status_code == 403
    # The person has signed in as somebody else meanwhile: the page's token is not theirs.
    stranger = AsyncClient(enforce_csrf_checks=True)
    await stranger.aforce_login(other)
    assert (await stranger.post(host.question(), form)).status_code == 403
    assert not await Grant.objects.aexists()


async def test_looking_at_the_page_connects_nothing(host: Host):
    """However often, and after the user has agreed before: a page could make a browser go there."""
    await host.connect()
    await Grant.objects.all().adelete()
    for question in (host.question(), host.question(prompt="none"), f"{host.question()}&decision=allow&allow=true"):
        assert (await host.browser.get(question)).status_code == 200
    assert not await Grant.objects.aexists()


async def test_page_can_be_framed_by_nobody_and_runs_nothing(host: Host, settings: Any):
    settings.X_FRAME_OPTIONS = "SAMEORIGIN"
    await Application.objects.aupdate(name='<b>Claude</b>"><script>')
    answer = await host.ask()
    page, policy = answer.content.decode(), answer["Content-Security-Policy"]
    assert (answer["X-Frame-Options"], answer["Cache-Control"]) == ("DENY", "no-store")
    for directive in ("frame-ancestors 'none'", "default-src 'none'", "form-action 'self' https://claude.ai"):
        assert directive in policy
    assert "script-src" not in policy
    assert ("<script" in page, "<b>Claude" in page, "&lt;b&gt;Claude" in page) == (False, False, True)
