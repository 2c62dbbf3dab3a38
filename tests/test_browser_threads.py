"""The list of conversations, and which of them is open, in a real Chromium.

What users do with its rows is in tests/element/threads.test.mjs.
"""

import re
from collections.abc import Callable

import pytest
from page_threads import Person, Thread, make_people
from pages import Page, expect, hear, message_box, origin
from servers import LiveProject, wait_until

pytestmark = pytest.mark.browser

NARROW = {"width": 700, "height": 800}

# How many conversations users have.
PEOPLE = {"leave": 4, "keys": 35, "wide": 3, "link": 2}
PASSWORD = "secret-1234"


@pytest.fixture(scope="session")
def sessions(site: LiveProject) -> dict[str, str]:
    def threads(name: str, count: int) -> list[Thread]:
        turns = [(f"Question {number:02} of {name}", f"Answer {number:02}") for number in range(count)]
        return [Thread(f"{name}-{number:02}", [turn]) for number, turn in enumerate(turns)]

    return make_people(site, {name: Person(threads(name, count), PASSWORD) for name, count in PEOPLE.items()})


@pytest.fixture
def page_of(new_page: Callable[..., Page], site: LiveProject, sessions: dict[str, str]):
    """Open the page of one of PEOPLE."""

    def open_page(name: str, path: str = "/", **options) -> Page:
        page = new_page(**({"viewport": NARROW} | options))
        page.context.add_cookies([{"name": "sessionid", "value": sessions[name], "url": site.url}])
        page.goto(site.url + path)
        expect(message_box(page)).to_be_visible()
        return page

    return open_page


def open_drawer(page: Page):
    page.get_by_role("button", name="Conversations", exact=True).click()
    drawer = page.get_by_role("dialog", name="Conversations")
    expect(drawer).to_be_visible()
    return drawer


def rows(drawer):
    return drawer.locator("li:has(.thread)")


def delete(drawer, title: str) -> None:
    row = rows(drawer).filter(has_text=title)
    row.hover()
    row.get_by_role("button", name="More for").click()
    row.page.get_by_role("menuitem", name="Delete").click()


def kept(page: Page) -> list[str]:
    return [one["thread_id"] for one in page.request.get(f"{origin(page)}/agent/threads/?limit=100").json()["threads"]]


def test_list_is_used_with_the_keyboard_and_loads_more_where_it_ends(page_of):
    page = page_of("keys")
    drawer = open_drawer(page)
    press = page.keyboard.press
    expect(drawer.get_by_role("searchbox")).to_be_focused()
    expect(rows(drawer)).to_have_count(30)
    rows(drawer).last.scroll_into_view_if_needed()
    expect(rows(drawer)).to_have_count(35)
    # The Tab key stops at a single row, and at that row's menu.
    press("ArrowDown")
    press("Tab")
    expect(drawer.get_by_role("button", name="More for “Question 00")).to_be_focused()
    press("Tab")
    assert page.evaluate("document.activeElement.shadowRoot?.activeElement.closest('.threads') ?? null") is None
    press("Escape")
    expect(drawer).to_be_hidden()
    expect(page.get_by_role("button", name="Conversations", exact=True)).to_be_focused()
    press("Enter")
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    expect(drawer).to_be_hidden()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    expect(message_box(page)).to_be_focused()


def test_deletion_is_sent_when_the_page_goes_away(page_of):
    tab = page_of("leave")
    for leave in (Page.reload, lambda page: page.close(run_before_unload=True)):
        before = kept(tab)
        page = tab.context.new_page()
        page.goto(tab.url)
        drawer = open_drawer(page)
        delete(drawer, drawer.locator(".thread-title").first.inner_text())
        leave(page)
        # What was sent while the page went away may take a moment.
        wait_until(lambda before=before: kept(tab) == before[1:])


def test_list_stays_beside_a_wide_chat(page_of):
    page = page_of("wide", viewport={"width": 1280, "height": 800})
    drawer = open_drawer(page)
    rows(drawer).nth(1).locator(".thread").click()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    expect(drawer).to_be_visible()
    expect(drawer.locator("[aria-current] .thread-title")).to_have_text("Question 01 of wide")
    edge = drawer.bounding_box()
    assert message_box(page).bounding_box()["x"] > edge["x"] + edge["width"]
    hear(page, "hello")
    expect(rows(drawer).first).to_contain_text("Question 01")
    page.reload()
    expect(drawer).to_be_visible()
    expect(page.get_by_role("button", name="New chat")).to_have_count(1)
    expect(message_box(page)).not_to_be_focused()
    page.set_viewport_size(NARROW)
    expect(drawer).to_be_hidden()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(drawer).to_be_visible()
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(drawer).to_be_hidden()
    page.reload()
    expect(message_box(page)).to_be_visible()
    expect(drawer).to_have_count(0)


def test_link_leads_through_the_login_to_its_conversation(new_page, site, sessions):
    page = new_page(f"{site.url}/?thread=link-01")
    page.get_by_label("Username").fill("link")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    expect(page).to_have_url(re.compile(r"/\?thread=link-01$"))


def test_back_and_forward_go_from_one_to_the_next_and_a_link_to_nowhere_says_so(page_of):
    page = page_of("link", "/?thread=link-00")
    expect(page.get_by_text("Answer 00")).to_be_visible()
    rows(open_drawer(page)).filter(has_text="Question 01").locator(".thread").click()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    page.get_by_role("button", name="New chat").first.click()
    expect(page.locator(".chip").first).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Answer 00")).to_be_visible()
    page.go_forward()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    page.goto(f"{origin(page)}/?thread=nowhere")
    expect(page.get_by_role("status").filter(has_text="That conversation was not found")).to_be_visible()
    expect(page).not_to_have_url(re.compile("thread="))
    expect(page.locator(".chip").first).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    hear(page, "hello")
    expect(page.get_by_text("That conversation was not found")).to_have_count(0)
