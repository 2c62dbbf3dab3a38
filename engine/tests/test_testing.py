"""The scripted model and the readers of streams, which all other tests lean on."""

import asyncio
import itertools
from typing import Any

import pytest
from django.http import JsonResponse, StreamingHttpResponse
from pydantic_ai import Agent, UsageLimitExceeded, UsageLimits
from pydantic_ai.messages import PartDeltaEvent, TextPart, ThinkingPart, ToolCallPart

from agui import ToolRegistry
from agui.testing import (
    Chat,
    Frame,
    Response,
    ScriptedModel,
    call,
    collect,
    event_types,
    fail,
    read_frames,
    say,
    think,
    wait,
)


def build(*script):
    model = ScriptedModel(script)
    agent = Agent(model, instructions="Be brief.")

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        return a + b

    return model, agent


async def test_text_is_answered_without_streaming():
    _, agent = build(say("Hello", chunks=3))
    assert (await agent.run("Hi")).output == "Hello"


async def test_text_is_streamed_in_chunks():
    _, agent = build(say("Hello", chunks=3))
    async with agent.run_stream("Hi") as run:
        assert [text async for text in run.stream_text(delta=True, debounce_by=None)] == ["H", "el", "lo"]


async def test_chunks_more_than_characters_are_the_characters():
    _, agent = build(say("ab", chunks=5))
    async with agent.run_stream("Hi") as run:
        assert [text async for text in run.stream_text(delta=True, debounce_by=None)] == ["a", "b"]


@pytest.mark.parametrize("streamed", [True, False])
async def test_tool_calls_run_and_their_results_are_recorded(streamed):
    model, agent = build([call("add", a=1, b=2), call("add", a=3, b=4)], say("3 and 7"))
    if streamed:
        async with agent.run_stream_events("Add") as events:
            results = [event async for event in events]
        output = results[-1].result.output
    else:
        output = (await agent.run("Add")).output
    assert output == "3 and 7"
    returned = model.requests[1].messages[-1].parts
    assert [part.content for part in returned] == [3, 7]
    assert returned[0].tool_call_id != returned[1].tool_call_id
    assert model.requests[1].tool_results == {"add": 7}


async def test_call_arguments_arrive_in_fragments():
    _, agent = build(call("add", _id="one", _chunks=3, a=1, b=2), say("3"))
    async with agent.run_stream_events("Add") as events:
        deltas = [event.delta async for event in events if isinstance(event, PartDeltaEvent)]
    fragments = [str(delta.args_delta) for delta in deltas if delta.part_delta_kind == "tool_call"]
    assert fragments == ['{"a":', ' 1, "', 'b": 2}']


async def test_call_with_broken_json_is_sent_back_to_the_model():
    model, agent = build(call("add", _json='{"a": '), say("Sorry"))
    assert (await agent.run("Add")).output == "Sorry"
    assert model.requests[1].messages[-1].parts[0].outcome == "retried"


async def test_parts_keep_their_order_and_text_after_a_call_is_a_part_of_its_own():
    _, agent = build([think("Hm"), say("One"), call("add", _id="x", a=1, b=1), say("Two")], say("Done"))
    result = await agent.run("Go")
    parts = result.all_messages()[1].parts
    assert [type(part) for part in parts] == [ThinkingPart, TextPart, ToolCallPart, TextPart]
    assert parts[2].tool_call_id == "x"


async def test_request_records_what_the_model_saw():
    model, agent = build(say("Hello"))
    await agent.run("Hi there")
    [request] = model.requests
    assert request.prompt == "Hi there"
    assert request.instructions == "Be brief."
    assert set(request.tools["add"].parameters_json_schema["properties"]) == {"a", "b"}
    assert request.tool_results == {}


async def test_fail_first_refuses_the_request():
    _, agent = build(fail(ConnectionError("down")))
    with pytest.raises(ConnectionError, match="down"):
        async with agent.run_stream("Hi"):
            pytest.fail("The stream must not open.")


async def test_fail_later_breaks_the_stream_off():
    _, agent = build([say("Hel"), fail(ConnectionError("down"))])
    received = []

    async def read():
        async with agent.run_stream("Hi") as run:
            async for text in run.stream_text(delta=True, debounce_by=None):
                received.append(text)

    with pytest.raises(ConnectionError, match="down"):
        await read()
    assert received == ["Hel"]


async def test_wait_holds_the_stream_until_its_event():
    gate, reached = asyncio.Event(), asyncio.Event()
    _, agent = build([say("One"), wait(gate, reached), say(" two")])
    run = asyncio.create_task(agent.run("Hi"))
    await reached.wait()
    assert not run.done()
    gate.set()
    assert (await run).output == "One two"


async def test_script_that_has_ended_says_so():
    _, agent = build(say("Hello"))
    await agent.run("Hi")
    with pytest.raises(AssertionError, match="request number 2: add an answer"):
        await agent.run("Hi")


async def test_script_may_be_endless():
    agent = Agent(ScriptedModel(itertools.repeat(say("Hi"))))
    assert [(await agent.run("Hello")).output for _ in range(3)] == ["Hi", "Hi", "Hi"]


async def test_response_sets_usage_and_finish_reason():
    usage = Response().usage
    _, agent = build(Response([say("Hello")], finish_reason="length"))
    result = await agent.run("Hi")
    assert result.all_messages()[-1].finish_reason == "length"
    assert result.usage.total_tokens == usage.total_tokens
    _, agent = build(say("Hello"))
    with pytest.raises(UsageLimitExceeded):
        await agent.run("Hi", usage_limits=UsageLimits(total_tokens_limit=usage.total_tokens - 1))


def stream(*chunks: bytes) -> StreamingHttpResponse:
    async def body():
        for chunk in chunks:
            yield chunk

    return StreamingHttpResponse(body(), content_type="text/event-stream")


async def test_collect_reads_events_across_chunks_and_skips_comments():
    response = stream(b": ping\n\nid: r:1\nda", b'ta: {"type": "A"}\n\n', b'data:{"type":"B","n":"\xc3', b'\xa9"}\n\n')
    events = await collect(response)
    assert events == [{"type": "A"}, {"type": "B", "n": "é"}]
    assert event_types(events) == ["A", "B"]


async def test_read_frames_gives_ids_as_they_arrive():
    frames = read_frames(stream(b'id: r:1\ndata: {"type":"A"}\n\n', b"data: broken\n\n"))
    assert await anext(frames) == Frame("r:1", {"type": "A"})
    await frames.aclose()


async def test_collect_of_an_error_shows_it():
    with pytest.raises(AssertionError, match=r"Not a stream but 409.*busy"):
        await collect(JsonResponse({"error": "busy"}, status=409))


async def test_chat_tells_how_each_tool_ended(user, caplog):
    together = [call("echo", text="hey"), call("broken"), call("wipe", what="disk")]
    chat = Chat(user, together, say("Done."), thread="t1")
    answer = await chat.send("Go")
    assert [(use.name, use.outcome) for use in answer.calls] == [
        ("echo", "success"),
        ("broken", "failed"),
        ("wipe", None),
    ]
    assert answer.calls[2].arguments == {"what": "disk"}
    answer = await chat.deny("No")
    assert (answer.text, answer.results, answer.interrupts, answer.error) == ("Done.", ["No"], [], None)


@pytest.mark.parametrize("result", [{"id": 1, "tags": ["a"]}, [1, 2], [], "Done.", "[not JSON", "42", ""])
async def test_chat_gives_results_as_values(user, mount, result):
    registry = ToolRegistry()

    def find() -> Any:
        """Find it."""
        return result

    registry.add(find)
    answer = await Chat(user, model=mount(registry, call("find"), say("Done."))).send("Go")
    assert answer.results == [result]
    assert answer.calls[0].result == result


async def test_chat_gives_results_in_the_order_of_the_calls(user, mount):
    registry = ToolRegistry()
    is_over = asyncio.Event()

    async def first() -> str:
        """End last."""
        await is_over.wait()
        return "first"

    async def second() -> str:
        """End first."""
        asyncio.get_running_loop().call_later(0.05, is_over.set)
        return "second"

    registry.add(first)
    registry.add(second)
    answer = await Chat(user, model=mount(registry, [call("first"), call("second")], say("Done."))).send("Go")
    assert answer.results == ["first", "second"]


async def test_chat_gives_the_code_of_a_failed_run(user, caplog):
    answer = await Chat(user, [say("Hel"), fail(ConnectionError("down"))]).send("Hi")
    assert (answer.text, answer.error) == ("Hel", "internal_error")


async def test_chat_of_nobody_is_refused(transactional_db):
    assert (await Chat(None, say("Hi")).post("Hi")).status_code == 401
    with pytest.raises(AssertionError, match="Not a stream but 401"):
        await Chat(None, say("Hi")).send("Hi")


async def test_chats_of_one_user_are_separate_conversations(user):
    one, other = Chat(user, say("One.")), Chat(user, say("Two."))
    await one.send("Hi")
    await other.send("Hi")
    assert len(other.model.requests[0].messages) == 1
