"""A remote agent as a model: the agent here, the project's own endpoint over HTTP there."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

import httpx2
import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    BinaryContent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelRetry,
    ToolApproved,
    ToolDenied,
)
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
from agui.models import Message, Run
from agui.runs.live import live
from agui.testing import call, fail, say, think, wait
from tests import urls
from tests.conftest import parts_of, results_of
from tests.serving import CUT, Answers, Site, serving, site_that_says
from tests.test_client_transport import asking, read


def agent_of(site: Site, *tools: Any, **options: Any) -> Agent[None, Any]:
    return Agent(AGUIModel(site.url, headers=site.headers), tools=tools, **options)


def asking_agent(site: Site, *tools: Any) -> Agent[None, Any]:
    return agent_of(site, *tools, output_type=[str, DeferredToolRequests], capabilities=[AGUIInterrupts()])


async def go_on(agent: Agent[None, Any], asked: Any, **answers: Any) -> Any:
    """Run the agent again, with these answers to what was asked."""
    results = DeferredToolResults(**answers)
    return await agent.run(message_history=asked.all_messages(), deferred_tool_results=results)


def kinds(messages: Sequence[m.ModelMessage]) -> list[list[str]]:
    return [[part.part_kind for part in message.parts] for message in messages]


def answer_parts(result: Any) -> list[Any]:
    return list(result.response.parts)


def asked_by(call: Any) -> dict[str, Any]:
    interrupt = interrupt_of(call)
    assert interrupt is not None
    return interrupt


def location() -> str:
    """Say where the client is."""
    return "Paris"


async def test_text_comes_whole(user: Any):
    async with site_that_says(user, say("Hello there.", 3)) as site:
        result = await agent_of(site).run("Hi")
    assert result.output == "Hello there."


async def test_text_comes_as_it_is_written(user: Any):
    async with site_that_says(user, say("Hello there.", 3)) as site, agent_of(site).run_stream("Hi") as result:
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


async def test_a_tool_of_the_client_runs_here_once(user: Any):
    async with site_that_says(user, call("location", _id="c1"), say("You are in Paris.")) as site:
        result = await agent_of(site, location).run("Where am I?")
    assert result.output == "You are in Paris."
    assert results_of(site.llm.requests[1])["c1"].content == "Paris"
    assert kinds(result.all_messages()) == [["user-prompt"], ["tool-call"], ["tool-return"], ["text"]]


async def test_a_tool_of_the_server_is_shown_and_never_run_here(user: Any):
    async with site_that_says(user, call("echo", text="a", _id="c1"), say("Done."), say("Bye.")) as site:
        agent = agent_of(site, location)
        result = await agent.run("Echo")
        await agent.run("Bye", message_history=result.all_messages())
        requests = site.llm.requests
    assert result.output == "Done."
    assert kinds(result.all_messages()) == [["user-prompt"], ["builtin-tool-call", "builtin-tool-return", "text"]]
    called, returned, _ = answer_parts(result)
    assert (called.tool_name, called.args_as_dict(), returned.content) == ("echo", {"text": "a"}, "a")
    assert len(requests) == 3
    assert [part.content for part in parts_of(requests[2]) if isinstance(part, m.ToolReturnPart)] == ["a"]


@pytest.mark.parametrize("order", [1, -1])
async def test_mixed_calls_work_in_any_order(user: Any, order: int):
    calls = [call("location", _id="c1"), call("echo", text="a", _id="c2")][::order]
    async with site_that_says(user, calls, say("Done.")) as site:
        result = await agent_of(site, location).run("Both")
    assert result.output == "Done."
    results = results_of(site.llm.requests[1])
    assert {call_id: part.content for call_id, part in results.items()} == {"c1": "Paris", "c2": "a"}
    assert kinds(result.all_messages())[2:] == [["tool-return"], ["text"]]


async def test_chains_of_both_kinds_work(user: Any):
    steps = [call("echo", text="a"), call("location"), call("echo", text="b"), call("location"), say("Done.")]
    async with site_that_says(user, *steps) as site:
        result = await agent_of(site, location).run("Go")
        last = site.llm.requests[-1]
    assert result.output == "Done."
    returned = [part.content for part in parts_of(last) if isinstance(part, m.ToolReturnPart)]
    assert returned == ["a", "Paris", "b", "Paris"]


async def test_an_approval_is_a_deferred_tool_request(user: Any):
    async with site_that_says(user, call("wipe", what="disk", _id="c1"), say("Wiped."), say("Yes.")) as site:
        agent = asking_agent(site, location)
        asked = await agent.run("Wipe it")
        (wanted,) = asked.output.approvals
        assert (wanted.tool_name, wanted.args_as_dict(), urls.effects) == ("wipe", {"what": "disk"}, [])
        assert asked_by(wanted)["message"] == "Really wipe it?"
        done = await go_on(agent, asked, approvals={"c1": True})
        assert (done.output, urls.effects) == ("Wiped.", ["disk"])
        again = await agent.run("Sure?", message_history=done.all_messages())
    assert again.output == "Yes."
    assert {part.content for part in results_of(site.llm.requests[-1]).values()} == {"wiped disk"}


@pytest.mark.parametrize(
    ("answer", "effects", "told"),
    [
        (ToolApproved(override_args={"what": "tape"}), ["tape"], "wiped tape"),
        (ToolDenied("Not today."), [], "Not today."),
    ],
)
async def test_an_approval_can_be_edited_or_denied(user: Any, answer: Any, effects: list[str], told: str):
    async with site_that_says(user, call("wipe", what="disk", _id="c1"), say("So be it.")) as site:
        agent = asking_agent(site)
        done = await go_on(agent, await agent.run("Wipe it"), approvals={"c1": answer})
    assert (done.output, urls.effects) == ("So be it.", effects)
    assert results_of(site.llm.requests[1])["c1"].content == told


async def test_a_question_is_a_deferred_call(user: Any):
    async with site_that_says(user, call("choose_day", _id="c1"), say("Noted.")) as site:
        agent = asking_agent(site)
        asked = await agent.run("Which day?")
        (wanted,) = asked.output.calls
        assert asked_by(wanted)["responseSchema"] == {"type": "string", "format": "date"}
        done = await go_on(agent, asked, calls={"c1": "2026-12-24"})
    assert done.output == "Noted."
    assert results_of(site.llm.requests[1])["c1"].content == "2026-12-24"


async def test_state_goes_in_and_comes_out(user: Any):
    async with site_that_says(user, call("note", text="Milk"), say("A"), call("recall"), say("B")) as site:
        agent = agent_of(site)
        settings = AGUIModelSettings(agui_state={"text": "Bread"})
        first = await agent.run("Note", model_settings=settings)
        assert remote_state(first.all_messages()) == {"text": "Milk"}
        second = await agent.run("Recall", message_history=first.all_messages())
    assert answer_parts(second)[1].content == "Milk"


async def test_context_and_forwarded_props_go_along(user: Any):
    settings = AGUIModelSettings(agui_context={"page": "Orders"}, agui_forwarded_props={"a": 1})
    async with site_that_says(user, call("came_along"), say("Done.")) as site:
        result = await agent_of(site).run("Look", model_settings=settings)
    assert "Orders" in answer_parts(result)[1].content
    assert '"a"' in answer_parts(result)[1].content


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
        image = BinaryContent(b"\x89PNG\r\n\x1a\n", media_type="image/png")
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


async def test_types_beyond_json_survive_both_ways(user: Any):
    seen: list[Any] = []

    def bill(order: Order, limits: dict[str, Decimal]) -> Bill:
        """Bill an order."""
        seen.append((order, limits))
        return Bill([order], order.price)

    wanted = call("bill", _id="c1", order={"day": "2026-12-24", "price": "9.90"}, limits={"a": "0.1"})
    async with site_that_says(user, wanted, say("Billed.")) as site:
        await agent_of(site, bill).run("Bill it")
    assert seen == [(Order(day=date(2026, 12, 24), price=Decimal("9.90")), {"a": Decimal("0.1")})]
    returned = results_of(site.llm.requests[1])["c1"].content
    assert returned == '{"orders":[{"day":"2026-12-24","price":"9.90"}],"total":"9.90"}'


async def test_a_structured_output_is_asked_for(user: Any):
    async with site_that_says(user, call("final_result", day="2026-12-24", price="1")) as site:
        result = await agent_of(site, output_type=Order).run("Order")
    assert result.output == Order(day=date(2026, 12, 24), price=Decimal(1))


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


def sending(*events: dict[str, Any]) -> tuple[Any, ...]:
    """The answer of a server that sends just these events of a run."""
    return (200, {}, sse({"type": "RUN_STARTED"}, *events, {"type": "RUN_FINISHED"}))


async def answered_with(*events: dict[str, Any], **options: Any) -> Any:
    """What comes of such a run."""
    async with serving(Answers(sending(*events))) as url:
        return await Agent(AGUIModel(url), **options).run("Hi")


async def test_only_the_agents_own_words_are_the_answer():
    theirs = message("u", "You said. ", role="user") + message("s", "I'm a helper. ", subagent="r2")
    assert (await answered_with(*theirs, *message("m", "Hi."))).output == "Hi."


async def test_messages_and_calls_may_be_interleaved():
    first, second = message("a", "One. "), message("b", "Two.")
    calls = [
        {"type": f"TOOL_CALL_{step}", "toolCallId": key, **rest}
        for step, rest in [("START", {"toolCallName": "echo"}), ("ARGS", {"delta": "{}"}), ("END", {})]
        for key in ("c", "d")
    ]
    mixed = [event for group in zip(first, second, calls[0::2], calls[1::2], strict=True) for event in group]
    result = await answered_with(*mixed, returned("d", "d"), returned("c", "c"))
    pairs = [(kind, key) for key in ("d", "c") for kind in ("builtin-tool-call", "builtin-tool-return")]
    told = [(part.part_kind, getattr(part, "tool_call_id", None)) for part in answer_parts(result)]
    assert told == [("text", None), ("text", None), *pairs]
    assert result.output.split() == ["One.", "Two."]


def called(name: str) -> dict[str, Any]:
    return {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": name, "delta": "{}"}


def returned(key: str, content: str) -> dict[str, Any]:
    return {"type": "TOOL_CALL_RESULT", "toolCallId": key, "messageId": f"r-{key}", "content": content}


async def test_a_result_that_is_no_json_stays_text():
    result = await answered_with(called("echo"), returned("c", '{"half": '), *message("m", "Hi."))
    assert answer_parts(result)[1].content == '{"half": '


async def test_what_is_encrypted_goes_back_as_it_came():
    thought = {"type": "REASONING_MESSAGE_CHUNK", "messageId": "t", "delta": "Hm."}
    sealed = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "t", "encryptedValue": "opaque"}
    server = Answers(sending(thought, sealed, *message("m", "Hi.")), sending(*message("n", "Bye.")))
    async with serving(server) as url:
        agent = Agent(AGUIModel(url))
        first = await agent.run("Hi")
        await agent.run("Bye", message_history=first.all_messages())
    sent = json.loads(server.requests[1]["body"])["messages"]
    told = [(one["role"], one["content"]) for one in sent[:3]]
    assert told == [("user", "Hi"), ("reasoning", "Hm."), ("assistant", "Hi.")]
    assert (sent[1]["id"], sent[1]["encryptedValue"], sent[2]["id"]) == ("t", "opaque", "m")


async def test_a_run_that_no_server_should_send_is_an_error():
    with pytest.raises(AGUIProtocolError, match="'location', a tool of the client"):
        await answered_with(called("location"), returned("c", "Rome"), tools=[location])
    # A change of no state
    delta = {"type": "STATE_DELTA", "delta": [{"op": "replace", "path": "/a/b", "value": 1}]}
    with pytest.raises(AGUIProtocolError, match="does not fit"):
        await answered_with(delta)


# --- Leaving, and failing


def sse(*events: dict[str, Any]) -> bytes:
    ids = {"threadId": "t", "runId": "r"}
    return b"".join(f"data: {json.dumps({**ids, **event})}\n\n".encode() for event in events)


async def is_running(site: Site) -> list[bool]:
    return [row["running"] for row in await site.client.threads()]


async def goes_on_running(site: Site) -> bool:
    """Whether the runs outlive what was said to them: a server accepts a cancellation before it is done."""
    if live.tasks:
        await asyncio.wait(live.tasks, timeout=60)
    return any(await is_running(site))


async def test_who_cancels_the_agent_cancels_the_remote_run(user: Any):
    reached, never = asyncio.Event(), asyncio.Event()
    async with site_that_says(user, [say("One"), wait(never, reached)]) as site:
        task = asyncio.create_task(agent_of(site).run("Hi"))
        await reached.wait()
        assert await is_running(site) == [True]
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert not await goes_on_running(site)
        assert (await Run.objects.aget()).status == Run.Status.CANCELLED


async def test_who_leaves_a_stream_early_cancels_the_remote_run(user: Any):
    never = asyncio.Event()
    async with site_that_says(user, [say("One"), wait(never)]) as site:
        async with agent_of(site).run_stream("Hi") as result:
            async for text in result.stream_text():
                assert text == "One"
                await result.cancel()
                break
        assert not await goes_on_running(site)


@asynccontextmanager
async def run_of_somebody_else(user: Any) -> AsyncGenerator[Site]:
    """A site where another client has its answer written on the thread "t1"."""
    reached, go_on = asyncio.Event(), asyncio.Event()
    async with site_that_says(user, [say("Mine"), wait(go_on, reached)]) as site:
        async with asyncio.TaskGroup() as group:
            reading = group.create_task(read(site.client, asking()))
            await reached.wait()
            yield site
            go_on.set()
        last: Any = reading.result()[-1]
        assert last.outcome.type == "success"


IN_T1 = AGUIModelSettings(agui_thread_id="t1")


async def test_a_model_that_is_refused_or_loses_its_connection_leaves_the_other_run_alone(user: Any):
    async with run_of_somebody_else(user) as site:
        with pytest.raises(AGUIStatusError, match="409"):
            await agent_of(site).run("Me too", model_settings=IN_T1)
        with pytest.raises(AGUIStatusError, match="409"):
            async with agent_of(site).run_stream("Me too", model_settings=IN_T1):
                pass
        async with breaking(site.url) as url:
            with pytest.raises(AGUIConnectionError):
                await Agent(AGUIModel(url, headers=site.headers, retries=0)).run("Me too", model_settings=IN_T1)
        assert await site.client.cancel("t1", "another") is False


@asynccontextmanager
async def breaking(url: str) -> AsyncGenerator[str]:
    """Another address of a site: a run is lost before its answer begins, and everything else is passed on."""

    async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
        body = (await receive())["body"]
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"] if name != b"host"]
        target = url.removesuffix("/agent/") + scope["path"]
        if scope["path"] == "/agent/":
            return await send(CUT)
        async with httpx2.AsyncClient() as http:
            answer = await http.request(scope["method"], target, content=body, headers=headers)
        await send({"type": "http.response.start", "status": answer.status_code, "headers": []})
        await send({"type": "http.response.body", "body": answer.content})

    async with serving(application) as other:
        yield f"{other}/agent/"


@pytest.mark.parametrize("status", [401, 403, 404, 409, 422, 429, 500, 502, 503])
async def test_a_refused_model_cancels_nothing(status: int):
    server = Answers((status, {"Retry-After": "0"}, b"{}"))
    async with serving(server) as url:
        with pytest.raises(AGUIStatusError):
            await Agent(AGUIModel(url, retries=0)).run("Hi")
    assert [request["path"] for request in server.requests] == ["/"]


BEGUN = {"type": "RUN_STARTED"}, {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "One"}


async def test_a_cancellation_names_its_run():
    server = Answers((200, {}, sse(*BEGUN), CUT), (202, {}))
    async with serving(server) as url:
        with pytest.raises(AGUIConnectionError):
            await Agent(AGUIModel(url, retries=0)).run("Hi")
    run, cancellation = (json.loads(request["body"]) for request in server.requests)
    assert cancellation == {"run_id": run["runId"]}


async def test_a_server_that_can_not_cancel_is_left():
    server = Answers((200, {}, sse(*BEGUN), asyncio.Event()), (404, {}))
    async with serving(server) as url, Agent(AGUIModel(url)).run_stream("Hi") as result:
        async for text in result.stream_text():
            assert text == "One"
            await result.cancel()
    assert [request["path"][-7:] for request in server.requests] == ["/", "cancel/"]


async def test_a_run_that_somebody_else_cancels_is_an_error(user: Any):
    reached, never = asyncio.Event(), asyncio.Event()
    async with site_that_says(user, [say("One"), wait(never, reached)]) as site:
        task = asyncio.create_task(agent_of(site).run("Hi", model_settings=IN_T1))
        await reached.wait()
        await site.client.cancel("t1")
        with pytest.raises(AGUIRunError) as caught:
            await task
    assert caught.value.code == "cancelled"


async def test_another_model_takes_over_where_the_remote_agent_refuses(user: Any):
    async with site_that_says(user) as site:
        stranger = AGUIModel(site.url, headers={"Authorization": "Bearer nobody"})
        assert "nobody" not in repr(stranger)
        agent = Agent(FallbackModel(stranger, TestModel(custom_output_text="Here I am.")))
        assert (await agent.run("Hi")).output == "Here I am."
        async with agent.run_stream("Hi") as result:
            assert await result.get_output() == "Here I am."


async def test_a_tool_that_asks_for_another_try_is_called_again(user: Any):
    tries: list[int] = []

    def guess(number: int) -> str:
        """Guess."""
        tries.append(number)
        if number == 1:
            raise ModelRetry("Higher.")
        return "Right."

    async with site_that_says(user, call("guess", number=1, _id="c1"), call("guess", number=2), say("Done.")) as site:
        result = await agent_of(site, guess).run("Guess")
    assert (result.output, tries) == ("Done.", [1, 2])
    assert "Higher." in results_of(site.llm.requests[1])["c1"].content


@pytest.mark.parametrize("setting", ["drop", "use"])
async def test_instructions_have_an_effect_where_the_server_lets_them(
    user: Any, settings: Any, caplog: Any, setting: str
):
    settings.AGUI = {"CLIENT_INSTRUCTIONS": setting}
    caplog.set_level(logging.INFO)
    async with site_that_says(user, say("Arr."), say("Arr, arr.")) as site:
        agent = agent_of(site, instructions="Speak like a pirate.")
        first = await agent.run("Hi", conversation_id="t1")
        await agent.run("And again", message_history=first.all_messages())
    told = ["Speak like a pirate." in (request.instructions or "") for request in site.llm.requests]
    assert told == [setting == "use"] * 2
    assert ("Dropping 1 system or developer messages of the client" in caplog.text) is (setting == "drop")
    # The instructions are no part of the conversation.
    kept = [message.data async for message in Message.objects.all()]
    assert "pirate" not in json.dumps(kept)


async def test_instructions_and_tools_go_along():
    server = Answers(sending({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hi."}))
    async with serving(server) as url:
        assert (await Agent(AGUIModel(url), instructions="Be brief.", tools=[location]).run("Hi")).output == "Hi."
    body = json.loads(server.requests[0]["body"])
    assert body["protocolVersion"] == "1.0"
    told = [(message["role"], message["content"]) for message in body["messages"]]
    assert told == [("system", "Be brief."), ("user", "Hi")]
    assert [(tool["name"], tool["description"]) for tool in body["tools"]] == [("location", "Say where the client is.")]
