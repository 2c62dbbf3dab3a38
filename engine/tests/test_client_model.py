"""A remote agent as a model: the agent here, the project's own endpoint over HTTP there."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import chain
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ModelRetry, ToolApproved, ToolDenied
from pydantic_ai import messages as m
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.test import TestModel

from agui.contrib.client import (
    AGUIConnectionError,
    AGUIInterrupts,
    AGUIModel,
    AGUIModelSettings,
    AGUIProtocolError,
    AGUIRunError,
    AGUIStatusError,
    interrupt_of,
    remote_state,
)
from agui.models import Run
from agui.runs.live import live
from agui.testing import call, fail, say, think, wait
from tests import urls
from tests.conftest import parts_of, results_of
from tests.serving import CUT, Answers, Application, Site, serving, site_that_says
from tests.test_client_requests import calls, returns, run, run_twice, says, sent, told
from tests.test_client_transport import frames, started


def agent_of(site: Site, *tools: Any, **options: Any) -> Agent[None, Any]:
    return Agent(AGUIModel(site.url, headers=site.headers), tools=tools, **options)


def kinds(messages: Sequence[m.ModelMessage]) -> list[list[str]]:
    return [[part.part_kind for part in message.parts] for message in messages]


def location() -> str:
    """Say where the client is."""
    return "Paris"


async def test_text_comes_whole_or_as_it_is_written(user: Any):
    async with site_that_says(user, say("Hello there.", 3), say("Hello there.", 3)) as site:
        assert (await agent_of(site).run("Hi")).output == "Hello there."
        async with agent_of(site).run_stream("Hi") as result:
            assert [text async for text in result.stream_text(debounce_by=None)][-1] == "Hello there."


async def test_a_conversation_keeps_its_thread_and_sends_all_of_its_history(user: Any):
    async with site_that_says(user, say("One."), say("Two."), say("Other.")) as site:
        agent = agent_of(site)
        first = await agent.run("Count")
        second = await agent.run("On", message_history=first.all_messages())
        await agent.run("Something else")
        threads = await site.client.threads()
        thread = await site.client.thread((first.response.provider_details or {})["thread_id"])
    assert second.output == "Two."
    assert len(threads) == 2
    assert [message["content"] for message in thread["messages"]] == ["Count", "One.", "On", "Two."]
    assert [part.content for part in parts_of(site.llm.requests[1])] == ["Count", "One.", "On"]


HERE, THERE = call("location"), call("echo", text="a")


@pytest.mark.parametrize(
    ("steps", "results"),
    [
        ([HERE], ["Paris"]),
        ([[HERE, THERE]], ["Paris", "a"]),
        ([[THERE, HERE]], ["a", "Paris"]),
        ([THERE, HERE, THERE, HERE], ["a", "Paris", "a", "Paris"]),
    ],
)
async def test_tools_of_the_client_run_here_and_others_there(user: Any, steps: list[Any], results: list[str]):
    async with site_that_says(user, *steps, say("Done.")) as site:
        result = await agent_of(site, location).run("Go")
    assert result.output == "Done."
    returned = [part.content for part in parts_of(site.llm.requests[-1]) if isinstance(part, m.ToolReturnPart)]
    assert sorted(returned) == sorted(results)
    returned_here = [kind for message in kinds(result.all_messages()) for kind in message if kind == "tool-return"]
    assert len(returned_here) == results.count("Paris")


async def test_a_tool_of_the_server_is_shown_and_never_run_here(user: Any):
    async with site_that_says(user, call("echo", text="a", _id="c1"), say("Done."), say("Bye.")) as site:
        agent = agent_of(site, location)
        result = await agent.run("Echo")
        await agent.run("Bye", message_history=result.all_messages())
        requests = site.llm.requests
    assert result.output == "Done."
    assert kinds(result.all_messages()) == [["user-prompt"], ["builtin-tool-call", "builtin-tool-return", "text"]]
    called, returned, _ = result.response.parts
    assert (called.tool_name, called.args_as_dict(), returned.content) == ("echo", {"text": "a"}, "a")
    assert len(requests) == 3
    assert [part.content for part in parts_of(requests[2]) if isinstance(part, m.ToolReturnPart)] == ["a"]


DEFERRING: Any = {"output_type": [str, DeferredToolRequests], "capabilities": [AGUIInterrupts()]}


@pytest.mark.parametrize(
    ("answer", "effects", "told"),
    [
        (True, ["disk"], "wiped disk"),
        (ToolApproved(override_args={"what": "tape"}), ["tape"], "wiped tape"),
        (ToolDenied("Not today."), [], "Not today."),
    ],
)
async def test_an_approval_is_a_deferred_tool_request(user: Any, answer: Any, effects: list[str], told: str):
    async with site_that_says(user, call("wipe", what="disk", _id="c1"), say("So be it."), say("Yes.")) as site:
        agent = agent_of(site, location, **DEFERRING)
        asked = await agent.run("Wipe it")
        (wanted,) = asked.output.approvals
        assert (wanted.tool_name, wanted.args_as_dict(), urls.effects) == ("wipe", {"what": "disk"}, [])
        assert (interrupt_of(wanted) or {})["message"] == "Really wipe it?"
        results = DeferredToolResults(approvals={"c1": answer})
        done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)
        assert (done.output, urls.effects) == ("So be it.", effects)
        again = await agent.run("Sure?", message_history=done.all_messages())
    assert again.output == "Yes."
    assert {part.content for part in results_of(site.llm.requests[-1]).values()} == {told}


async def test_a_question_is_a_deferred_call(user: Any):
    async with site_that_says(user, call("choose_day", _id="c1"), say("Noted.")) as site:
        agent = agent_of(site, **DEFERRING)
        asked = await agent.run("Which day?")
        (wanted,) = asked.output.calls
        assert (interrupt_of(wanted) or {})["responseSchema"] == {"type": "string", "format": "date"}
        results = DeferredToolResults(calls={"c1": "2026-12-24"})
        done = await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)
    assert done.output == "Noted."
    assert results_of(site.llm.requests[1])["c1"].content == "2026-12-24"


async def test_state_goes_in_and_comes_out_and_context_goes_along(user: Any):
    answers = call("note", text="Milk"), say("A"), [call("recall"), call("came_along")], say("B")
    async with site_that_says(user, *answers) as site:
        agent = agent_of(site)
        first = await agent.run("Note", model_settings=AGUIModelSettings(agui_state={"text": "Bread"}))
        assert remote_state(first.all_messages()) == {"text": "Milk"}
        along = AGUIModelSettings(agui_context={"page": "Orders"}, agui_forwarded_props={"a": 1})
        second = await agent.run("Recall", message_history=first.all_messages(), model_settings=along)
    parts = [part for part in second.response.parts if part.part_kind == "builtin-tool-return"]
    results = {part.tool_name: part.content for part in parts}
    assert results["recall"] == "Milk"
    assert "Orders" in results["came_along"]
    assert '"a"' in results["came_along"]


async def test_reasoning_is_a_thinking_part(user: Any):
    async with site_that_says(user, [think("Let me see.", 2), say("Done.")]) as site:
        result = await agent_of(site).run("Hi")
    assert kinds([result.response]) == [["thinking", "text"]]
    assert result.response.thinking == "Let me see."


async def test_usage_is_counted(user: Any, settings: Any):
    settings.AGUI = {**settings.AGUI, "INCLUDE_USAGE": True}
    async with site_that_says(user, call("echo", text="a"), say("Hello there.")) as site:
        usage = (await agent_of(site).run("Hi")).usage
        used = (await Run.objects.aget()).usage
    assert usage.output_tokens > 0
    assert (usage.input_tokens, usage.output_tokens) == (used["input_tokens"], used["output_tokens"])


async def test_files_go_along(user: Any):
    async with site_that_says(user, say("A dot.")) as site:
        image = m.BinaryContent(b"\x89PNG\r\n\x1a\n", media_type="image/png")
        await agent_of(site).run(["What is it?", image])
    (sent,) = parts_of(site.llm.requests[0])
    assert sent.content[0] == "What is it?"
    assert (sent.content[1].data, sent.content[1].media_type) == (image.data, "image/png")


class Order(BaseModel):
    day: date
    price: Decimal


@dataclass
class Bill:
    orders: list[Order]
    total: Decimal


async def test_types_beyond_json_survive_both_ways_and_as_an_output(user: Any):
    seen: list[Any] = []

    def bill(order: Order, limits: dict[str, Decimal]) -> Bill:
        """Bill an order."""
        seen.append((order, limits))
        return Bill([order], order.price)

    wanted = call("bill", _id="c1", order={"day": "2026-12-24", "price": "9.90"}, limits={"a": "0.1"})
    async with site_that_says(user, wanted, call("final_result", day="2026-12-24", price="1")) as site:
        result = await agent_of(site, bill, output_type=Order).run("Bill it")
    assert result.output == Order(day=date(2026, 12, 24), price=Decimal(1))
    assert seen == [(Order(day=date(2026, 12, 24), price=Decimal("9.90")), {"a": Decimal("0.1")})]
    returned = results_of(site.llm.requests[1])["c1"].content
    assert returned == '{"orders":[{"day":"2026-12-24","price":"9.90"}],"total":"9.90"}'


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [(fail(ValueError("secret")), "internal_error", "failed"), (call("wipe"), "interrupt", "AGUIInterrupts")],
)
async def test_an_error_has_the_servers_code(user: Any, answer: Any, code: str, words: str):
    async with site_that_says(user, answer) as site:
        with pytest.raises(AGUIRunError, match=words) as caught:
            await agent_of(site).run("Hi")
    assert caught.value.code == code
    assert "secret" not in str(caught.value)


async def test_other_events_are_told_to_who_asks_for_them(user: Any):
    seen: list[str] = []
    settings = AGUIModelSettings(agui_on_event=lambda event: seen.append(event.type.value))
    shown = [{"step": "Search"}, {"activity": {"done": 1}}, {"raw": "RawEvent", "event": {"a": 1}}]
    async with site_that_says(user, call("work", events=shown), say("Done.")) as site:
        result = await agent_of(site).run("Work", model_settings=settings)
    assert result.output == "Done."
    assert {"STEP_STARTED", "CUSTOM", "STEP_FINISHED", "ACTIVITY_SNAPSHOT", "RAW"} < set(seen)
    assert (seen[0], seen[-1]) == ("RUN_STARTED", "RUN_FINISHED")


def message(message_id: str, text: str, **fields: Any) -> list[dict[str, Any]]:
    ids = {"messageId": message_id, **({"subagentRunId": fields["subagent"]} if "subagent" in fields else {})}
    return [
        {"type": "TEXT_MESSAGE_START", "role": fields.get("role", "assistant"), **ids},
        {"type": "TEXT_MESSAGE_CONTENT", "delta": text, **ids},
        {"type": "TEXT_MESSAGE_END", **ids},
    ]


async def answered_with(*events: dict[str, Any], **options: Any) -> Any:
    """What comes of such a run."""
    async with serving(Answers(run(*events))) as url:
        return await Agent(AGUIModel(url), **options).run("Hi")


async def test_only_the_agents_own_words_are_the_answer():
    theirs = message("u", "You said. ", role="user") + message("s", "I'm a helper. ", subagent="r2")
    assert (await answered_with(*theirs, *message("m", "Hi."))).output == "Hi."


async def test_messages_and_calls_may_be_interleaved():
    steps = [("START", {"toolCallName": "echo"}), ("ARGS", {"delta": "{}"}), ("END", {})]
    c, d = [[{"type": f"TOOL_CALL_{step}", "toolCallId": key, **rest} for step, rest in steps] for key in "cd"]
    mixed = zip(message("a", "One. "), message("b", "Two."), c, d, strict=True)
    result = await answered_with(*chain.from_iterable(mixed), returns("d", "d"), returns("c", "c"))
    pairs = [(kind, key) for key in ("d", "c") for kind in ("builtin-tool-call", "builtin-tool-return")]
    told = [(part.part_kind, getattr(part, "tool_call_id", None)) for part in result.response.parts]
    assert told == [("text", None), ("text", None), *pairs]
    assert result.output.split() == ["One.", "Two."]


async def test_a_result_that_is_no_json_stays_text():
    result = await answered_with(calls("echo", "c"), returns("c", '{"half": '), says("Hi."))
    assert result.response.parts[1].content == '{"half": '


async def test_what_is_encrypted_goes_back_as_it_came():
    thought = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "t", "delta": "Hm."}
    sealed = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "t", "encryptedValue": "opaque"}
    server = Answers(run(thought, sealed, says("Hi.")), run(says("Bye.")))
    await run_twice(server)
    messages = sent(server, 1)["messages"]
    assert told(server, 1)[:3] == [("user", "Go"), ("reasoning", "Hm."), ("assistant", "Hi.")]
    assert (messages[1]["id"], messages[1]["encryptedValue"], messages[2]["id"]) == ("t", "opaque", "m-Hi.")


async def test_a_run_that_no_server_should_send_is_an_error():
    with pytest.raises(AGUIProtocolError, match="'location', a tool of the client"):
        await answered_with(calls("location", "c"), returns("c", "Rome"), tools=[location])
    # A change of no state
    delta = {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/a/b", "value": 1}]}
    with pytest.raises(AGUIProtocolError, match="does not fit"):
        await answered_with(delta)


# --- Leaving, and failing


def without_answers(application: Application) -> Application:
    """Let a run with this header lose its connection before its answer begins."""

    async def cut(scope: dict[str, Any], receive: Any, send: Any) -> None:
        is_cut = scope["path"] == "/agent/" and (b"x-cut", b"1") in scope["headers"]
        await (send(CUT) if is_cut else application(scope, receive, send))

    return cut


IN_T1 = AGUIModelSettings(agui_thread_id="t1")


@asynccontextmanager
async def agent_at_work(user: Any) -> AsyncGenerator[tuple[Site, asyncio.Task[Any]]]:
    """An agent whose remote run has said something, and never ends by itself."""
    reached, never = asyncio.Event(), asyncio.Event()
    async with site_that_says(user, [say("One"), wait(never, reached)], around=without_answers) as site:
        task = asyncio.create_task(agent_of(site).run("Hi", model_settings=IN_T1))
        await reached.wait()
        yield site, task
        task.cancel()
        await asyncio.wait([task])


async def test_who_cancels_the_agent_cancels_the_remote_run(user: Any):
    async with agent_at_work(user) as (site, task):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        # A server accepts a cancellation before it is done.
        if live.tasks:
            await asyncio.wait(live.tasks, timeout=60)
        assert not any(row["running"] for row in await site.client.threads())
        assert (await Run.objects.aget()).status == Run.Status.CANCELLED


async def test_a_run_that_somebody_else_cancels_is_an_error(user: Any):
    async with agent_at_work(user) as (site, task):
        assert await site.client.cancel("t1")
        with pytest.raises(AGUIRunError) as caught:
            await task
        assert await site.client.cancel("t1") is False
    assert caught.value.code == "cancelled"


async def test_a_model_that_is_refused_or_loses_its_connection_leaves_the_other_run_alone(user: Any):
    async with agent_at_work(user) as (site, _):
        with pytest.raises(AGUIStatusError, match="409"):
            await agent_of(site).run("Me too", model_settings=IN_T1)
        with pytest.raises(AGUIStatusError, match="409"):
            async with agent_of(site).run_stream("Me too", model_settings=IN_T1):
                pass
        lost = AGUIModel(site.url, headers={**site.headers, "X-Cut": "1"}, retries=0)
        with pytest.raises(AGUIConnectionError):
            await Agent(lost).run("Me too", model_settings=IN_T1)
        assert await site.client.cancel("t1", "another") is False
        assert [row["running"] for row in await site.client.threads()] == [True]


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 429, 500, 502, 503])
async def test_a_refused_model_cancels_nothing(status: int):
    server = Answers((status, {"Retry-After": "0"}, b"{}"))
    async with serving(server) as url:
        with pytest.raises(AGUIStatusError):
            await Agent(AGUIModel(url, retries=0)).run("Hi")
    assert [request["path"] for request in server.requests] == ["/"]


BEGUN = frames(started(), says("One"))


async def test_a_cancellation_names_its_run():
    server = Answers((200, {}, BEGUN, CUT), (202, {}))
    async with serving(server) as url:
        with pytest.raises(AGUIConnectionError):
            await Agent(AGUIModel(url, retries=0)).run("Hi")
    assert sent(server, 1) == {"run_id": sent(server, 0)["runId"]}


async def test_a_server_that_can_not_cancel_is_left():
    server = Answers((200, {}, BEGUN, asyncio.Event()), (404, {}))
    async with serving(server) as url, Agent(AGUIModel(url)).run_stream("Hi") as result:
        async for text in result.stream_text():
            assert text == "One"
            await result.cancel()
    assert [request["path"][-7:] for request in server.requests] == ["/", "cancel/"]


async def test_another_model_takes_over_where_the_remote_agent_refuses(user: Any):
    async with site_that_says(user) as site:
        stranger = AGUIModel(site.url, headers={"Authorization": "Bearer nobody"})
        assert "nobody" not in repr(stranger)
        agent = Agent(FallbackModel(stranger, TestModel(custom_output_text="Here I am.")))
        assert (await agent.run("Hi")).output == "Here I am."
        async with agent.run_stream("Hi") as result:
            assert await result.get_output() == "Here I am."


async def test_a_tool_that_asks_for_another_try_is_called_again(user: Any):
    tries = iter([ModelRetry("Higher.")])

    def guess() -> str:
        """Guess."""
        for retry in tries:
            raise retry
        return "Right."

    async with site_that_says(user, call("guess", _id="c1"), call("guess"), say("Done.")) as site:
        assert (await agent_of(site, guess).run("Guess")).output == "Done."
    assert "Higher." in results_of(site.llm.requests[1])["c1"].content
    assert "Right." in str(site.llm.requests[2].messages)


async def test_instructions_and_tools_go_along():
    server = Answers(run(says("Hi.")))
    async with serving(server) as url:
        assert (await Agent(AGUIModel(url), instructions="Be brief.", tools=[location]).run("Hi")).output == "Hi."
    body = sent(server, 0)
    assert body["protocolVersion"] == "1.0"
    assert told(server, 0) == [("system", "Be brief."), ("user", "Hi")]
    assert [(tool["name"], tool["description"]) for tool in body["tools"]] == [("location", "Say where the client is.")]
