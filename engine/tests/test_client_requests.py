"""What a server that keeps nothing is sent: all that it has to know, and nothing twice."""

import json
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults

from agui.contrib.client import AGUIInterrupts, AGUIModel
from tests.serving import Answers, serving

IDS = {"threadId": "t", "runId": "r"}


def run(*events: dict[str, Any], interrupt: dict[str, Any] | None = None) -> tuple[Any, ...]:
    """The answer of a server: these events of a run."""
    asks = {"outcome": {"type": "interrupt", "interrupts": [interrupt]}} if interrupt else {}
    told = [{"type": "RUN_STARTED", **IDS}, *events, {"type": "RUN_FINISHED", **IDS, **asks}]
    return (200, {}, *(f"data: {json.dumps(event)}\n\n".encode() for event in told))


def says(text: str) -> dict[str, Any]:
    return {"type": "TEXT_MESSAGE_CHUNK", "messageId": f"m-{text}", "delta": text}


def calls(name: str, call_id: str) -> dict[str, Any]:
    return {"type": "TOOL_CALL_CHUNK", "toolCallId": call_id, "toolCallName": name, "delta": "{}"}


def returns(call_id: str, content: str) -> dict[str, Any]:
    return {"type": "TOOL_CALL_RESULT", "messageId": f"r-{call_id}", "toolCallId": call_id, "content": content}


def sent(server: Answers, number: int) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(server.requests[number]["body"])
    return body


def told(server: Answers, number: int) -> list[Any]:
    """What the messages of a request say: role, and the text, the calls or the result."""
    found: list[Any] = []
    for message in sent(server, number)["messages"]:
        called = [call["id"] for call in message.get("toolCalls", [])]
        found.append((message["role"], called or message.get("toolCallId") or message["content"]))
    return found


def local() -> str:
    """Do something here."""
    return "here"


async def run_twice(server: Answers, **options: Any) -> Any:
    """Let an agent run, and once more with all that was said; the result of its first run."""
    async with serving(server) as url:
        agent = Agent(AGUIModel(url), **options)
        first = await agent.run("Go")
        await agent.run("Bye", message_history=first.all_messages())
    return first


async def run_asked(server: Answers, answer: Callable[[DeferredToolRequests], DeferredToolResults]) -> Any:
    """Let an agent run, answer what it asks, and run it once more; what it has asked."""
    options: dict[str, Any] = {"output_type": [str, DeferredToolRequests], "capabilities": [AGUIInterrupts()]}
    async with serving(server) as url:
        agent: Agent[None, Any] = Agent(AGUIModel(url), **options)
        asked = await agent.run("Go")
        done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=answer(asked.output))
        await agent.run("Bye", message_history=done.all_messages())
    return asked.output


async def test_each_call_is_followed_by_its_result():
    server = Answers(
        run(calls("local", "c1"), calls("remote", "c2"), returns("c2", "there")),
        run(returns("c1", "here"), says("Done.")),  # Microsoft's server repeats what it was told
        run(says("Bye.")),
    )
    first = await run_twice(server, tools=[local])
    assert [part.part_kind for part in first.response.parts] == ["text"]
    assert told(server, 1) == [("user", "Go"), ("assistant", ["c1", "c2"]), ("tool", "c1"), ("tool", "c2")]
    assert told(server, 2) == [*told(server, 1), ("assistant", "Done."), ("user", "Bye")]
    assert sent(server, 2)["messages"][3] == {"id": "r-c2", "role": "tool", "toolCallId": "c2", "content": "there"}
    assert sent(server, 1)["messages"] == sent(server, 2)["messages"][:4]


async def test_a_call_whose_result_comes_with_the_next_run_gets_it_then():
    asks = run(calls("remote", "c2"), calls("local", "c1"))
    server = Answers(asks, run(returns("c2", "there"), says("Done.")), run(says("Bye.")))
    await run_twice(server, tools=[local])
    assert told(server, 1) == [("user", "Go"), ("assistant", ["c1", "c2"]), ("tool", "c1")]
    assert told(server, 2)[2:4] == [("tool", "c1"), ("tool", "c2")]


async def test_an_approval_is_a_resume_and_no_message():
    interrupt = {"id": "i1", "reason": "tool_call", "toolCallId": "c1", "message": "Sure?"}
    asks = run(calls("remote", "c1"), interrupt=interrupt)
    server = Answers(asks, run(returns("c1", "wiped"), says("Done.")), run(says("Bye.")))
    await run_asked(server, lambda _: DeferredToolResults(approvals={"c1": True}))
    assert told(server, 1) == [("user", "Go"), ("assistant", ["c1"])]
    assert sent(server, 1)["resume"] == [{"interruptId": "i1", "status": "resolved", "payload": {"approved": True}}]
    assert sent(server, 1)["tools"] == []
    assert told(server, 2)[1:3] == [("assistant", ["c1"]), ("tool", "c1")]
    assert sent(server, 2)["messages"][2]["content"] == "wiped"
    assert "resume" not in sent(server, 2)


async def test_a_question_of_no_call_is_a_resume_alone():
    asks = run(says("Hm."), interrupt={"id": "i1", "reason": "app:day", "message": "Which day?"})
    server = Answers(asks, run(says("Done.")), run(says("Bye.")))

    def answer(asked: DeferredToolRequests) -> DeferredToolResults:
        return DeferredToolResults(calls={asked.calls[0].tool_call_id: {"day": "today"}})

    (call,) = (await run_asked(server, answer)).calls
    assert (call.tool_name, call.args_as_dict()) == ("app:day", {"message": "Which day?"})
    assert sent(server, 1)["resume"] == [{"interruptId": "i1", "status": "resolved", "payload": {"day": "today"}}]
    assert told(server, 2) == [("user", "Go"), ("assistant", "Hm."), ("assistant", "Done."), ("user", "Bye")]


async def test_the_state_goes_back_as_it_came():
    delta = [{"op": "replace", "path": "/a", "value": 2}]
    changes = [{"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}, {"type": "STATE_DELTA", "delta": delta}]
    server = Answers(run(*changes, says("Done.")), run(says("Bye.")))
    await run_twice(server)
    assert [sent(server, number)["state"] for number in (0, 1)] == [{}, {"a": 2}]


async def test_ids_stay_the_same_from_turn_to_turn():
    server = Answers(run(says("Done.")), run(says("Bye.")))
    await run_twice(server, instructions="Be brief.")
    before, after = (sent(server, number)["messages"] for number in (0, 1))
    assert after[:2] == before
    assert len({message["id"] for message in after}) == 4
    assert sent(server, 0)["threadId"] == sent(server, 1)["threadId"]
    assert sent(server, 0)["runId"] != sent(server, 1)["runId"]
