"""The official Python client signs in by itself: discovery, the consent of a user, PKCE, refreshing, more scopes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

pytest.importorskip("oauth2_provider")

import httpx2
from django.core.handlers.asgi import ASGIHandler
from mcp import Client as McpClient
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata
from oauth2_provider.models import AccessToken, Application

from tests.calling import text_of
from tests.hosting import add_client, open_doors
from tests.serving import serving

CALLBACK = "http://127.0.0.1:9/callback"  # Nothing listens: the browser of the test reads the address
DOCUMENT = "https://editor.example/client.json"


class Storage:
    """Where the client keeps what it has got."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


class Person:
    """A user who signs in at the site and agrees; `allows_changes` has an answer for each time."""

    def __init__(self, *allows_changes: bool) -> None:
        self.allows_changes = list(allows_changes)
        self.landed = ""

    async def visit(self, address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as browser:
            page = await browser.get(address)
            credentials = {"username": "ada", "password": "lovelace-1815"}
            page = await browser.post(str(page.url), data=credentials | csrf(page))
            form = {"decision": "allow", **csrf(page)}
            if self.allows_changes.pop(0):
                form["scope"] = "tools:write"
            answer = await browser.post(str(page.url), data=form, follow_redirects=False)
            self.landed = answer.headers["Location"]

    async def come_back(self) -> AuthorizationCodeResult:
        assert self.landed.startswith(CALLBACK)
        return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(self.landed).query)))


def csrf(page: Any) -> dict[str, str]:
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
    assert found, page.text
    return {"csrfmiddlewaretoken": found[1]}


@pytest.fixture(params=["agent/mcp/", "mcp"])
async def address(request: Any, settings: Any, user: Any) -> AsyncIterator[str]:
    open_doors(settings, REGISTRATION=True)
    async with serving(ASGIHandler(), grace_seconds=10) as url:
        yield f"{url}/{request.param}"


@asynccontextmanager
async def signed_in(address: str, sign_in: OAuthClientProvider) -> AsyncIterator[McpClient]:
    async with (
        httpx2.AsyncClient(auth=sign_in, timeout=60) as http,
        McpClient(streamable_http_client(address, http_client=http)) as client,
    ):
        yield client


def sign_in_of(person: Person, address: str, **options: Any) -> OAuthClientProvider:
    metadata = OAuthClientMetadata(client_name="A client", redirect_uris=[CALLBACK])  # type: ignore[list-item]
    storage: Any = options.pop("storage", None) or Storage()
    return OAuthClientProvider(address, metadata, storage, person.visit, person.come_back, **options)


async def test_client_registers_connects_refreshes_and_calls(address: str):
    person, storage = Person(True), Storage()
    sign_in = sign_in_of(person, address, storage=storage)
    async with signed_in(address, sign_in) as client:
        assert text_of(await client.call_tool("whoami", {})) == "ada"
        sign_in.context.token_expiry_time = 1  # The client takes its token for one that has expired
        assert text_of(await client.call_tool("echo", {"text": "hi"})) == "hi"
    assert person.allows_changes == [], "the user was asked once"
    assert await AccessToken.objects.filter(source_refresh_token__isnull=False).acount() == 1
    # The next process begins with what was kept.
    async with signed_in(address, sign_in_of(person, address, storage=storage)) as client:
        assert text_of(await client.call_tool("whoami", {})) == "ada"
    assert await Application.objects.acount() == 1


async def test_client_with_a_document_asks_for_more_when_it_needs_it(address: str):
    await add_client(DOCUMENT, "http://127.0.0.1/callback", registration_source="cimd")
    person = Person(False, True)
    sign_in = sign_in_of(person, address, client_metadata_url=DOCUMENT)
    async with signed_in(address, sign_in) as client:
        assert text_of(await client.call_tool("echo", {"text": "hi"})) == "hi"
        assert person.allows_changes == [], "the user was asked again for the call that changes something"
    assert await Application.objects.acount() == 1
