"""What can be done with a message that is there, in a real Chromium.

More of it is in tests/element/messages.test.mjs.
"""

import pytest
from pages import (
    Page,
    expect,
    finished,
    hear,
    message_box,
    origin,
    stored,
    thread_id,
)

pytestmark = pytest.mark.browser


def bar(page: Page):
    """The toolbar of the last answer."""
    return page.get_by_role("toolbar", name="This answer").last


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True).last


def ask(page: Page, text: str) -> None:
    hear(page, text)
    expect(bar(page)).to_be_visible()


def test_a_message_is_edited_by_keyboard_alone(scripted):
    ask(scripted, "hello")
    expect(button(scripted, "Edit the message")).to_be_attached()
    keys = scripted.keyboard
    keys.press("Shift+Tab")  # past the files
    while scripted.evaluate(FOCUSED) != "Copy the answer":
        keys.press("Shift+Tab")
    for key, name in [("ArrowRight", "Good answer"), ("End", "Read aloud"), ("ArrowRight", "Copy the answer")]:
        keys.press(key)
        assert scripted.evaluate(FOCUSED) == name
    keys.press("Shift+Tab")
    assert scripted.evaluate(FOCUSED) == "Edit the message"
    keys.press("Enter")
    box = scripted.get_by_role("textbox", name="Edit the message")
    expect(box).to_be_focused()
    keys.type(" there")
    keys.press("Escape")
    expect(button(scripted, "Edit the message")).to_be_focused()
    expect(scripted.locator(".bubble")).to_have_text(["hello"])
    keys.press("Enter")
    expect(box).to_be_focused()
    box.press("End")
    keys.press("Shift+Enter")
    keys.type("there")
    keys.press("Enter")
    expect(message_box(scripted)).to_be_focused()
    finished(scripted)
    expect(scripted.locator(".bubble")).to_have_text(["hello\nthere"], use_inner_text=True)


# What of the page has the focus, by its name
FOCUSED = """() => {
    let one = document.activeElement;
    while (one.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    return one.ariaLabel ?? one.textContent;
}"""


def judged(page: Page) -> list:
    return list(stored(page)["feedback"].values())


def test_feedback_is_kept_and_seen_in_the_admin(scripted):
    ask(scripted, "judge me")
    good, bad = button(scripted, "Good answer"), button(scripted, "Bad answer")
    with scripted.expect_response("**/feedback/"):
        good.dblclick()  # judges once
    assert judged(scripted) == [{"value": 1, "comment": ""}]
    bad.click()
    box = scripted.get_by_role("textbox", name="What was wrong with it? (optional)")
    box.fill("Not a word of it is <b>true</b>")
    box.press("Enter")
    expect(box).to_have_count(0)
    scripted.reload()
    expect(bad).to_have_attribute("aria-pressed", "true")
    assert judged(scripted) == [{"value": -1, "comment": "Not a word of it is <b>true</b>"}]
    thread = thread_id(scripted)
    scripted.goto(f"{origin(scripted)}/admin/agui_feedback/feedback/?q={thread}")
    row = scripted.locator("#result_list tbody tr")
    expect(row).to_contain_text("Not a word of it is <b>true</b>")
    row.get_by_role("link", name="judge me").click()
    expect(scripted.get_by_text(thread)).to_be_visible()


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["agui/run/", "agui_spending/spending/", "agui_dashboard/runspan/?range=7d"])
def test_what_runs_cost_fits_a_small_laptop_in_the_admin(scripted, name):
    scripted.set_viewport_size({"width": 1280, "height": 800})
    ask(scripted, "judge me")
    expect(button(scripted, "Good answer")).to_be_visible()
    scripted.goto(f"{origin(scripted)}/admin/{name}")
    expect(scripted.locator("#result_list tbody tr, .agui-plot svg").first).to_be_visible()
    wider = scripted.locator("html, .results").evaluate_all("all => all.map(e => e.scrollWidth - e.clientWidth)")
    assert max(wider) <= 0
