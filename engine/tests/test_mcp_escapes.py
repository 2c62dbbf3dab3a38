"""What the apps of other MCP servers try at our server, which refuses it; each succeeds once its check is taken out."""

import re
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("fastmcp")

from agui.contrib.mcp import app_documents, app_gate, app_policy, app_views, toolset
from tests.app_server import HTML
from tests.test_mcp_apps import APPS, Site, directives, no_connection_outlives_its_test, site

__all__ = ["no_connection_outlives_its_test", "site"]

pytestmark = pytest.mark.django_db(transaction=True)

Attempt = Callable[[Site], Awaitable[bool]]
TakeOut = Callable[[pytest.MonkeyPatch], object]
EVIL = "https://evil.example"


async def call_a_tool_of_the_model(site: Site) -> bool:
    await site.call("secrets")
    return site.shop.done == ["secrets"]


async def call_a_tool_that_waits_for_the_user(site: Site) -> bool:
    await site.call("cancel", number=7)
    return site.shop.done == ["cancel 7"]


async def call_by_a_token(site: Site) -> bool:
    body = {"server": "shop", "method": "tools/call", "params": {"name": "refresh"}}
    await site.client.http.post(APPS, body, content_type="application/json")
    return site.shop.done == ["refresh"]


async def read_a_file(site: Site) -> bool:
    return "result" in await site.ask("resources/read", {"uri": "file:///etc/shop.conf"})


async def show_a_document_that_no_tool_names(site: Site) -> bool:
    return (await site.frame(uri="ui://shop/data.json")).status_code == 200


async def show_more_than_a_page_can_bear(site: Site) -> bool:
    return (await site.frame()).status_code == 200


async def leave_the_inner_frame(site: Site) -> bool:
    return "<script>top.x = 1" in (await site.frame()).content.decode()


async def policy_of(site: Site) -> dict[str, str]:
    return directives((await site.frame())["Content-Security-Policy"])


async def declare_all_hosts(site: Site) -> bool:
    return "*" in (await policy_of(site))["connect-src"]


async def declare_another_host(site: Site) -> bool:
    return EVIL in (await policy_of(site))["connect-src"]


async def declare_a_directive(site: Site) -> bool:
    return "script-src-elem" in await policy_of(site)


def replace(where: Any, name: str, value: Any) -> TakeOut:
    return lambda monkeypatch: monkeypatch.setattr(where, name, value)


def all_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out our check, and that of pydantic-ai behind it."""
    monkeypatch.setattr(toolset, "is_for", lambda tool, audience: True)
    monkeypatch.setattr("pydantic_ai.mcp._is_visible_to", lambda tool, audience: True)


async def yes(*_: Any) -> bool:
    return True


def all_origins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_policy, "_covers", lambda own, origin: True)


def all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    all_origins(monkeypatch)
    monkeypatch.setattr(app_policy, "ORIGIN", re.compile(".*"))


def name_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app_gate, "app_uri", lambda tool: "ui://shop/data.json")
    monkeypatch.setattr(app_documents, "MIME_TYPE", "application/json")


# An attempt, and what takes out the check, or the two checks, that hold it.
ATTEMPTS: dict[str, tuple[Attempt, TakeOut]] = {
    "calls-a-tool-of-the-model": (call_a_tool_of_the_model, all_tools),
    "calls-a-tool-that-waits": (
        call_a_tool_that_waits_for_the_user,
        replace(toolset, "waits_for_approval", lambda name, tool: False),
    ),
    "calls-by-a-token": (call_by_a_token, replace(app_views, "is_person", yes)),
    "reads-a-file": (read_a_file, replace(app_gate, "SCHEME", "")),
    "shows-what-no-tool-names": (show_a_document_that_no_tool_names, name_all),
    "shows-too-much": (show_more_than_a_page_can_bear, replace(app_documents, "MAX_APP_BYTES", 10**9)),
    "leaves-the-inner-frame": (leave_the_inner_frame, replace(app_documents, "escape", lambda html: html)),
    "declares-all-hosts": (declare_all_hosts, all_texts),
    "declares-another-host": (declare_another_host, all_origins),
    "declares-a-directive": (declare_a_directive, all_texts),
}
HTMLS = {"shows-too-much": HTML + " " * 6_000_000, "leaves-the-inner-frame": '"></iframe><script>top.x = 1</script>'}
each_attempt = pytest.mark.parametrize("name", ATTEMPTS)


async def succeeds(site: Site, name: str) -> bool:
    attempt, _ = ATTEMPTS[name]
    site.shop.html = HTMLS.get(name, HTML)
    site.shop.csp = {"connectDomains": ["*", EVIL, "https://a.b; script-src-elem *"]}
    async with site.open(apps={"connectDomains": ["https://api.example.com"]}):
        return await attempt(site)


@each_attempt
async def test_attempt_fails(site: Site, name: str):
    assert not await succeeds(site, name)


@each_attempt
async def test_attempt_succeeds_without_its_check(site: Site, monkeypatch: Any, name: str):
    _, take_out = ATTEMPTS[name]
    take_out(monkeypatch)
    assert await succeeds(site, name)
