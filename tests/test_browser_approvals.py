"""Calls of other apps that wait for approval, in a real Chromium: from the chat page to the decision."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pages import Page, expect, message_box
from servers import LiveProject, serve

pytestmark = pytest.mark.browser

PHONE = {"viewport": {"width": 380, "height": 700}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def with_mcp(site: LiveProject) -> Iterator[LiveProject]:
    with serve(site.path, MCP_ENDPOINT="1") as live:
        yield live


def call(live: LiveProject, name: str, **arguments: str) -> Any:
    """Call a tool as a client that can't ask its user."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    headers = {"Accept": "application/json, text/event-stream"}
    status, text = live.client(live.token).fetch("POST", "/agent/mcp/", body, headers)
    assert status == 200
    return json.loads(text)["result"]


def test_a_person_decides_on_a_phone_without_scripts(
    new_page: Callable[..., Page], with_mcp: LiveProject, signed_in: dict
):
    waits = call(with_mcp, "delete_finished_tasks")["structuredContent"]["approval"]
    chat = new_page(with_mcp.url, storage_state=signed_in, **PHONE)
    line = chat.get_by_role("link", name="1 call of another app waits for your approval.")
    expect(line).to_be_visible()
    page = new_page(
        with_mcp.url + line.get_attribute("href"), storage_state=signed_in, java_script_enabled=False, **PHONE
    )
    page.get_by_role("link", name="Delete finished tasks").click()
    expect(page).to_have_url(waits["link"])
    expect(page.get_by_text("Delete all your finished tasks?")).to_be_visible()
    # Enter in a field decides nothing.
    page.get_by_label("Reason").press("Enter")
    expect(page.get_by_role("button", name="Deny")).to_be_visible()
    box = page.locator("html").bounding_box()
    assert box
    assert box["width"] <= 380
    page.get_by_role("button", name="Approve").click()
    expect(page.get_by_role("status")).to_have_text("done")
    assert "deleted" in call(with_mcp, "approval_status", id=waits["id"])["content"][0]["text"].lower()
    chat.reload()
    expect(message_box(chat)).to_be_visible()
    expect(line).to_be_hidden()
