"""What can be done with a message that is there, and with one that waits."""

import re

import pytest
from page_events import FINISHED, chunk, custom
from pages import (
    Page,
    answers,
    expect,
    finished,
    hear,
    lasting,
    message_box,
    new_chat,
    open_stream,
    origin,
    say,
    stored,
    stored_texts,
    thread_id,
    without_queue,
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


def versions(page: Page) -> dict:
    [found] = stored(page)["branches"].values()
    return {version["text"]: version["current"] for version in found}


# --- Versions


def test_an_edited_message_and_another_answer_are_new_versions(scripted):
    ask(scripted, "first try")
    button(scripted, "Edit the message").click()
    box = scripted.get_by_role("textbox", name="Edit the message")
    expect(box).to_be_focused()
    expect(box).to_have_value("first try")
    box.fill("second try")
    box.press("Enter")
    finished(scripted)
    expect(scripted.locator(".bubble")).to_have_text(["second try"])
    expect(scripted.get_by_text("2 / 2")).to_be_visible()
    assert versions(scripted) == {"first try": False, "second try": True}
    button(scripted, "Previous version").click()
    expect(scripted.locator(".bubble")).to_have_text(["first try"])
    expect(scripted.get_by_text("1 / 2")).to_be_visible()
    expect(button(scripted, "Previous version")).to_be_focused()
    assert versions(scripted) == {"first try": True, "second try": False}
    scripted.reload()
    expect(scripted.locator(".bubble")).to_have_text(["first try"])
    expect(scripted.get_by_text("1 / 2")).to_be_visible()
    new_chat(scripted)
    ask(scripted, "hello")
    [before] = [m["id"] for m in stored(scripted)["messages"] if m["role"] == "assistant"]
    button(scripted, "Answer again").click()
    expect(scripted.get_by_text("2 / 2")).to_be_visible()
    [after] = [m["id"] for m in stored(scripted)["messages"] if m["role"] == "assistant"]
    assert after != before
    assert len(answers(scripted)) == 1


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


# --- Copies


def copied(page: Page) -> str:
    page.context.grant_permissions(["clipboard-read"])
    return page.evaluate("navigator.clipboard.readText()")


def test_an_answer_is_copied_whole_and_as_markdown_or_the_page_says_that_it_can_not(chat):
    ask(chat, 'add a task title="Buy milk" category=home')
    chat.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(); }")
    lasting(chat)
    button(chat, "Copy the answer").click()
    expect(bar(chat).get_by_role("status")).to_have_text("Copied")
    texts = [m["content"] for m in stored(chat)["messages"] if m["role"] == "assistant" and m.get("content")]
    assert copied(chat) == "\n\n".join(texts)
    expect(button(chat, "Copy the answer")).to_be_focused()
    chat.evaluate("() => { document.execCommand = () => false; }")
    button(chat, "Copy the answer").click()
    expect(bar(chat).get_by_role("status")).to_have_text("The browser does not let this page copy.")


# --- Feedback


def judged(page: Page) -> list:
    return list(stored(page)["feedback"].values())


def test_feedback_is_kept_or_taken_back_and_seen_in_the_admin(scripted):
    # It is taken back, and what is not saved is not shown.
    ask(scripted, "judge me")
    lasting(scripted)
    bad = button(scripted, "Bad answer")
    bad.click()
    scripted.get_by_role("textbox", name="What was wrong with it? (optional)").press("Escape")
    expect(bad).to_be_focused()
    expect(bad).to_have_attribute("aria-pressed", "true")
    with scripted.expect_response("**/feedback/"):
        bad.click()
    expect(bad).to_have_attribute("aria-pressed", "false")
    scripted.route("**/feedback/", lambda route: route.abort())
    button(scripted, "Good answer").click()
    expect(bar(scripted).get_by_role("status")).to_have_text("This could not be saved.")
    expect(button(scripted, "Good answer")).to_have_attribute("aria-pressed", "false")
    assert judged(scripted) == []
    scripted.unroute("**/feedback/")
    new_chat(scripted)
    ask(scripted, "judge me")
    good, bad = button(scripted, "Good answer"), button(scripted, "Bad answer")
    good.dblclick()  # judges once
    expect(bar(scripted).get_by_role("status")).to_have_text("Thank you.")
    assert judged(scripted) == [{"value": 1, "comment": ""}]
    bad.click()
    box = scripted.get_by_role("textbox", name="What was wrong with it? (optional)")
    expect(box).to_be_focused()
    box.fill("Not a word of it is <b>true</b>")
    box.press("Enter")
    expect(bar(scripted).get_by_role("status")).to_have_text("Thank you.")
    expect(bad).to_be_focused()
    expect(box).to_have_count(0)
    scripted.reload()
    expect(bad).to_have_attribute("aria-pressed", "true")
    expect(good).to_have_attribute("aria-pressed", "false")
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


# --- While a run is on


def test_nothing_is_offered_that_would_be_refused_or_that_the_server_lacks(scripted):
    ask(scripted, "hello")
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose").last).to_contain_text("word1")
    expect(scripted.get_by_role("button", name="Copy the answer")).to_have_count(1)
    for name in ("Edit the message", "Answer again"):
        expect(scripted.get_by_role("button", name=name)).to_have_count(0)
    button(scripted, "Stop").click()
    expect(scripted.get_by_text("Stopped.")).to_be_visible()
    expect(scripted.get_by_role("button", name="Edit the message")).to_have_count(2)
    # Where the server keeps no feedback none is asked for.
    new_chat(scripted)
    scripted.evaluate("document.querySelector('agui-chat').removeAttribute('data-feedback')")
    ask(scripted, "hello")
    expect(button(scripted, "Copy the answer")).to_be_visible()
    expect(scripted.get_by_role("button", name="Good answer")).to_have_count(0)


def test_a_message_that_waits_is_rewritten_or_removed(scripted, go_on):
    without_queue(scripted)
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word1")
    say(scripted, "and then this")
    waiting = scripted.get_by_role("group", name="Sent after this answer")
    expect(waiting.locator(".bubble")).to_have_text("and then this")
    message_box(scripted).fill("what I write now")
    button(scripted, "Edit the waiting message").click()
    expect(waiting).to_have_count(0)
    expect(message_box(scripted)).to_have_value("and then this\n\nwhat I write now")
    say(scripted, "or that")
    expect(waiting.locator(".bubble")).to_have_text("or that")
    button(scripted, "Remove the waiting message").click()
    expect(waiting).to_have_count(0)
    expect(message_box(scripted)).to_be_focused()
    say(scripted, "last")
    go_on()
    expect(scripted.locator(".messages .bubble")).to_have_text(["slow", "last"])
    finished(scripted)
    expect(waiting).to_have_count(0)


# --- What it took


def test_usage_is_shown_when_the_server_tells_it_and_a_failure_has_a_number_to_quote(scripted):
    say(scripted, "fail, and be quoted")
    scripted.context.grant_permissions(["clipboard-read", "clipboard-write"])
    expect(scripted.get_by_role("alert")).not_to_contain_text("secret detail")
    button(scripted, "Copy the run's number").click()
    expect(scripted.locator(".failure .icon-check")).to_be_visible()
    assert re.fullmatch("[0-9a-f]{8}", copied(scripted))
    button(scripted, "Try again").click()
    finished(scripted)
    assert answers(scripted) == ["word0 word1 word2 word3 end."]
    assert stored_texts(scripted, "user") == ["fail, and be quoted"]
    new_chat(scripted)
    usage = [{"inputTokens": 1200, "outputTokens": 30}, {"inputTokens": 34, "outputTokens": 5}]
    open_stream(scripted)(chunk("Hello."), FINISHED | {"usage": usage})
    expect(bar(scripted)).to_contain_text("1,234 tokens read, 35 written")
    told = {"inputTokens": 7, "outputTokens": 1, "cost": 0.00123, "contextTokens": 500, "contextWindow": 1000}
    open_stream(scripted)(chunk("Hello again.", "b"), custom("usage", {"messageId": "b", "usage": told}), FINISHED)
    expect(bar(scripted)).to_contain_text("7 tokens read, 1 written · $0.0012 · 50% of the context")
