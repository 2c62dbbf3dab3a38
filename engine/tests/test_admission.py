"""A body is refused by its length, by missing credentials, and while it comes. The template tests both servers, too."""

import json
from collections.abc import Mapping
from typing import Any
from unittest.mock import AsyncMock

import pytest
from django.core.handlers.asgi import ASGIHandler

from agui import conf
from agui.errors import NotFound
from agui.http.admission import FREE_BYTES, limit_bodies
from tests.asking import scope_of

PIECE = b" " * 16384
HUGE = 300 * 1024 * 1024


class Exchange:
    """One request to an ASGI application, with a body that comes in pieces for as long as it is read."""

    def __init__(self, path: str, length: int = HUGE, *, announced: bool = False, **headers: Any) -> None:
        named = {"content-type": "application/json", **{k.replace("_", "-"): v for k, v in headers.items()}}
        if announced:
            named["content-length"] = str(length)
        self.scope = scope_of("POST", path, [(name.encode(), value.encode()) for name, value in named.items()])
        self.length = length
        self.read = 0
        self.sent: list[Mapping[str, Any]] = []

    async def receive(self) -> Mapping[str, Any]:
        self.read += len(PIECE)
        return {"type": "http.request", "body": PIECE, "more_body": self.read < self.length}

    async def send(self, message: Mapping[str, Any]) -> None:
        self.sent.append(message)

    async def status(self, application: Any = None) -> int:
        await (application or limit_bodies(ASGIHandler()))(self.scope, self.receive, self.send)
        return int(self.sent[0]["status"])

    @property
    def error(self) -> str:
        body = b"".join(message.get("body", b"") for message in self.sent[1:])
        return str(json.loads(body)["error"])


@pytest.mark.parametrize("path", ["/agent/", "/agent", "/agent/attachments/", "/agent/threads/a%2Fb/feedback/"])
async def test_nobody_is_refused_before_a_body_is_read(path: str):
    announced = Exchange(path, announced=True)
    assert (await announced.status(), announced.read, announced.error) == (401, 0, "unauthorized")
    coming = Exchange(path)
    assert (await coming.status(), coming.error) == (401, "unauthorized")
    assert coming.read <= FREE_BYTES + len(PIECE)


@pytest.mark.parametrize("header", ["authorization", "cookie", "x_api_key", "x_remote_user"])
async def test_claim_is_worth_no_more_than_the_largest_body(settings, header: str):
    settings.AGUI = {**settings.AGUI, "MAX_BODY_BYTES": 1_000_000}
    claim: dict[str, Any] = {header: "nonsense"}
    announced = Exchange("/agent/", announced=True, **claim)
    assert (await announced.status(), announced.read, announced.error) == (413, 0, "too_large")
    coming = Exchange("/agent/", **claim)
    assert await coming.status() == 413
    assert coming.read <= 1_000_000 + len(PIECE)


async def test_each_route_has_its_own_limit_also_below_another_path(settings):
    settings.AGUI = {**settings.AGUI, "ATTACHMENTS": {"MAX_BYTES": 500_000}}
    for path, limit in (("/agent/attachments/", 600_000), ("/agent/threads/t1/", 100_000)):
        exchange = Exchange(path, cookie="a=b")
        assert await exchange.status() == 413
        assert exchange.read <= limit
    assert conf.get().max_body_bytes > 600_000
    settings.FORCE_SCRIPT_NAME = "/below"
    exchange = Exchange("/below/agent/", announced=True)
    assert (await exchange.status(), exchange.read) == (401, 0)


async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
    """A view of the project, which reads the whole body."""
    message = await receive()
    while message.get("more_body"):
        message = await receive()
    if message["type"] == "http.request":
        await send({"type": "http.response.start", "status": NotFound.status, "headers": []})


@pytest.mark.parametrize("path", ["/elsewhere/", "/accounts/login/", "/", "/admin/", "/healthz", "/static/x.js"])
@pytest.mark.parametrize("announced", [True, False])
async def test_nobody_sends_a_large_body_anywhere(settings, path: str, announced: bool):
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000
    exchange = Exchange(path, announced=announced)
    assert (await exchange.status(limit_bodies(elsewhere)), exchange.error) == (413, "too_large")
    assert exchange.read <= 1_000_000 + len(PIECE)
    assert await Exchange(path, length=900_000).status(limit_bodies(elsewhere)) == 404


@pytest.mark.parametrize("header", ["authorization", "cookie", "x_api_key"])
async def test_a_user_uploads_to_the_projects_own_views(settings, header: str):
    claim: dict[str, Any] = {header: "nonsense"}
    exchange = Exchange("/elsewhere/", length=50_000_000, **claim)
    assert await exchange.status(limit_bodies(elsewhere)) == 404
    assert exchange.read >= 50_000_000
    settings.AGUI = {**settings.AGUI, "MAX_SITE_BODY_BYTES": 1_000_000}
    exchange = Exchange("/elsewhere/", **claim)
    assert await exchange.status(limit_bodies(elsewhere)) == 413
    assert exchange.read <= 1_000_000 + len(PIECE)
    # A project may have no limit.
    settings.AGUI = {**settings.AGUI, "MAX_SITE_BODY_BYTES": None}
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = None
    for claims in ({}, claim):
        exchange = Exchange("/elsewhere/", length=150_000_000, **claims)
        assert await exchange.status(limit_bodies(elsewhere)) == 404


async def test_what_is_no_request_passes():
    application, receive, send = AsyncMock(), AsyncMock(), AsyncMock()
    await limit_bodies(application)({"type": "lifespan"}, receive, send)
    application.assert_awaited_once_with({"type": "lifespan"}, receive, send)
