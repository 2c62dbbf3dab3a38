"""What an agent with an AGUIModel does on a server that is not the project's: one JSON line says how each ended.

python scenarios.py <url> <scenario>...
"""

import asyncio
import json
import sys
import traceback
from functools import partial
from typing import Any

from agui.contrib.client import AGUIInterrupts, AGUIModel, AGUIRunError, interrupt_of, remote_state
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, NativeToolReturnPart, ToolReturnPart

located: list[str] = []


def locate(what: str) -> str:
    """Say where the client is."""
    located.append("Paris")
    return "Paris"


def make_agent(url: str) -> Agent[None, Any]:
    options: dict[str, Any] = {"output_type": [str, DeferredToolRequests], "capabilities": [AGUIInterrupts()]}
    return Agent(AGUIModel(url, timeout_seconds=20), tools=[locate], **options)


def results(messages: list[ModelMessage], kind: type[Any]) -> list[Any]:
    return [part.content for message in messages for part in message.parts if isinstance(part, kind)]


async def streamed(url: str) -> None:
    async with make_agent(url).run_stream("Hello") as result:
        assert [part async for part in result.stream_text()][-1] == "1: Hello"


async def server(url: str) -> None:
    agent = make_agent(url)
    result = await agent.run("server")
    assert result.output == "1: ä✓"
    assert results(result.all_messages(), NativeToolReturnPart) == ["ä✓"]
    again = await agent.run("server", message_history=result.all_messages())
    assert again.output == "2: ä✓"
    assert again.response.provider_details["thread_id"] == result.response.provider_details["thread_id"]
    assert not located


async def client(url: str) -> None:
    agent = make_agent(url)
    result = await agent.run("client")
    assert (result.output, located) == ("1: Paris", ["Paris"])
    assert results(result.all_messages(), ToolReturnPart) == ["Paris"]
    again = await agent.run("client", message_history=result.all_messages())
    assert (again.output, located) == ("2: Paris", ["Paris"] * 2)


async def mix(url: str, order: str) -> None:
    agent = make_agent(url)
    result = await agent.run(order)
    assert sorted(result.output.split()) == ["1:", "Paris", "ä✓"], result.output
    assert located == ["Paris"]
    assert results(result.all_messages(), NativeToolReturnPart) == ["ä✓"]
    again = await agent.run("And now?", message_history=result.all_messages())
    assert again.output == "2: And now?"


async def answer(url: str, decision: Any, output: str) -> None:
    agent = make_agent(url)
    asked = await agent.run("approve")
    (wanted,) = asked.output.approvals
    assert (wanted.tool_name, wanted.args_as_dict()) == ("wipe", {"what": "disk"})
    assert interrupt_of(wanted)["reason"] == "tool_call"
    approvals = DeferredToolResults(approvals={wanted.tool_call_id: decision})
    done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=approvals)
    assert output in done.output
    assert ("wiped" in done.output) == ("wiped" in output)
    again = await agent.run("And now?", message_history=done.all_messages())
    assert again.output == "2: And now?"


async def error(url: str) -> None:
    try:
        await make_agent(url).run("fail")
    except AGUIRunError as caught:
        assert caught.code in ("", "RuntimeError"), caught.code  # noqa: PT017
    else:
        raise AssertionError("No error")


async def state(url: str) -> None:
    agent = make_agent(url)
    first = await agent.run("server")
    assert remote_state(first.all_messages()) == {"text": "ä✓"}
    second = await agent.run("Hello", message_history=first.all_messages())
    assert remote_state(second.all_messages()) == {"text": "ä✓"}


async def state_both_ways(url: str) -> None:
    agent = make_agent(url)
    first = await agent.run("server", model_settings={"agui_state": {"text": "a"}})
    assert remote_state(first.all_messages()) == {"text": "aä✓"}
    second = await agent.run("server", message_history=first.all_messages())
    assert remote_state(second.all_messages()) == {"text": "aä✓ä✓"}


async def usage(url: str) -> None:
    result = await make_agent(url).run("Hello")
    assert result.usage.input_tokens == 50


async def say(url: str, text: str, output: str, calls: int = 0) -> None:
    result = await make_agent(url).run(text)
    assert (result.output, located) == (output, ["Paris"] * calls)


SCENARIOS = {
    "text": partial(say, text="Hello", output="1: Hello"),
    "chain": partial(say, text="chain", output="1: ä✓ Paris ä✓ Paris", calls=2),
    "parallel": partial(say, text="parallel", output="1: ä✓ ä✓ Paris Paris", calls=2),
    "mixed": partial(mix, order="mixed"),
    "mixed_reversed": partial(mix, order="mixed reversed"),
    "approved": partial(answer, decision=True, output="1: wiped disk"),
    "edited": partial(answer, decision=ToolApproved(override_args={"what": "tape"}), output="1: wiped tape"),
    "denied": partial(answer, decision=ToolDenied("Not today."), output=""),
    **{one.__name__: one for one in (streamed, server, client, error, state, state_both_ways, usage)},
}


async def play(url: str, names: list[str]) -> None:
    for name in names:
        located.clear()
        try:
            async with asyncio.timeout(120):
                await SCENARIOS[name](url)
            verdict = "ok"
        except Exception:
            verdict = traceback.format_exc()
        print(json.dumps([name, verdict]), flush=True)


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1], sys.argv[2:]))
