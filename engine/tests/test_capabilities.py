"""agui/manual/agent.md: its examples do what they say, up to the wire to a provider."""

import json
import logging
import re
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.capabilities import Hooks, ProcessHistory

from agui import AgentConfig, AgentDeps, ToolRegistry, build_agent
from agui.testing import ScriptedModel, call, event_types, say
from tests import pages
from tests.conftest import Client, parts_of, prompts_of
from tests.mounting import answering, mounted
from tests.provider_stub import Answer, Extra, ProviderStub, server_search, server_tool_use, web_search
from tests.test_audit import Memory
from tests.test_llm import text_of
from tests.wire import check_stream

example = partial(pages.example, "agent.md")
CLAUDE, GPT = "anthropic:claude-sonnet-5-5", "openai:gpt-5.6-terra"


async def asked(client: Client, stub: ProviderStub, model: str, **config: Any) -> dict[str, Any]:
    """What a provider is asked."""
    pytest.importorskip(model.partition(":")[0].partition("-")[0])
    stub.replies = [Answer("Hello.")]
    with answering(model=model, **config):
        events = await client.run("Hi", thread="wire")
    assert events[-1]["type"] == "RUN_FINISHED", events[-1]
    check_stream(events)
    return stub.requests.pop().body


async def test_instructions_may_be_texts_and_functions(client: Client, user: Any):
    model = ScriptedModel([say("Hello.")])
    with mounted(model=model, instructions=example("Instructions and model")["config"].instructions):
        await client.run("Hi")
    assert model.requests[0].instructions.startswith("You help with invoices.")
    assert model.requests[0].instructions.endswith(f"The user is {user}.")


async def test_a_hook_changes_what_the_model_and_the_client_read(client: Client):
    model = ScriptedModel([call("echo", text="Write to ada@example.com."), say("Done.")])
    with mounted(model=model, capabilities=[example("Hooks")["hooks"]]):
        events = await client.run("Go")
    [result] = [event["content"] for event in events if event["type"] == "TOOL_CALL_RESULT"]
    assert result == model.requests[1].tool_results["echo"] == "Write to [e-mail]."


async def test_a_wrapper_goes_on_without_a_hook_that_fails(client: Client):
    hooks: Hooks[Any] = Hooks()

    @hooks.on.before_model_request
    async def broken(ctx: Any, request_context: Any) -> Any:
        raise ValueError

    wrapper = example("Wrappers and order")["Optional"](hooks)
    with mounted(model=ScriptedModel([say("Hello.")]), capabilities=[wrapper]):
        assert text_of(await client.run("Hi", thread="wrapped")) == "Hello."


async def test_a_function_decides_for_each_user(client: Client, user: Any, stub: ProviderStub):
    capabilities = [example("By user or flag")["thorough_for_staff"]]
    assert "effort" not in (await asked(client, stub, GPT, capabilities=capabilities)).get("reasoning", {})
    user.is_staff = True
    await user.asave()
    assert (await asked(client, stub, GPT, capabilities=capabilities))["reasoning"]["effort"] == "high"


async def test_an_innermost_capability_comes_last_wherever_it_stands(client: Client, caplog: Any):
    caplog.set_level(logging.INFO, "assistant")
    count = example("Wrappers and order")["CountMessages"]()
    short = example("Long conversations")["ProcessHistory"](lambda messages: messages[-1:])
    with mounted(model=ScriptedModel([say("One."), say("Two.")]), capabilities=[count, short]):
        await client.run("Hi", thread="order")
        await client.run("Again", thread="order")
    assert re.findall(r"sends (\d+) messages", caplog.text) == ["1", "1"]


async def test_thinking_is_for_each_provider_what_it_knows(client: Client, stub: ProviderStub):
    assert example()["config"].capabilities[0].effort == "high"
    capabilities = [example("Thinking")["thinking"]]
    assert (await asked(client, stub, GPT, capabilities=capabilities))["reasoning"]["effort"] == "low"
    body = await asked(client, stub, CLAUDE, capabilities=capabilities)
    assert body["thinking"]["type"] in ("adaptive", "enabled")


async def test_anthropic_is_told_what_to_keep_and_may_fetch(client: Client, stub: ProviderStub):
    capabilities = [example("Prompt caching")["caching"], example("The web")["fetch"]]
    body = await asked(client, stub, CLAUDE, capabilities=capabilities)
    assert '"cache_control": {"type": "ephemeral", "ttl": "1h"}' in json.dumps(body)
    [offered] = [tool for tool in body["tools"] if tool.get("name") == "web_fetch"]
    assert offered["max_uses"] == 3
    assert "cache_control" not in json.dumps(await asked(client, stub, CLAUDE))


async def test_settings_reach_the_provider(client: Client, stub: ProviderStub):
    config: AgentConfig = example("Model settings")["config"]
    body = await asked(client, stub, "openai-chat:gpt-4o", model_settings=config.model_settings)
    assert (body["temperature"], body["max_completion_tokens"]) == (0.2, 2000)


MILK = {"type": "web_search_result", "url": "https://example.com/", "title": "Milk"}
MILK |= {"encrypted_content": "c2VjcmV0", "page_age": None}
RAN = {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "container_id": "c1"}
RAN |= {"code": "1 + 1", "outputs": [{"type": "logs", "logs": "2"}]}
CODED = {"type": "code_execution_result", "stdout": "2", "stderr": "", "return_code": 0, "content": []}


@pytest.mark.parametrize(
    ("model", "heading", "name", "items", "offered"),
    [
        (CLAUDE, "The web", "search", server_search("s1", "milk", MILK), "web_search"),
        (GPT, "The web", "search", [web_search("ws_1", "milk")], "web_search"),
        (CLAUDE, "Code", "code", server_tool_use("s2", "code_execution", {"code": "1 + 1"}, CODED), "code_execution"),
        (GPT, "Code", "code", [RAN], "code_interpreter"),
    ],
)
async def test_a_providers_own_tool_is_a_tool_call_for_a_client(client, stub, model, heading, name, items, offered):
    pytest.importorskip(model.partition(":")[0])
    stub.replies = [Extra(items, "Found it."), Answer("As I said.")]
    with answering(model=model, capabilities=[example(heading)[name]]):
        events = await client.run("Look it up", thread="native")
        check_stream(events)
        thread = await client.thread("native")
        again = await client.run("And?", thread="native")

    assert offered in json.dumps(stub.requests[0].body["tools"])
    kinds = event_types(events)
    assert kinds.index("TOOL_CALL_START") < kinds.index("TOOL_CALL_RESULT") < kinds.index("TEXT_MESSAGE_CONTENT")
    assert text_of(events) == "Found it."
    assert text_of(again) == "As I said."
    # The thread tells what was streamed, and the provider reads its own words again.
    streamed = {event["messageId"] for event in events if "messageId" in event}
    assert streamed <= {one["id"] for one in thread["messages"]}
    assert "Found it." in json.dumps(stub.requests[1].body)


async def test_the_web_is_the_servers_for_a_model_that_can_not(client: Client):
    pytest.importorskip("ddgs")
    pytest.importorskip("markdownify")
    local = example("The web", 1)
    places = ("127.0.0.1:8000/admin", "169.254.169.254/latest/meta-data", "intranet.example.com")
    model = ScriptedModel([[call("web_fetch", url=f"http://{place}/") for place in places], say("I may not.")])
    with mounted(model=model, capabilities=[local["search"], local["fetch"]]):
        await client.run("Read it")
    assert {"duckduckgo_search", "web_fetch"} <= model.requests[0].tools.keys()
    results = [part for part in parts_of(model.requests[1]) if getattr(part, "tool_name", "") == "web_fetch"]
    assert [part.outcome for part in results if part.part_kind == "tool-return"] == ["retried"] * 3


async def test_old_turns_are_left_out_for_the_model_and_kept_in_the_thread(client: Client):
    last_turns = example("Long conversations")["last_turns"]
    model = ScriptedModel([say("1"), [call("echo", text="x")], say("2"), say("3"), say("4")])
    with mounted(model=model, capabilities=[ProcessHistory(lambda messages: last_turns(messages, 2))]):
        for text in ("one", "two", "three", "four"):
            await client.run(text)
        thread = await client.thread()
    assert prompts_of(model.requests[-1]) == ["three", "four"]
    told = [one["content"] for one in thread["messages"] if one["role"] in ("user", "assistant") and one.get("content")]
    assert told == ["one", "1", "two", "2", "three", "3", "four", "4"]


def test_follow_ups_are_a_capability():
    [follow_ups] = example("Suggested follow-ups")["config"].capabilities
    assert (follow_ups.count, follow_ups.timeout_seconds) == (3, 5)


SPOKE = {"type": "compaction_delta", "content": "They spoke of milk."}
SUMMARY = {"type": "compaction", "content": None, "deltas": [SPOKE]}
SUMMED_UP = {"type": "compaction", "id": "cmp_1", "encrypted_content": "c2VjcmV0"}


@pytest.mark.parametrize("model", [CLAUDE, GPT])
async def test_a_provider_sums_up_what_is_old(client: Client, stub: ProviderStub, model: str):
    pytest.importorskip("anthropic")
    pytest.importorskip("openai")
    from pydantic_ai.models.openai import OpenAICompaction  # Of an extra

    is_claude = model == CLAUDE
    compaction = example("Long conversations", 1)["compaction"] if is_claude else OpenAICompaction(token_threshold=1000)
    stub.replies = [Answer("One."), Extra([SUMMARY if is_claude else SUMMED_UP], "Two."), Answer("Three.")]
    with answering(model=model, capabilities=[compaction]):
        await client.run("The milk is old", thread="old")
        events = await client.run("And now?", thread="old")
        check_stream(events)
        thread = await client.thread("old")
        await client.run("Then?", thread="old")

    assert "context_management" in stub.requests[0].body
    assert "The milk is old" not in json.dumps(stub.requests[2].body)
    assert ("They spoke of milk." if is_claude else "c2VjcmV0") in json.dumps(stub.requests[2].body)
    # Nothing of it is for a client, and the thread still has all that was said.
    for seen in (events, thread["messages"]):
        assert not any(word in json.dumps(seen) for word in ("They spoke", "c2VjcmV0", "compaction"))
    assert [one["content"] for one in thread["messages"]] == ["The milk is old", "One.", "And now?", "Two."]


async def test_an_agent_of_ones_own_has_all_tools_and_what_each_run_brings(client: Client, settings: Any, monkeypatch):
    monkeypatch.setitem(sys.modules, "own_factory", SimpleNamespace(**example("An agent of your own")))
    settings.AGUI = {"AGENT_FACTORY": "own_factory.build", "SEARCH_TOOLS_ABOVE": 1}
    quick = ScriptedModel([say("Hi.")])
    with mounted(models={"quick": quick}):
        await client.run("Go", forwardedProps={"model": "quick"})
    [request] = quick.requests
    assert request.instructions == "Answer in rhymes."
    assert list(request.tools) == ["search_tools"]


async def test_an_agent_that_a_tool_runs_has_hooks_of_its_own(client: Client):
    outer, inner = Memory(), Memory()

    def look() -> str:
        """Look."""
        return "Seen."

    found = ScriptedModel([call("look"), say("Found.")])
    config = AgentConfig(model=found, toolsets=[FunctionToolset([look])], audit_logger=inner)
    searcher = build_agent(ToolRegistry(), config)

    async def search(ctx: RunContext[AgentDeps]) -> str:
        """Search."""
        return (await searcher.run("Look", deps=ctx.deps)).output

    model = ScriptedModel([call("search"), say("Done.")])
    context = [{"description": "The page", "value": "Customer 42"}]
    with mounted(model=model, toolsets=[FunctionToolset([search])], audit_logger=outer):
        await client.run("Go", context=context)
    assert [[event.tool_name for event in logger.events] for logger in (outer, inner)] == [["search"], ["look"]]
    assert all("Customer 42" in str(request.messages) for request in model.requests)
    assert "Customer 42" not in str(found.requests)
