"""OpenAI and Anthropic, as AGENT_MODEL names them: a streamed tool call round trip with a local stub of their APIs."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta
from pydantic_ai.run import AgentRunResultEvent

from agui.agents.build import build_agent
from agui.agents.config import AgentConfig
from agui.deps import AgentDeps
from agui.tools.registry import ToolRegistry, tool
from tests.provider_stub import Answer, Refusal, ToolUse
from tests.test_llm import stub

__all__ = ["stub"]

Body = dict[str, Any]


@dataclass(frozen=True)
class Api:
    """How to read one provider's requests."""

    model: str
    package: str
    path: str
    schema: Callable[[Body], Body]
    result: Callable[[Body], tuple[str, str]]


APIS = [
    Api(
        "openai-chat:gpt-5.6-terra",
        "openai",
        "/v1/chat/completions",
        lambda tool: tool["function"]["parameters"],
        lambda body: (body["messages"][-1]["tool_call_id"], body["messages"][-1]["content"]),
    ),
    Api(
        "openai:gpt-5.6-terra",
        "openai",
        "/v1/responses",
        lambda tool: tool["parameters"],
        lambda body: (body["input"][-1]["call_id"], body["input"][-1]["output"]),
    ),
    Api(
        "anthropic:claude-sonnet-5-5",
        "anthropic",
        "/v1/messages",
        lambda tool: tool["input_schema"],
        lambda body: (body["messages"][-1]["content"][0]["tool_use_id"], body["messages"][-1]["content"][0]["content"]),
    ),
]


@pytest.fixture(params=APIS, ids=lambda api: api.model.partition(":")[0])
def api(request: pytest.FixtureRequest) -> Api:
    pytest.importorskip(request.param.package)
    return request.param


def build(api: Api):
    registry = ToolRegistry()

    @tool(registry)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    config = AgentConfig(model=api.model, instructions="Be brief.", model_settings={"max_retries": 0})
    return build_agent(registry, config)


def text_of(event: object) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
    return ""


DEPS = AgentDeps(user=None, thread_id="thread", run_id="run")


async def test_tool_round_trip_is_streamed(api, stub):
    stub.replies = [ToolUse("add", {"a": 2, "b": 3}, id="call_of_the_test"), Answer("It is five.")]
    async with build(api) as agent, agent.run_stream_events("Add 2 and 3", deps=DEPS) as events:
        received = [event async for event in events]
    assert [text for text in map(text_of, received) if text] == ["It", " is", " five."]
    assert isinstance(received[-1], AgentRunResultEvent)
    assert received[-1].result.output == "It is five."

    first, second = stub.requests
    assert first.path == second.path == api.path
    assert first.body["stream"] is True
    assert first.body["model"] == api.model.partition(":")[2]
    assert any("not-a-real-key" in value for value in first.headers.values())
    assert "Be brief." in json.dumps(first.body)
    assert "Add 2 and 3" in json.dumps(first.body)
    call_id, result = api.result(second.body)
    assert call_id == "call_of_the_test"
    assert json.loads(result if isinstance(result, str) else result[0]["text"]) == 5


async def test_tool_is_offered_with_its_schema(api, stub):
    stub.replies = [Answer("Hello")]
    async with build(api) as agent:
        await agent.run("Hi", deps=DEPS, event_stream_handler=drain)
    [offered] = stub.requests[0].body["tools"]
    assert "Add two numbers." in json.dumps(offered)
    schema = api.schema(offered)
    assert {name: item["type"] for name, item in schema["properties"].items()} == {"a": "integer", "b": "integer"}
    assert schema["required"] == ["a", "b"]


async def drain(ctx, events):
    async for _ in events:
        pass


async def test_first_words_arrive_before_the_answer_has_ended(api, stub):
    gate = threading.Event()
    stub.replies = [Answer("One two", gate)]
    texts = []
    async with build(api) as agent, agent.run_stream_events("Count", deps=DEPS) as events:
        async for event in events:
            if text := text_of(event):
                texts.append((text, gate.is_set()))
                gate.set()
    assert texts == [("One", False), (" two", True)]


@pytest.mark.parametrize("status", [401, 429, 500])
async def test_refusal_is_an_error_with_its_status(api, stub, status):
    stub.replies = [Refusal(status, {"error": {"type": "some_error", "message": "a secret of the provider"}})]
    async with build(api) as agent:
        with pytest.raises(ModelHTTPError) as caught:
            await agent.run("Hi", deps=DEPS, event_stream_handler=drain)
    assert caught.value.status_code == status
    assert len(stub.requests) == 1
