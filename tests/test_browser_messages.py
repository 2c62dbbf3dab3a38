"""What can be done with a message, and what the page says of a run that failed or of a network that is away.

More of it is in tests/element/messages.test.mjs.
"""

import re

import pytest
from page_events import begun_text
from pages import Page, expect, finished, hear, message_box, open_stream, origin, say, stored, stored_texts

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


def test_feedback_is_kept(scripted):
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


# --- Failures


def test_a_model_that_hangs_is_told_of_after_some_seconds(open_page, site):
    page = open_page(None)
    page.clock.install()
    page.goto(site.url)
    push = open_stream(page)
    expect(page.locator(".working")).to_be_visible()
    expect(page.locator(".working")).to_have_text("")
    page.clock.fast_forward(11_000)
    expect(page.locator(".working")).to_have_text("The model has not answered yet…")
    push(*begun_text("Here I am."))
    page.clock.run_for(1000)
    expect(page.locator(".working")).to_be_hidden()


def test_an_error_stays_with_its_turn_and_is_tried_again_in_its_place(scripted: Page):
    say(scripted, "fail, and be tried anew")
    scripted.context.grant_permissions(["clipboard-read", "clipboard-write"])
    failure = scripted.locator(".failure:visible")
    expect(failure).not_to_contain_text("secret detail")
    scripted.get_by_role("button", name="Copy the run's ID").click()
    expect(failure.locator(".icon-check")).to_be_visible()
    assert re.fullmatch("[0-9a-f]{8}", scripted.evaluate("navigator.clipboard.readText()"))
    scripted.reload()
    expect(failure).to_contain_text("The run failed on the server.")
    failure.get_by_role("button", name="Try again").click()
    finished(scripted)
    expect(failure).to_have_count(0)
    expect(scripted.locator(".user")).to_have_count(1)
    expect(scripted.locator(".assistant")).to_contain_text("end.")


def test_what_is_written_without_a_network_is_kept_in_its_order_and_sent_when_it_is_back(open_page, site):
    """On a fresh page: what tells of it has come before it was needed."""
    page = open_page(None)
    with page.expect_response("**/queued*.js"), page.expect_response("**/turn-notes*.js"):
        page.goto(site.url)
    page.wait_for_load_state("networkidle")
    page.context.set_offline(True)
    say(page, "list tasks")
    failure = page.get_by_role("alert")
    expect(failure).to_contain_text("Your message is kept here, and is sent when the connection is back.")
    expect(failure.locator(".icon")).to_be_visible()
    expect(failure.get_by_role("button", name="Try again")).to_be_visible()
    say(page, "and then this")
    expect(page.locator(".queued")).to_contain_text("and then this")
    say(page, "a third one")
    expect(page.locator(".queued [role=status]")).to_contain_text("One message is waiting already")
    expect(message_box(page)).to_have_value("a third one")
    page.context.set_offline(False)
    expect(page.locator(".queued")).to_be_hidden()
    finished(page)
    assert stored_texts(page, "user") == ["list tasks", "and then this"]


def test_a_fresh_page_without_a_network_says_so_and_goes_on_when_it_is_back(chat):
    """What shows failures is not loaded then: no page has needed it."""
    chat.route("**/turn-notes*.js*", lambda route: route.abort())
    chat.wait_for_load_state("networkidle")
    chat.context.set_offline(True)
    say(chat, "list tasks")
    failure = chat.locator(".failure")
    expect(failure).to_contain_text("The connection to the server was lost.")
    expect(failure.get_by_role("button", name="Try again")).to_be_visible()
    chat.context.set_offline(False)
    finished(chat)
    expect(failure).to_be_hidden()
    expect(chat.locator(".assistant").last).to_be_visible()
