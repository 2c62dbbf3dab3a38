"""What runs cost is counted by run, thread, user, day and model, and outlives the runs."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.apps import apps
from django.utils import timezone
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.usage import RequestUsage, RunUsage

from agui import conf
from agui.contrib.spending.ledger import Spent, add_spending, dump_spent, load_spent, spent_by_day
from agui.contrib.spending.models import Spending
from agui.contrib.spending.usage import spent_by_model
from agui.models import Run, get_conversation_model
from agui.money import dollars
from agui.runs.recovery import recover_run
from agui.runs.usage import add_broken_off, count_unpriced
from agui.stores import codec
from agui.stores.model import ModelConversationStore
from agui.testing import Chat, Response, ScriptedModel, call, collect, fail, say, wait
from tests.conftest import Client, half_said, played_by, script, until

pytestmark = pytest.mark.django_db(transaction=True)


def priced(step, cost, tokens=100):
    """An answer that costs so many dollars."""
    usage = RequestUsage(input_tokens=tokens, output_tokens=tokens, cost=None if cost is None else Decimal(cost))
    return Response([step], usage=usage)


# --- Runs


async def test_a_run_and_its_user_are_charged_what_its_responses_cost(client: Client, other_client: Client, user):
    with script(priced(call("echo", text="x"), "0.02"), priced(say("Done"), "0.005", 50), priced(say("Hi"), "0.1")):
        await client.run("Hi")
        await other_client.run("Hi", thread="t2")
    run = await Run.objects.aget(owner=user)
    assert run.cost == Decimal("0.025")
    spent = await Spending.objects.aget(owner=user)
    assert (spent.day, spent.model) == (timezone.localdate(), "scripted")
    assert (spent.requests, spent.input_tokens, spent.output_tokens) == (2, 150, 150)
    assert (spent.cost, spent.unpriced) == (Decimal("0.025"), 0)
    thread = await get_conversation_model().objects.aget(owner=user)
    assert Decimal(thread.usage["cost"]) == Decimal("0.025")


async def test_a_client_is_told_what_an_answer_has_used(client: Client, settings, monkeypatch):
    settings.AGUI = {**settings.AGUI, "SPENDING": {"SHOW_USAGE": True}}
    monkeypatch.setattr(Model, "context_window", 1000)
    with script(
        priced(call("echo", text="x"), "0.02"), priced(say("Done"), "0.005", 50), priced(say("Done"), None, 50)
    ):
        events = await client.run("Hi")
        stored = (await client.thread())["messages"][-1]["metadata"]["usage"]
        monkeypatch.setattr(Model, "context_window", None)
        events += await client.run("And now?")
    used = {"inputTokens": 150, "outputTokens": 150, "cost": 0.025, "contextTokens": 100, "contextWindow": 1000}
    told = [event["value"]["usage"] for event in events if event.get("name") == "usage"]
    assert told == [used, {"inputTokens": 50, "outputTokens": 50}]
    assert stored == used


async def test_runs_at_once_forget_nothing_of_each_other(client: Client, settings):
    settings.AGUI = {"MAX_RUNS_PER_USER": 20}
    go_on = asyncio.Event()
    answer = Response([wait(go_on), say("Hi")], usage=RequestUsage(input_tokens=1, cost=Decimal("0.01")))
    with script(*[answer] * 10):
        streams = [asyncio.create_task(client.run("Hi", thread=str(number))) for number in range(10)]
        await until(lambda: Run.objects.all()[9:].aexists())
        go_on.set()
        await asyncio.gather(*streams)
    spent = await Spending.objects.aget()
    assert (spent.requests, spent.cost) == (10, Decimal("0.1"))


class KnownModel(ScriptedModel):
    """A model that genai-prices knows."""

    @asynccontextmanager
    async def request_stream(self, *args):
        async with super().request_stream(*args) as stream:
            stream.model_name, stream.provider_name = "gpt-4o", "openai"
            yield stream


async def test_a_known_model_is_priced_by_its_tokens(client: Client):
    with played_by(KnownModel([Response([say("Hi")], usage=RequestUsage(input_tokens=1_000_000))])):
        await client.run("Hi")
    spent = await Spending.objects.aget()
    assert (spent.model, spent.cost) == ("gpt-4o", (await Run.objects.aget()).cost)
    assert spent.cost > Decimal("0.1")


@pytest.mark.parametrize(
    ("answers", "cost", "unpriced", "requests"),
    [
        ([say("Hi")], None, 1, 1),
        ([priced(call("echo", text="x"), "0.02"), priced(say("Done"), None)], Decimal("0.02"), 1, 2),
        ([priced(call("echo", text="x"), "0.02"), fail(ValueError("down"))], Decimal("0.02"), 0, 1),
    ],
    ids=["an unknown price is none, and not 0", "a known one beside it is a part", "what fails has spent what it used"],
)
async def test_a_run_has_spent_what_is_known_of_it(client: Client, answers, cost, unpriced, requests):
    with script(*answers):
        await client.run("Hi")
    run, spent = await Run.objects.aget(), await Spending.objects.aget()
    assert (run.cost, run.unpriced) == (spent.cost, spent.unpriced) == (cost, unpriced)
    assert spent.requests == requests
    assert spent.input_tokens > 0


@pytest.mark.parametrize("is_visitor", [False, True])
async def test_deleting_a_conversation_forgets_no_spending(client: Client, is_visitor):
    who = Client(None, "/open/") if is_visitor else client
    async with half_said(who, priced(say("Again"), "0.02")) as (response, go_on):
        await ModelConversationStore().delete("t1", scope=(await Run.objects.aget()).scope)
        go_on.set()
        await collect(response)
        assert not await Run.objects.aexists()
        await who.run("Hi")
    await who.http.delete(f"{who.prefix}threads/t1/")
    spent = await Spending.objects.aget()
    assert (spent.requests, spent.cost) == (2, Decimal("0.02"))


async def test_the_time_to_the_first_word_is_noted_if_there_is_one(client: Client):
    with script(say("Hi"), fail(ValueError("down"))):
        await client.run("Hi")
        await client.run("Hi", thread="t2")
    said, silent = [run async for run in Run.objects.order_by("thread_id")]
    assert 0 <= said.first_event_ms <= said.duration_ms
    assert silent.first_event_ms is None


# --- Processes that die


@pytest.fixture
def dead_run(user):
    conversation = Conversation(conversation_id="t", messages=[])
    async_to_sync(ModelConversationStore().save)(conversation, scope=f"user:{user.pk}")
    usage = RequestUsage(input_tokens=5, cost=Decimal(2))
    return Run.objects.create(
        thread_id="t",
        run_id="r",
        scope=f"user:{user.pk}",
        owner=user,
        model="small",
        process="elsewhere/1/word",
        usage=codec.dump(codec.USAGE, RunUsage(input_tokens=5, requests=1, cost=Decimal(2))),
        draft=codec.dump_messages([ModelResponse(parts=[TextPart("Half")], model_name="big", usage=usage)]),
    )


def test_what_a_killed_process_had_used_is_spent_once(dead_run):
    for _ in range(2):
        async_to_sync(recover_run)(ModelConversationStore(), dead_run)
        spent = Spending.objects.get()
        assert (spent.model, spent.cost, spent.input_tokens) == ("big", 2, 5)
    assert Run.objects.get().cost == 2


# --- Sums


@pytest.mark.parametrize(("cost", "rest"), [(3, Spent(1, 3, 0, 0, Decimal(1))), (2, Spent(1, 3, 0, 1, None))])
def test_what_no_response_accounts_for_is_put_down_to_the_run_s_model(cost, rest):
    answer = ModelResponse(parts=[], model_name="big", usage=RequestUsage(input_tokens=5, cost=Decimal(2)))
    usage = RunUsage(input_tokens=8, requests=2, cost=Decimal(cost))
    assert spent_by_model(usage, [answer], "own") == {"big": Spent(1, 5, 0, 0, Decimal(2)), "own": rest}
    assert count_unpriced(usage, [answer]) == rest.unpriced


def test_a_model_s_odd_name_is_no_reason_to_forget(user):
    answer = ModelResponse(parts=[], model_name="\0\ud800" + "x" * 300, usage=RequestUsage(input_tokens=5))
    spent = spent_by_model(RunUsage(input_tokens=5, requests=1), [answer], "own")
    add_spending("user:1", user.pk, load_spent(dump_spent(spent)), {})
    assert len(Spending.objects.get().model) == 255


def test_amounts_stay_exact_and_those_of_several_models_are_added(user):
    for _ in range(1000):
        add_spending("user:1", user.pk, {"m": Spent(1, 1, 1, 0, Decimal("0.0000001"))}, {})
    amounts = {"a": Spent(1, 1, 1, 0, Decimal("0.5")), "b": Spent(2, 1, 1, 2, None)}
    add_spending("user:1", user.pk, amounts, {})
    assert spent_by_day("user:1", timezone.localdate() - timedelta(days=3)) == {
        timezone.localdate(): Spent(1003, 1002, 1002, 2, Decimal("0.5001"))
    }


@pytest.mark.parametrize(
    ("cost", "text"),
    [
        (None, "-"),
        (0, "$0.00"),
        (Decimal("0.00001"), "< $0.0001"),
        (Decimal("0.0234"), "$0.0234"),
        (Decimal("1234.5"), "$1,234.50"),
    ],
)
def test_amounts_are_written_as_people_read_them(cost, text):
    assert dollars(cost) == text


# --- LIMITS["COST"]


async def test_a_run_that_costs_too_much_is_ended(client: Client, settings):
    settings.AGUI = {"LIMITS": {"COST": 0.05}}
    with script(priced(call("echo", text="x"), "0.03"), priced(call("echo", text="x"), "0.03"), say("Done")) as model:
        events = await client.run("Hi")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "usage_limit")
    assert len(model.requests) == 2
    assert (await Spending.objects.aget()).cost == Decimal("0.06")


@pytest.mark.parametrize("cost", [1, 0.1, Decimal("0.1")])
def test_a_limit_is_what_was_written(cost):
    assert str(conf.load({"LIMITS": {"COST": cost}}).limits.cost) == str(cost)


# --- In the admin


@pytest.mark.parametrize("name", ["agui.run", "assistant.conversation", "agui_spending.spending"])
async def test_costs_are_seen_in_the_admin(client: Client, chief, name):
    with script(priced(call("echo", text="x"), "0.0234"), priced(say("Done"), None)):
        await client.run("Hi")
    address = f"/admin/{name.replace('.', '/')}/"
    page = await sync_to_async(chief.get)(address)
    assert "$0.0234" in page.content.decode()
    assert ("$0.0234 and more" in page.content.decode()) == (name != "assistant.conversation")
    row = await apps.get_model(name).objects.aget()
    assert "$0.0234" in (await sync_to_async(chief.get)(f"{address}{row.pk}/change/")).content.decode()


# --- What is broken off


def answer_to(user_says, said, usage, state="interrupted"):
    made_by = {"model_name": "gpt-4o", "provider_name": "openai", "run_id": "now"}
    response = ModelResponse([TextPart(said)], usage=usage, state=state, **made_by)
    return [ModelRequest([UserPromptPart(user_says)], instructions="Be kind."), response]


async def test_who_stops_an_answer_pays_for_what_he_got(client: Client):
    reached = asyncio.Event()
    answer = Response([say("Word. " * 100), wait(asyncio.Event(), reached)], usage=RequestUsage())
    with script(answer):
        run = asyncio.create_task(client.run("Hi"))
        await reached.wait()
        await client.http.post("/agent/threads/t1/cancel/")
        await run
    spent = await Spending.objects.aget()
    assert (spent.requests, spent.output_tokens, spent.unpriced) == (1, 150, 1)
    assert spent.input_tokens > 0
    assert (await Run.objects.aget()).usage["output_tokens"] == 150


@pytest.mark.parametrize(
    ("reported", "input_tokens", "output_tokens"),
    [
        ({}, 1000, 100),
        # What a provider has said of it is kept.
        ({"input_tokens": 700, "output_tokens": 1, "cost": Decimal(1)}, 700, 100),
    ],
)
def test_what_is_broken_off_is_priced_by_its_size(reported, input_tokens, output_tokens):
    messages = answer_to("a" * 3992, "b" * 400, RequestUsage(**reported))
    usage = RunUsage(requests=1, **reported)
    for _ in range(2):
        add_broken_off(usage, messages, set())
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (1, input_tokens, output_tokens)
    whole = replace(messages[1], usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens))
    assert usage.cost == messages[1].usage.cost == whole.cost().total_price


@pytest.mark.parametrize(
    ("usage", "said", "state", "before"),
    [
        (RequestUsage(), "b" * 400, "complete", set()),
        (RequestUsage(), "b" * 400, "interrupted", {"now"}),
        (RequestUsage(input_tokens=3, output_tokens=80), "b" * 400, "interrupted", set()),
        (RequestUsage(), "", "interrupted", set()),  # The answer never began
    ],
)
def test_nothing_is_added_to_what_is_known(usage, said, state, before):
    prompt, response = answer_to("Hi", said, usage, state)
    total = RunUsage()
    add_broken_off(total, [prompt, response if said else replace(response, parts=[])], before)
    assert total == RunUsage()


# --- The recipe of the manual


async def test_tell_users_what_they_have_used(paste, user):
    paste("limit-cost#tell-users-what-they-have-used")
    used = Response([say("Hello.")], usage=RequestUsage(input_tokens=40_000, output_tokens=2_000))
    chat = Chat(user, used, call("my_spending"), say("There."))
    await chat.send("Hi")
    answer = await chat.send("What have I used?")
    assert answer.results == ["Today 42000 tokens, -; conversation 42015 tokens; this turn 15 tokens"]
