"""What the page says of a run that failed, and what it offers to do next."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from daily import at_night
from page_events import begun_text, custom, failed, show_answer, text
from pages import (
    Page,
    drawn,
    expect,
    finished,
    hear,
    message_box,
    new_chat,
    open_stream,
    say,
    stored,
    stored_texts,
)

pytestmark = pytest.mark.browser

RUN = {"runId": "3f2a91bc"}
TIME = "2026-11-23T00:00:00+00:00"
DEBUG = {
    "hint": "The provider does not know the key: look at OPENAI_API_KEY in .env.",
    "cause": "ModelHTTPError: status_code: 401, model_name: gpt-5.6-terra, body: {'message': 'Incorrect API key'}",
}
# By code: the sentence, more of the metadata, the button that is offered, and a text that is there besides.
STATES = {
    "model_refused": ("The model or its provider refused the request.", {}, "Try again", "Run 3f2a91bc"),
    "empty_answer": ("The model's answer was empty. Try again.", {}, "Try again", "Run 3f2a91bc"),
    "context_window": ("The conversation is too long for the model. Start a new one.", {}, "New chat", "Run 3f2a91bc"),
    "budget_exceeded": ("Your budget is used up.", {"resets_at": TIME}, None, "You can go on from"),
    "internal_error": ("The run failed on the server.", {"debug": DEBUG}, "Try again", "look at OPENAI_API_KEY"),
}
LOOKS = [("dark", 380), *at_night(("light", 1200), ("dark", 1200), ("light", 380))]


def button(page: Page, name: str):
    return page.get_by_role("button", name=name, exact=True)


def shoot(page: Page, name: str) -> None:
    """Keep a picture, if somebody wants to look."""
    if directory := os.environ.get("SCREENSHOTS"):
        drawn(page)
        page.screenshot(path=Path(directory) / f"{name}.png")


@pytest.fixture(params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def looked_at(request, open_page: Callable[..., Page]) -> Page:
    scheme, width = request.param
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 700})
    page.look = f"{scheme}-{width}"
    return page


def break_off(page: Page, code: str, *before: dict) -> None:
    message, metadata, _, _ = STATES[code]
    push = open_stream(page)
    push(*before, failed(message, code, **RUN, **metadata))
    expect(page.locator(".failure:visible")).to_be_visible()


def test_the_next_step_fits_the_error(looked_at: Page):
    failure = looked_at.locator(".failure:visible")
    for code, (message, _, step, besides) in STATES.items():
        if code == "empty_answer":
            start, _, end = text("")
            break_off(looked_at, code, start, end)
            # It is not a row of thumbs.
            expect(looked_at.get_by_role("toolbar", name="This answer")).to_have_count(0)
            expect(button(looked_at, "Good answer")).to_have_count(0)
            expect(button(looked_at, "Try again")).to_have_count(1)
        else:
            break_off(looked_at, code)
        expect(failure).to_contain_text(message)
        expect(failure).to_contain_text(besides)
        offered = [one for one in failure.locator("button.button").all_inner_texts() if one]
        assert offered == ([step] if step else [])
        overflow = looked_at.locator("agui-chat .log").evaluate("log => log.scrollWidth - log.clientWidth")
        assert overflow <= 0
        shoot(looked_at, f"{code}-{looked_at.look}")
        if step == "New chat":  # One click away
            failure.get_by_role("button", name="New chat").click()
            expect(looked_at.locator(".message")).to_have_count(0)
            expect(failure).to_have_count(0)
        else:
            new_chat(looked_at)
    # A file that the model can't read is told below the answer.
    files = [{"mime": "audio/wav", "size": 3}]
    show_answer(looked_at, "I can't hear it.", custom("files_left_out", {"messageId": "m", "files": files}))
    expect(looked_at.locator(".turn-note")).to_contain_text("can't read a file of this conversation")
    shoot(looked_at, f"file-{looked_at.look}")


def test_a_model_that_hangs_is_told_of_after_some_seconds(open_page, site):
    page = open_page(None)
    page.clock.install()
    page.goto(site.url)
    push = open_stream(page)
    expect(page.locator(".working")).to_be_visible()
    expect(page.locator(".working")).to_have_text("")
    page.clock.fast_forward(11_000)
    expect(page.locator(".working")).to_have_text("The model has not answered yet…")
    shoot(page, "slow")
    push(*begun_text("Here I am."))
    page.clock.run_for(1000)
    expect(page.locator(".working")).to_be_hidden()


def test_an_error_stays_with_its_turn_and_is_tried_again_in_its_place(scripted: Page):
    say(scripted, "fail, and be tried anew")
    expect(scripted.locator(".failure:visible")).to_be_visible()
    scripted.reload()
    expect(scripted.locator(".failure:visible")).to_contain_text("The run failed on the server.")
    button(scripted, "Try again").click()
    finished(scripted)
    expect(scripted.locator(".failure:visible")).to_have_count(0)
    expect(scripted.locator(".user")).to_have_count(1)
    expect(scripted.locator(".assistant")).to_contain_text("end.")
    new_chat(scripted)
    say(scripted, "fail, and go on")
    expect(scripted.locator(".failure:visible")).to_be_visible()
    number = scripted.locator(".failure small:last-child").inner_text()
    hear(scripted, "hello")
    expect(scripted.locator(".messages .failure")).to_have_count(1)
    expect(scripted.locator(".messages .failure small:last-child")).to_have_text(number)
    expect(scripted.locator(".messages .failure button.button")).to_have_count(0)
    shoot(scripted, "stays")
    scripted.reload()
    expect(scripted.locator(".messages .failure small:last-child")).to_have_text(number)
    places = scripted.locator(".messages").evaluate(
        "list => [...list.children].filter(one => one.matches('.user, .failure')).map(one => one.classList[0])"
    )
    assert places == ["message", "failure", "message"]
    shoot(scripted, "stays-after-reload")
    [told] = stored(scripted)["failures"].values()
    assert told["code"] == "internal_error"


def test_an_answer_that_is_not_whole_says_so_and_can_go_on(looked_at: Page):
    show_answer(looked_at, "The first step is to", custom("answer_cut", {"messageId": "m", "reason": "length"}))
    note = looked_at.locator(".turn-note")
    expect(note).to_contain_text("This answer is not whole.")
    shoot(looked_at, f"cut-{looked_at.look}")
    button(looked_at, "Continue").click()
    expect(looked_at.locator(".user").last).to_contain_text("Continue")
    # Only the newest answer goes on.
    expect(button(looked_at, "Continue")).to_have_count(0)
    expect(note).to_have_count(1)


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
