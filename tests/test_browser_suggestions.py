"""What the user may want to say next, below the last answer."""

from collections.abc import Iterator

import pytest
from pages import Page, expect, finished, message_box, say
from servers import LiveProject, serve

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

# Answers, and suggests. The answer to the first suggestion has none of its own.
MODEL = """
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

from agui.contrib.suggestions.follow_ups import FollowUps
from assistant.agent import config

object.__setattr__(config, "capabilities", [FollowUps()])


def suggest(messages, info):
    is_last = "Buy milk" in messages[-1].parts[-1].content
    texts = [] if is_last else ["Buy milk", "<b>Drink</b> it"]
    return ModelResponse([ToolCallPart(info.output_tools[0].name, {"response": texts})])


async def answer(messages, info):
    yield "There is "
    yield "none."


model = FunctionModel(suggest, stream_function=answer)
"""


@pytest.fixture
def suggesting(new_page, site: LiveProject, signed_in: dict) -> Iterator[Page]:
    (site.path / "suggesting.py").write_text(MODEL)
    with serve(site.path, AGENT_MODEL="python:suggesting.model") as live:
        yield new_page(live.url, storage_state=signed_in)


def test_a_suggestion_is_sent_by_keyboard_and_makes_way(suggesting):
    say(suggesting, "Is there milk?")
    finished(suggesting)
    group = suggesting.get_by_role("group", name="Suggested messages")
    chips = group.get_by_role("button")
    expect(chips).to_have_text(["Buy milk", "<b>Drink</b> it"])
    suggesting.reload()
    expect(chips).to_have_text(["Buy milk", "<b>Drink</b> it"])
    chips.first.focus()
    suggesting.keyboard.press("Enter")
    expect(suggesting.locator(".bubble")).to_have_text(["Is there milk?", "Buy milk"])
    expect(group).to_be_hidden()
    expect(message_box(suggesting)).to_be_focused()
    finished(suggesting)
    expect(group).to_be_hidden()
