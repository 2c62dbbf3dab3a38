"""What survives: reloads, sleep, lost networks, other tabs and devices. And what does not: who has signed out."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from pages import (
    SLOW_ANSWER,
    Page,
    Proxy,
    Route,
    answers,
    expect,
    finished,
    first,
    hear,
    hold,
    message_box,
    new_chat,
    noted,
    origin,
    runs_of,
    say,
    seen,
    sign_in,
    stored,
    stored_texts,
    thread_id,
)

pytestmark = pytest.mark.browser

A_MINUTE_LATER = """() => {
    const now = Date.now;
    Date.now = () => now() + 60_000;
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def session(page: Page, script: str, argument=None):
    """Do something with the session of the page's chat."""
    return page.locator("agui-chat").evaluate(f"async ({{ session }}, argument) => {{ {script} }}", argument)


def switch_to_the_first_version(page: Page, prompt: str) -> None:
    """As soon as the page knows of both."""
    page.wait_for_function("id => document.querySelector('agui-chat').session.branches[id]?.length === 2", arg=prompt)
    session(page, "await session.switchBranch(session.branches[argument][0].id)", prompt)


def bubbles(page: Page):
    return page.locator(".user .bubble:visible")


KEPT = "[...Object.keys(sessionStorage), ...Object.keys(localStorage)].filter((key) => /^agui/.test(key))"


def kept(page: Page) -> list[str]:
    """The names of what the browser keeps for the chat."""
    return page.evaluate(KEPT)


def nothing_is_kept(page: Page) -> None:
    """Nor soon: a run ends a little later than it looks like."""
    page.wait_for_function(f"() => {KEPT}.length === 0")


@contextmanager
def losing_one_run(page: Page, *, deliver: bool) -> Iterator[None]:
    """Let what is done now ask for a run that never arrives, or whose answer does not."""
    lost: list[Route] = []

    def lose(route: Route) -> None:
        if deliver:
            route.fetch()
        lost.append(route)

    page.route("**/agent/", lose, times=1)
    yield
    first(page, lost)


# --- Leaving at the worst moment


@pytest.mark.parametrize("deliver", [False, True], ids=["it never left", "its answer was not seen"])
def test_what_is_done_right_before_a_reload_counts_once(chat, deliver):
    def is_done_once(act: Callable[[], object]) -> None:
        with losing_one_run(chat, deliver=deliver):
            act()
        expect(chat.get_by_role("button", name="Approve")).to_have_count(0)
        runs = runs_of(chat)
        chat.reload()
        expect(chat.locator(".assistant").first).to_be_visible()
        finished(chat)
        assert len(runs) == (0 if deliver else 1)

    # A message.
    is_done_once(lambda: say(chat, "list tasks"))
    assert stored_texts(chat, "user") == ["list tasks"]
    assert bubbles(chat).all_inner_texts() == ["list tasks"]
    nothing_is_kept(chat)
    # An approval.
    new_chat(chat)
    say(chat, "delete finished tasks")
    is_done_once(chat.get_by_role("button", name="Approve").click)
    expect(chat.locator(".tool")).to_have_attribute("data-status", "success")
    assert len([m for m in stored(chat)["messages"] if m["role"] == "tool"]) == 1
    # Another version of a message.
    new_chat(chat)
    hear(chat, "hello")
    prompt = stored(chat)["messages"][0]["id"]
    is_done_once(lambda: session(chat, "session.edit(argument, 'list tasks')", prompt))
    expect(bubbles(chat)).to_have_text("list tasks")
    assert [b["text"] for b in stored(chat)["branches"][prompt]] == ["hello", "list tasks"]
    switch_to_the_first_version(chat, prompt)
    expect(bubbles(chat)).to_have_text("hello")


def test_message_sent_right_before_a_new_chat_arrives(chat):
    say(chat, "list tasks")
    chat.get_by_role("button", name="New chat").click()
    expect(bubbles(chat)).to_have_count(0)
    chat.go_back()
    expect(bubbles(chat)).to_have_text("list tasks")
    finished(chat)
    assert stored_texts(chat, "user") == ["list tasks"]


# --- Networks


def test_run_is_followed_through_sleep_and_a_time_without_network(new_page, scripted_project, go_on):
    proxy = Proxy(scripted_project.port)
    page = sign_in(new_page(proxy.url), scripted_project)
    runs = runs_of(page)
    # The page replaces a connection that sleeps when it wakes up.
    say(page, "slow")
    expect(page.locator(".assistant .prose")).to_contain_text("word3")
    proxy.sleep()
    page.evaluate(A_MINUTE_LATER)
    go_on()
    finished(page)
    assert answers(page) == [SLOW_ANSWER]
    assert len(runs) == 1
    new_chat(page)
    proxy.requests.clear()
    say(page, "slow")
    expect(page.locator(".assistant .prose")).to_contain_text("word3")
    proxy.is_down = True
    proxy.cut()
    expect(page.get_by_text("Connecting again")).to_be_visible()
    proxy.is_down = False
    page.evaluate("window.dispatchEvent(new Event('online'))")
    go_on()
    finished(page)
    assert answers(page) == [SLOW_ANSWER]
    assert len(runs) == 2
    sent = b"".join(proxy.requests)
    assert sent.count(b"POST /agent/ ") == 1
    assert re.search(rb"last-event-id: \S+:\d+", sent, re.IGNORECASE)
    # A message that sleeps on its way arrives once.
    new_chat(page)
    proxy.is_asleep = True
    proxy.cut()
    say(page, "hello")
    expect(page.get_by_role("button", name="Stop")).to_be_visible()
    proxy.is_asleep = False
    page.evaluate("window.dispatchEvent(new Event('online'))")
    finished(page)
    assert stored_texts(page, "user") == ["hello"]
    assert len(answers(page)) == 1
    proxy.close()


# --- Other tabs


def two_tabs(page: Page) -> tuple[Page, Page]:
    """Two tabs on one thread."""
    seen(page, "hello")
    other = page.context.new_page()
    other.goto(f"{origin(page)}/?thread={thread_id(page)}")
    expect(bubbles(other)).to_have_text("hello")
    return page, other


@pytest.fixture
def tabs(scripted) -> tuple[Page, Page]:
    return two_tabs(scripted)


def test_tab_follows_versions_titles_runs_and_deletion_in_another(tabs, go_on):
    one, other = tabs
    prompt = stored(one)["messages"][0]["id"]
    session(one, "session.edit(argument, 'good day')", prompt)
    expect(bubbles(other)).to_have_text("good day")
    finished(one)
    finished(other)
    switch_to_the_first_version(one, prompt)
    expect(bubbles(other)).to_have_text("hello")
    one.locator("agui-chat").evaluate("e => e.client.rename(e.threadId, 'Greetings')")
    other.wait_for_function("() => document.querySelector('agui-chat').session.title === 'Greetings'")
    runs = runs_of(other)
    say(one, "slow")
    expect(other.locator(".assistant .prose").last).to_contain_text("word3")
    expect(other.get_by_role("button", name="Stop")).to_be_visible()
    go_on()
    finished(one)
    finished(other)
    assert answers(other) == answers(one)
    assert bubbles(other).all_inner_texts() == ["hello", "slow"]
    assert runs == []
    one.locator("agui-chat").evaluate("e => e.client.remove(e.threadId)")
    for page in tabs:
        expect(bubbles(page)).to_have_count(0)
        expect(page).not_to_have_url(re.compile("thread="))


def test_page_that_was_away_shows_what_was_said_elsewhere(new_page, scripted):
    hear(scripted, "hello")
    # Another browser, which no message of a tab reaches.
    other = new_page(scripted.url, storage_state=scripted.context.storage_state())
    expect(bubbles(other)).to_have_text("hello")
    hear(scripted, "news")
    other.evaluate(A_MINUTE_LATER)
    expect(bubbles(other)).to_have_text(["hello", "news"])
    # What it has shown it may still say to have shown, and load what shows it; and look which messages wait.
    reads = noted(other, lambda r: r.method == "GET" and not r.url.endswith("/messages/") and r.url)
    with other.expect_response("**/agent/threads/?limit=1"):
        other.evaluate(A_MINUTE_LATER)
    expect(bubbles(other)).to_have_text(["hello", "news"])
    assert [url.partition("/agent/")[2] for url in reads if "/agent/" in url] == ["threads/?limit=1"]


# --- Signing out


def test_signing_out_leaves_nothing_behind(new_page, scripted_project):
    first = new_page(scripted_project.url)
    # What was kept for somebody else is removed when one signs in, but not what is the page's own.
    first.evaluate("""() => {
        const key = `agui-chat:${encodeURIComponent("/agent/")}:other:draft`;
        sessionStorage.setItem(key, "a secret");
        localStorage.setItem(key, "a secret");
        localStorage.setItem("agui-chat-like", "of the page");
    }""")
    sign_in(first, scripted_project)
    expect(first.locator(".chip").first).to_be_visible()
    assert kept(first) == ["agui-chat-like"]
    expect(message_box(first)).to_have_value("")
    first.evaluate("localStorage.removeItem('agui-chat-like')")
    one, other = two_tabs(first)
    message_box(one).press_sequentially("a secret")
    message_box(other).press_sequentially("another one")
    assert kept(one)
    one.get_by_role("button", name="Account").click()
    one.get_by_role("button", name="Sign out").click()
    expect(one.get_by_label("Password")).to_be_visible()
    expect(other.get_by_role("alert")).to_contain_text("signed out")
    expect(bubbles(other)).to_have_count(0)
    expect(message_box(other)).to_have_value("")
    for page in (one, other):
        nothing_is_kept(page)
    one.go_back()
    expect(bubbles(one)).to_have_count(0)


def test_session_that_ends_is_noticed_by_all_tabs_and_gives_the_words_back(tabs):
    one, _ = tabs
    one.context.clear_cookies()
    say(one, "my words")
    expect(message_box(one)).to_have_value("my words")
    for page in tabs:
        expect(page.get_by_role("alert")).to_contain_text("signed out")
        expect(page.get_by_role("link", name="Sign in")).to_have_attribute("href", re.compile("/login/"))
        expect(bubbles(page)).to_have_count(0)
        nothing_is_kept(page)


# --- Stop


def test_stop_before_the_first_event_counts(scripted):
    held = hold(scripted, "**/agent/")
    say(scripted, "slow")
    scripted.get_by_role("button", name="Stop").click()
    first(scripted, held).continue_()
    expect(scripted.get_by_text("Stopped.")).to_be_visible()
    assert "end." not in "".join(answers(scripted))
    assert stored(scripted)["running"] is False
