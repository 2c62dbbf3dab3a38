"""The sources of an answer: a list below it, and the marks in its text that lead there."""

from collections.abc import Iterator

import pytest
from pages import Page, expect, finished, say
from servers import LiveProject, serve

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

MODEL = """
from pydantic_ai.models.function import DeltaToolCall, FunctionModel

from agui import tool
from agui.contrib.sources.cite import Source, cite
from assistant.tools import registry

SOURCES = [
    Source(title="Opening hours", url="/help/hours/", quote="We open at nine."),
    Source(title="<b>Law</b>", url="https://law.example.com/hours?a=1"),
    Source(title="A sign", url="javascript:alert(1)"),
]


@tool(registry)
def opening_hours() -> str:
    "Look up when the shop is open."
    return cite("At nine.", *SOURCES)


async def answer(messages, info):
    if messages[-1].parts[0].part_kind == "tool-return":
        yield "At **nine** [1], by law [2][1], not [9].\\n\\n- `a[1]`\\n- a [link [1]](https://example.com/)"
    else:
        yield {0: DeltaToolCall("opening_hours", "{}", tool_call_id="c")}


model = FunctionModel(stream_function=answer)
"""


@pytest.fixture
def citing(new_page, live_project: LiveProject, signed_in: dict) -> Iterator[Page]:
    (live_project.path / "citing.py").write_text(MODEL)
    with serve(live_project.path, AGENT_MODEL="python:citing.model") as live:
        yield new_page(live.url, storage_state=signed_in)


def test_sources_are_listed_below_their_answer(citing):
    say(citing, "When do you open?")
    finished(citing)
    for _ in range(2):
        sources = citing.get_by_role("group").filter(has_text="3 sources")
        sources.get_by_text("3 sources").click()
        items = sources.get_by_role("listitem")
        quoted, titles = "Opening hoursWe open at nine.", ["<b>Law</b>law.example.com", "A sign"]
        expect(items).to_have_text([quoted, *titles])
        links = sources.get_by_role("link")
        expect(links).to_have_count(2)
        expect(links.first).to_have_attribute("target", "_blank")
        expect(links.first).to_have_attribute("rel", "noopener noreferrer")
        addresses = [link.get_attribute("href") for link in links.all()]
        assert addresses[0].endswith("/help/hours/")
        assert addresses[1] == "https://law.example.com/hours?a=1"
        citing.reload()


def test_marks_lead_to_the_sources_and_back_by_keyboard(citing):
    say(citing, "When do you open?")
    finished(citing)
    prose = citing.locator(".prose").last
    marks = prose.get_by_role("button")
    expect(marks).to_have_text(["[1]", "[2]", "[1]"])
    expect(prose).to_contain_text("At nine [1], by law [2][1], not [9].")
    expect(marks.nth(1)).to_have_accessible_name("Source 2: <b>Law</b>")
    item = citing.get_by_role("listitem").filter(has_text="We open at nine.")
    expect(item).to_be_hidden()
    marks.last.focus()
    citing.keyboard.press("Enter")
    expect(item).to_be_focused()
    expect(item).to_be_in_viewport()
    citing.keyboard.press("Tab")
    expect(citing.get_by_role("link", name="Opening hours")).to_be_focused()
    citing.keyboard.press("Escape")
    expect(marks.last).to_be_focused()
