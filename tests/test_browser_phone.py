"""The chat under a finger: the list, its gestures, the step back, and a chat on another page, in a real Chromium."""

from collections.abc import Callable

import pytest
from pages import PHONE, Page, expect, hear, message_box, new_chat, thread_id
from servers import LiveProject

pytestmark = pytest.mark.browser

TITLE = "Plan the garden party for the whole team"
# What is too small for a finger. Links in a text are as large as the text.
SMALL = """() => {
    const inside = document.querySelector("agui-chat").shadowRoot.querySelectorAll("button, a, input, summary");
    const size = (element) => element.closest("li:has(.thread)") ?? element;
    return [...inside, ...document.querySelectorAll("button, a")]
        .filter((element) => element.checkVisibility() && !element.closest(".prose"))
        .map((element) => [element.className, size(element).getBoundingClientRect()])
        .filter(([, { width, height }]) => width && (width < 44 || height < 44))
        .map(([name, { width, height }]) => `${name} ${width} ${height}`);
}"""


@pytest.fixture
def phone(open_page: Callable[..., Page], site: LiveProject) -> Page:
    """A page with two conversations, of which the second one is open, and all that is loaded in time is there."""
    page = open_page(None, **PHONE)
    with page.expect_response("**/threads/touch*.js"):
        page.goto(site.url)
    for text in (TITLE, "second"):
        new_chat(page)
        hear(page, text)
    return page


def drawer(page: Page):
    return page.get_by_role("dialog", name="Conversations")


def open_list(page: Page) -> None:
    page.get_by_role("button", name="Conversations", exact=True).tap()
    expect(drawer(page).locator(".thread").first).to_be_visible()


def row(page: Page, title: str):
    return drawer(page).locator("li", has_text=title).first


def move(page: Page, start: tuple[float, float], end: tuple[float, float], *, held_ms: int = 0) -> None:
    """Put a finger down, and lift it elsewhere, or hold it still."""
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    touch("touchStart", start)
    page.wait_for_timeout(held_ms)
    for step in range(1, 6) if start != end else ():
        touch("touchMove", tuple(a + (b - a) * step / 5 for a, b in zip(start, end, strict=True)))
        page.wait_for_timeout(20)
    touch("touchEnd")


def test_phone_keeps_its_keyboard_down(open_page):
    page = open_page(**PHONE)
    expect(page.locator(".chip").first).to_be_visible()
    page.get_by_role("button", name="New chat").first.tap()
    expect(message_box(page)).not_to_be_focused()
    page.get_by_role("button", name="Conversations", exact=True).tap()
    expect(page.get_by_role("searchbox")).not_to_be_focused()
    expect(page.get_by_role("dialog", name="Conversations")).to_be_focused()
    page.get_by_role("button", name="Close").first.tap()
    page.get_by_role("button", name="Skills").tap()
    expect(message_box(page)).not_to_be_focused()
    page.get_by_role("option").first.tap()
    expect(page.locator(".bubble")).to_have_count(1)


def test_titles_have_the_row_and_one_menu_has_all_that_users_do(phone):
    open_list(phone)
    expect(row(phone, TITLE).get_by_role("button")).to_have_count(1)
    title = row(phone, TITLE).locator(".thread-title")
    assert title.bounding_box()["width"] > 0.6 * drawer(phone).bounding_box()["width"]
    row(phone, TITLE).get_by_role("button", name="More for").tap()
    items = phone.get_by_role("menuitem")
    expect(items).to_have_text(["Rename", "Pin", "Archive", "Save as Markdown", "Delete"])
    assert phone.evaluate(SMALL) == []
    phone.get_by_role("menuitem", name="Rename").tap()
    expect(drawer(phone).get_by_label("New title")).to_be_focused()


@pytest.mark.nightly
def test_fingers_open_and_close_the_list_and_the_menu_of_a_row(phone):
    move(phone, (20, 350), (320, 355))
    expect(drawer(phone)).to_be_visible()
    expect(drawer(phone)).not_to_have_class("drawer dragged")
    box = row(phone, TITLE).bounding_box()
    place = (box["x"] + 40, box["y"] + 15)
    move(phone, place, place, held_ms=700)
    expect(phone.get_by_role("menuitem", name="Rename")).to_be_visible()
    expect(drawer(phone)).to_be_visible()
    phone.keyboard.press("Escape")
    move(phone, (250, 300), (30, 305))
    expect(drawer(phone)).to_be_hidden()
    # Neither does a finger that goes down, nor one that comes from the middle, open it.
    for start, end in (((20, 300), (60, 500)), ((190, 350), (370, 350))):
        move(phone, start, end)
        expect(drawer(phone)).to_be_hidden()
    expect(phone.get_by_text("second", exact=True).first).to_be_visible()


def test_back_closes_what_is_open_and_leaves_the_conversation(phone):
    opened = thread_id(phone)
    open_list(phone)
    row(phone, TITLE).get_by_role("button", name="More for").tap()
    phone.wait_for_function("() => history.state?.aguiLayer === 2")
    phone.go_back()
    expect(phone.get_by_role("menu")).to_be_hidden()
    expect(drawer(phone)).to_be_visible()
    phone.go_back()
    expect(drawer(phone)).to_be_hidden()
    assert thread_id(phone) == opened
    phone.get_by_role("button", name="Skills").tap()
    expect(phone.get_by_role("option").first).to_be_visible()
    phone.go_back()
    expect(phone.get_by_role("option")).to_have_count(0)
    # A conversation takes the place of the step, so Back goes to the one before it.
    open_list(phone)
    row(phone, TITLE).locator(".thread").tap()
    phone.wait_for_function("id => new URLSearchParams(location.search).get('thread') !== id", arg=opened)
    phone.go_back()
    phone.wait_for_function("id => new URLSearchParams(location.search).get('thread') === id", arg=opened)
    # A step whose list was closed by its button is passed over.
    open_list(phone)
    drawer(phone).get_by_role("button", name="Close").tap()
    expect(drawer(phone)).to_be_hidden()
    phone.go_back()
    phone.wait_for_function("id => new URLSearchParams(location.search).get('thread') !== id", arg=opened)


@pytest.mark.nightly
def test_on_screen_keyboard_covers_no_input(phone):
    """Safari shrinks nothing for its keyboard, and says only what is visible."""
    phone.evaluate("""() => {
        Object.defineProperties(visualViewport, { height: { value: 400 }, offsetTop: { value: 0 } });
        visualViewport.dispatchEvent(new Event("resize"));
    }""")
    box = message_box(phone).bounding_box()
    assert box["y"] + box["height"] < 400
    open_list(phone)
    assert drawer(phone).locator(".drawer-body").bounding_box()["height"] < 400


def test_chat_on_another_page_goes_back_and_does_not_cover_the_next_page(open_page, site):
    page = open_page("/admin/", **PHONE)
    launcher = page.get_by_role("button", name="Open the chat")
    launcher.tap()
    expect(message_box(page)).to_be_visible()
    page.go_back()
    expect(message_box(page)).to_be_hidden()
    assert page.url == site.url + "/admin/"
    launcher.tap()
    expect(message_box(page)).to_be_visible()
    page.goto(site.url + "/admin/users/user/")
    expect(launcher).to_be_visible()
    expect(message_box(page)).to_be_hidden()
