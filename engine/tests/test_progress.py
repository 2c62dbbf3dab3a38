"""What a page sees while a run is at work: the shared state, steps, activities, events of tools."""

import json
from contextlib import aclosing
from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import jsonpatch
import pytest
from pydantic_ai import BinaryContent, RunContext, Tool

from agui import AgentDeps, ToolRegistry, show_activity, show_chart, show_plan, show_table, tool
from agui.events.progress import ClientView, ProtocolEvent
from agui.models import Message
from agui.protocol.outbound import to_wire
from agui.protocol.types import ActivityDeltaEvent, ActivitySnapshotEvent, TextMessageStartEvent
from agui.testing import call, event_types, fail, read_frames, say, think
from tests import urls
from tests.conftest import Client, decision, parts_of, run_input, script
from tests.urls import ODD, read

STATE = ("STATE_SNAPSHOT", "STATE_DELTA")


def of(events, *types) -> list[dict]:
    return [event for event in events if event["type"] in types]


def reduced(events, state=None):
    """The state as a client has it in the end."""
    for event in of(events, *STATE):
        patch = event.get("delta")
        state = event["snapshot"] if patch is None else jsonpatch.apply_patch(state, patch)
    return state


async def test_the_first_change_is_sent_whole_and_the_others_as_differences(client: Client):
    with script(call("note", text="a"), call("note", text="b"), call("echo", text="x"), say("Noted.")):
        events = await client.run("Note")

    assert of(events, *STATE) == [
        {"type": "STATE_SNAPSHOT", "snapshot": {"text": "a"}},
        {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/text", "value": "b"}]},
    ]
    types = event_types(events)
    assert types[types.index("STATE_SNAPSHOT") - 1] == "TOOL_CALL_RESULT"
    assert (await client.thread())["state"] == {"text": "b"}


async def test_a_state_that_nothing_changes_is_not_sent(client: Client):
    with script(call("echo", text="x"), say("ok"), say("ok")):
        for state in ({}, {"text": "mine"}):
            assert of(await client.run("Hi", state=state), *STATE) == []


async def test_a_client_without_the_threads_state_gets_it_first(client: Client):
    with script(call("note", text="kept"), say("ok"), say("ok"), call("note", text="new"), say("ok")):
        await client.run("Note")
        events = await client.run("And?", state={})
        assert event_types(events)[:2] == ["RUN_STARTED", "STATE_SNAPSHOT"]
        assert reduced(events) == {"text": "kept"}
        events = await client.run("Change it")
    assert event_types(of(events, *STATE)) == list(STATE)
    assert reduced(events) == {"text": "new"}


async def test_the_clients_state_is_the_runs(client: Client):
    with script(call("recall"), say("ok"), say("ok")) as model:
        await client.run("Read", state={"text": "from the page"})
        # What was sent once is the thread's, for the next client.
        assert reduced(await client.run("Again")) == {"text": "from the page"}
    assert model.requests[1].tool_results == {"recall": "from the page"}


async def test_what_the_agent_does_not_know_of_a_state_is_corrected(client: Client):
    with script(say("ok")):
        events = await client.run("Hi", state={"text": "a", "colour": "red"})
    assert reduced(events) == {"text": "a"}


@pytest.mark.parametrize("state", [None, {}, {"colour": "red"}, [], [1], "text", 5, False])
async def test_an_agent_without_a_state_ignores_it(client: Client, state):
    client.prefix = "/open/"
    with script(say("Hi")):
        events = await client.run("Hi", state=state)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert of(events, *STATE) == []


async def test_a_change_is_seen_while_the_tool_is_at_work(client: Client):
    with script(call("work", events=[{"note": "a"}]), say("ok")):
        types = event_types(await client.run("Work"))
    assert types.index("CUSTOM") < types.index("STATE_SNAPSHOT") < types.index("TOOL_CALL_RESULT")


async def test_a_state_of_a_run_that_failed_is_the_one_that_was_shown(client: Client):
    with script(call("note", text="a"), fail(RuntimeError("down"))):
        events = await client.run("Note")
    assert events[-1]["type"] == "RUN_ERROR"
    assert (await client.thread())["state"] == reduced(events) == {"text": "a"}


@pytest.mark.parametrize("kind", sorted(ODD))
async def test_a_state_without_a_json_form_costs_nothing_else(client: Client, kind: str):
    with script(call("note", text="good"), call("clear", to=kind), call("echo", text="charged"), say("Done.")):
        events = await client.run("Clear")
    assert events[-1]["type"] == "RUN_FINISHED"
    thread = await client.thread()
    assert "charged" in str(thread["messages"])
    with script(say("Yes.")):
        assert (await client.run("Again"))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("kind", sorted(ODD))
async def test_an_event_without_a_json_form_costs_nothing_else(client: Client, kind: str):
    with script(call("work", events=[{"odd": kind}]), call("echo", text="charged"), say("Done.")):
        events = await client.run("Work")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "charged" in str((await client.thread())["messages"])


async def test_a_state_that_was_taken_away_stays_away(client: Client):
    with script(call("note", text="old"), call("forget"), say("Done."), say("Yes.")):
        assert reduced(await client.run("Forget")) == {}
        assert (await client.thread())["state"] == {}
        assert reduced(await client.run("Again"), {}) != {"text": "old"}


async def test_a_stored_state_of_another_form_does_not_end_the_thread(client: Client, monkeypatch):
    with script(call("note", text="a"), say("ok")):
        await client.run("Note")

    class Other(urls.BaseModel):
        text: list[str] = []

    endpoint = replace(urls.view.endpoint, config=urls.AgentConfig(state_type=Other))
    vars(endpoint)["agent"] = urls.view.agent
    monkeypatch.setattr(urls.view, "endpoint", endpoint)
    with script(say("ok")):
        assert (await client.run("Hi"))[-1]["type"] == "RUN_FINISHED"
    assert (await client.thread())["state"] == {"text": []}


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
        ({"a/b": 1, "~": 2, "": 3}, {"a/b": 2, "~": {"/": 1}, "": [None]}),
        ({"list": [1, 2, 3, 4]}, {"list": [4, 2, 5]}),
        ({"list": [{"done": False}, {"done": True}]}, {"list": [{"done": True}]}),
        ({"one": 1, "yes": True}, {"one": True, "yes": 1}),
        ({"deep": {"er": {"est": [[]]}}}, {"deep": {"er": {"est": [[{}]]}}}),
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


async def test_a_step_is_on_for_as_long_as_its_block(client: Client):
    with script(call("work", events=[{"step": "Search"}, {"step": "Search"}]), say("ok")):
        events = await client.run("Work")
    told = of(events, "STEP_STARTED", "STEP_FINISHED", "CUSTOM")
    assert event_types(told) == ["STEP_STARTED", "CUSTOM", "STEP_FINISHED"] * 2
    assert told[0]["stepName"] == told[2]["stepName"] == "Search"
    assert (told[1]["name"], told[1]["value"]) == ("progress", {"percent": 50})
    [call_id] = {event["toolCallId"] for event in of(events, "TOOL_CALL_START")}
    assert all(event["metadata"] == {"toolCallId": call_id} for event in told)


async def test_steps_that_are_named_together_are_a_checklist_that_stays(client: Client):
    names = ["Search", "Book", "Pay"]
    steps = [{"step": name, "of": names} for name in names[:2]]
    with script(call("work", events=steps), say("ok")):
        events = await client.run("Work")
    shown: Any = None
    seen = []
    for event in of(events, "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"):
        shown = event["content"] if "content" in event else jsonpatch.apply_patch(shown, event["patch"])
        seen.append([one["status"] for one in shown["steps"]])
    assert seen == [
        ["running", "pending", "pending"],
        ["done", "pending", "pending"],
        ["done", "running", "pending"],
        ["done", "done", "pending"],
    ]
    assert [one["title"] for one in shown["steps"]] == names
    stored = [one for one in (await client.thread())["messages"] if one["role"] == "activity"]
    assert [(one["activityType"], one["content"]) for one in stored] == [("plan", shown)]


async def test_a_step_that_ends_with_an_exception_has_failed(client: Client):
    step = {"step": "Book", "of": ["Search", "Book"], "error": "Try again."}
    with script(call("work", events=[step]), say("ok")):
        events = await client.run("Work")
    [stored] = [one for one in (await client.thread())["messages"] if one["role"] == "activity"]
    assert [one["status"] for one in stored["content"]["steps"]] == ["done", "failed"]
    assert event_types(of(events, "STEP_STARTED", "STEP_FINISHED")) == ["STEP_STARTED", "STEP_FINISHED"]


async def test_a_step_has_to_be_among_those_that_are_named(client: Client):
    with script(call("work", events=[{"step": "Fly", "of": ["Search", "Book"]}]), say("ok")):
        events = await client.run("Work")
    assert of(events, "STEP_STARTED", "ACTIVITY_SNAPSHOT") == []
    [result] = of(events, "TOOL_CALL_RESULT")
    assert result["metadata"]["outcome"] == "failed"


async def test_a_step_that_could_not_end_is_ended(client: Client):
    # A client refuses a run that finishes with a step on.
    with script(call("work", events=[{"raw": "StepStartedEvent", "step_name": "Search"}]), say("ok")):
        events = await client.run("Work")
    assert event_types(events)[-2:] == ["STEP_FINISHED", "RUN_FINISHED"]


async def test_the_same_step_of_two_calls_is_one_for_the_page(client: Client):
    started = {"raw": "StepStartedEvent", "step_name": "Search"}
    finished = {"raw": "StepFinishedEvent", "step_name": "Search"}
    with script(call("work", events=[started, started, finished, finished, finished]), say("ok")):
        events = await client.run("Work")
    assert event_types(of(events, "STEP_STARTED", "STEP_FINISHED")) == ["STEP_STARTED", "STEP_FINISHED"]


async def test_an_activity_is_shown_whole_and_then_as_differences(client: Client):
    plan = [
        {"activity": {"done": 0}},
        {"activity": {"done": 1}},
        {"activity": {"done": 1}},
        {"activity": {}, "id": "b"},
    ]
    with script(call("work", events=plan, _id="c1"), say("ok")):
        events = await client.run("Work")
    first, second, third = of(events, "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA")
    assert (first["messageId"], first["activityType"], first["content"]) == ("plan-c1", "plan", {"done": 0})
    assert (second["type"], second["messageId"]) == ("ACTIVITY_DELTA", "plan-c1")
    assert second["patch"] == [{"op": "replace", "path": "/done", "value": 1}]
    assert (third["type"], third["messageId"]) == ("ACTIVITY_SNAPSHOT", "b")


async def test_an_activity_of_another_type_takes_the_place_of_the_first(client: Client):
    plan, chart = (
        {"raw": "ActivitySnapshotEvent", "message_id": "x", "activity_type": kind} for kind in ("plan", "chart")
    )
    with script(call("work", events=[{**plan, "content": {"a": 1}}, {**chart, "content": {"b": 1}}]), say("ok")):
        events = await client.run("Work")
    assert [e["activityType"] for e in of(events, "ACTIVITY_SNAPSHOT")] == ["plan", "chart"]
    assert activities((await client.thread())["messages"]) == [("x", "chart", {"b": 1})]


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
    with script(say("ok")):
        await run_and_compare(client)


async def test_an_activity_of_a_later_run_stays_at_its_first_place(client: Client):
    with script(call("work", events=[show(1, id="x")]), say("1"), call("work", events=[show(2, id="x")]), say("2")):
        await run_and_compare(client)
        stored = await run_and_compare(client)
    assert activities(stored) == [("x", "plan", {"done": 2})]
    kept = {"raw": "ActivitySnapshotEvent", "message_id": "x", "activity_type": "plan", "replace": False}
    with script(call("work", events=[{**kept, "content": {"done": 3}}]), say("3")):
        stored = await run_and_compare(client)
    assert activities(stored) == [("x", "plan", {"done": 2})]


async def test_the_activities_of_a_run_that_failed_are_kept(client: Client):
    with script([say("Wait."), call("work", events=[show(1)])], fail(RuntimeError("down"))):
        stored = await run_and_compare(client)
    assert len(activities(stored)) == 1


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


async def test_an_activity_is_no_part_of_what_the_model_reads(client: Client):
    with script(call("work", events=[{"activity": {"secret": "hunter2"}}]), say("ok"), say("ok")) as model:
        await client.run("Work")
        await client.run("And?")
    contents = [str(part) for request in model.requests[2:] for part in parts_of(request)]
    assert contents
    assert not [one for one in contents if "hunter2" in one and "ToolCallPart" not in one]


@pytest.mark.parametrize(
    "event",
    [
        {"raw": "RunFinishedEvent", "thread_id": "t", "run_id": "r"},
        {"raw": "RunErrorEvent", "message": "no"},
        {"raw": "TextMessageStartEvent", "message_id": "m", "role": "assistant"},
        {"raw": "ToolCallStartEvent", "tool_call_id": "c", "tool_call_name": "n"},
        {"raw": "MessagesSnapshotEvent", "messages": []},
        {"raw": "StepFinishedEvent", "step_name": "never"},
        {"raw": "StateDeltaEvent", "delta": [{"op": "replace", "path": "/not/there", "value": 1}]},
        {"raw": "ActivityDeltaEvent", "message_id": "no", "activity_type": "x", "patch": []},
    ],
    ids=lambda event: event["raw"],
)
async def test_what_would_break_a_client_is_dropped_and_logged(client: Client, caplog, event):
    with script(call("work", events=[event]), say("ok")):
        events = await client.run("Work")
    assert event_types(events) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert "Dropping a tool's" in caplog.text


async def test_a_tool_may_send_states_of_its_own(client: Client):
    tour = [
        {"raw": "StateSnapshotEvent", "snapshot": {"steps": ["a"]}},
        {"raw": "StateDeltaEvent", "delta": [{"op": "add", "path": "/steps/-", "value": "b"}]},
    ]
    with script(call("work", events=tour), call("note", text="mine"), say("ok")):
        events = await client.run("Work")
    # What the run's own state becomes after that is sent whole: the page has another one.
    assert event_types(of(events, *STATE)) == ["STATE_SNAPSHOT", "STATE_DELTA", "STATE_SNAPSHOT"]
    assert reduced(events) == {"text": "mine"}


async def test_progress_arrives_while_the_tool_is_at_work(client: Client):
    with script(call("work", events=[{"step": "Wait", "until_read": True}]), say("ok")):
        async with aclosing(read_frames(await client.post(run_input("Work")))) as frames:
            types = []
            async for _, event in frames:
                types.append(event["type"])
                if event["type"] == "STEP_STARTED":
                    read.set()
    assert types.index("STEP_STARTED") < types.index("TOOL_CALL_RESULT")


async def test_charts_of_one_tool_stand_side_by_side_by_their_titles(client: Client, mount):
    registry = ToolRegistry()

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
