"""Which hosts may connect: client metadata documents, registration, the limits on both, and what is kept of them."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

pytest.importorskip("oauth2_provider")

from asgiref.sync import sync_to_async
from django.core import checks
from django.core.cache import cache
from django.core.management import call_command
from django.utils import timezone
from oauth2_provider.cimd import CIMDError, SafeMetadataFetcher
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from agui.actor import Actor
from agui.contrib.oauth import provider
from agui.contrib.oauth.apps import OauthConfig
from agui.contrib.oauth.checks import check_deployment, check_provider
from tests.hosting import CALLBACK, CLAUDE, Host, add_client, error_of, open_doors, text_of

pytestmark = pytest.mark.database

CHATGPT = "https://chatgpt.com/oauth/abc123/client.json"
EDITOR = "https://editor.example/client.json"

GRANTS = ["authorization_code", "refresh_token"]
DOCUMENTS: dict[str, Any] = {
    CLAUDE: {
        "client_name": "Claude",
        "client_uri": "https://claude.ai",
        "redirect_uris": [CALLBACK, "https://claude.com/api/mcp/auth_callback"],
        "grant_types": GRANTS,
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    },
    CHATGPT: {
        "client_name": "ChatGPT",
        "redirect_uris": ["https://chatgpt.com/connector/oauth/abc123"],
        "grant_types": GRANTS,
        "response_types": ["code"],
        "token_endpoint_auth_method": "private_key_jwt",
        "token_endpoint_auth_methods_supported": ["private_key_jwt", "none"],
        "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
    },
    EDITOR: {
        "client_name": "Edi\u202etor\nof all " + "x" * 300,
        "redirect_uris": ["http://127.0.0.1/cb", "http://evil.example/cb", "odd://cb", "javascript:alert(1)", 5],
        "grant_types": [*GRANTS, "urn:ietf:params:oauth:grant-type:device_code"],
    },
}


@pytest.fixture(autouse=True)
def mounted(settings: Any) -> None:
    open_doors(settings)


@pytest.fixture(autouse=True)
def fetched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The internet, which has these documents, and what was asked of it."""
    asked: list[str] = []

    def fetch(self: Any, client_id: str) -> tuple[dict[str, Any], int]:
        asked.append(client_id)
        if client_id not in DOCUMENTS:
            raise CIMDError("there is none")
        return {"client_id": client_id, **DOCUMENTS[client_id]}, 300

    monkeypatch.setattr(SafeMetadataFetcher, "fetch", fetch)
    cache.clear()
    yield asked
    cache.clear()


# --- Client metadata documents


@pytest.mark.parametrize(
    ("client_id", "address", "name"),
    [
        (CLAUDE, CALLBACK, "Claude"),
        (CLAUDE, "https://claude.com/api/mcp/auth_callback", "Claude"),
        (CHATGPT, "https://chatgpt.com/connector/oauth/abc123", "ChatGPT"),
        (EDITOR, "http://127.0.0.1:40404/cb", "Editor of all"),
    ],
)
async def test_host_with_a_document_connects(user: Any, fetched: list[str], client_id: str, address: str, name: str):
    host = Host(user, client_id, address)
    page = (await host.ask()).content.decode()
    assert name in page
    assert client_id.split("/")[2] in page
    await host.connect()
    assert text_of(await host.call("whoami")) == "ada"
    assert fetched == [client_id], "a document is kept for a while"


async def test_addresses_of_a_document_that_are_not_safe_are_left_out(user: Any):
    await Host(user, EDITOR, "http://127.0.0.1:40404/cb").ask()
    stored = await Application.objects.aget(client_id=EDITOR)
    assert stored.redirect_uris == "http://127.0.0.1/cb"
    assert (len(stored.name) <= 100, "\u202e" in stored.name) == (True, False)
    for uri in ("http://evil.example/cb", "odd://cb", "javascript:alert(1)"):
        assert (await Host(user, EDITOR, uri).ask()).status_code == 400


@pytest.mark.parametrize(
    "document",
    [
        {"client_id": CHATGPT},
        {"client_secret": "x"},
        *({"redirect_uris": uris} for uris in ([], ["http://evil.example/cb"])),
        {"grant_types": ["implicit"]},
        *({"token_endpoint_auth_method": method} for method in ("private_key_jwt", "client_secret_post")),
    ],
)
async def test_document_that_can_not_be_used_connects_nothing(user: Any, monkeypatch: Any, document: dict[str, Any]):
    """It is another's, has a secret, goes nowhere, or wants what this server has not."""
    monkeypatch.setitem(DOCUMENTS, CLAUDE, DOCUMENTS[CLAUDE] | document)
    refused = await Host(user).ask()
    assert (refused.status_code, "Location" in refused) == (400, False)


@pytest.mark.parametrize("client_id", [f"https://{host}/c" for host in ("localhost", "169.254.169.254", "[::1]")])
async def test_document_of_the_servers_own_network_is_not_fetched(user: Any, monkeypatch: Any, client_id: str):
    monkeypatch.undo()
    connected: list[Any] = []
    monkeypatch.setattr("urllib3.HTTPSConnectionPool.urlopen", lambda *a, **kw: connected.append(a))
    assert (await Host(user, client_id).ask()).status_code == 400
    assert not connected


@pytest.mark.parametrize("hosts", [None, ["claude.ai"]])
@pytest.mark.parametrize(
    "client_id",
    [
        *(f"https://{host}/c" for host in ("[::1", "a:b", "a..b", ".a", "a" * 300, "\u202e.example")),
        "x" * 5000,
    ],
)
async def test_odd_id_is_refused_without_a_traceback(
    user: Any, settings: Any, monkeypatch: Any, caplog: Any, client_id: str, hosts: Any
):
    monkeypatch.undo()
    settings.AGUI = {**settings.AGUI, "OAUTH": {"CLIENT_HOSTS": hosts}}
    assert (await Host(user, client_id).ask()).status_code == 400
    assert not any(record.exc_info for record in caplog.records)


async def test_strangers_make_the_server_fetch_nothing(user: Any, fetched: list[str]):
    host = Host(user)
    assert (await host.http.get(host.question())).status_code == 302
    form = {"grant_type": "authorization_code", "response_type": "code", "code": "x", "token": "x"}
    for route in ("/oauth/token", "/token", "/oauth/revoke"):
        assert (await host.post(route, **form, client_id=CLAUDE)).status_code in (400, 401)
    assert fetched == []


async def test_user_makes_the_server_fetch_a_few_documents_only(user: Any, other: Any, fetched: list[str]):
    statuses = [(await Host(user, f"https://h{number}.example/c").ask()).status_code for number in range(25)]
    assert statuses == [400] * 20 + [429] * 5
    assert len(fetched) == 20
    await Host(other).connect()
    assert (await Host(user).ask()).status_code == 200, "it is known by now"


async def test_project_chooses_the_hosts_that_may_connect(user: Any, settings: Any, fetched: list[str]):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"CLIENT_HOSTS": ["claude.ai", ".trusted.example"]}}
    assert (await Host(user).ask()).status_code == 200
    for client_id in (CHATGPT, EDITOR, "https://claude.ai.evil.example/c"):
        assert (await Host(user, client_id).ask()).status_code == 400
    assert fetched == [CLAUDE]


# --- Registration


async def register(user: Any, route: str = "/oauth/register", **metadata: Any) -> Any:
    body = {"client_name": "Some host", "redirect_uris": ["https://host.example/cb"], **metadata}
    return await Host(user).http.post(route, json.dumps(body), content_type="application/json")


@pytest.fixture
def registering(settings: Any, user: Any) -> Any:
    """A user of a site at which hosts may register."""
    settings.AGUI = {**settings.AGUI, "OAUTH": {"REGISTRATION": True}}
    return user


async def test_registration_is_off_by_default(user: Any):
    for route in ("/oauth/register", "/register", "/register/"):
        assert (await register(user, route)).status_code == 404
    assert not await Application.objects.aexists()


@pytest.mark.parametrize("route", ["/oauth/register", "/oauth/register/", "/register", "/register/"])
async def test_host_registers_and_connects(registering: Any, route: str):
    answer = await register(registering, route, token_endpoint_auth_method="client_secret_basic")
    registered = answer.json()
    assert (answer.status_code, registered["token_endpoint_auth_method"]) == (201, "none")
    assert "client_secret" not in registered
    # The toolkit would hash one for half a second, for any stranger.
    assert (await Application.objects.aget()).client_secret == ""
    host = Host(registering, registered["client_id"], "https://host.example/cb")
    assert "chose its own name" in (await host.ask()).content.decode()
    await host.connect()
    assert text_of(await host.call("ping")) == "pong"
    server = (await host.http.get("/.well-known/oauth-authorization-server")).json()
    assert server["registration_endpoint"].endswith("/oauth/register")


async def test_flood_of_registrations_is_refused(registering: Any):
    answers = [await register(registering, client_name=f"Host {number}") for number in range(35)]
    assert [answer.status_code for answer in answers] == [201] * 30 + [429] * 5
    # A known client gets no new row.
    assert (await register(registering, client_name="Host 1")).status_code == 201
    assert await Application.objects.acount() == 30


@pytest.mark.parametrize(
    "uris",
    [
        *([], "https://host.example/cb", [None, 5, {}], ["javascript:alert(1)"], ["https://" + "x" * 600]),
        *([f"{before}host.example/cb"] for before in ("http://", "https://a@", "https://*.")),
        *([f"https://host.example/cb{more}"] for more in ("#x", " https://evil.example/cb")),
    ],
)
async def test_registration_with_unsafe_addresses_is_refused(registering: Any, uris: Any):
    assert error_of(await register(registering, redirect_uris=uris)).startswith("invalid_")
    assert not await Application.objects.aexists()


@pytest.mark.parametrize("body", ["", "[]", "{", '"x"', "x" * 2_000_000])
async def test_body_that_is_no_metadata_is_refused(registering: Any, body: str):
    refused = await Host(registering).http.post("/oauth/register", body, content_type="application/json")
    assert refused.status_code in (400, 413)
    assert "error" in refused.json()


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b", "a\u202eb", 5, None, ["x"], "x" * 10_000])
async def test_any_name_is_text_or_refused(registering: Any, name: Any):
    answer = await register(registering, client_name=name)
    assert answer.status_code in (201, 400)
    if answer.status_code == 201:
        stored = (await Application.objects.aget()).name
        assert (stored.isprintable(), len(stored) <= 100) == (True, True)


# --- What is kept


async def test_rows_that_are_over_are_pruned(user: Any):
    host = Host(user)
    first = await host.connect()
    await host.refresh(first["refresh_token"])
    await host.get_code()
    await add_client(CHATGPT, registration_source="cimd")
    long_ago = timezone.now() - timedelta(days=900)
    # A row of the project's own clients, which is left alone.
    await AccessToken.objects.acreate(token="their own", user=user, expires=long_ago)
    await Application.objects.aupdate(updated=long_ago)
    await sync_to_async(call_command)("prune_agent_data")
    assert await Grant.objects.acount() == 1
    assert await RefreshToken.objects.acount() == 2, "a used one is kept, so that its reuse is noticed"
    assert [app.client_id async for app in Application.objects.all()] == [CLAUDE]
    await Grant.objects.aupdate(expires=long_ago)
    await AccessToken.objects.aupdate(expires=long_ago)
    await RefreshToken.objects.exclude(revoked=None).aupdate(revoked=long_ago)
    for _ in range(2):  # The hosts go after their tokens
        await sync_to_async(call_command)("prune_agent_data")
    for model in (Grant, RefreshToken, Application):
        assert not await model.objects.aexists(), model
    assert [row.token async for row in AccessToken.objects.all()] == ["their own"]


async def test_document_of_a_user_lists_their_connections(user: Any, other: Any):
    for each in (user, other):
        await Host(each).connect()
    await AccessToken.objects.acreate(token="of a client of the project's own", user=user, expires=timezone.now())
    part = OauthConfig.create("agui.contrib.oauth")

    def collect() -> dict[str, Any]:
        data = list(part.personal_data(Actor(user, f"user:{user.pk}")))  # type: ignore[attr-defined]
        assert all({"token", "token_checksum", "code"} <= {*each.hidden} for each in data)
        return {each.name: len(list(each.rows)) for each in data}

    assert await sync_to_async(collect)() == {"oauth_access_tokens": 1, "oauth_refresh_tokens": 1}


# --- Settings


def test_settings_of_a_project_win_and_unsafe_ones_are_errors(settings: Any):
    assert not provider.conflicts(settings.OAUTH2_PROVIDER)
    settings.OAUTH2_PROVIDER = provider.merged({"ACCESS_TOKEN_EXPIRE_SECONDS": 60, "PKCE_REQUIRED": False})
    assert settings.OAUTH2_PROVIDER["ACCESS_TOKEN_EXPIRE_SECONDS"] == 60
    [error] = check_provider()
    assert error.id == "agui_oauth.E001"
    assert "PKCE_REQUIRED" in error.msg
    settings.OAUTH2_PROVIDER = provider.merged({})
    assert check_provider() == []
    settings.ROOT_URLCONF = "tests.urls"
    assert [message.id for message in check_provider()] == ["agui_oauth.W001"]


def test_project_that_uses_the_toolkit_for_itself_alone_is_left_alone(settings: Any):
    settings.AGUI = {}
    settings.ROOT_URLCONF = "tests.urls"
    settings.OAUTH2_PROVIDER = {"PKCE_REQUIRED": False}
    part = OauthConfig.create("agui.contrib.oauth")
    part.ready()
    assert settings.OAUTH2_PROVIDER == {"PKCE_REQUIRED": False}
    assert part.routes() == {}  # type: ignore[attr-defined]
    assert check_provider() == check_deployment() == []


@pytest.mark.parametrize(("url", "is_fine"), [(None, False), ("http://x.example", False), ("https://x.example", True)])
def test_production_needs_https_at_a_fixed_address(settings: Any, url: str | None, is_fine: bool):
    settings.AGUI = {**settings.AGUI, "OAUTH": {"SITE_URL": url}}
    found = check_deployment()
    assert (found == []) is is_fine
    assert all(isinstance(message, checks.Error) for message in found)


# --- Clients in pages of other sites

PAGE = "https://inspector.example"


def asked_by_the_browser(path: str, origin: str, http: Any) -> Any:
    """The question that a browser sends before a page's own request."""
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
    return http.options(path, headers={"Origin": origin, **asks})


@pytest.mark.parametrize("path", ["/oauth/token", "/token/", "/oauth/register", "/oauth/revoke/"])
async def test_page_of_any_site_can_sign_in(host: Host, path: str):
    answer = await asked_by_the_browser(path, PAGE, host.http)
    assert (answer.status_code, answer["Access-Control-Allow-Origin"]) == (204, "*")
    assert "POST" in answer["Access-Control-Allow-Methods"]
    assert {"authorization", "content-type"} <= {*answer["Access-Control-Allow-Headers"].lower().split(", ")}
    refused = await host.http.post(path, "", content_type="application/json", headers={"Origin": PAGE})
    assert (refused.status_code >= 400, refused["Access-Control-Allow-Origin"]) == (True, "*")
    assert "Access-Control-Allow-Credentials" not in refused


@pytest.mark.parametrize(
    ("trusted", "is_let_in"),
    [([PAGE], True), (["https://*.example"], True), (["https://other.example"], False), ([], False)],
)
@pytest.mark.parametrize("path", ["/mcp", "/agent/mcp/"])
async def test_page_of_a_trusted_site_can_call(
    host: Host, settings: Any, path: str, trusted: list[str], is_let_in: bool
):
    settings.CSRF_TRUSTED_ORIGINS = trusted
    await host.connect()
    asked = await asked_by_the_browser(path, PAGE, host.http)
    assert asked.status_code == (204 if is_let_in else 403)
    body = '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "whoami", "arguments": {}}}'
    for token, status in ((host.token, 200 if is_let_in else 403), ("", 401)):
        headers = {"Origin": PAGE} | ({"Authorization": f"Bearer {token}"} if token else {})
        answer = await host.http.post(path, body, content_type="application/json", headers=headers)
        assert answer.status_code == status
        assert answer.get("Access-Control-Allow-Origin") == (PAGE if is_let_in else None)
        if is_let_in:
            assert "Origin" in answer["Vary"]
            assert "WWW-Authenticate" in answer["Access-Control-Expose-Headers"]
        assert "Access-Control-Allow-Credentials" not in answer


async def test_client_may_leave_out_what_it_accepts(host: Host):
    await host.connect()
    headers = {"Authorization": f"Bearer {host.token}"}
    body = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    for accepts, status in ((None, 200), ("", 200), ("text/event-stream", 200), ("*/*", 200), ("text/html", 406)):
        accept = {} if accepts is None else {"Accept": accepts}
        answer = await host.http.post("/mcp", body, content_type="application/json", headers=headers | accept)
        assert answer.status_code == status, accepts
