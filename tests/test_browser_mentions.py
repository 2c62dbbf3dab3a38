"""Records that the user mentions with @: chosen with the keyboard, and known to the run.

When they are searched for, and what is told, is in tests/element/mentions.test.mjs.
"""

import re
import shutil
from collections.abc import Callable, Iterator

import pytest
from pages import Page, expect, finished, message_box
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
