"""The page in Firefox, as Debian or Mozilla ships it: the tests of what users do most, and what Chromium can't show.

Playwright drives this Firefox by WebDriver BiDi, the browser's own protocol.
"""

import re
from collections.abc import Callable, Iterator

import pytest
from page_costs import open_thread
from pages import (
    Browser,
    Page,
    drawn,
    expect,
    finished,
    launch_firefox,
    message_box,
    new_chat,
    open_stream,
    say,
)
from playwright.sync_api import Playwright
from servers import LiveProject
from test_browser import (
    test_answers_cards_and_reasoning_are_elements_that_nothing_was_parsed_for,
    test_approval_asks_with_the_tools_own_words_and_runs_once,
    test_escape_stops_the_run_and_keeps_the_text,
    test_files_are_dropped_and_a_folder_is_refused,
    test_files_are_picked_sent_read_and_come_back_after_a_reload,
    test_first_visit_leads_through_the_login_and_asks_for_no_history_and_no_other_host,
    test_question_becomes_a_form_and_asks_only_for_what_is_required,
    test_reason_of_a_denial_and_answer_of_a_form_reach_their_tools,
    test_reload_in_the_middle_of_a_run_loses_and_doubles_nothing,
    test_several_questions_are_answered_in_one_request,
)
from test_browser_around import test_answer_is_quoted_and_read_aloud
from test_browser_cards import test_several_questions_are_decided_at_once_and_taken_back_until_the_last_answer
from test_browser_composer import test_message_waits_for_the_answer_and_arrow_up_edits_the_last
from test_browser_finding import (
    finder,
    finder_session,
    test_a_found_conversation_opens_at_its_message,
    test_one_list_has_everything,
    test_words_are_found_in_all_messages_of_the_open_conversation,
)
from test_browser_input_methods import (
    test_fields_of_messages_and_questions_act_only_on_an_enter_of_the_user,
    test_fields_of_the_list_act_only_on_an_enter_of_the_user,
    test_input_sends_only_when_the_user_sends,
)
from test_browser_messages import test_a_message_is_edited_by_keyboard_alone
from test_browser_messages import test_an_edited_message_and_another_answer_are_new_versions
from test_browser_threads import (
    page_of,
    sessions,
    test_back_and_forward_go_from_one_to_the_next_and_a_link_to_nowhere_says_so,
    test_deleted_conversation_comes_back_where_it_was,
    test_everything_is_done_with_the_keyboard,
    test_more_are_loaded_where_the_list_ends_and_none_twice,
)

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

# Pytest finds these here, too, and runs them with the browser of this module.
__all__ = [name for name in globals() if name.startswith("test_")]
__all__ += ["finder", "finder_session", "page_of", "sessions"]

WATCH = "addEventListener('securitypolicyviolation', (event) => tellRefusal(event.violatedDirective))"
PHONE = {"width": 380, "height": 740}


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    yield from launch_firefox(playwright)


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


def test_page_is_dark_runs_from_right_to_left_and_fits_a_phone(new_page, live_project: LiveProject, signed_in: dict):
    page = new_page(live_project.url, storage_state=signed_in, color_scheme="dark", viewport=PHONE)
    page.locator(".avatar").click()
    page.locator(".languages summary").click()
    page.get_by_role("button", name="العربية").click()
    expect(page.locator("html")).to_have_attribute("dir", "rtl")
    assert page.locator(".panel").evaluate("e => getComputedStyle(e).backgroundColor.match(/\\d+/)[0]") < "128"
    box = page.locator("agui-chat .input")
    for text in ("list tasks", "chart of tasks", "delete finished tasks"):
        box.fill(text)
        box.press("Enter")
        expect(page.locator(".user")).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert page.locator(".log").evaluate("e => e.scrollWidth - e.clientWidth") <= 0


def test_paper_has_the_whole_conversation(new_page, live_project: LiveProject, signed_in: dict):
    page = new_page(storage_state=signed_in)
    with page.expect_response("**/page/print*.js"):
        page.goto(live_project.url)
