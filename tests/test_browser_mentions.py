"""Records that the user mentions with @: found while they type, chosen in each way, and known to the run."""

import json
import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from pages import Page, Route, drawn, expect, finished, first, message_box, say
from servers import LiveProject, serve

pytestmark = pytest.mark.browser

SEARCH = """
from agui.contrib.mentions.records import Mention
from assistant.models import Task


def search(user, text):
    if text == "broken":
        raise RuntimeError("secret detail")
    for number, task in enumerate(Task.objects.filter(owner=user, title__icontains=text)):
        yield Mention("task", task.pk, task.title, f"number {number}")
"""
AGENT = """from agui.contrib.mentions.records import Mentions
from assistant.mentions import search

config = AgentConfig(
    capabilities=[Mentions(search)],
"""
# Answers with the records that the model was told of.
MODEL = """
import re

from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    told = [p.content for p in messages[-1].parts if p.part_kind == "user-prompt" and "<mentions>" in p.content]
    yield "known: " + ", ".join(re.findall(r'"title": "(.+?)"', "".join(told)))


model = FunctionModel(stream_function=answer)
"""
TASKS = """
from django.contrib.auth import get_user_model
from assistant.models import Task
Task.objects.all().delete()
for title in ["Buy milk", "Buy bread", "Call <b>Ada</b>"]:
    Task.objects.create(owner=get_user_model().objects.get(username="admin"), title=title)
"""


@pytest.fixture(scope="module")
def mentioning(site: LiveProject, signed_in: dict, tmp_path_factory) -> Iterator[LiveProject]:
    """A copy of the project, in which users mention their tasks."""
    project = tmp_path_factory.mktemp("mentioning") / "project"
    shutil.copytree(site.path, project, symlinks=True)
    agent = project / "assistant/agent.py"
    agent.write_text(agent.read_text().replace("config = AgentConfig(\n", AGENT))
    (project / "assistant/mentions.py").write_text(SEARCH)
    (project / "mentioning.py").write_text(MODEL)
    with serve(project, AGENT_MODEL="python:mentioning.model") as live:
        live.manage("shell", "-c", TASKS)
        yield live


@pytest.fixture
def page(new_page: Callable[..., Page], mentioning: LiveProject, signed_in: dict) -> Page:
    return new_page(mentioning.url, storage_state=signed_in)


def write(page: Page, text: str) -> None:
    """Type at the end of the input, as a user does."""
    message_box(page).press_sequentially(text)


def listed(page: Page):
    return page.get_by_role("listbox", name="Records")


def hint(page: Page, text: str):
    return page.get_by_role("status").filter(has_text=text)


def mention(page: Page, typed: str) -> None:
    write(page, typed)
    expect(listed(page)).to_be_visible()
    message_box(page).press("Enter")
    expect(listed(page)).to_be_hidden()


def test_record_is_mentioned_by_keyboard_and_the_agent_knows_which(page):
    write(page, "Finish @")
    options = listed(page).get_by_role("option")
    expect(options).to_have_count(3)
    expect(listed(page).get_by_role("group", name="Task")).to_be_visible()
    write(page, "buy")
    expect(options).to_have_count(2)
    expect(page.get_by_role("option", selected=True)).to_contain_text("Buy milk")
    assert message_box(page).get_attribute("aria-activedescendant") == "option-0"
    message_box(page).press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Buy bread")
    message_box(page).press("Tab")
    expect(message_box(page)).to_have_value("Finish @Buy bread ")
    expect(message_box(page)).to_be_focused()
    expect(listed(page)).to_be_hidden()
    # The title has a space, and what follows it is no search.
    write(page, "and @ada")
    expect(options).to_have_text(re.compile("Call <b>Ada</b>"))
    message_box(page).press("Enter")
    message_box(page).press("Enter")
    expect(page.locator(".bubble")).to_have_text("Finish @Buy bread and @Call <b>Ada</b>")
    finished(page)
    expect(page.locator(".assistant .prose")).to_contain_text("known: Buy bread, Call")


@pytest.mark.nightly
def test_mention_lasts_through_a_reload_an_edit_and_another_answer(page):
    mention(page, "See @milk")
    mention(page, "and @bread")
    message_box(page).press("Enter")
    finished(page)
    expect(page.locator(".assistant .prose")).to_have_text("known: Buy milk, Buy bread")
    page.reload()
    page.get_by_role("button", name="Answer again").click()
    finished(page)
    expect(page.locator(".assistant .prose:visible")).to_have_text("known: Buy milk, Buy bread")
    page.get_by_role("button", name="Edit the message").click()
    page.locator(".editor textarea").fill("Only @Buy bread")
    page.locator(".editor textarea").press("Enter")
    finished(page)
    expect(page.locator(".assistant .prose:visible")).to_have_text("known: Buy bread")
    # A name that nobody has chosen is only a text.
    write(page, "See @Buy milk")
    expect(listed(page)).to_be_visible()
    message_box(page).press("Escape")
    expect(listed(page)).to_be_hidden()
    message_box(page).press("Enter")
    expect(page.locator(".bubble").last).to_have_text("See @Buy milk")
    finished(page)
    expect(page.locator(".assistant .prose:visible").last).to_have_text("known:")


@pytest.mark.nightly
def test_draft_keeps_its_mention_through_a_reload(page):
    mention(page, "See @milk")
    with page.expect_response(re.compile(r"/mentions[.\w]*\.js")):
        page.reload()
    expect(message_box(page)).to_have_value("See @Buy milk ")
    drawn(page)
    message_box(page).press("Enter")
    finished(page)
    expect(page.locator(".assistant .prose")).to_have_text("known: Buy milk")


@pytest.mark.nightly
def test_message_that_waits_keeps_its_mention(page):
    page.evaluate("""() => {
        const chat = document.querySelector("agui-chat");
        const { request } = chat;
        chat.request = async (url, init) => {
            const response = await request.call(chat, url, init);
            if (init.method === "POST") await new Promise((goOn) => (window.goOn = goOn));
            return response;
        };
    }""")
    say(page, "hello")
    page.wait_for_function("() => window.goOn")
    mention(page, "See @milk")
    message_box(page).press("Enter")
    expect(page.locator(".waiting-text")).to_contain_text("See @Buy milk")
    page.evaluate("() => { const { goOn } = window; window.goOn = null; goOn(); }")
    page.wait_for_function("() => window.goOn")
    page.evaluate("() => window.goOn()")
    finished(page)
    expect(page.locator(".assistant .prose").last).to_have_text("known: Buy milk")


@pytest.mark.nightly
def test_message_that_comes_back_keeps_its_mention(page):
    refusal = {"status": 429, "json": {"error": "too_many_requests", "message": "Too many."}}
    page.route("**/agent/", lambda route: route.fulfill(**refusal))
    mention(page, "See @milk")
    message_box(page).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Too many.")
    page.unroute("**/agent/")
    page.get_by_role("button", name="Try again").click()
    finished(page)
    expect(page.locator(".assistant .prose")).to_have_text("known: Buy milk")


def let_pass(page: Page) -> None:
    """Turn the page's clock on by more than a search waits for the next letter, so a search that is due has begun."""
    page.clock.run_for(1000)
    drawn(page)


def test_escape_closes_the_list_until_the_next_at(page):
    page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/mentions/" in request.url else None)
    write(page, "@bu")
    expect(listed(page)).to_be_visible()
    message_box(page).press("Escape")
    expect(listed(page)).to_be_hidden()
    expect(message_box(page)).to_have_value("@bu")
    before = len(asked)
    write(page, "y")
    let_pass(page)
    assert len(asked) == before
    expect(listed(page)).to_be_hidden()
    write(page, " @bu")
    expect(listed(page)).to_be_visible()
    # In another message, the same letters count again.
    message_box(page).press("Escape")
    message_box(page).press("Enter")
    finished(page)
    write(page, "@bu")
    expect(listed(page)).to_be_visible()


@pytest.mark.nightly
def test_an_address_is_no_mention(page):
    page.clock.install()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/mentions/" in request.url else None)
    write(page, "Write to ada@buy.example, see https://example.com/@buy and a_@buy or @ buy")
    let_pass(page)
    assert asked == [url for url in asked if url.endswith("?q=")]  # Only the last "@", before its space
    expect(listed(page)).to_be_hidden()
    write(page, " (@buy")
    expect(listed(page)).to_be_visible()


@pytest.mark.nightly
def test_only_the_last_search_is_shown(page):
    held: list[Route] = []
    page.route("**/mentions/?q=b", lambda route: held.append(route))
    write(page, "@b")
    late = first(page, held)
    write(page, "uy m")
    expect(listed(page).get_by_role("option")).to_have_count(1)
    late.fulfill(json={"mentions": [{"kind": "task", "id": "1", "title": "Late"}]})
    drawn(page)
    expect(listed(page).get_by_role("option")).to_contain_text("Buy milk")


@pytest.mark.nightly
def test_nothing_found_and_a_failure_are_said(page):
    write(page, "@zzz")
    expect(hint(page, "No records found.")).to_be_visible()
    expect(listed(page)).to_be_hidden()
    message_box(page).fill("")
    write(page, "@broken")
    expect(hint(page, "The search failed. Type on to try again.")).to_be_visible()
    message_box(page).press("Backspace")
    expect(hint(page, "The search failed.")).to_have_count(0)
    # The page says nothing about a sentence that goes on after an "@".
    message_box(page).fill("")
    with page.expect_response("**/mentions/?q=zzz%2C*"):
        write(page, "@zzz, please")
    drawn(page)
    expect(hint(page, "No records found.")).to_have_count(0)
    # While the server thinks, the user is told.
    held: list[Route] = []
    page.route("**/mentions/?q=milk", lambda route: held.append(route))
    message_box(page).fill("")
    write(page, "@milk")
    expect(hint(page, "Searching…")).to_be_visible()
    first(page, held).continue_()
    expect(listed(page)).to_be_visible()
    expect(hint(page, "Searching…")).to_have_count(0)


@pytest.mark.nightly
def test_finger_chooses_in_the_middle_of_a_text(new_page, mentioning, signed_in):
    page = new_page(
        mentioning.url,
        storage_state=signed_in,
        viewport={"width": 380, "height": 700},
        has_touch=True,
        is_mobile=True,
    )
    message_box(page).fill("See  today")
    message_box(page).tap()
    message_box(page).evaluate("input => input.setSelectionRange(4, 4)")
    write(page, "@milk")
    listed(page).get_by_role("option").tap()
    expect(message_box(page)).to_have_value("See @Buy milk today")
    assert message_box(page).evaluate("input => input.selectionStart") == len("See @Buy milk")
    page.get_by_role("button", name="Send", exact=True).tap()
    finished(page)
    expect(page.locator(".assistant .prose")).to_have_text("known: Buy milk")


def test_without_a_search_nothing_is_loaded(chat):
    chat.clock.install()
    loaded: list[str] = []
    chat.on("request", lambda request: loaded.append(request.url))
    write(chat, "See @buy")
    let_pass(chat)
    assert not [url for url in loaded if re.search("palette|mentions", url)]
    message_box(chat).fill("")
    write(chat, "/?")
    message_box(chat).press("Enter")
    shortcuts = chat.get_by_role("dialog", name="Keyboard shortcuts")
    expect(shortcuts).to_be_visible()
    expect(shortcuts.get_by_text("Mention a record")).to_have_count(0)
    assert not [url for url in loaded if "mentions" in url]
    assert json.loads(chat.evaluate("async () => (await fetch('/agent/mentions/?q=')).text()")) == {"mentions": []}
