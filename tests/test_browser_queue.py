"""Messages that users send while the agent works, in a real Chromium: rows above the input, and places in the log."""

import re

import pytest
from pages import PHONE, Page, expect, finished, message_box, say, stored_texts

pytestmark = pytest.mark.browser


@pytest.fixture
def page(scripted: Page) -> Page:
    return scripted


def begin(page: Page, step: str, shown: str | None = None) -> None:
    """Let the agent work until the test lets it go on: it tells what it has read."""
    say(page, f"queue {step}")
    expect(page.locator(".assistant").last).to_contain_text(f"Read: queue {step}." if shown is None else shown)


def write(page: Page, *texts: str, key: str = "Enter") -> None:
    for text in texts:
        before = rows(page).count()
        message_box(page).fill(text)
        message_box(page).press(key)
        expect(rows(page)).to_have_count(before + 1)
        expect(page.locator(".waiting-rows > .unsent")).to_have_count(0)


def rows(page: Page):
    return page.locator(".waiting-rows > li")


def row(page: Page, text: str):
    return rows(page).filter(has_text=text)


def grip(page: Page, text: str):
    return row(page, text).get_by_role("button", name="Move", exact=True)


def texts(page: Page):
    return page.locator(".waiting-text")


def bubbles(page: Page):
    return page.locator(".messages .bubble:visible")


def told(page: Page):
    return page.locator(".composer [role=status].visually-hidden").first


def button(place, name: str):
    return place.get_by_role("button", name=name)


def places(page: Page) -> list[str]:
    """What stands in the conversation, in its order."""
    return page.locator(".messages").evaluate(
        """list => [...list.querySelectorAll(".bubble, .in-run, .tool, .prose")]
            .filter((one) => one.checkVisibility()).map((one) => one.matches(".tool") ? "tool" : one.innerText)"""
    )


def without_call(shown: list[str]) -> list[str]:
    """The same without the call of the tool, which comes after the first words of the answer."""
    assert shown[2] in ("tool", "There are no tasks."), shown
    return [*shown[:2], *shown[3:]]


def test_messages_wait_and_begin_the_next_run_together(page, go_on):
    begin(page, "slow")
    message_box(page).fill("one")
    choice = page.get_by_role("group", name="When the agent reads it")
    expect(choice.get_by_role("button")).to_have_text(
        [re.compile("After this answer"), re.compile("At the next"), "Stop and send"]
    )
    message_box(page).press("Enter")
    expect(message_box(page)).to_have_value("")
    expect(choice).to_be_hidden()
    expect(told(page)).to_have_text(re.compile("Your message is waiting."))
    write(page, "two", "three")
    expect(page.get_by_role("group", name="Waiting messages").get_by_role("listitem")).to_have_count(3)
    button(row(page, "two"), "Remove").click()
    expect(texts(page)).to_have_text(["one", "three"])
    expect(button(row(page, "three"), "Remove")).to_be_focused()
    # Up to edit the last one, in its place.
    message_box(page).press("ArrowUp")
    field = rows(page).get_by_role("textbox", name="Edit")
    expect(field).to_have_value("three")
    field.fill("nothing of this")
    field.press("Escape")
    expect(texts(page)).to_have_text(["one", "three"])
    button(row(page, "three"), "Edit").click()
    field.fill("3")
    field.press("Enter")
    expect(texts(page)).to_have_text(["one", "3"])
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    page.reload()
    expect(texts(page)).to_have_text(["one", "3"])
    expect(page.locator(".assistant").last).to_contain_text("Read: queue slow.")
    go_on()
    expect(bubbles(page)).to_have_text(["queue slow", "one", "3"])
    expect(page.locator(".assistant .prose").last).to_have_text("Read: one + 3.")
    finished(page)
    expect(rows(page)).to_have_count(0)
    expect(page.get_by_role("toolbar", name="This answer")).to_have_count(2)
    assert stored_texts(page, "user") == ["queue slow", "one", "3"]


def test_agent_reads_a_message_between_two_steps_and_it_stays_there(page, go_on):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    begin(page, "work", "Looking.")
    write(page, "Only ten", key="Control+Enter")
    expect(row(page, "Only ten")).to_contain_text("At the next step")
    write(page, "And then")
    later = button(row(page, "And then"), "Let the agent read it at the next step")
    expect(later).to_have_attribute("aria-pressed", "false")
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        later.click()
    expect(later).to_have_attribute("aria-pressed", "true")
    go_on()
    order = ["queue work", "Looking.", "Only ten", "Read while it worked", "And then", "Read while it worked"]
    order += ["Read: Only ten + And then."]
    expect(page.locator(".assistant .prose").last).to_have_text("Read: Only ten + And then.")
    finished(page)
    # What draws the marks comes with the first of them, and the page's own view of the tool takes the card's place.
    expect(page.locator(".in-run")).to_have_count(2)
    assert without_call(places(page)) == order
    # This is one answer with one toolbar, which copies all of it.
    expect(page.get_by_role("toolbar", name="This answer")).to_have_count(1)
    button(page, "Copy the answer").click()
    expect(page.locator(".actions .icon-check")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Looking.\n\nRead: Only ten + And then."
    page.reload()
    expect(page.locator(".in-run")).to_have_count(2)
    expect(page.get_by_role("toolbar", name="This answer")).to_have_count(1)
    assert without_call(places(page)) == order
    # Another answer still answers what the agent has read.
    button(page, "Answer again").click()
    finished(page)
    expect(page.locator(".in-run")).to_have_count(2)
    assert places(page)[-3:] == order[-3:]
    assert stored_texts(page, "user") == ["queue work", "Only ten", "And then"]


def test_two_tabs_and_a_phone_see_one_queue(new_page, page, go_on, scripted_project, signed_in):
    begin(page, "slow")
    tab = page.context.new_page()
    tab.goto(page.url)
    phone = new_page(page.url, storage_state=signed_in, **PHONE)
    pages = (page, tab, phone)
    for other in (tab, phone):
        expect(other.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    write(page, "one", "two", "three")
    for other in (tab, phone):
        expect(texts(other)).to_have_text(["one", "two", "three"])
    # By keyboard.
    grip(tab, "three").focus()
    tab.keyboard.press("Alt+ArrowUp")
    expect(told(tab)).to_have_text(re.compile("Moved to place 2 of 3."))
    expect(grip(tab, "three")).to_be_focused()
    for other in pages:
        expect(texts(other)).to_have_text(["one", "three", "two"])
    # By pointer: the first row goes below the second one.
    start, target = grip(phone, "one").bounding_box(), row(phone, "three").bounding_box()
    phone.mouse.move(start["x"] + 5, start["y"] + start["height"] / 2)
    phone.mouse.down()
    phone.mouse.move(start["x"] + 5, target["y"] + target["height"] - 3, steps=4)
    phone.mouse.up()
    for other in pages:
        expect(texts(other)).to_have_text(["three", "one", "two"])
    button(row(phone, "one"), "Remove").click()
    button(row(page, "two"), "Edit").click()
    page.get_by_role("textbox", name="Edit").fill("2")
    button(page, "Save").click()
    for other in pages:
        expect(texts(other)).to_have_text(["three", "2"])
        assert other.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    go_on()
    for other in pages:
        expect(bubbles(other)).to_have_text(["queue slow", "three", "2"])
        expect(other.locator(".assistant .prose").last).to_have_text("Read: three + 2.")
        expect(rows(other)).to_have_count(0)
        finished(other)


@pytest.mark.parametrize("end", ["failed", "stopped", "interrupted"])
def test_messages_of_a_run_that_ends_badly_are_kept_and_offered(page, go_on, scripted_project, end):
    begin(page, "fail" if end == "failed" else "slow")
    write(page, "one")
    write(page, "two", key="Control+Enter")
    if end == "failed":
        go_on()
    elif end == "interrupted":
        scripted_project.kill()
        scripted_project.start()
    else:
        page.get_by_role("button", name="Stop", exact=True).click()
    held = page.locator(".waiting-head")
    expect(held).to_contain_text("This was not sent.")
    page.reload()
    expect(texts(page)).to_have_text(["one", "two"])
    expect(held).to_contain_text(end)
    # The choice of a step is for runs that are on.
    expect(button(row(page, "two"), "Let the agent read it")).to_have_count(0)
    button(held, "Send now").click()
    expect(page.locator(".assistant .prose").last).to_contain_text("one + two.")
    go_on()  # If the killed server had no answer yet, the model answers the first message, too.
    finished(page)
    expect(rows(page)).to_have_count(0)
    assert stored_texts(page, "user")[1:] == ["one", "two"]


def test_no_more_wait_than_may(page):
    begin(page, "slow")
    write(page, *(f"m{number}" for number in range(10)))
    message_box(page).fill("one too many")
    message_box(page).press("Enter")
    expect(page.locator(".waiting-head")).to_contain_text("No more than 10 can wait.")
    expect(message_box(page)).to_have_value("one too many")
    box, head = page.locator(".waiting-panel").bounding_box(), page.locator(".composer-box").bounding_box()
    assert box["height"] < 300
    assert box["y"] + box["height"] <= head["y"] + 2


def test_message_beside_an_open_question_is_the_answer_and_what_waits_follows(page, go_on):
    begin(page, "ask", "")
    expect(page.locator(".tool")).to_be_visible()
    write(page, "one")
    go_on()
    expect(page.get_by_role("button", name="Approve")).to_be_visible()
    expect(page.locator(".waiting-head")).to_contain_text("when you have answered above")
    expect(button(page, "Send now")).to_have_count(0)
    say(page, "No, not yet")
    expect(page.locator(".assistant .prose").last).to_have_text("Read: one.")
    finished(page)
    assert stored_texts(page, "user") == ["queue ask", "No, not yet", "one"]
