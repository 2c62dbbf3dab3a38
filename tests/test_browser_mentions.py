"""Records that the user mentions with @: chosen with the keyboard, and sent with the message.

When they are searched for, and what is told, is in tests/element/mentions.test.mjs.
"""

import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from pages import Page, expect, finished, message_box, runs_of
from servers import LiveProject, serve

pytestmark = pytest.mark.browser

SEARCH = """
from agui.contrib.mentions.records import Mention

TITLES = ["Buy milk", "Buy bread", "Call <b>Ada</b>"]


def search(user, text):
    for number, title in enumerate(TITLES):
        if text.lower() in title.lower():
            yield Mention("task", number, title, f"number {number}")
"""
AGENT = """from agui.contrib.mentions.records import Mentions
from assistant.mentions import search

config = AgentConfig(
    capabilities=[Mentions(search)],
"""


@pytest.fixture(scope="module")
def mentioning(site: LiveProject, tmp_path_factory) -> Iterator[LiveProject]:
    """A copy of the project, in which users mention their tasks."""
    project = tmp_path_factory.mktemp("mentioning") / "project"
    shutil.copytree(site.path, project, symlinks=True)
    agent = project / "assistant/agent.py"
    agent.write_text(agent.read_text().replace("config = AgentConfig(\n", AGENT))
    (project / "assistant/mentions.py").write_text(SEARCH)
    with serve(project) as live:
        yield live


@pytest.fixture
def page(new_page: Callable[..., Page], mentioning: LiveProject, signed_in: dict) -> Page:
    return new_page(mentioning.url, storage_state=signed_in)


def write(page: Page, text: str) -> None:
    """Type at the end of the input, as a user does."""
    message_box(page).press_sequentially(text)


def test_record_is_mentioned_by_keyboard_and_goes_with_the_message(page):
    write(page, "Finish @")
    records = page.get_by_role("listbox", name="Records")
    options = records.get_by_role("option")
    expect(options).to_have_count(3)
    expect(records.get_by_role("group", name="Task")).to_be_visible()
    write(page, "buy")
    expect(options).to_have_count(2)
    expect(page.get_by_role("option", selected=True)).to_contain_text("Buy milk")
    assert message_box(page).get_attribute("aria-activedescendant") == "option-0"
    message_box(page).press("ArrowDown")
    expect(page.get_by_role("option", selected=True)).to_contain_text("Buy bread")
    message_box(page).press("Tab")
    expect(message_box(page)).to_have_value("Finish @Buy bread ")
    expect(message_box(page)).to_be_focused()
    expect(records).to_be_hidden()
    # The title has a space, and what follows it is no search.
    write(page, "and @ada")
    expect(options).to_have_text(re.compile("Call <b>Ada</b>"))
    message_box(page).press("Enter")
    runs = runs_of(page)
    message_box(page).press("Enter")
    expect(page.locator(".bubble")).to_have_text("Finish @Buy bread and @Call <b>Ada</b>")
    finished(page)
    # What the model reads of it is in engine/tests/test_mentions.py.
    mentions = runs[0]["messages"][-1]["metadata"]["mentions"]
    assert [(one["kind"], one["id"], one["title"]) for one in mentions] == [
        ("task", "1", "Buy bread"),
        ("task", "2", "Call <b>Ada</b>"),
    ]
