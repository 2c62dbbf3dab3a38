"""What a client sees of a run while it goes on, and what only its bytes show. (transcripts/runs.yaml has the rest.)"""

import asyncio
from collections import defaultdict
from contextlib import aclosing

import pytest
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

from agui.models import AuditRecord
from agui.testing import call, collect, event_types, read_frames, say, wait
from tests import urls
from tests.conftest import Client, played_by, run_input, script
from tests.wire import check_stream


async def test_the_first_words_arrive_before_the_model_has_ended(client: Client):
    go_on = asyncio.Event()
    with script([say("first"), wait(go_on), say("second")]):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames, asyncio.timeout(60):
            early = [(await anext(frames)).event for _ in range(3)]
            go_on.set()
            late = [frame.event async for frame in frames]
    assert event_types(early) == ["RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]
    assert early[-1]["delta"] == "first"
    assert late[-1]["type"] == "RUN_FINISHED"


async def test_a_tool_that_hangs_holds_up_no_other_run_and_no_stop(client: Client, settings):
    settings.AGUI = {"TOOL_THREADS": 1}
    with script(call("hang"), call("ping"), say("pong")):
        response = await client.post(run_input("Hang", thread="a"))
        await asyncio.to_thread(urls.hanging.wait)
        try:
            assert (await client.run("Ping", thread="b"))[-1]["type"] == "RUN_FINISHED"
            await client.http.post("/agent/threads/a/cancel/")
            assert (await collect(response))[-1]["outcome"] == {"type": "cancelled"}
        finally:
            urls.let_go.set()
    assert (await AuditRecord.objects.aget(tool_name="hang")).outcome == "failed"


async def test_half_a_character_and_a_nul_break_nothing(client: Client):
    with script(say("a\ud83d\x00b")):
        events = await client.run("Hi \x00")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "".join(e.get("delta", "") for e in events) == "a\ud83d\x00b"
    assert [m["content"] for m in (await client.thread())["messages"]] == ["Hi \x00", "a\ud83d\x00b"]


async def test_silence_is_filled_with_comments(client: Client, settings):
    settings.AGUI = {"HEARTBEAT_SECONDS": 0.01}
    go_on = asyncio.Event()
    with script([wait(go_on), say("Hi")]):
        response = await client.post(run_input("Hi"))
        chunks = []
        async for chunk in response:
            chunks.append(chunk)
            if chunk == b": ping\n\n":
                go_on.set()

    assert b": ping\n\n" in chunks
    assert b"RUN_FINISHED" in chunks[-1]


async def test_middleware_does_not_compress_the_response(client: Client, settings):
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
    with script(say("Hi")):
        response = await client.post(run_input("Hi"), **{"Accept-Encoding": "gzip"})
        await collect(response)
    assert response["Content-Encoding"] == "identity"


THOUGHT, TEXT_1, TEXT_2 = {1: DeltaThinkingPart(content="Hm. ")}, "Let me ", "see."
WIPE = {2: DeltaToolCall(name="wipe", json_args="{}", tool_call_id="w1")}
CALLS = [
    {1: DeltaToolCall(name="echo", json_args='{"te', tool_call_id="c1")},
    {2: DeltaToolCall(name="echo", json_args='{"te', tool_call_id="c2")},
    {1: DeltaToolCall(json_args='xt":"a"}')},
    {2: DeltaToolCall(json_args='xt":"b"}')},
]


@pytest.mark.parametrize(
    "answer",
    [
        [TEXT_1, *CALLS, TEXT_2],
        [TEXT_1, WIPE, TEXT_2],
        [TEXT_1, THOUGHT, TEXT_2],
        [TEXT_1, THOUGHT, TEXT_2, THOUGHT],
        [THOUGHT, TEXT_1, THOUGHT, TEXT_2, THOUGHT],
        [THOUGHT, TEXT_1, WIPE, THOUGHT, TEXT_2],
    ],
    ids=["calls", "before a pause", "a thought in a text", "texts and thoughts", "thoughts and texts", "all"],
)
async def test_parts_that_a_provider_mixes_come_one_after_the_other(client: Client, answer):
    # What some of OpenAI's likes do with several calls, with text after a call, with thoughts.
    async def mixed(messages, info):
        for piece in answer if len(messages) == 1 else ["Done."]:
            yield piece

    with played_by(FunctionModel(stream_function=mixed)):
        events = await client.run("Hi")
    check_stream(events)
    assert events[-1]["type"] == "RUN_FINISHED"
    streamed: dict[str, str] = defaultdict(str)
    for event in events:
        if "delta" in event:
            streamed[event.get("messageId") or event["toolCallId"]] += event["delta"]
    kept = {}
    for message in (await client.thread())["messages"]:
        if message["role"] in ("assistant", "reasoning") and message.get("content"):
            kept[message["id"]] = message["content"]
        kept |= {one["id"]: one["function"]["arguments"] for one in message.get("toolCalls", ())}
    assert kept == streamed
    assert "Let me see." in kept.values()
