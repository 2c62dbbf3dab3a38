"""The list of conversations, and which of them is open, in a real Chromium."""

import re
from collections.abc import Callable
from contextlib import contextmanager

import pytest
from page_threads import Person, Thread, make_people
from pages import (
    Page,
    asked,
    drawn,
    expect,
    first,
    hear,
    hold,
    lasting,
    message_box,
    new_chat,
    origin,
    say,
    thread_id,
)
from servers import LiveProject, wait_until

pytestmark = pytest.mark.browser

NARROW = {"width": 700, "height": 800}

# How old the conversations of users are in days, the newest first.
PEOPLE: dict[str, list[int]] = {
    "search": [0] * 8 + [1, 3, 40, 800],
    "pages": [0] * 70,
    "undo": [0] * 6,
    "timed": [0] * 5,
    "leave": [0] * 4,
    "keys": [0] * 5,
    "rename": [0] * 3,
    "refreshed": [0] * 2,
    "wide": [0] * 3,
    "unread": [0] * 3,
    "link": [0] * 2,
}
PASSWORD = "secret-1234"


@pytest.fixture(scope="session")
def sessions(site: LiveProject) -> dict[str, str]:
    def threads(name: str, days: list[int]) -> list[Thread]:
        turns = [(f"Question {number:02} of {name}", f"Answer {number:02}") for number in range(len(days))]
        return [Thread(f"{name}-{number:02}", [turns[number]], age) for number, age in enumerate(days)]

    people = {name: Person(threads(name, days), PASSWORD) for name, days in PEOPLE.items()}
    return make_people(site, people)


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


def drawer_of(page: Page):
    return page.get_by_role("dialog", name="Conversations")


def open_drawer(page: Page):
    page.get_by_role("button", name="Conversations", exact=True).click()
    expect(drawer_of(page)).to_be_visible()
    return drawer_of(page)


def rows(drawer):
    return drawer.locator("li:has(.thread)")


def delete(drawer, title: str) -> None:
    row = rows(drawer).filter(has_text=title)
    row.hover()
    row.get_by_role("button", name="More for").click()
    row.page.get_by_role("menuitem", name="Delete").click()


@contextmanager
def deleted(page: Page, thread: str):
    """Waits until the server has deleted this thread: an answer for another one does not count."""

    def is_it(response) -> bool:
        return response.request.method == "DELETE" and thread in response.url

    with page.expect_response(is_it) as answer:
        yield
    assert answer.value.status == 204


def numbers(drawer) -> list[int]:
    return [int(re.search(r"Question (\d+)", row)[1]) for row in drawer.locator(".thread-title").all_inner_texts()]


def expect_numbers(drawer, wanted: list[int]) -> None:
    expect(drawer.locator(".thread-title")).to_have_text([re.compile(f"^Question {number:02}") for number in wanted])


def kept(page: Page) -> list[str]:
    return [one["thread_id"] for one in page.request.get(f"{origin(page)}/agent/threads/?limit=100").json()["threads"]]


def say_elsewhere(page: Page, thread: str, text: str) -> None:
    """What another device does, to the end of the answer."""
    page.evaluate(
        """async ([threadId, content]) => {
            const { client } = document.querySelector("agui-chat");
            const messages = [{ id: crypto.randomUUID(), role: "user", content }];
            const rest = { runId: crypto.randomUUID(), tools: [], context: [], state: {}, forwardedProps: {} };
            for await (const _ of await client.run({ threadId, messages, ...rest }, new AbortController().signal));
        }""",
        [thread, text],
    )


def expect_focus_on(page: Page, text: str) -> None:
    page.wait_for_function(
        "text => document.querySelector('agui-chat').shadowRoot.activeElement?.innerText.includes(text)", arg=text
    )


# --- The list


def test_conversations_are_grouped_by_day_and_the_search_says_how_many(page_of):
    page = page_of("search")
    drawer = open_drawer(page)
    search = drawer.get_by_role("searchbox", name="Search")
    expect(search).to_be_focused()
    expect(rows(drawer)).to_have_count(12)
    names = drawer.get_by_role("heading", level=3).all_inner_texts()
    assert names[0] in ("Today", "Yesterday")  # The first minutes of a day
    assert "Last 7 days" in names
    assert re.fullmatch(r"[A-Z][a-z]+ \d{4}", names[-1])
    expect_numbers(drawer, [*range(12)])
    searches = asked(page, "q=")
    search.evaluate("""search => {
        for (const letter of "answer 1") {
            search.value += letter;
            search.dispatchEvent(new Event("input"));
        }
    }""")
    expect(drawer.get_by_role("status").filter(has_text="found")).to_have_text("3 found")
    expect_numbers(drawer, [1, 10, 11])
    assert len(searches) == 1
    search.fill("<img src=x> nowhere")
    expect(drawer.get_by_text("Nothing found for “<img src=x> nowhere”.")).to_be_visible()
    search.press("Escape")
    expect(rows(drawer)).to_have_count(12)
    expect(search).to_have_value("")


def test_more_are_loaded_where_the_list_ends_and_none_twice(page_of):
    page = page_of("pages")
    drawer = open_drawer(page)
    expect(rows(drawer)).to_have_count(30)
    rows(drawer).last.scroll_into_view_if_needed()
    expect(rows(drawer)).to_have_count(60)
    # The list shifts: one that is there is now the first.
    say_elsewhere(page, "pages-45", "hello")
    page.keyboard.press("Escape")
    drawer = open_drawer(page)
    expect(rows(drawer).first).to_contain_text("Question 45")
    assert sorted(numbers(drawer)) == list(range(60))
    more = drawer.get_by_role("button", name="Load more")
    more.focus()
    page.keyboard.press("Enter")
    expect(rows(drawer)).to_have_count(70)
    assert sorted(numbers(drawer)) == list(range(70))
    expect(more).to_be_hidden()
    expect_focus_on(page, "Question 69")


# --- Deleted, and back


def test_deleted_conversation_comes_back_where_it_was(page_of):
    page = page_of("undo", "/?thread=undo-02")
    expect(page.get_by_text("Answer 02")).to_be_visible()
    lasting(page)
    drawer = open_drawer(page)
    before = kept(page)
    delete(drawer, "Question 02")
    expect(rows(drawer)).to_have_count(5)
    expect(drawer.get_by_role("status").filter(has_text="was deleted")).to_have_count(1)
    expect_focus_on(page, "Question 03")
    expect(page.get_by_text("Answer 02")).to_be_hidden()
    drawer.get_by_role("button", name="Undo", exact=True).click()
    expect(rows(drawer)).to_have_count(6)
    expect_numbers(drawer, [0, 1, 2, 3, 4, 5])
    expect_focus_on(page, "Question 02")
    expect(page.get_by_text("Answer 02")).to_be_visible()
    assert kept(page) == before
    page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    assert kept(page) == before


def test_deletion_is_sent_when_its_time_is_over_and_not_while_somebody_looks_at_it(page_of):
    page = page_of("timed")
    page.clock.install()
    drawer = open_drawer(page)
    delete(drawer, "Question 00")
    undo = drawer.get_by_role("button", name="Undo", exact=True)
    undo.hover()
    page.clock.run_for(60_000)
    expect(undo).to_be_visible()
    drawer.get_by_role("heading", name="Conversations").hover()
    with deleted(page, "timed-00"):
        page.clock.run_for(8_000)
    expect(undo).to_be_hidden()
    # Another deletion, or to close the list, ends the time of the one before.
    delete(drawer, "Question 01")
    with deleted(page, "timed-01"):
        delete(drawer, "Question 02")
    with deleted(page, "timed-02"):
        page.keyboard.press("Escape")
    expect(drawer).to_be_hidden()
    assert kept(page) == ["timed-03", "timed-04"]


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


def test_deletion_that_fails_brings_the_conversation_back_and_says_so(page_of):
    page = page_of("rename")
    page.route("**/threads/*/", lambda route: route.abort() if route.request.method == "DELETE" else route.continue_())
    lasting(page)
    drawer = open_drawer(page)
    delete(drawer, "Question 01")
    expect(rows(drawer)).to_have_count(2)
    delete(drawer, "Question 02")
    expect(page.get_by_text("“Question 01 of rename” could not be deleted.").first).to_be_visible()
    # This row still has its own time.
    drawer.get_by_role("button", name="Undo", exact=True).click()
    expect(rows(drawer)).to_have_count(3)
    expect_numbers(drawer, [0, 1, 2])
    # The same if the list is closed.
    delete(drawer, "Question 00")
    expect(rows(drawer)).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.get_by_text("“Question 00 of rename” could not be deleted.").first).to_be_visible()
    drawer = open_drawer(page)
    expect(rows(drawer)).to_have_count(3)
    expect_numbers(drawer, [0, 1, 2])


# --- Keys


def test_everything_is_done_with_the_keyboard(page_of):
    page = page_of("keys")
    lasting(page)
    drawer = open_drawer(page)
    press = page.keyboard.press
    expect(rows(drawer)).to_have_count(5)
    press("ArrowDown")
    expect_focus_on(page, "Question 00")
    press("ArrowDown")
    press("F2")
    expect(drawer.get_by_label("New title")).to_be_focused()
    page.keyboard.type("Stripes")
    press("Escape")
    expect_focus_on(page, "Question 01")
    press("F2")
    page.keyboard.type("Zebra")
    press("Enter")
    expect_focus_on(page, "Zebra")
    press("End")
    expect_focus_on(page, "Question 04")
    press("Delete")
    expect_focus_on(page, "Question 03")
    press("Control+z")
    expect_focus_on(page, "Question 04")
    press("Home")
    press("ArrowUp")
    expect(drawer.get_by_role("searchbox")).to_be_focused()
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
    expect(drawer.get_by_role("searchbox")).to_be_focused()
    press("ArrowDown")
    press("ArrowDown")
    press("Enter")
    expect(drawer).to_be_hidden()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    expect(message_box(page)).to_be_focused()
    expect(open_drawer(page).locator("[aria-current] .thread-title")).to_have_text("Zebra")


def test_new_title_is_shown_although_the_list_came_anew_while_it_was_written(page_of):
    page = page_of("refreshed")
    drawer = open_drawer(page)
    expect(rows(drawer)).to_have_count(2)
    page.keyboard.press("Escape")
    held = hold(page, "**/agent/threads/?*")
    open_drawer(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("F2")
    expect(drawer.get_by_label("New title")).to_be_focused()
    with page.expect_response("**/agent/threads/?*") as listed:
        first(page, held).continue_()
    listed.value.finished()
    drawn(page)
    page.keyboard.type("Zebra")
    page.keyboard.press("Enter")
    expect(drawer.locator(".thread-title")).to_have_text(["Zebra", "Question 01 of refreshed"])


# --- Beside the chat


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


# --- What has not been seen


def test_answer_from_elsewhere_is_marked_until_it_is_shown(page_of):
    page = page_of("unread")
    drawer = open_drawer(page)
    expect(rows(drawer)).to_have_count(3)
    say_elsewhere(page, "unread-02", "hello")
    page.keyboard.press("Escape")
    row = rows(open_drawer(page)).filter(has_text="Question 02")
    expect(row).to_contain_text("New answer")
    with page.expect_response(lambda response: response.request.method == "PATCH"):
        row.locator(".thread").click()
    expect(open_drawer(page).get_by_text("New answer")).to_have_count(0)
    assert not [one for one in page.request.get(f"{origin(page)}/agent/threads/").json()["threads"] if one["unread"]]
    # The launcher tells of one, too.
    page.keyboard.press("Escape")
    new_chat(page)
    say_elsewhere(page, "unread-01", "hello")
    page.evaluate("""() => {
        const chat = document.querySelector("agui-chat");
        chat.dataset.threadMemory = "session";
        chat.setAttribute("collapsed", "");
        chat.setAttribute("placement", "floating");
    }""")
    page.get_by_role("button", name="Open the chat: there is a new answer").click()
    expect(message_box(page)).to_be_visible()
    expect(page.locator(".panel.news")).to_be_visible()
    expect(rows(open_drawer(page)).filter(has_text="Question 01")).to_contain_text("New answer")
    expect(page.locator(".panel.news")).to_have_count(0)


def test_answer_that_ends_while_nobody_looks_is_marked(scripted, go_on):
    say(scripted, "slow")
    expect(scripted.locator(".assistant .prose")).to_contain_text("word1")
    left = thread_id(scripted)
    scripted.get_by_role("button", name="New chat").first.click()
    expect(scripted.locator(".chip").first).to_be_visible()
    scripted.set_viewport_size(NARROW)
    mark = open_drawer(scripted).locator(f"[data-id='{left}'] .thread-mark")
    expect(mark).to_have_text("Answering")
    go_on()
    expect(mark).to_have_text("New answer")


# --- Which is open


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
    expect(page.get_by_role("status").filter(has_text="That conversation is not there")).to_be_visible()
    expect(page).not_to_have_url(re.compile("thread="))
    expect(page.locator(".chip").first).to_be_visible()
    page.go_back()
    expect(page.get_by_text("Answer 01")).to_be_visible()
    hear(page, "hello")
    expect(page.get_by_text("That conversation is not there")).to_have_count(0)


def test_page_is_told_the_title(page_of):
    page = page_of("rename", "/?thread=rename-00")
    page.evaluate("""() => {
        window.told = [];
        document.addEventListener("ag-ui-thread", ({ detail }) => told.push(detail.title));
    }""")
    drawer = open_drawer(page)
    rows(drawer).filter(has_text="Question 02").locator(".thread").click()
    page.wait_for_function("() => told.at(-1) === 'Question 02 of rename'")
    open_drawer(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("F2")
    page.keyboard.type("Third")
    page.keyboard.press("Enter")
    page.wait_for_function("() => told.at(-1) === 'Third'")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="New chat").first.click()
    hear(page, "A new question")
    page.wait_for_function("() => told.at(-1) === 'A new question'")
    expect(page).to_have_title(re.compile("^A new question . "))


def test_the_first_step_back_closes_a_list_that_covers_the_chat(open_page):
    page = open_page(viewport={"width": 380, "height": 800})
    page.evaluate("history.pushState(null, '', '?here')")
    page.get_by_role("button", name="Conversations", exact=True).click()
    search = page.get_by_role("searchbox")
    expect(search).to_be_visible()
    page.evaluate("history.back()")
    expect(search).to_be_hidden()
    page.wait_for_url("**/?here")
    page.go_back()
    assert "here" not in page.url
