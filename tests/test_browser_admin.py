"""The chat beside the pages of the admin, in a real Chromium, against the live generated project."""

import json

import pytest
from pages import Page, expect, hear, message_box, origin, runs_of

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture
def admin(chat: Page) -> Page:
    """The list of users, with the chat open beside it."""
    chat.set_viewport_size({"width": 1280, "height": 800})
    chat.goto(f"{origin(chat)}/admin/users/user/")
    chat.get_by_role("button", name="Open the chat").click()
    expect(message_box(chat)).to_be_visible()
    return chat


def context_of_a_run(page: Page) -> list[str]:
    runs = runs_of(page)
    hear(page, "hello")
    return [part["value"] for part in runs[0]["context"]]


def test_it_knows_the_page_and_the_rows_that_are_selected(admin):
    box = admin.locator("input.action-select").first
    box.check()
    shown, selected = map(json.loads, context_of_a_run(admin))
    assert shown["model"] == "users.User"
    assert selected == [box.get_attribute("value")]
    admin.locator("#result_list tbody th a").first.click()
    expect(message_box(admin)).to_be_visible()  # The chat stays open from page to page.
    [shown] = map(json.loads, context_of_a_run(admin))
    assert shown["primary key"] == selected[0]


def test_it_leaves_the_page_its_place_and_has_its_theme(admin):
    wider = admin.locator("html").evaluate("e => e.scrollWidth - e.clientWidth")
    assert wider <= 0
    panel, page = admin.locator("agui-chat [part~=frame]").bounding_box(), admin.locator("#container").bounding_box()
    assert panel["x"] >= page["x"] + page["width"] - 1
    admin.emulate_media(color_scheme="dark")
    themes = set()
    for _ in range(3):
        admin.locator(".theme-toggle").first.click()
        theme = admin.evaluate("document.documentElement.dataset.theme")
        scheme = admin.locator("agui-chat").evaluate("e => getComputedStyle(e).colorScheme")
        assert scheme == ("light" if theme == "light" else "dark")
        themes.add(theme)
    assert themes == {"auto", "light", "dark"}
