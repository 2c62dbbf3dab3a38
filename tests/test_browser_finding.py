"""What users find: conversations by their words, and words in a conversation, in a real Chromium.

More of it is in tests/element/finding.test.mjs.
"""

import re
from collections.abc import Callable

import pytest
from page_threads import Person, Thread, make_people
from pages import Page, Route, expect, hear, message_box
from servers import LiveProject

pytestmark = pytest.mark.browser

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
    finder.evaluate("() => document.querySelector('agui-chat').openThread('long')")
    expect(finder.locator(".messages")).to_contain_text("Question 59")
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
    # The bar covers no match, at the beginning of the conversation, too.
    covered = """log => {
        const [range] = CSS.highlights.get("agui-found-current");
        return range.getBoundingClientRect().top < log.nextElementSibling.getBoundingClientRect().bottom;
    }"""
    log = finder.locator(".log")
    for width, height in ((380, 700), (320, 256), (1200, 800)):
        finder.set_viewport_size({"width": width, "height": height})
        field.fill("Question 0")
        expect(status).to_have_text("1 of 1")
        assert not log.evaluate(covered), width
    # A phrase is found across the elements of Markdown, and its signs are not.
    field.fill("harbour ferry leaves")
    expect(status).to_have_text("1 of 1")
    assert finder.evaluate(HIGHLIGHTED, "agui-found-current") == ["harbour ferry leaves"]
    # Another chat of the page has highlights of its own.
    finder.evaluate("""() => {
        const other = document.querySelector("agui-chat").cloneNode();
        document.body.append(other);
        other.openThread("long");
    }""")
    other = finder.locator("agui-chat").last
    expect(other.locator(".messages")).to_contain_text("Question 59")
    other.locator(".input").press("Control+f")
    other.get_by_role("searchbox").fill("And back")
    expect(other.locator(".find [role=status]")).to_have_text("1 of 1")
    assert finder.evaluate(HIGHLIGHTED, "agui-found-current") == ["harbour ferry leaves", "And back"]
    finder.keyboard.press("Escape")
    assert finder.evaluate(HIGHLIGHTED, "agui-found-current") == ["harbour ferry leaves"]
    other.evaluate("other => other.remove()")
    field.focus()
    finder.keyboard.press("Escape")
    expect(field).to_have_count(0)
    expect(message_box(finder)).to_be_focused()
    assert not finder.evaluate("() => CSS.highlights.has('agui-found')")


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
