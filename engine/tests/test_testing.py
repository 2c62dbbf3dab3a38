"""The scripted model and the readers of streams, which all other tests lean on."""

import asyncio
import itertools

import pytest
from django.http import JsonResponse, StreamingHttpResponse
from pydantic_ai import Agent, UsageLimitExceeded, UsageLimits
from pydantic_ai.messages import PartDeltaEvent, TextPart, ThinkingPart, ToolCallPart

from agui.testing import Chat, Frame, Response, ScriptedModel, call, collect, event_types, fail, read_frames, say, think


def build(*script):
    model = ScriptedModel(script)
    agent = Agent(model, instructions="Be brief.")

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        return a + b

    return model, agent


@pytest.mark.parametrize(("text", "chunks", "pieces"), [("Hello", 3, ["H", "el", "lo"]), ("ab", 5, ["a", "b"])])
async def test_text_is_streamed_in_chunks(text, chunks, pieces):
    _, agent = build(say(text, chunks=chunks), say(text, chunks=chunks))
    async with agent.run_stream("Hi") as run:
        assert [piece async for piece in run.stream_text(delta=True, debounce_by=None)] == pieces
    assert (await agent.run("Hi")).output == text


@pytest.mark.parametrize("streamed", [True, False])
async def test_parts_keep_their_order_and_results_are_recorded(streamed):
    first = [think("Hm"), say("One"), call("add", _id="x", a=1, b=2), say("Two"), call("add", a=3, b=4)]
    model, agent = build(first, say("3 and 7"))
    if streamed:
        async with agent.run_stream_events("Add") as events:
            results = [event async for event in events]
        result = results[-1].result
    else:
        result = await agent.run("Add")
    assert result.output == "3 and 7"
    parts = result.all_messages()[1].parts
    assert [type(part) for part in parts] == [ThinkingPart, TextPart, ToolCallPart, TextPart, ToolCallPart]
    returned = model.requests[1].messages[-1].parts
    assert [part.content for part in returned] == [3, 7]
    assert "x" == returned[0].tool_call_id != returned[1].tool_call_id
    assert model.requests[1].tool_results == {"add": 7}


async def test_call_arguments_arrive_in_fragments():
    model, agent = build(call("add", _id="one", _chunks=3, a=1, b=2), call("add", _json='{"a": '), say("3"))
    async with agent.run_stream_events("Add") as events:
        deltas = [event.delta async for event in events if isinstance(event, PartDeltaEvent)]
    fragments = [str(delta.args_delta) for delta in deltas if delta.part_delta_kind == "tool_call"]
    assert fragments[:3] == ['{"a":', ' 1, "', 'b": 2}']
    assert model.requests[2].messages[-1].parts[0].outcome == "retried"  # Broken JSON is sent back to the model


@pytest.mark.parametrize("before", [[], ["Hel"]], ids=["refuses the request", "breaks the stream off"])
async def test_fail_raises_at_its_place(before):
    _, agent = build([*map(say, before), fail(ConnectionError("down"))])
    received = []

    async def read():
        async with agent.run_stream("Hi") as run:
            received.append("open")
            async for text in run.stream_text(delta=True, debounce_by=None):
                received.append(text)

    with pytest.raises(ConnectionError, match="down"):
        await read()
    assert received == (["open", *before] if before else [])


async def test_script_that_has_ended_says_so():
    model, agent = build(say("Hello"))
    await agent.run("Hi there")
    with pytest.raises(AssertionError, match="request number 2: add an answer"):
        await agent.run("Hi")
    request = model.requests[0]
    assert (request.prompt, request.instructions, request.tool_results) == ("Hi there", "Be brief.", {})
    assert set(request.tools["add"].parameters_json_schema["properties"]) == {"a", "b"}
    endless = Agent(ScriptedModel(itertools.repeat(say("Hi"))))
    assert [(await endless.run("Hello")).output for _ in range(3)] == ["Hi", "Hi", "Hi"]


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
    frames = read_frames(stream(b'id: r:1\ndata: {"type":"A"}\n\n', b"data: broken\n\n"))
    assert await anext(frames) == Frame("r:1", {"type": "A"})
    await frames.aclose()
    with pytest.raises(AssertionError, match=r"Not a stream but 409.*busy"):
        await collect(JsonResponse({"error": "busy"}, status=409))


async def test_chat_tells_how_each_tool_ended(user, caplog):
    together = [call("echo", text="hey"), call("broken"), call("wipe", what="disk")]
    chat = Chat(user, together, say("Done."), thread="t1")
    answer = await chat.send("Go")
    outcomes = [(use.name, use.outcome) for use in answer.calls]
    assert outcomes == [("echo", "success"), ("broken", "failed"), ("wipe", None)]
    assert answer.calls[2].arguments == {"what": "disk"}
    answer = await chat.deny("No")
    assert (answer.text, answer.results, answer.interrupts, answer.error) == ("Done.", ["No"], [], None)

    other = Chat(user, [say("Hel"), fail(ConnectionError("down"))])  # A conversation of its own
    answer = await other.send("Hi")
    assert (answer.text, answer.error) == ("Hel", "service_unavailable")
    assert len(other.model.requests[0].messages) == 1


@pytest.mark.parametrize("result", [{"id": 1, "tags": ["a"]}, [1, 2], [], "Done.", "[not JSON", "42", ""])
async def test_chat_gives_results_as_values(user, registry, mount, result):
    registry.add(lambda: result, name="find", description="Find it.")
    answer = await Chat(user, model=mount(registry, call("find"), say("Done."))).send("Go")
    assert answer.results == [result]
    assert answer.calls[0].result == result


async def test_chat_gives_results_in_the_order_of_the_calls(user, registry, mount):
    is_over = asyncio.Event()

    async def give(number: int) -> int:
        """Give a number, the second one first."""
        if number == 1:
            await is_over.wait()
        asyncio.get_running_loop().call_later(0.05, is_over.set)
        return number

    registry.add(give)
    calls = [call("give", number=number) for number in (1, 2)]
    answer = await Chat(user, model=mount(registry, calls, say("Done."))).send("Go")
    assert answer.results == ["1", "2"]


async def test_chat_of_nobody_is_refused(transactional_db):
    assert (await Chat(None, say("Hi")).post("Hi")).status_code == 401
    with pytest.raises(AssertionError, match="Not a stream but 401"):
        await Chat(None, say("Hi")).send("Hi")
