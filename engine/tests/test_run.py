"""A run over the real endpoint: what a client sees."""

import asyncio
from collections import defaultdict
from contextlib import aclosing

import pytest
from pydantic_ai import FunctionToolset
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.function import DeltaThinkingPart, DeltaToolCall, FunctionModel

from agui import AgentConfig, build_agent
from agui.models import AuditRecord, Run
from agui.testing import ScriptedModel, call, collect, event_types, fail, read_frames, say, think, wait
from tests import urls
from tests.clock import Clock
from tests.conftest import Client, decision, played_by, run_input, script
from tests.wire import check_stream

TEXT = ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]


async def test_text_is_streamed_between_start_and_finish(client: Client):
    with script(say("Hello there", chunks=3)):
        events = await client.run("Hi")

    assert event_types(events) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_CONTENT",  # Those that came at once after the first
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
    assert "".join(e.get("delta", "") for e in events) == "Hello there"
    assert events[0]["protocolVersion"] == "1.0"
    assert events[-1]["outcome"] == {"type": "success"}


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


async def test_frames_are_numbered(client: Client):
    with script(say("Hi")):
        response = await client.post(run_input("Hi"))
        async with aclosing(read_frames(response)) as frames:
            ids = [frame.id async for frame in frames]

    key = ids[0].rpartition(":")[0]
    assert ids == [f"{key}:{n}" for n in range(1, len(ids) + 1)]


async def test_a_tool_runs_and_its_result_is_streamed(client: Client):
    with script(call("echo", text="hey"), say("It said hey.")) as model:
        events = await client.run("Say hey")

    assert event_types(events) == [
        "RUN_STARTED",
        "TEXT_MESSAGE_START",  # The empty message that the call belongs to
        "TEXT_MESSAGE_END",
        "TOOL_CALL_START",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_ARGS",
        "TOOL_CALL_END",
        "TOOL_CALL_RESULT",
        *TEXT,
        "RUN_FINISHED",
    ]
    assert next(e for e in events if e["type"] == "TOOL_CALL_RESULT")["content"] == "hey"
    assert model.requests[1].tool_results == {"echo": "hey"}


async def test_a_tool_acts_as_the_user(client: Client, other_client: Client):
    for one, name in ((client, "ada"), (other_client, "bob")):
        with script(call("whoami"), say("ok")) as model:
            await one.run("Who am I?", thread=f"thread-of-{name}")
        assert model.requests[1].tool_results == {"whoami": name}


async def test_a_failing_tool_fails_its_own_call_and_the_run_goes_on(
    client: Client, caplog: pytest.LogCaptureFixture, clock: Clock
):
    with script(call("broken"), say("That did not work.")) as model:
        events = await client.run("Break")

    result = next(e for e in events if e["type"] == "TOOL_CALL_RESULT")
    assert result["metadata"]["outcome"] == "failed"
    assert result["metadata"]["duration_ms"] == 0  # Time stands still
    stored = next(m for m in (await client.thread())["messages"] if m["role"] == "tool")
    assert stored["metadata"] == result["metadata"]
    assert "hunter2" not in str(events)
    assert "hunter2" not in str(model.requests[1].messages)
    assert events[-1]["type"] == "RUN_FINISHED"
    assert "hunter2" in caplog.text  # The operator learns what happened


async def test_reasoning_has_ids_of_its_own(client: Client):
    with script([think("Hm."), say("42")]):
        events = await client.run("What is it?")

    reasoning = {e["messageId"] for e in events if e["type"].startswith("REASONING")}
    text = {e["messageId"] for e in events if e["type"].startswith("TEXT")}
    assert reasoning
    assert not reasoning & text


async def test_reasoning_can_be_kept_on_the_server(client: Client, settings):
    settings.AGUI = {"SEND_REASONING": False}
    with script([think("Hm."), say("42")]):
        events = await client.run("What is it?")

    assert event_types(events) == ["RUN_STARTED", *TEXT, "RUN_FINISHED"]
    assert [m["role"] for m in (await client.thread())["messages"]] == ["user", "assistant"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ModelHTTPError(500, "m", body={"secret": "hunter2"}), "model_unavailable"),
        (ModelHTTPError(429, "m", body="hunter2"), "model_unavailable"),
        (ModelHTTPError(401, "m", body="hunter2"), "model_refused"),
        (RuntimeError("postgres://user:hunter2@db"), "internal_error"),
    ],
)
@pytest.mark.parametrize("steps", [[], [say("Well, ")]], ids=["at once", "in mid-stream"])
async def test_an_error_is_masked_coded_and_logged(client: Client, caplog, error, code, steps):
    with script([*steps, fail(error)]):
        events = await client.run("Hi")

    assert events[-1]["type"] == "RUN_ERROR"
    assert events[-1]["code"] == code
    assert "hunter2" not in str(events)
    assert "hunter2" in caplog.text
    assert sum(e["type"] in ("RUN_FINISHED", "RUN_ERROR") for e in events) == 1


async def test_what_a_failed_run_had_reached_is_kept(client: Client):
    with script(call("echo", text="hey"), [say("Half an ans"), fail(RuntimeError("gone"))]):
        events = await client.run("Say hey")
    thread = await client.thread()

    assert [m["role"] for m in thread["messages"]] == ["user", "assistant", "tool", "assistant"]
    assert thread["messages"][-1]["content"] == "Half an ans"
    assert (await Run.objects.aget()).status == "failed"

    with script(say("Whole answer")) as model:
        assert (await client.run("Again"))[-1]["type"] == "RUN_FINISHED"
    assert model.requests[0].prompt == "Again"
    assert event_types(events)[-1] == "RUN_ERROR"


async def test_every_tool_call_is_audited(client: Client, user):
    with script([call("echo", text="hey"), call("broken")], say("ok")):
        await client.run("Go", thread="t9")

    records = {record.tool_name: record async for record in AuditRecord.objects.all()}
    assert records["echo"].outcome == "success"
    assert records["echo"].arguments == {"text": "hey"}
    assert records["echo"].user_id == user.pk
    assert records["echo"].thread_id == "t9"
    assert records["broken"].outcome == "failed"


async def test_a_broken_audit_sink_breaks_no_run(client: Client, settings, caplog):
    settings.AGUI = {"AUDIT_LOGGER": "tests.test_run.BrokenSink"}
    with script(call("broken"), say("ok")):
        events = await client.run("Go")

    assert events[-1]["type"] == "RUN_FINISHED"
    assert "sink is full" in caplog.text


class BrokenSink:
    def record(self, event: object) -> None:
        raise OSError("the sink is full")


async def test_a_run_is_recorded(client: Client):
    with script(say("Hi")):
        await client.run("Hi")

    run = await Run.objects.aget()
    assert (run.status, run.code, run.model) == ("finished", "", "test")
    assert run.duration_ms is not None
    assert run.usage["output_tokens"] == 5


async def test_usage_is_told_only_when_asked_for(client: Client, settings):
    with script(say("Hi"), say("Hi")):
        assert "usage" not in (await client.run("Hi"))[-1]
        settings.AGUI = {"INCLUDE_USAGE": True}
        assert (await client.run("Hi again"))[-1]["usage"][0]["outputTokens"] == 5


async def test_the_limit_on_requests_counts_for_each_run_alone(client: Client, settings):
    settings.AGUI = {"LIMITS": {"REQUESTS": 2}}
    for _ in range(3):
        with script(call("echo", text="a"), say("ok")):
            assert (await client.run("Go"))[-1]["type"] == "RUN_FINISHED"

    with script(call("echo", text="a"), call("echo", text="b"), say("too much")):
        assert (await client.run("Go"))[-1]["code"] == "usage_limit"


async def test_a_run_that_takes_too_long_ends_with_a_code_of_its_own(client: Client, settings):
    settings.AGUI = {"RUN_TIMEOUT_SECONDS": 0.05}
    with script([say("Well, "), wait(asyncio.Event())]):
        events = await client.run("Hi")

    assert events[-1]["code"] == "timeout"
    assert (await Run.objects.aget()).status == "timed_out"


async def test_an_answer_without_end_is_stopped(client: Client, settings):
    settings.AGUI = {"MAX_OUTPUT_BYTES": 10_000}
    with script([say("x" * 20_000, chunks=500), wait(asyncio.Event())]):
        events = await client.run("Hi")

    assert events[-1]["code"] == "output_limit"


async def test_state_that_a_tool_changes_reaches_the_page_and_is_kept(client: Client):
    with script(call("note", text="milk"), say("ok")):
        events = await client.run("Note milk", state={"text": "eggs"})

    assert [e["snapshot"] for e in events if e["type"] == "STATE_SNAPSHOT"] == [{"text": "milk"}]
    assert (await client.thread())["state"] == {"text": "milk"}


async def test_state_lasts_from_run_to_run_and_the_client_may_change_it(client: Client):
    with script(call("note", text="milk"), say("ok"), call("recall"), say("ok"), call("recall"), say("ok")) as model:
        await client.run("Note milk")
        await client.run("What was it?")
        await client.run("And now?", state={"text": "eggs"})
    assert model.requests[3].tool_results == {"recall": "milk"}
    assert model.requests[5].tool_results == {"recall": "eggs"}


async def test_a_state_without_a_json_form_breaks_no_run(client: Client):
    with script([call("clear"), call("echo", text="x")], say("ok")):
        events = await client.run("Clear it")
    assert events[-1]["type"] == "RUN_FINISHED"
    assert [m["role"] for m in (await client.thread())["messages"]] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
    ]


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


async def test_a_model_that_can_not_make_a_valid_call_is_an_error_of_the_model(client: Client):
    with script(*[call("echo", _json='{"wrong": 1}')] * 5):
        assert (await client.run("Go"))[-1]["code"] == "model_error"


async def test_a_server_prompt_of_a_skill_reaches_the_model_and_nobody_else(client: Client):
    with script(say("ok")) as model:
        await client.run("/review my text")

    assert "as an editor would" in model.requests[0].instructions
    assert model.requests[0].prompt == "/review my text"
    assert "as an editor would" not in str(await client.thread())


async def test_a_skill_lasts_for_its_turn_over_an_approval(client: Client):
    with script(call("wipe", _id="c1"), say("ok")) as model:
        await client.run("/review my disk")
        await client.run(resume=[decision("c1")])
    assert "as an editor would" in model.requests[1].instructions


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


async def test_the_response_passes_every_buffer(client: Client):
    with script(say("Hi")):
        response = await client.post(run_input("Hi"))
        await collect(response)

    assert response["Content-Type"] == "text/event-stream"
    assert response["Cache-Control"] == "no-store, no-transform"
    assert response["X-Accel-Buffering"] == "no"


async def test_middleware_does_not_compress_the_response(client: Client, settings):
    settings.MIDDLEWARE = ["django.middleware.gzip.GZipMiddleware", *settings.MIDDLEWARE]
    with script(say("Hi")):
        response = await client.post(run_input("Hi"), **{"Accept-Encoding": "gzip"})
        await collect(response)
    assert response["Content-Encoding"] == "identity"


async def test_nothing_ran_by_itself(client: Client):
    with script(say("Hi")):
        await client.run("Hi")
    assert urls.effects == []


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


async def test_a_tool_of_the_configs_toolsets_can_not_be_replaced_either(client: Client):
    toolset = FunctionToolset(id="more")
    toolset.add_function(lambda: "real", name="lookup")
    tools = [{"name": "lookup", "description": "Mine", "parameters": {"type": "object", "properties": {}}}]
    with script(say("never")) as model, urls.view.agent.override(toolsets=[toolset]):
        assert (await client.run("Hi", tools=tools))[-1]["code"] == "tool_name_conflict"
    assert model.requests == []


async def test_a_clash_that_only_the_run_can_see_has_the_same_code(client: Client, monkeypatch):
    toolset = FunctionToolset(id="more")
    toolset.add_function(lambda: "real", name="lookup")
    model = ScriptedModel([say("never")])
    config = AgentConfig(model=model, toolsets=[toolset.prefixed("my")], state_type=urls.Notes)
    monkeypatch.setitem(vars(urls.view.endpoint), "agent", build_agent(urls.registry, config))
    tools = [{"name": "my_lookup", "description": "Mine", "parameters": {"type": "object", "properties": {}}}]
    assert (await client.run("Hi", tools=tools))[-1]["code"] == "tool_name_conflict"
    assert model.requests == []
