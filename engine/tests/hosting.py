"""A host of other people, such as Claude or an editor, that a user connects to the MCP endpoint."""

import base64
import hashlib
import json
import re
import secrets
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import httpx2
from asgiref.sync import sync_to_async
from django.contrib.auth import get_user_model
from django.test import AsyncClient
from django.urls import include, path
from django.utils import timezone
from oauth2_provider.models import (
    get_access_token_model,
    get_application_model,
    get_grant_model,
    get_refresh_token_model,
)

from agui import get_urls
from agui.contrib.oauth import provider
from agui.contrib.oauth.models import TokenFamily
from tests import urls
from tests.conftest import query_of
from tests.mounting import serve_urls

SITE = "http://testserver"
RESOURCE = f"{SITE}/agent/mcp/"
CLAUDE = "https://claude.ai/oauth/mcp-oauth-client-metadata"
CALLBACK = "https://claude.ai/api/mcp/auth_callback"


def open_doors(settings: Any, agents: int = 2, **oauth: Any) -> None:
    """Serve agents to MCP clients and let people sign in, as after the steps of connect-hosts.md."""
    settings.AGUI = {**settings.AGUI, "MCP": {"ENDPOINT": True}, "OAUTH": oauth}
    settings.OAUTH2_PROVIDER = provider.merged({})
    second = get_urls(urls.open_view, "second/", namespace="second") if agents > 1 else []
    routes = [
        *get_urls(urls.view),
        *second,
        path("accounts/", include("django.contrib.auth.urls")),
        path("", include("agui.contrib.oauth.urls")),
    ]
    serve_urls(settings, routes)


def known_client(client_id: str = CLAUDE, *redirect_uris: str, **fields: Any) -> Any:
    """A client whose metadata document was read before."""
    model = get_application_model()
    values = {
        "name": "Claude",
        "redirect_uris": " ".join(redirect_uris or (CALLBACK,)),
        "client_type": model.CLIENT_PUBLIC,
        "authorization_grant_type": model.GRANT_AUTHORIZATION_CODE,
        **fields,
    }
    return model.objects.create(client_id=client_id, **values)


add_client = sync_to_async(known_client)


class Host:
    """One host, and the browser of the user who connects it."""

    def __init__(self, user: Any, client_id: str = CLAUDE, redirect_uri: str = CALLBACK) -> None:
        self.user = user
        self.verifier = secrets.token_urlsafe(48)
        digest = hashlib.sha256(self.verifier.encode()).digest()
        self.asks = {
            "response_type": "code",
            "client_id": client_id,
            "redirect_uri": redirect_uri,
            "scope": "tools:read tools:write",
            "state": "state-of-the-host",
            "code_challenge": base64.urlsafe_b64encode(digest).decode().rstrip("="),
            "code_challenge_method": "S256",
            "resource": RESOURCE,
        }
        self.browser = AsyncClient(enforce_csrf_checks=True)
        self.http = AsyncClient()
        self.token = ""

    def question(self, **changes: str | None) -> str:
        """The address at which the user is asked; None leaves a parameter out."""
        asks = {name: value for name, value in (self.asks | changes).items() if value is not None}
        return f"/oauth/authorize?{urlencode(asks)}"

    async def ask(self, **changes: str | None) -> Any:
        """What the user's browser gets at the consent page."""
        await self.browser.aforce_login(self.user)
        return await self.browser.get(self.question(**changes))

    async def decide(self, decision: str = "allow", write: bool = True, **changes: str | None) -> Any:
        """What the browser gets after a decision of the user, who has seen the page."""
        page = await self.ask(**changes)
        assert page.status_code == 200, page.content
        scopes = (changes.get("scope") or self.asks["scope"]).split()
        form = {"decision": decision, "scope": scopes if write else [], **csrf_of(page.content.decode())}
        return await self.browser.post(self.question(**changes), form)

    async def get_code(self, **changes: Any) -> str:
        answer = await self.decide(**changes)
        assert answer.status_code == 302, answer.content
        return answered(answer)["code"]

    async def post(self, path: str = "/oauth/token", **form: Any) -> Any:
        sent = {name: value for name, value in form.items() if value is not None}
        return await self.http.post(path, urlencode(sent), content_type="application/x-www-form-urlencoded")

    def form_of_code(self, code: str) -> dict[str, str]:
        """What the host sends to get tokens for a code."""
        own = {name: self.asks[name] for name in ("client_id", "redirect_uri", "resource")}
        return {"grant_type": "authorization_code", "code": code, "code_verifier": self.verifier, **own}

    def form_of_refresh(self, token: str) -> dict[str, str]:
        return {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.asks["client_id"]}

    async def redeem(self, code: str, **changes: str | None) -> Any:
        return await self.post(**(self.form_of_code(code) | changes))

    async def refresh(self, token: str, **changes: str | None) -> Any:
        return await self.post(**(self.form_of_refresh(token) | changes))

    async def connect(self, **changes: Any) -> dict[str, Any]:
        """Go the whole way; returns the answer with the tokens."""
        response = await self.redeem(await self.get_code(**changes))
        assert response.status_code == 200, response.content
        tokens: dict[str, Any] = response.json()
        self.token = tokens["access_token"]
        return tokens

    async def send(self, method: str, path: str = "/agent/mcp/", token: str | None = None, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self.send_body(json.dumps(body), path, token)

    async def send_body(self, body: str, path: str = "/agent/mcp/", token: str | None = None) -> Any:
        headers = {"Accept": "application/json, text/event-stream"}
        if token := self.token if token is None else token:
            headers["Authorization"] = f"Bearer {token}"
        return await self.http.post(path, body, content_type="application/json", headers=headers)

    async def call(self, name: str, arguments: Any = None, **where: Any) -> Any:
        return await self.send("tools/call", name=name, arguments=arguments or {}, **where)


class Visitor:
    """A user who signs in at a site on a socket and agrees; `allows_changes` has an answer for each time."""

    def __init__(self, *allows_changes: bool) -> None:
        self.allows_changes = list(allows_changes)
        self.landed = ""

    async def visit(self, address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            page = await browser.get(address)
            credentials = {"username": "ada", "password": "lovelace-1815"}
            page = await browser.post(str(page.url), data=credentials | csrf_of(page.text))
            form = {"decision": "allow", **csrf_of(page.text)}
            if self.allows_changes.pop(0):
                form["scope"] = "tools:write"
            answer = await browser.post(str(page.url), data=form, follow_redirects=False)
            self.landed = answer.headers["Location"]


def csrf_of(page: str) -> dict[str, str]:
    """The token of a page's form."""
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page)
    assert found, page
    return {"csrfmiddlewaretoken": found[1]}


def answered(response: Any) -> dict[str, str]:
    """What a redirect tells the host."""
    return query_of(response["Location"])


def error_of(response: Any) -> str:
    """The error of a request for tokens."""
    assert response.status_code in (400, 401), response.content
    return str(json.loads(response.content)["error"])


def text_of(response: Any) -> str:
    """The text that a tool has returned."""
    assert response.status_code == 200, response.content
    result = response.json()["result"]
    assert not result.get("isError"), result
    return str(result["content"][0]["text"])


def leave_old_rows() -> None:
    """Leave what there is of connections that ended long ago."""
    user = get_user_model().objects.create(username="was connected")
    client, old = known_client(), timezone.now() - timedelta(days=99)
    known_client("https://unused.example/client.json", registration_source="dcr")
    get_application_model().objects.update(updated=old)
    own = {"user": user, "application": client, "resource": [RESOURCE]}
    get_grant_model().objects.create(code="old", expires=old, **own)
    access = get_access_token_model().objects.create(token="old", expires=old, **own)
    get_refresh_token_model().objects.create(token="old", access_token=access, **own)
    get_refresh_token_model().objects.create(token="older", revoked=old, **own)
    TokenFamily.objects.create(pk=uuid4(), held_at=old)
