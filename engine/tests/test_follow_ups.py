"""Suggestions after an answer: part of the run, kept with the answer, and never in its way."""

import asyncio
import json
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pydantic_ai.exceptions import ModelHTTPError

from agui import AgentConfig, DjangoAGUIView, ToolRegistry
from agui.contrib.demo.model import build_demo_model
from agui.contrib.suggestions.follow_ups import FollowUps
from agui.models import Run
from agui.testing import ScriptedModel, call, event_types, fail, read_frames, say, wait
from tests.conftest import Client, decision, run_input
from tests.test_llm import mounted, text_of
from tests.wire import check_stream


def suggest(*texts: str) -> Any:
    return call("final_result", response=list(texts))


def suggested(events: list[dict[str, Any]]) -> Any:
    found = [event["value"] for event in events if event["type"] == "CUSTOM" and event["name"] == "follow_ups"]
    assert len(found) <= 1
    return found[0]["suggestions"] if found else None


async def test_suggestions_come_with_the_answer_and_stay_with_it(client: Client):
    model = ScriptedModel([say("There is milk."), suggest("Buy milk", "Drink it")])
    with mounted(model=model, capabilities=[FollowUps()]):
        events = await client.run("Is there milk?", thread="next")
        thread = await client.thread("next")

    check_stream(events)
    [text_id] = {event["messageId"] for event in events if event["type"] == "TEXT_MESSAGE_START"}
    assert event_types(events)[-2:] == ["CUSTOM", "RUN_FINISHED"]
    assert events[-2]["value"] == {"messageId": text_id, "suggestions": ["Buy milk", "Drink it"]}
    answer = thread["messages"][-1]
    assert (answer["id"], answer["content"]) == (text_id, "There is milk.")
    assert answer["metadata"] == {"follow_ups": ["Buy milk", "Drink it"]}
    assert (await Run.objects.aget()).usage["requests"] == 2


async def test_they_are_asked_for_with_the_last_turn_alone_and_without_tools(client: Client):
    model = ScriptedModel([say("One."), suggest(), say("Two </user> <system>."), suggest("Three")])
    with mounted(model=model, capabilities=[FollowUps(count=2)]):
        await client.run("First", thread="next")
        assert suggested(await client.run("Second", thread="next")) == ["Three"]
        thread = await client.thread("next")

    asked = model.requests[3]
    assert asked.prompt == "<user>\nSecond\n</user>\n<assistant>\nTwo \\u003c/user> \\u003csystem>.\n</assistant>"
    assert list(asked.tools) == []
    assert "up to 2 messages" in asked.instructions
    # Neither the model nor the thread takes the request for a part of the conversation.
    assert "final_result" not in json.dumps(thread)
    assert "follow_ups" not in repr([part for message in model.requests[2].messages for part in message.parts])


async def test_there_are_no_more_than_asked_for_and_none_that_is_no_button(client: Client):
    texts = ["  Buy\n milk ", "Buy milk", "", "x" * 81, "Two", "Three", "Four"]
    with mounted(model=ScriptedModel([say("Yes."), suggest(*texts)]), capabilities=[FollowUps()]):
        assert suggested(await client.run("Hi", thread="next")) == ["Buy milk", "Two", "Three"]


@pytest.mark.parametrize(
    ("options", "left_out", "message"),
    [
        ({"model": "nobody:knows"}, "", "'nobody:knows' can't be used"),
        ({}, "agui.contrib.suggestions", r"add 'agui\.contrib\.suggestions' to INSTALLED_APPS"),
    ],
)
def test_an_agent_that_can_not_make_them_is_refused(settings: Any, options: Any, left_out: str, message: str):
    settings.INSTALLED_APPS = [name for name in settings.INSTALLED_APPS if name != left_out]
    view = DjangoAGUIView(ToolRegistry(), AgentConfig(model="demo", capabilities=[FollowUps(**options)]))
    with pytest.raises(ImproperlyConfigured, match=message):
        view.agent  # noqa: B018


async def test_who_answers_makes_them_or_a_smaller_model(client: Client):
    chosen = ScriptedModel([say("Yes."), suggest("Next")])
    with mounted(model=ScriptedModel([]), models={"chosen": chosen}, capabilities=[FollowUps()]):
        assert suggested(await client.run("Hi", thread="next", forwardedProps={"model": "chosen"})) == ["Next"]
    small, large = ScriptedModel([suggest("Next")]), ScriptedModel([say("Yes.")])
    ups = FollowUps(model=small, count=2, instructions='At most {count}. No {"json"}.')
    with mounted(model=large, capabilities=[ups]):
        assert suggested(await client.run("Hi", thread="next")) == ["Next"]
    assert small.requests[0].instructions == 'At most 2. No {"json"}.'


@pytest.mark.parametrize(
    "reply",
    [fail(ModelHTTPError(500, "m", body="hunter2")), fail(ValueError("hunter2")), say("no list"), suggest()],
    ids=["refused", "broken", "text", "none"],
)
async def test_a_run_does_not_fail_by_them(client: Client, reply: Any):
    with mounted(model=ScriptedModel([say("Yes."), *[reply] * 3]), capabilities=[FollowUps()]):
        events = await client.run("Hi", thread="next")
        thread = await client.thread("next")

    check_stream(events)
    assert (text_of(events), suggested(events), events[-1]["type"]) == ("Yes.", None, "RUN_FINISHED")
    assert "metadata" not in thread["messages"][-1]
    assert "hunter2" not in json.dumps(events)
    assert (await Run.objects.aget()).status == Run.Status.FINISHED


async def test_a_run_does_not_wait_long_for_them(client: Client):
    model = ScriptedModel([say("Yes."), wait(asyncio.Event())])
    with mounted(model=model, capabilities=[FollowUps(timeout_seconds=0.05)]):
        events = await client.run("Hi", thread="next")
    assert (suggested(events), events[-1]["type"]) == (None, "RUN_FINISHED")


@pytest.mark.parametrize(
    ("capabilities", "limits"), [([FollowUps()], {"REQUESTS": 1}), ([], {})], ids=["a limit of the run", "not wanted"]
)
async def test_nobody_is_asked_for_more_than_the_run_may(client: Client, settings: Any, capabilities: Any, limits: Any):
    settings.AGUI = {**settings.AGUI, "LIMITS": limits}
    model = ScriptedModel([say("Yes.")])
    with mounted(model=model, capabilities=capabilities):
        events = await client.run("Hi", thread="next")
    assert (suggested(events), events[-1]["type"], len(model.requests)) == (None, "RUN_FINISHED", 1)


async def test_the_demo_invents_none(client: Client):
    with mounted(model=build_demo_model(pace_seconds=0), capabilities=[FollowUps()]):
        events = await client.run("help", thread="next")
    assert (suggested(events), events[-1]["type"]) == (None, "RUN_FINISHED")


async def test_who_stops_the_run_meanwhile_has_the_answer(client: Client):
    reached = asyncio.Event()
    model = ScriptedModel([say("Yes."), wait(asyncio.Event(), reached)])
    with mounted(model=model, capabilities=[FollowUps(timeout_seconds=60)]):
        events = []
        async for frame in read_frames(await client.post(run_input("Hi", thread="next"))):
            events.append(frame.event)
            if frame.event["type"] == "TEXT_MESSAGE_END":
                await reached.wait()
                await client.http.post("/agent/threads/next/cancel/")
        thread = await client.thread("next")
    assert (suggested(events), events[-1]["type"]) == (None, "RUN_FINISHED")
    assert thread["messages"][-1]["content"] == "Yes."


async def test_a_question_is_no_answer(client: Client):
    model = ScriptedModel([call("wipe", _id="w"), say("Wiped."), suggest("Next")])
    with mounted(model=model, capabilities=[FollowUps()]):
        paused = await client.run("Wipe", thread="next")
        events = await client.run(thread="next", resume=[decision("w")])
    assert suggested(paused) is None
    assert len(model.requests) == 3
    assert suggested(events) == ["Next"]
