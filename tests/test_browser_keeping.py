"""What users keep of their conversations: pinned, archived, and saved as Markdown, in a real Chromium."""

from pathlib import Path

import pytest
from pages import Page, expect, hear, message_box, origin, thread_id

pytestmark = pytest.mark.browser


@pytest.fixture
def drawer(chat: Page):
    """The list of conversations, of which the newest says "second"."""
    for text in ("first", "second"):
        chat.get_by_role("button", name="New chat").first.click()
        hear(chat, text)
    chat.get_by_role("button", name="Conversations", exact=True).click()
    return chat.get_by_role("dialog", name="Conversations")


def more(drawer, title: str):
    row = drawer.locator("li", has=drawer.page.locator(".thread-title", has_text=title)).first
    row.hover()
    return row.get_by_role("button", name=f"More for “{title}”")


@pytest.mark.nightly
def test_conversation_is_pinned_by_keyboard(drawer):
    page = drawer.page
    more(drawer, "first").focus()
    page.keyboard.press("Enter")
    pin, rename = (page.get_by_role("menuitem", name=name, exact=True) for name in ("Pin", "Rename"))
    expect(rename).to_be_focused()
    page.keyboard.press("ArrowDown")
    expect(pin).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(rename).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menu")).to_be_hidden()
    expect(more(drawer, "first")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(drawer.locator("section").first.get_by_role("heading")).to_have_text("Pinned")
    expect(drawer.locator("section").first.locator("li")).to_have_count(1)
    expect(drawer.locator("li").first).to_contain_text("first")
    page.reload()  # The list stays beside the chat.
    expect(drawer.locator("li").first).to_contain_text("first")
    more(drawer, "first").click()
    page.get_by_role("menuitem", name="Unpin").click()
    expect(drawer.get_by_role("heading", name="Pinned")).to_have_count(0)


@pytest.mark.nightly
def test_conversation_is_archived_and_comes_back(drawer):
    page = drawer.page
    more(drawer, "second").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(drawer.locator("li").first).to_contain_text("first")
    page.get_by_role("button", name="Undo").click()
    expect(drawer.locator("li").first).to_contain_text("second")
    more(drawer, "second").click()
    page.get_by_role("menuitem", name="Archive").click()
    expect(drawer.locator("li").first).to_contain_text("first")
    archive = drawer.get_by_role("button", name="Archived conversations")
    archive.click()
    expect(drawer.locator("li")).to_have_count(1)
    more(drawer, "second").click()
    page.get_by_role("menuitem", name="Restore from the archive").click()
    expect(drawer.get_by_text("Nothing is archived.")).to_be_visible()
    archive.click()
    expect(drawer.locator("li").first).to_contain_text("second")


@pytest.mark.nightly
def test_conversation_is_saved_as_markdown(drawer, tmp_path: Path):
    page = drawer.page
    page.request.patch(
        f"{origin(page)}/agent/threads/{thread_id(page)}/",
        data={"title": "../../a\\b: <img>.exe"},
        headers={
            "X-CSRFToken": {c["name"]: c["value"] for c in page.context.cookies()}["csrftoken"],
            "Referer": page.url,
        },
    ).dispose()
    page.reload()  # The list stays beside the chat.
    drawer.locator("li").first.hover()
    drawer.locator("li").first.get_by_role("button", name="More for").click()
    with page.expect_download() as started:
        page.get_by_role("menuitem", name="Save as Markdown").click()
    assert started.value.suggested_filename == "a b img .exe.md"
    started.value.save_as(tmp_path / "saved.md")
    text = (tmp_path / "saved.md").read_text()
    assert text.startswith("# ../../a\\\\b: \\<img\\>.exe\n\n## You\n\n> second\n\n## Assistant\n\n")
    page.keyboard.press("Escape")
    expect(message_box(page)).to_be_visible()
