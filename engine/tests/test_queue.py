"""How the agent reads messages that were sent while it worked: part `queue`."""

import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from pydantic_ai.messages import UserPromptPart

from agui.contrib.attachments.models import AttachmentUse
from agui.contrib.mentions.records import Mentions
from agui.models import Run
from agui.runs.live import live
from agui.testing import call, collect, event_types, fail, say
from tests import urls
from tests.conftest import Client, decision, parts_of, script
from tests.queueing import Gate, Queue, Reading, custom, settled, texts

pytestmark = pytest.mark.database


async def test_a_steered_message_is_read_before_the_next_request(client: Client, queue: Queue):
    gate = Gate()
    with script([call("echo", text="one", _id="c1"), gate()], say("Done.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        answer = await queue.steer("Stop at two")
        assert (answer["state"], answer["position"], answer["mode"]) == ("waiting", 0, "steer")
        events = await run.end(gate)
    assert model.requests[1].prompt == "Stop at two"
    assert await texts(client) == ["Go", "tool: one", "Stop at two", "assistant: Done."]
    assert [value["messageId"] for value in custom(events, "message_queued")] == ["Stop at two"]
    [delivered] = custom(events, "message_delivered")
    thread = (await client.thread())["messages"]
    assert delivered["message"] == thread[3]
    assert thread[3]["metadata"] == {"read_in_run": True}
    assert delivered["after"] == thread[2]["id"]
    kinds = event_types(events)
    place = next(i for i, event in enumerate(events) if event.get("name") == "message_delivered")
    assert kinds.index("TOOL_CALL_RESULT") < place < kinds.index("TEXT_MESSAGE_CONTENT")
    assert "ACTIVITY_SNAPSHOT" not in kinds
    assert await queue.waiting() == []


async def test_a_client_that_does_not_know_a_steered_message_does_not_replace_it(client: Client, queue: Queue):
    """It has the answer that follows the message: its next one is no edit of that."""
    gate = Gate()
    with script([call("echo", text="one"), gate()], say("Done."), say("Bye.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("Stop at two")
        await run.end(gate)
        known = [message for message in (await client.thread())["messages"] if message.get("content") != "Stop at two"]
        await client.run(messages=[*known, {"id": "new", "role": "user", "content": "And?"}])
    asked = [part.content for part in parts_of(model.requests[2]) if isinstance(part, UserPromptPart)]
    assert asked == ["Go", "Stop at two", "And?"]
    assert await texts(client) == ["Go", "tool: one", "Stop at two", "assistant: Done.", "And?", "assistant: Bye."]


async def test_the_failure_of_a_run_is_that_of_the_last_message_it_has_read(client: Client, queue: Queue):
    gate = Gate()
    with script([call("echo", text="one", _id="c1"), gate()], fail(ConnectionError("gone")), say("Done.")):
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("Stop at two")
        await run.end(gate)
        assert list((await client.thread())["failures"]) == ["Stop at two"]
        # To answer it again mends it.
        message = (await client.thread())["messages"][3]
        await client.run(messages=[message])
    thread = await client.thread()
    assert thread["failures"] == {}
    assert thread["messages"][3] == message
    assert await texts(client) == ["Go", "tool: one", "Stop at two", "assistant: Done."]


async def test_a_queued_message_begins_the_next_run(client: Client, queue: Queue):
    gate = Gate()
    with script([say("One."), gate()], say("Two.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.post("And then?")
        await queue.post("And last?")
        assert await queue.waiting() == ["And then?", "And last?"]
        await run.end(gate)
        await settled()
    assert [request.prompt for request in model.requests] == ["Go", "And last?"]
    assert await texts(client) == ["Go", "assistant: One.", "And then?", "And last?", "assistant: Two."]
    assert await queue.waiting() == []


async def test_a_message_to_an_idle_thread_begins_a_run(client: Client, queue: Queue):
    with script(say("Hello.")) as model:
        answer = await queue.post("Hi", context=[{"description": "page", "value": "Orders"}])
        assert answer["run"]
        assert answer["refusal"] is None
        events = await collect(await client.get("threads/t1/events/"))
        await settled()
    assert [value["message"]["content"] for value in custom(events, "message_delivered")] == ["Hi"]
    assert event_types(events)[:2] == ["RUN_STARTED", "CUSTOM"]
    assert "Orders" in str(model.requests[0].messages)
    assert await texts(client) == ["Hi", "assistant: Hello."]


async def test_a_message_steered_at_the_end_of_a_text_gets_one_more_answer(client: Client, queue: Queue):
    gate = Gate()
    with script([say("One."), gate()], say("Two.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("More")
        events = await run.end(gate)
    assert [request.prompt for request in model.requests] == ["Go", "More"]
    assert await texts(client) == ["Go", "assistant: One.", "More", "assistant: Two."]
    [delivered] = custom(events, "message_delivered")
    assert delivered["after"] == (await client.thread())["messages"][1]["id"]
    assert await Run.objects.acount() == 1


async def test_a_message_at_the_end_of_a_text_does_not_pass_the_limit_of_requests(
    client: Client, queue: Queue, settings: Any
):
    settings.AGUI = {**settings.AGUI, "LIMITS": {"REQUESTS": 1}}
    gate = Gate()
    with script([say("One."), gate()], say("Two.")):
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("More")
        await run.end(gate)
        await settled()
    assert [run.status async for run in Run.objects.all()] == ["finished", "finished"]
    assert await texts(client) == ["Go", "assistant: One.", "More", "assistant: Two."]


async def test_no_message_takes_the_place_of_an_approval(client: Client, queue: Queue):
    gate = Gate()
    with script([call("wipe", _id="w1"), gate()], say("Wiped."), say("Nothing.")) as model:
        run = Reading(client, "Wipe it")
        await run.at(gate)
        await queue.steer("Only the first half")
        events = await run.end(gate)
        assert events[-1]["outcome"]["type"] == "interrupt"
        listed = await queue.send("GET")
        assert (listed["held"], listed["run"]) == ("paused", None)
        assert await queue.waiting() == ["Only the first half"]
        # Nor does one that comes later, nor can the client send them.
        await queue.post("And then?")
        assert (await queue.send("POST", {}, status=409))["error"] == "paused"
        assert len(model.requests) == 1
        await client.run(resume=[decision("w1")])
        await settled()
    read = [
        "Wipe it",
        "tool: wiped all",
        "Only the first half",
        "assistant: Wiped.",
        "And then?",
        "assistant: Nothing.",
    ]
    assert await texts(client) == read


async def test_a_message_to_a_thread_that_waits_is_read_after_the_answer(client: Client, queue: Queue):
    with script(call("wipe", _id="w1"), say("Wiped."), say("More.")):
        await client.run("Wipe it")
        await queue.steer("Only the first half")
        await queue.post("And then?")
        await client.run(resume=[decision("w1")])
        await settled()
    lines = ["Wipe it", "tool: wiped all", "Only the first half", "assistant: Wiped.", "And then?", "assistant: More."]
    assert await texts(client) == lines


@pytest.mark.parametrize("end", ["failed", "cancelled", "timed_out"])
async def test_messages_wait_after_any_other_end(client: Client, queue: Queue, end: str):
    gate = Gate()
    broken = fail(ConnectionError("gone")) if end == "failed" else say("more")
    with script([say("One."), gate(), broken], say("Two."), say("Three.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.post("And then?")
        await queue.steer("Stop at two")
        if end == "cancelled":
            await client.http.post("/agent/threads/t1/cancel/")
        elif end == "timed_out":
            next(iter(live.tasks.values())).stop("timeout")
        await run.end(gate)
        await settled()
        listed = await queue.send("GET")
        assert listed["held"] == end
        assert await queue.waiting() == ["And then?", "Stop at two"]
        # What comes later waits behind them, and a message to the agent goes before them.
        await queue.post("And last?")
        await client.run("Again")
        await settled()
    assert [request.prompt for request in model.requests] == ["Go", "Again", "And last?"]
    lines = (await texts(client))[-6:]
    assert lines == ["Again", "assistant: Two.", "And then?", "Stop at two", "And last?", "assistant: Three."]


async def test_the_user_sends_what_waits(client: Client, queue: Queue):
    with script(fail(ConnectionError("gone")), say("Two.")):
        await queue.post("Go")
        await settled()
        await queue.post("And then?")
        answer = await queue.send("POST", {}, status=202)
        assert answer["run"]
        assert answer["refusal"] is None
        await settled()
    assert await texts(client) == ["Go", "And then?", "assistant: Two."]
    # Now there is nothing to send.
    assert (await queue.send("POST", {}, status=202))["run"] is None


async def test_a_steered_message_of_an_earlier_run_begins_the_next_one(client: Client, queue: Queue):
    """It was sent into a run that failed: it is no remark about what the next run does."""
    gate, other = Gate(), Gate()
    with script(
        [gate(), fail(ConnectionError("gone"))], [call("echo", text="a"), other()], say("B."), say("C.")
    ) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("Stop")
        await run.end(gate)
        run = Reading(client, "Again")
        await run.at(other)
        await run.end(other)
        await settled()
    assert [request.prompt for request in model.requests] == ["Go", "Again", "Again", "Stop"]


async def test_a_queued_message_can_still_be_steered(client: Client, queue: Queue):
    gate = Gate()
    with script([call("echo", text="a"), gate()], say("B.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.post("Stop")
        await queue.send("PATCH", {"message_id": "Stop", "mode": "steer"})
        await run.end(gate)
    assert model.requests[1].prompt == "Stop"


async def test_results_of_parallel_tools_come_before_the_message(client: Client, queue: Queue):
    gate = Gate()
    calls = [call("echo", text=text, _id=text) for text in ("a", "b", "c")]
    with script([*calls, gate()], [call("echo", text="d", _id="d")], say("Done.")):
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("One")
        await queue.steer("Two")
        await run.end(gate)
    lines = ["Go", "tool: a", "tool: b", "tool: c", "One", "Two", "tool: d", "assistant: Done."]
    assert await texts(client) == lines


async def test_a_run_that_fails_after_it_has_read_a_message_keeps_it(client: Client, queue: Queue):
    gate = Gate()
    answers = [call("echo", text="a"), gate()], [call("echo", text="b")], fail(ConnectionError("gone")), say("Two.")
    with script(*answers) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        await queue.steer("Stop")
        await run.end(gate)
        assert await texts(client) == ["Go", "tool: a", "Stop", "tool: b"]
        assert await queue.waiting() == []
        await client.run("Again")
    assert str([message.parts for message in model.requests[-1].messages]).count("'Stop'") == 1


async def test_files_and_mentions_are_those_of_any_message(client: Client, queue: Queue, mount: Any):
    gate = Gate()
    answers = [call("echo", text="a"), gate()], [call("echo", text="b")], say("Done.")
    model = mount(urls.registry, *answers, capabilities=[Mentions(lambda user, text: [])])
    run = Reading(client, "Go")
    await run.at(gate)
    upload = await client.http.post("/agent/attachments/", {"file": SimpleUploadedFile("notes.txt", b"Milk")})
    file = json.loads(upload.content)["id"]
    records = [{"kind": "person", "id": "7", "title": "Ada"}]
    metadata = {"attachments": [{"id": file}], "mentions": records}
    message = {"id": "m1", "role": "user", "content": "Read @Ada", "metadata": metadata}
    await queue.send("POST", {"message": message, "mode": "steer"}, status=202)
    await run.end(gate)
    first, second = model.requests[1:]
    for request in (first, second):
        assert "notes.txt" in str(request.messages)
        assert '"id": "7"' in str(request.messages)
    assert "read_attachment" in first.tools
    # A provider's cache of the prompt stays valid.
    prompts = [part.content for part in parts_of(first) if isinstance(part, UserPromptPart)]
    assert [part.content for part in parts_of(second) if isinstance(part, UserPromptPart)] == prompts
    stored = (await client.thread())["messages"][3]
    assert stored["content"] == "Read @Ada"
    assert stored["metadata"] == metadata | {"read_in_run": True}
    assert await AttachmentUse.objects.filter(attachment=file, thread_id="t1").aexists()


async def test_a_message_may_be_a_file_alone(client: Client, queue: Queue):
    gate = Gate()
    upload = await client.http.post("/agent/attachments/", {"file": SimpleUploadedFile("notes.txt", b"Milk")})
    metadata = {"attachments": [{"id": json.loads(upload.content)["id"]}]}
    picture = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    with script([call("echo", text="a"), gate()], say("Done."), say("More.")) as model:
        run = Reading(client, "Go")
        await run.at(gate)
        alone = {"id": "m1", "role": "user", "content": "", "metadata": metadata}
        await queue.send("POST", {"message": alone, "mode": "steer"}, status=202)
        beside = {"id": "m2", "role": "user", "content": [{"type": "text", "text": "See"}, picture]}
        await queue.send("POST", {"message": beside, "mode": "steer"}, status=202)
        events = await run.end(gate)
        # The next turn reads them as they were sent.
        await client.run("And?")
    alone["metadata"] = metadata | {"read_in_run": True}
    beside["metadata"] = {"read_in_run": True}
    thread = (await client.thread())["messages"]
    assert [message for message in thread if message["id"] in ("m1", "m2")] == [alone, beside]
    assert [value["message"] for value in custom(events, "message_delivered")] == [alone, beside]
    for request in model.requests[1:]:
        pictures = [part.content for part in parts_of(request) if isinstance(part, UserPromptPart)]
        assert "iVBORw0KGgo" in str(pictures) or "PNG" in str(pictures)
