"""The official inspector of MCP, in Chromium: it signs in by itself, calls tools, reads, and shows a card as an app.

For a call that waits, it leads to our page, where the person approves or denies.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import guide
import pytest
from conftest import MANUAL
from pages import Browser, Page, expect
from servers import LiveProject, free_port, project_environment
from test_mcp_conformance import inspector  # noqa: F401
from test_mcp_sign_in import read_until, sign_in, site  # noqa: F401

pytestmark = [pytest.mark.clients, pytest.mark.nightly]

EXAMPLE = (MANUAL / "views.md").read_text().partition("\n## Buttons")[0]


CARD = dict(guide.BLOCK.findall(EXAMPLE))


@pytest.fixture(scope="module")
def shop(site: LiveProject) -> LiveProject:  # noqa: F811
    """The site, with the card of the manual."""
    (site.path / "assistant/templates/assistant/task_card.html").write_text(CARD["html"])
    with (site.path / "assistant/tools.py").open("a") as tools:
        tools.write(f"\n\n{CARD['python']}")
    site.stop()
    site.start()
    return site


@contextmanager
def running(command: list[str | Path]) -> Iterator[str]:
    """Run the inspector until the block ends; yields its address, with its key."""
    ports = {"CLIENT_PORT": str(free_port()), "MCP_SANDBOX_PORT": str(free_port())}
    environment = project_environment(MCP_INSPECTOR_SECRET_STORE="memory", MCP_AUTO_OPEN_ENABLED="false", **ports)
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        try:
            yield "http://127" + read_until(process, "http://127")
        finally:
            process.terminate()
            process.communicate()


def test_the_inspector_signs_in_asks_and_shows_a_card(
    inspector: list[str | Path],  # noqa: F811
    shop: LiveProject,
    browser: Browser,
    tmp_path: Path,
):
    servers = {"ours": {"type": "streamable-http", "url": f"{shop.url}/mcp"}}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": servers}))
    # Not by new_page: what the inspector's own page logs is no error of ours.
    command = [*inspector, "--web", "--config", tmp_path / "servers.json"]
    with running(command) as address, closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(address)
        page.get_by_role("switch").locator("xpath=..").click()
        sign_in(page, shop)
        page.get_by_role("button", name="Allow").click()
        expect(page.get_by_text("Connected", exact=True)).to_be_visible()
        page.get_by_text("Tools", exact=True).first.click()
        page.get_by_role("button", name="add_task").click()
        page.get_by_role("textbox", name="title").fill("Call the landlord")
        page.get_by_role("button", name="Execute Tool").click()
        expect(page.get_by_text("Call the landlord").last).to_be_visible()
        decide(page, "Approve")
        expect(page.get_by_text("Deleted 0 finished tasks.")).to_be_visible()
        decide(page, "Deny")
        expect(page.get_by_text("The user denied this. Nothing was done.")).to_be_visible()
        page.get_by_text("Prompts", exact=True).first.click()
        page.get_by_text("Plan my day", exact=True).click()
        expect(page.get_by_text("Look at my open tasks").last).to_be_visible()
        page.get_by_text("Resources", exact=True).first.click()
        page.get_by_text("Open tasks", exact=True).click()
        expect(page.get_by_role("listitem").get_by_text("Call the landlord").first).to_be_visible()
        page.get_by_text("Apps", exact=True).first.click()
        page.get_by_role("button", name="Show one of the user's tasks").click()
        page.get_by_role("textbox", name="task_id").fill(newest_task(shop))
        page.get_by_role("button", name="Open App").click()
        card = page.frame_locator("iframe").frame_locator("iframe")
        expect(card.get_by_role("heading")).to_have_text("Call the landlord")
        card.get_by_role("button", name="Complete it").click()
        expect(card.get_by_role("status")).to_have_text("Done: Call the landlord")


def decide(page: Page, decision: str) -> None:
    """Call a tool that waits, and decide on the page to which the inspector leads."""
    page.get_by_role("button", name="list_tasks").click()  # The form comes back with another tool.
    page.get_by_role("button", name="delete_finished_tasks").click()
    page.get_by_role("button", name="Execute Tool").click()
    with page.context.expect_page() as opened:
        page.get_by_role("button", name="Open in Browser").click()
    opened.value.get_by_role("button", name=decision).click()
    expect(opened.value.get_by_role("status")).to_be_visible()
    opened.value.close()
    page.get_by_role("button", name="I've completed it").click()


def newest_task(live: LiveProject) -> str:
    command = "from assistant.models import Task; print(Task.objects.latest('pk').pk)"
    return live.manage("shell", "-c", command).split()[-1]
