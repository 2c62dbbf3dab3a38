"""What a thread keeps of what a page has seen. (transcripts/progress.yaml has what it sees.)"""

import json
from contextlib import aclosing
from copy import deepcopy
from types import SimpleNamespace

import jsonpatch
import pytest
from pydantic_ai import BinaryContent, RunContext, Tool

from agui import AgentDeps, ToolRegistry, show_activity, show_chart, show_plan, show_table, tool
from agui.events.progress import ClientView, ProtocolEvent
from agui.models import Message
from agui.protocol.outbound import to_wire
from agui.protocol.types import ActivityDeltaEvent, ActivitySnapshotEvent, TextMessageStartEvent
from agui.testing import call, fail, read_frames, say, think
from tests import urls
from tests.conftest import Client, decision, run_input, script
from tests.urls import read


async def test_a_state_that_does_not_change_is_stored_once(client: Client):
    with script(say("1"), say("2"), say("3")):
        for text in ("One", "Two", "Three"):
            await client.run(text, state={"text": "the same"})
    rows = [message.data async for message in Message.objects.all()]
    assert str(rows).count("the same") == 1
    assert (await client.thread())["state"] == {"text": "the same"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"a/b": 1, "~": 2, "": 3, "yes": True}, {"a/b": 2, "~": {"/": 1}, "": [None], "yes": 1}),
        ({"a": 1}, [1]),
    ],
)
def test_the_difference_of_two_states_leads_from_one_to_the_other(old, new):
    deps = SimpleNamespace(state=deepcopy(old))
    view = ClientView(deps, known={"not": "this"})
    view.changed_state()
    deps.state = new
    [delta] = [to_wire(event)["delta"] for event in view.changed_state()]
    assert json.dumps(jsonpatch.apply_patch(old, delta), sort_keys=True) == json.dumps(new, sort_keys=True)


# --- The thread keeps what was shown


def activities(messages) -> list[tuple[str, str, object]]:
    return [(m["id"], m["activityType"], m["content"]) for m in messages if m["role"] == "activity"]


def followed(messages: list[dict], events: list[dict]) -> list[tuple[str, object]]:
    """The messages of a client that had these and followed the stream: ids, and of activities the content.

    As the official client does it: a result goes beside those of the same answer.
    """
    known = [(m["id"], m.get("content") if m["role"] == "activity" else None) for m in messages]
    answers = {call["id"]: m["id"] for m in messages for call in m.get("toolCalls", ())}
    results = {m["id"] for m in messages if m["role"] == "tool"}
    for event in events:
        ids, message_id = [one for one, _ in known], event.get("messageId")
        place = ids.index(message_id) if message_id in ids else len(ids)
        if event["type"] == "TOOL_CALL_START":
            answers[event["toolCallId"]] = message_id = event.get("parentMessageId") or event["toolCallId"]
            known += [(message_id, None)] if message_id not in ids else []
        elif event["type"] == "TOOL_CALL_RESULT":
            place = ids.index(answers[event["toolCallId"]]) + 1
            while place < len(known) and known[place][0] in results:
                place += 1
            known.insert(place, (message_id, None))
            results.add(message_id)
        elif event["type"] == "ACTIVITY_SNAPSHOT" and (message_id not in ids or event.get("replace", True)):
            known[place:] = [(message_id, event["content"]), *known[place + 1 :]]
        elif event["type"] == "ACTIVITY_DELTA":
            known[place] = (message_id, jsonpatch.apply_patch(known[place][1], event["patch"]))
        elif event["type"] in ("TEXT_MESSAGE_START", "REASONING_MESSAGE_START") and message_id not in ids:
            known.append((message_id, None))
    return known


async def run_and_compare(client: Client, **body) -> list[dict]:
    """Run; the thread has to be what a client that followed the run has."""
    response = await client.get("threads/t1/")
    messages = json.loads(response.content)["messages"] if response.status_code == 200 else []
    sent = [] if "resume" in body else run_input("Work")["messages"]
    events = await client.run(messages=sent, **body)
    stored = (await client.thread())["messages"]
    told = [(m["id"], m["content"] if m["role"] == "activity" else None) for m in stored]
    assert told == followed([*messages, *sent], events)
    return stored


def show(number: int, **more) -> dict:
    return {"activity": {"done": number}, **more}


async def test_an_activity_is_kept_at_its_place_with_its_last_content(client: Client):
    work = call("work", events=[show(0), show(1), {"activity": {"b": 2}, "id": "b"}], _id="c1")
    with script([think("Hm"), say("Wait."), work], [say("More."), call("work", events=[show(5)], _id="c2")], say("ok")):
        stored = await run_and_compare(client)
    assert activities(stored) == [
        ("plan-c1", "plan", {"done": 1}),
        ("b", "plan", {"b": 2}),
        ("plan-c2", "plan", {"done": 5}),
    ]
    roles = [message["role"] for message in stored]
    assert roles[1:6] == ["reasoning", "assistant", "tool", "activity", "activity"]
    assert roles[6:] == ["assistant", "tool", "activity", "assistant"]
    with script([say("Wait."), call("work", events=[show(1)])], fail(RuntimeError("down"))):
        assert len(activities(await run_and_compare(client))) == 4


async def test_an_activity_of_a_later_run_stays_at_its_first_place(client: Client):
    with script(call("work", events=[show(1, id="x")]), say("1"), call("work", events=[show(2, id="x")]), say("2")):
        await run_and_compare(client)
        stored = await run_and_compare(client)
    assert activities(stored) == [("x", "plan", {"done": 2})]
    kept = {"raw": "ActivitySnapshotEvent", "message_id": "x", "activity_type": "plan", "replace": False}
    with script(call("work", events=[{**kept, "content": {"done": 3}}]), say("3")):
        stored = await run_and_compare(client)
    assert activities(stored) == [("x", "plan", {"done": 2})]


async def test_the_activities_of_a_run_that_was_cancelled_are_kept(client: Client):
    read.clear()
    with script(
        call("work", events=[show(1, id="x"), show(2, id="x"), {"step": "Wait", "until_read": True}]), say("ok")
    ):
        async with aclosing(read_frames(await client.post(run_input("Work")))) as frames:
            async for _, event in frames:
                if event["type"] == "STEP_STARTED":
                    await client.http.post("/agent/threads/t1/cancel/")
    assert activities((await client.thread())["messages"]) == [("x", "plan", {"done": 2})]


async def test_the_activities_of_a_run_that_pauses_are_kept_and_go_on(client: Client):
    first, second = (call("work", events=[show(number, id="x")]) for number in (1, 2))
    with script([first, call("wipe", _id="w1")], second, say("ok")):
        stored = await run_and_compare(client)
        assert activities(stored) == [("x", "plan", {"done": 1})]
        stored = await run_and_compare(client, resume=[decision("w1")])
    assert activities(stored) == [("x", "plan", {"done": 2})]


async def test_what_an_approved_tool_shows_before_anything_else_is_kept(client: Client):
    async def publish(ctx: RunContext[AgentDeps]) -> str:
        """Publish."""
        await show_activity(ctx, "plan", {"done": 1})
        return "published"

    tools = [Tool(publish, requires_approval=True)]
    with script(call("publish", _id="p1"), say("ok")), urls.view.agent.override(tools=tools):
        await run_and_compare(client)
        stored = await run_and_compare(client, resume=[decision("p1")])
    assert [message["role"] for message in stored] == ["user", "assistant", "tool", "activity", "assistant"]


def test_an_activity_does_not_take_the_place_of_a_message():
    view = ClientView(SimpleNamespace(state={}), known={})
    view.translate(TextMessageStartEvent(message_id="m1", role="assistant"))
    assert view.translate(ActivitySnapshotEvent(message_id="m1", activity_type="plan", content={})) == []


async def test_files_in_an_activity_are_words(client: Client):
    content = {"raw": b"\xff\x00" * 100, "picture": BinaryContent(b"\xff\x00" * 100, media_type="image/png"), "n": [1]}

    async def draw(ctx: RunContext[AgentDeps]) -> str:
        """Draw."""
        await show_activity(ctx, "plan", content, message_id="x")
        event = ActivitySnapshotEvent(message_id="y", activity_type="plan", content=content)
        await ctx.emit(ProtocolEvent(event=event))
        added = {"op": "add", "path": "/raw", "value": content["raw"]}
        for change in ({"op": "remove", "path": "/raw"}, added, {"op": "add", "path": "/n/-", "value": 2}):
            delta = ActivityDeltaEvent(message_id="y", activity_type="plan", patch=[change])
            await ctx.emit(ProtocolEvent(event=delta))
        return "drawn"

    with script(call("draw"), say("ok")), urls.view.agent.override(tools=[draw]):
        stored = await run_and_compare(client)
    words = {"raw": "[200 bytes, not kept]", "picture": "[image/png, 200 bytes, not kept]"}
    assert activities(stored) == [("x", "plan", {**words, "n": [1]}), ("y", "plan", {**words, "n": [1, 2]})]


async def test_charts_of_one_tool_stand_side_by_side_by_their_titles(client: Client, registry: ToolRegistry, mount):
    @tool(registry)
    async def compare(ctx: RunContext[AgentDeps]) -> str:
        """Compare."""
        for title in ("North", "South", "North"):
            await show_chart(ctx, title, labels=["Mon"], series={"Trains": [len(title)]})
            await show_table(ctx, title, [{"train": title}])
            await show_plan(ctx, title, {"Search": "done"})
        return "compared"

    mount(registry, call("compare"), say("Done."))
    await client.run("Compare")
    messages = (await client.thread())["messages"]
    shown = [(one["activityType"], one["content"]["title"]) for one in messages if one["role"] == "activity"]
    assert sorted(shown) == [(kind, title) for kind in ("chart", "plan", "table") for title in ("North", "South")]
