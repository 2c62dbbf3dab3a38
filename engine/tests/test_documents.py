"""How documents grow, and what that costs. (transcripts/documents.yaml has their versions, and what is refused.)"""

import json
import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import jsonpatch
import pytest
from pydantic_ai import RunContext

from agui import AgentDeps, ToolRegistry, show_activity, show_document, tool
from agui.contrib.documents.show import MAX_CHARS
from agui.events.progress import ClientView
from agui.events.shown import Activity
from agui.protocol.types import ActivityDeltaEvent, ActivitySnapshotEvent
from agui.testing import ScriptedModel, call, say
from tests import pages
from tests.conftest import Client, counted
from tests.transcript_tools import AGENTS
from tests.wire import check_stream

pytestmark = pytest.mark.django_db(transaction=True)

Mount = Callable[..., ScriptedModel]


async def documents(client: Client) -> list[dict[str, Any]]:
    """The contents of the documents of the stored thread, in their order."""
    messages = (await client.thread())["messages"]
    return [one["content"] for one in messages if one.get("activityType") == "document"]


async def test_a_text_grows_by_what_is_new_and_is_kept_as_one(client: Client, mount: Mount):
    pieces = [f"word{number} " for number in range(300)]
    registry, _ = AGENTS["shows documents"]()
    mount(registry, call("show", id="a", content="# Title\n", more=pieces), say("Done."))
    events = await client.run("Write")
    check_stream(events)
    first, *deltas = [event for event in events if event["type"].startswith("ACTIVITY_")]
    assert first["type"] == "ACTIVITY_SNAPSHOT"
    assert first["content"]["text"] == ["# Title\n"]
    assert [one["type"] for one in deltas] == ["ACTIVITY_DELTA"] * len(pieces)
    content = first["content"]
    for delta in deltas:
        content = jsonpatch.apply_patch(content, delta["patch"])
    assert content["text"] == ["# Title\n", *pieces]
    # The last delta is no longer than the first, but for the number of its word.
    assert len(json.dumps(deltas[-1])) <= len(json.dumps(deltas[0])) + 2
    assert await documents(client) == [{"id": "a", "kind": "markdown", "text": ["# Title\n" + "".join(pieces)]}]


async def test_a_document_outlives_the_failure_of_its_tool(client: Client, mount: Mount):
    tools = ToolRegistry()

    @tool(tools)
    async def write(ctx: RunContext[AgentDeps]) -> str:
        """Write as much as there is room for, and fail."""
        document = await show_document(ctx, "a", "Some")
        with pytest.raises(ValueError, match="1000004 characters"):
            await document.append("x" * MAX_CHARS)
        await document.append(" more")  # What was too long does not count
        await show_activity(ctx, "lines", {"text": ["One", " two"]})  # Only texts of documents are joined
        await document.append("x" * MAX_CHARS)
        return "shown"

    mount(tools, call("write"), say("Sorry."))
    events = await client.run("Write")
    [result] = [event for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result["metadata"]["outcome"] == "failed"
    shown = [one["content"] for one in (await client.thread())["messages"] if one["role"] == "activity"]
    assert [one["text"] for one in shown] == [["Some more"], ["One", " two"]]


# --- What a growing text costs


def growing(count: int) -> tuple[ClientView, list[ActivityDeltaEvent]]:
    view = ClientView(AgentDeps(user=None, thread_id="t", run_id="r"), {})
    snapshot = ActivitySnapshotEvent(message_id="a", activity_type="document", content={"text": [], "id": "a"})
    view.translate(snapshot)
    patch = [{"op": "add", "path": "/text/-", "value": "word "}]
    return view, [ActivityDeltaEvent(message_id="a", activity_type="document", patch=patch)] * count


def test_a_delta_costs_the_same_however_long_the_text_is():
    costs = []
    for count in (500, 1000):
        view, deltas = growing(count)
        with counted() as calls:
            for delta in deltas:
                [sent] = view.translate(delta)
                assert sent.type == "ACTIVITY_DELTA"
        costs.append(calls[0])
        assert view.activities["a"].content["text"] == ["word "] * count
    assert costs[1] < 2.1 * costs[0]


def test_what_is_added_has_a_json_form():
    view, [delta] = growing(1)
    patch = [{"op": "add", "path": "/text/-", "value": [b"abc", float("nan")]}]
    [sent] = view.translate(ActivityDeltaEvent(message_id="a", activity_type="document", patch=patch))
    assert view.activities["a"].content["text"] == [["[3 bytes, not kept]", None]]
    assert [one.value for one in sent.patch] == [["[3 bytes, not kept]", None]]

    # Events that were sent do not change.
    [sent] = view.translate(ActivitySnapshotEvent(message_id="a", activity_type="x", content={"text": ["a"]}))
    view.translate(delta.model_copy(update={"activity_type": "x"}))
    assert sent.content == {"text": ["a"]}
    assert view.activities["a"].content == {"text": ["a", "word "]}


ENDS = {"a": [1], "b": {"c/d": [[2]]}, "e": "text"}


@pytest.mark.parametrize(
    ("patch", "is_append"),
    [
        ([{"op": "add", "path": "/a/-", "value": 2}], True),
        ([{"op": "add", "path": "/b/c~1d/0/-", "value": {"x": 1}}, {"op": "add", "path": "/a/-", "value": None}], True),
        ([{"op": "add", "path": "/a/-", "value": 2}, {"op": "remove", "path": "/e"}], False),
        ([{"op": "add", "path": "/a/0", "value": 2}], False),
        ([{"op": "test", "path": "/a/-", "value": 2}], False),
        ([{"op": "add", "path": "/b/-", "value": 2}], False),
        ([{"op": "add", "path": "/no/-", "value": 2}], False),
        ([{"op": "add", "path": "/a/-", "value": []}, {"op": "add", "path": "/a/1/-", "value": 2}], False),
        ([], False),
    ],
)
def test_only_patches_that_append_are_applied_in_place(patch: list[dict[str, Any]], is_append: bool):
    before = json.loads(json.dumps(ENDS))
    activity = Activity("x", before, 0, True)
    assert activity.append(patch) is is_append
    assert before == ENDS
    assert activity.content == (jsonpatch.apply_patch(ENDS, patch) if is_append else ENDS)


def test_a_sent_patch_does_not_change():
    activity = Activity("x", {"rows": []}, 0, True)
    patch = [{"op": "add", "path": "/rows/-", "value": {"cells": []}}]
    activity.append(patch)
    activity.append([{"op": "add", "path": "/rows/0/cells/-", "value": 1}])
    assert patch[0]["value"] == {"cells": []}
    assert activity.content == {"rows": [{"cells": [1]}]}


# --- The manual


async def test_the_manual_shows_a_tool_that_works(client: Client, mount: Mount):
    section = pages.read("page.md").partition("\n### Documents\n")[2].partition("\n## ")[0]
    code = re.findall(r"^```python\n(.*?)^```$", section, re.M | re.S)[0]

    async def paragraphs_about(subject: str) -> AsyncIterator[str]:
        for number in range(3):
            yield f"{number} of {subject}. "

    known = {"tool": tool, "registry": ToolRegistry(), "RunContext": RunContext, "AgentDeps": AgentDeps}
    values: dict[str, Any] = {**known, "paragraphs_about": paragraphs_about}
    exec(code, values)  # noqa: S102
    mount(values["registry"], call("write_report", subject="Rome"), say("There."))
    check_stream(await client.run("Report"))
    text = "# Rome\n\n0 of Rome. 1 of Rome. 2 of Rome. "
    assert await documents(client) == [{"id": "report", "title": "Rome", "kind": "markdown", "text": [text]}]
