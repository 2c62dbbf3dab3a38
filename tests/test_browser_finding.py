"""What users find: conversations by their words, words in a conversation, and all that the chat can do."""

import json
import re
from collections.abc import Callable

import pytest
from page_threads import Person, Thread, make_people
from pages import Page, Route, drawn, expect, first, hear, hold, message_box
from servers import LiveProject

pytestmark = pytest.mark.browser

ACTIVE = "() => document.querySelector('agui-chat').shadowRoot.activeElement"
HIGHLIGHTED = "name => [...(CSS.highlights.get(name) ?? [])].map(String)"


@pytest.fixture(scope="session")
def finder_session(site: LiveProject) -> str:
    more = "\n\n".join(["More of it stands here, so that a message is tall."] * 4)
    turns = [(f"Question {number} of the trip", f"Answer {number}. {more}") for number in range(60)]
    ferry = f"The **harbour ferry** leaves at <b>noon</b>. {more} The ferry is small."
    turns[3] = ("When does it leave?", ferry)
    turns[50] = ("And back?", f"That FERRY leaves at six. {more}")
    report = Thread("report", [("Weekly report", "Here it is.")])
    lentils = Thread("lentils", [("A recipe with lentils", "Take lentils.")])
    return make_people(site, {"finder": Person([report, lentils, Thread("long", turns)])})["finder"]


@pytest.fixture
def finder(new_page: Callable[..., Page], site: LiveProject, finder_session: str) -> Page:
    page = new_page()
    page.context.add_cookies([{"name": "sessionid", "value": finder_session, "url": site.url}])
    page.goto(site.url)
    expect(message_box(page)).to_be_visible()
    return page


def open_thread(page: Page, thread: str, text: str) -> None:
    page.evaluate("id => document.querySelector('agui-chat').openThread(id)", thread)
    expect(page.locator(".messages")).to_contain_text(text)


def test_a_found_conversation_opens_at_its_message(finder: Page):
    finder.get_by_role("button", name="Conversations", exact=True).click()
    drawer = finder.get_by_role("dialog", name="Conversations")
    drawer.get_by_role("searchbox").fill("FERRY noon")
    excerpt = drawer.locator(".excerpt")
    expect(excerpt).to_contain_text("The harbour ferry leaves at <b>noon</b>.")  # as text
    expect(excerpt.locator("mark")).to_have_text(["ferry", "noon"])
    drawer.locator(".thread").click()
    # The message is far above those that a conversation begins with.
    found = finder.locator(".message.assistant", has_text="harbour ferry")
    expect(found).to_be_focused()
    expect(found).to_have_class(re.compile("flash"))
    expect(finder.locator(".message.assistant:focus")).to_be_in_viewport()
    finder.wait_for_function("() => [...CSS.highlights.get('agui-found')].join() === 'ferry,noon,ferry'")
    expect(found).not_to_have_class(re.compile("flash"))
    finder.wait_for_function("() => !CSS.highlights.has('agui-found')")
    # A message that only another version has: a current one with the words counts.
    finder.route("**/agent/threads/?q=*", lambda route: changed(route, message_id="gone"))
    drawer.get_by_role("searchbox").fill("six")
    expect(drawer.locator("mark").first).to_have_text("six")
    drawer.locator(".thread").click()
    expect(finder.locator(".message.assistant", has_text="That FERRY")).to_be_focused()


def changed(route: Route, **values: object) -> None:
    body = route.fetch().json()
    route.fulfill(json={**body, "threads": [row | values for row in body["threads"]]})


def test_words_are_found_in_all_messages_of_the_open_conversation(finder: Page):
    open_thread(finder, "long", "Question 59")
    assert finder.locator(".message", has_text="harbour ferry").count() == 0
    field, status = finder.get_by_role("search").get_by_role("searchbox"), finder.locator(".find [role=status]")
    message_box(finder).focus()
    finder.keyboard.press("Control+f")
    expect(field).to_be_focused()
    field.fill("ferry")
    expect(status).to_have_text("3 of 3")  # The nearest one: the conversation is at its end.
    assert finder.evaluate(HIGHLIGHTED, "agui-found-current") == ["FERRY"]
    finder.keyboard.press("Enter")
    expect(status).to_have_text("1 of 3")
    expect(finder.locator(".message", has_text="harbour ferry")).to_be_visible()
    assert finder.evaluate(HIGHLIGHTED, "agui-found") == ["ferry", "ferry", "FERRY"]
    # A phrase is found across the elements of Markdown, and its signs are not.
    field.fill("harbour ferry leaves")
    expect(status).to_have_text("1 of 1")
    assert finder.evaluate(HIGHLIGHTED, "agui-found-current") == ["harbour ferry leaves"]
    field.fill("**")
    expect(status).to_have_text("Nothing found")
    field.fill("ferry")
    finder.keyboard.press("Shift+Enter")
    finder.get_by_role("button", name="Next match").click()
    finder.get_by_role("button", name="Next match").click()
    expect(status).to_have_text("2 of 3")
    # A second Ctrl+F is the browser's.
    field.focus()
    finder.evaluate("""() => addEventListener("keydown", (event) => {
        if (event.key === "f") window.last = event;
    }, { capture: true })""")
    finder.keyboard.press("Control+f")
    assert finder.evaluate("() => window.last.defaultPrevented") is False
    finder.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(message_box(finder)).to_be_focused()
    assert not finder.evaluate("() => CSS.highlights.has('agui-found')")
    # The lists behind "/" and Ctrl+K open the search, too.
    message_box(finder).press_sequentially("/find")
    finder.get_by_role("option", name="Find in this conversation").click()
    expect(field).to_be_focused()
    expect(message_box(finder)).to_have_value("")
    finder.keyboard.press("Escape")
    finder.keyboard.press("Control+k")
    finder.get_by_role("combobox").fill("find in")
    finder.keyboard.press("Enter")
    expect(field).to_be_focused()


def test_one_list_has_everything(finder: Page):
    message_box(finder).focus()
    finder.keyboard.press("Control+k")
    box, options = finder.get_by_role("combobox"), finder.get_by_role("option")
    expect(box).to_be_focused()
    # Recent conversations come first.
    expect(options.first).to_contain_text("Weekly report")
    active = options.and_(finder.locator(f"#{box.get_attribute('aria-activedescendant')}"))
    expect(active).to_have_attribute("aria-selected", "true")
    for name in ("New chat", "Go to the input", "List of conversations", "/add_tasks"):
        expect(options.filter(has_text=name)).to_have_count(1)
    expect(options.filter(has_text="Find in this")).to_have_count(0)  # Nothing is open.
    finder.keyboard.press("Escape")
    expect(box).to_have_count(0)
    expect(message_box(finder)).to_be_focused()
    # What is found comes below commands, and an answer that comes late changes nothing.
    held = hold(finder, re.compile(r"threads/\?q=lent"))
    finder.keyboard.press("Control+k")
    box.fill("lent")
    late = first(finder, held)
    box.fill("ferry six")
    expect(options).to_have_count(1)
    late.continue_()
    expect(options.locator("mark").last).to_have_text("six")
    expect(options).to_have_count(1)
    finder.keyboard.press("Enter")
    expect(finder.locator(".message.assistant:focus")).to_contain_text("That FERRY leaves at six")
    # A skill, with the keyboard alone.
    finder.keyboard.press("Control+k")
    box.fill("add several")
    expect(options.first).to_contain_text("/add_tasks")
    finder.keyboard.press("Enter")
    expect(message_box(finder)).to_have_value(re.compile("{topic}"))
    # A new chat, and back to the input, from anywhere.
    finder.keyboard.press("Alt+Shift+N")
    expect(finder.locator(".message")).to_have_count(0)
    finder.locator(".log").focus()
    finder.keyboard.press("/")
    expect(message_box(finder)).to_be_focused()
    expect(message_box(finder)).not_to_have_value(re.compile("/$"))
    # A key that the page has handled, or that is pressed elsewhere in it, is none of the chat's.
    finder.evaluate("""() => {
        const field = document.body.appendChild(document.createElement("input"));
        field.focus();
    }""")
    finder.keyboard.press("Control+k")
    finder.evaluate("() => document.activeElement.remove()")
    finder.evaluate("() => document.querySelector('agui-chat').focus()")
    finder.evaluate("""() => document.addEventListener("keydown", (event) => {
        if (!window.isOver) event.preventDefault();
    }, { capture: true })""")
    finder.keyboard.press("Control+k")
    drawn(finder)
    expect(box).to_have_count(0)
    finder.evaluate("() => (window.isOver = true)")
    # The server refuses, and the rest of the list still serves.
    finder.route("**/agent/threads/?*", lambda route: route.fulfill(status=500, body=json.dumps({})))
    finder.keyboard.press("Control+k")
    expect(finder.locator(".commands [role=status]")).to_have_text("The conversations could not be searched.")
    expect(options.filter(has_text="New chat")).to_have_count(1)


def test_a_title_of_the_model_is_shown_when_it_comes(chat: Page):
    """With a real model, the page loads the module of the part `titles`."""
    chat.evaluate("""() => {
        const chat = document.querySelector("agui-chat");
        const titles = new URL("/static/agui_titles/titles.js", location).href;
        chat.dataset.modules = JSON.stringify({ ...JSON.parse(chat.dataset.modules), "run:titles": titles });
        chat.addEventListener("ag-ui-thread", ({ detail }) => (window.told = detail.title));
    }""")
    chat.route(re.compile(r"threads/\?limit=10"), lambda route: changed(route, title="Apples in autumn"))
    hear(chat, "hello")
    other = chat.context.new_page()
    other.goto(chat.url)
    chat.wait_for_function("() => window.told === 'Apples in autumn'")
    # The user's other tabs hear of it.
    other.wait_for_function("() => document.querySelector('agui-chat').session.title === 'Apples in autumn'")
