# ruff: noqa: F401 - pytest runs these tests here, too, with the browser of this module
"""The page in Firefox, as Debian or Mozilla ships it: the tests of what users do most, and what Chromium can't show.

Playwright drives this Firefox by WebDriver BiDi, the browser's own protocol.
"""

import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from page_costs import keep_long_thread
from pages import Browser, Page, drawn, expect, hear, launch_firefox, message_box, stored
from playwright.sync_api import Playwright
from servers import LiveProject
from test_browser import (
    test_answers_cards_and_reasoning_are_elements_that_nothing_was_parsed_for,
    test_approval_asks_with_the_tools_own_words_and_runs_once,
    test_enter_sends_and_escape_stops_the_run_and_keeps_the_text,
    test_first_visit_leads_through_the_login_and_asks_for_no_history_and_no_other_host,
    test_reason_of_a_denial_and_answer_of_a_form_reach_their_tools,
    test_reload_in_the_middle_of_a_run_loses_and_doubles_nothing,
)
from test_browser_around import test_a_user_reads_another_language_without_scripts_of_the_page
from test_browser_finding import (
    finder,
    finder_session,
    test_a_found_conversation_opens_at_its_message,
    test_words_are_found_in_all_messages_of_the_open_conversation,
)
from test_browser_messages import test_a_message_is_edited_by_keyboard_alone
from test_browser_threads import (
    page_of,
    sessions,
    test_back_and_forward_go_from_one_to_the_next_and_a_link_to_nowhere_says_so,
    test_list_is_used_with_the_keyboard_and_loads_more_where_it_ends,
)

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

WATCH = "addEventListener('securitypolicyviolation', (event) => tellRefusal(event.violatedDirective))"
DARK = 0
PHONE = {"width": 380, "height": 740}


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    # Playwright can't tell this Firefox which colours to ask a page for.
    yield from launch_firefox(playwright, firefox_user_prefs={"layout.css.prefers-color-scheme.content-override": DARK})


@pytest.fixture
def new_page(new_page: Callable[..., Page]) -> Iterator[Callable[..., Page]]:
    """Open pages that may log no error, and of which the policy refuses nothing."""
    told: list[str] = []

    def open_page(url: str = "", **options) -> Page:
        page = new_page(**options)
        page.on("console", lambda message: told.append(message.text) if message.type == "error" else None)
        page.expose_binding("tellRefusal", lambda source, directive: told.append(directive))
        page.add_init_script(WATCH)
        if url:
            page.goto(url)
        return page

    yield open_page
    assert told == []


def test_file_is_sent_and_comes_back_and_an_answer_is_copied(scripted: Page, tmp_path: Path):
    with scripted.expect_file_chooser() as chooser:
        scripted.get_by_role("button", name="Attach files").click()
    chooser.value.set_files([{"name": "notes.txt", "mimeType": "text/plain", "buffer": b"one\ntwo"}])
    expect(scripted.locator(".tray .file[data-status=ready]")).to_have_count(1)
    hear(scripted, "read this")
    [message] = [one for one in stored(scripted)["messages"] if one["role"] == "user"]
    assert [one["name"] for one in message["metadata"]["attachments"]] == ["notes.txt"]
    scripted.reload()
    file = scripted.locator(".user .file")
    with scripted.expect_response("**/agent/attachments/*/") as response:
        file.get_by_role("link", name="notes.txt").click()
    assert response.value.status == 200
    expect(file).to_have_attribute("data-status", "")
    scripted.get_by_role("button", name="Copy the answer").click()
    message_box(scripted).press("Control+v")
    expect(message_box(scripted)).to_have_value(re.compile(r"word0 word1 word2 word3 end\."))


def test_passage_that_is_selected_is_quoted(scripted: Page):
    hear(scripted, "hello")
    box = scripted.locator(".assistant .prose p").bounding_box()
    scripted.mouse.move(box["x"] + 1, box["y"] + 10)
    scripted.mouse.down()
    scripted.mouse.move(box["x"] + 75, box["y"] + 10, steps=3)
    scripted.mouse.up()
    scripted.locator(".quote-selection").click()
    expect(message_box(scripted)).to_have_value(re.compile(r"^> word0 w\w*\n\n$"))


def test_page_is_dark_runs_from_right_to_left_and_fits_a_phone(open_page):
    page = open_page(viewport=PHONE)
    page.locator(".avatar").click()
    page.locator(".languages summary").click()
    page.get_by_role("button", name="العربية").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert page.locator(".panel").evaluate("e => +getComputedStyle(e).backgroundColor.match(/\\d+/)[0]") < 128
    for text in ("list tasks", "chart of tasks", "delete finished tasks"):
        page.locator("agui-chat .input").fill(text)
        page.locator("agui-chat .input").press("Enter")
        expect(page.locator(".bubble").last).to_have_text(text)
        expect(page.locator("agui-chat .icon-send")).to_be_visible()
    expect(page.locator(".question")).to_be_visible()
    drawn(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.locator(".log").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


def pages_of(pdf: bytes) -> int:
    """How many pages a document has, whose objects are compressed."""
    streams = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    unpacked = []
    for stream in streams:
        with suppress(zlib.error):
            unpacked.append(zlib.decompress(stream))
    return len(re.findall(rb"/Type\s*/Page\b", b"".join([pdf, *unpacked])))


def test_paper_has_the_whole_conversation(open_page, site: LiveProject):
    page = open_page(None)
    with page.expect_response("**/page/print*.js"):
        page.goto(site.url)
    keep_long_thread(page, 200)
    page.evaluate("document.querySelector('agui-chat').openThread('long')")
    expect(page.locator(".message")).to_have_count(20)
    page.evaluate("""() => addEventListener("beforeprint", () => {
        const root = document.querySelector("agui-chat").shadowRoot;
        window.printed = [root.querySelectorAll(".message").length, root.querySelectorAll(".paper h1").length];
    })""")
    assert pages_of(page.pdf()) > 8
    assert page.evaluate("printed") == [200, 1]
    expect(page.locator(".message")).to_have_count(20)  # as before
