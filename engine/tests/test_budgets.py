"""Nobody spends more than their budget: it is checked before a run, and before each further request to the model."""

import asyncio
import re
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import AnonymousUser, Group, Permission
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError
from django.utils import timezone
from pydantic_ai.usage import RequestUsage

from agui import checks as core_checks
from agui import conf
from agui.contrib.redis.refusals import dump_refusal, load_refusal
from agui.contrib.spending import budgets, checks
from agui.contrib.spending.budgets import Allowed, BudgetExceeded, find_budgets, first_day, next_begin
from agui.contrib.spending.ledger import today
from agui.contrib.spending.models import Budget, RunSpending, Spending
from agui.errors import HttpError
from agui.models import Run
from agui.runs.drafts import checkpoints
from agui.runs.live import live
from agui.runs.recovery import recover_run
from agui.stores.model import ModelConversationStore
from agui.testing import Response, call, event_types, say, wait
from tests.conftest import Client, run_input, script
from tests.test_costs import priced

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

ADD = "/admin/agui_spending/budget/add/"


@pytest.fixture(autouse=True)
def nothing_is_believed():
    budgets.belief.forget()
    yield
    budgets.belief.forget()


def save_spending(user, cost, tokens=0, ago=0):
    day, scope = today() - timedelta(days=ago), f"user:{user.pk}"
    return Spending.objects.create(scope=scope, owner=user, day=day, model="m", cost=cost, input_tokens=tokens)


def is_refused(user):
    return budgets.find_used_up(user, f"user:{user.pk}") is not None


# --- Before a run


async def test_who_has_spent_his_budget_is_refused(client: Client, other_client: Client, settings, user):
    settings.AGUI = {"SPENDING": {"DAY": {"COST": 0.05}}}
    with script(*[priced(say("Hi"), "0.03")] * 4):
        assert (await client.run("One"))[-1]["type"] == "RUN_FINISHED"
        assert (await client.run("Two"))[-1]["type"] == "RUN_FINISHED"
        refused = await client.post(run_input("Three"))
        assert refused.status_code == 429
        assert (await other_client.run("Hi", thread="other"))[-1]["type"] == "RUN_FINISHED"
        # Nothing of what was refused is stored, and the thread is free.
        assert await Run.objects.filter(thread_id="t1").acount() == 2
        assert "Three" not in str(await client.thread())
        await Budget.objects.acreate(user=user, period="day", cost=1)
        assert (await client.run("Four"))[-1]["type"] == "RUN_FINISHED"
    body = refused.json()
    assert (body["error"], body["period"]) == ("budget_exceeded", "day")
    resets_at = datetime.fromisoformat(body["resets_at"])
    assert timedelta(0) < resets_at - timezone.now() <= timedelta(days=1)
    assert 0 < int(refused["Retry-After"]) <= 24 * 60 * 60


async def test_a_visitor_has_the_default(settings):
    settings.AGUI = {"SPENDING": {"DAY": {"TOKENS": 5}}}
    visitor = Client(None, "/open/")
    with script(priced(say("Hi"), 0), priced(say("Hi"), 0)):
        await visitor.run("One")
        assert (await visitor.post(run_input("Two"))).status_code == 429
        assert (await Client(None, "/open/").run("One", thread="t2"))[-1]["type"] == "RUN_FINISHED"


def test_another_process_tells_the_same_of_a_refusal():
    told = BudgetExceeded("Used up.", headers={"Retry-After": "7"}, period="day", resets_at="2026-01-01")
    refusal = load_refusal(dump_refusal(told))
    assert isinstance(refusal, HttpError)
    response = refusal.response()
    assert (response.status_code, response.content) == (429, told.response().content)
    assert response["Retry-After"] == "7"


@pytest.mark.parametrize(
    ("budget", "spendings", "refused"),
    [
        pytest.param({"cost": 0}, [], True, id="nothing"),
        pytest.param({"tokens": 10}, [{"input_tokens": 4, "output_tokens": 5}], False, id="too few tokens"),
        pytest.param({"tokens": 10}, [{"input_tokens": 4, "output_tokens": 6}], True, id="both kinds of tokens"),
        pytest.param({"cost": 1}, [{"cost": Decimal("0.5")}], False, id="half"),
        pytest.param({"cost": 1}, [{"cost": Decimal("0.5")}] * 2, True, id="two models"),
        pytest.param({"cost": 1}, [{"cost": None, "input_tokens": 10**9}], False, id="an unknown price"),
    ],
)
def test_all_that_was_spent_counts(user, budget, spendings, refused):
    Budget.objects.create(user=user, period="day", **budget)
    for number, spent in enumerate(spendings):
        Spending.objects.create(scope=f"user:{user.pk}", day=today(), model=f"m{number}", **spent)
    assert is_refused(user) == refused


@pytest.mark.parametrize("period", budgets.PERIODS)
def test_what_was_spent_before_the_period_does_not_count(user, period):
    Budget.objects.create(user=user, period=period, cost=1)
    before = (today() - first_day(period, today())).days + 1
    spent = save_spending(user, 2, ago=before)
    assert not is_refused(user)
    Spending.objects.filter(pk=spent.pk).update(day=first_day(period, today()))
    assert is_refused(user)


def test_of_several_that_are_used_up_the_one_that_ends_last_is_told(user):
    for period in budgets.PERIODS:
        Budget.objects.create(user=user, period=period, cost=1)
    save_spending(user, 2)
    found = budgets.find_used_up(user, f"user:{user.pk}")
    assert found is not None
    assert found[1] == max(next_begin(period, today()) for period in budgets.PERIODS)


@pytest.mark.parametrize(
    ("period", "day", "begin", "reset"),
    [
        ("day", (2026, 2, 28), (2026, 2, 28), (2026, 3, 1)),
        ("week", (2026, 3, 1), (2026, 2, 23), (2026, 3, 2)),
        ("week", (2026, 3, 2), (2026, 3, 2), (2026, 3, 9)),
        ("month", (2026, 12, 31), (2026, 12, 1), (2027, 1, 1)),
        ("month", (2026, 2, 1), (2026, 2, 1), (2026, 3, 1)),
    ],
)
def test_periods_begin_at_the_site_s_midnight(settings, period, day, begin, reset):
    assert first_day(period, date(*day)) == date(*begin)
    assert next_begin(period, date(*day)) == datetime(*reset, tzinfo=UTC)
    settings.TIME_ZONE = "America/Panama"
    assert next_begin(period, date(*day)) == datetime(*reset, 5, tzinfo=UTC)


def group_of(user, name, **budget):
    group = Group.objects.create(name=name)
    user.groups.add(group)
    Budget.objects.create(group=group, period="day", **budget)


def test_a_user_s_own_comes_before_his_groups_and_these_before_the_default(user, other, settings):
    settings.AGUI = {"SPENDING": {"DAY": {"COST": 100}, "MONTH": {"TOKENS": 9}}}
    default = {"day": (100, None), "week": (None, None), "month": (None, 9)}
    group_of(other, "theirs", cost=1)
    Budget.objects.create(user=other, period="week", cost=1)
    assert find_budgets(user) == default
    assert find_budgets(AnonymousUser())["day"] == Allowed(Decimal(100), None)
    group_of(user, "small", cost=1, tokens=50)
    group_of(user, "large", cost=2)
    # The largest counts, and for other periods the default still holds.
    assert find_budgets(user) == {**default, "day": (2, 50)}
    Budget.objects.create(user=user, period="day", cost=1)
    # What a user's own leaves open the next one says.
    assert find_budgets(user) == {**default, "day": (1, 50)}


# --- In a run


async def test_a_run_ends_before_the_request_that_it_may_not_pay(client: Client, user):
    await Budget.objects.acreate(user=user, period="day", cost=Decimal("0.05"))
    with script(priced(call("echo", text="x"), "0.03"), priced(call("echo", text="y"), "0.03")) as model:
        events = await client.run("Hi")
    assert (events[-1]["type"], events[-1]["code"]) == ("RUN_ERROR", "budget_exceeded")
    assert len(model.requests) == 2
    # Both tools have run, and what they said is kept.
    assert event_types(events).count("TOOL_CALL_RESULT") == 2
    run = await Run.objects.aget()
    assert (run.status, run.code, run.cost) == (Run.Status.FAILED, "budget_exceeded", Decimal("0.06"))
    assert (await Spending.objects.aget()).cost == Decimal("0.06")
    assert "echo" in str(await client.thread())


async def test_what_other_runs_spend_meanwhile_counts(client: Client, user):
    await Budget.objects.acreate(user=user, period="day", cost=Decimal("0.05"))
    reached, go_on = asyncio.Event(), asyncio.Event()
    with script([wait(go_on, reached), call("echo", text="x")]):
        run = asyncio.create_task(client.run("Hi"))
        await reached.wait()
        await sync_to_async(save_spending)(user, 1)
        go_on.set()
        assert (await run)[-1]["code"] == "budget_exceeded"


@pytest.mark.parametrize(
    ("ends", "cost"),
    [
        ("thread is deleted", "0.07"),
        # A run that another process has ended does not pay for what came after that.
        ("taken over", "0.06"),
        ("stopped", "0.06"),
        ("user is deleted", None),
    ],
)
async def test_what_was_noted_in_the_middle_is_spent_once(client: Client, user, ends, cost):
    await Budget.objects.acreate(user=user, period="day", cost=10)
    reached, go_on = asyncio.Event(), asyncio.Event()
    last = Response([wait(go_on, reached), say("Done")], usage=RequestUsage(input_tokens=5, cost=Decimal("0.01")))
    with script(priced(call("echo", text="x"), "0.02"), priced(call("echo", text="y"), "0.04"), last):
        answer = asyncio.create_task(client.run("Hi"))
        await reached.wait()
        assert (await Spending.objects.aget()).cost == Decimal("0.06")
        run = await Run.objects.aget()
        if ends == "thread is deleted":
            await ModelConversationStore().delete("t1", scope=run.scope)
            assert not await Run.objects.aexists()
        elif ends == "taken over":
            await checkpoints.write()
            await recover_run(ModelConversationStore(), await Run.objects.aget())
        elif ends == "stopped":
            await client.http.post("/agent/threads/t1/cancel/")
        else:
            await user.adelete()
        go_on.set()
        await answer
        await asyncio.gather(*live.tasks)
    assert [spent.cost async for spent in Spending.objects.all()] == ([Decimal(cost)] if cost else [])
    assert not await RunSpending.objects.aexists()


@pytest.mark.parametrize("is_made_here", [True, False])
async def test_without_budgets_nothing_is_asked_and_a_new_one_holds_soon(
    client: Client, user, monkeypatch, clock, is_made_here
):
    asked: list[Any] = []
    with script(say("One"), call("echo", text="x"), say("Two")):
        await client.run("One")
        with monkeypatch.context() as patch:
            patch.setattr(budgets, "find_used_up", lambda *args: asked.append(args))
            patch.setattr(budgets.belief, "renew", lambda: asked.append("renew"))
            assert (await client.run("Two", thread="t2"))[-1]["type"] == "RUN_FINISHED"
    assert asked == []
    budget = Budget(user=user, period="day", tokens=1)
    await (budget.asave() if is_made_here else Budget.objects.abulk_create([budget]))
    clock.advance(0 if is_made_here else budgets.BELIEVED_SECONDS + 1)
    assert (await client.post(run_input("Three"))).status_code == 429


# --- Settings and admin


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"YEAR": {}}, r"\['SPENDING'\]\['YEAR'\] is not a setting.*DAY, WEEK, MONTH"),
        ({"DAY": {"EUROS": 1}}, r"\['DAY'\]\['EUROS'\] is not a setting.*COST, TOKENS"),
        ({"DAY": {"COST": -1}}, r"\['DAY'\]\['COST'\]"),
        ({"DAY": 5}, r"\['DAY'\] = 5"),
    ],
)
def test_a_wrong_setting_stops_the_start(given, named):
    with pytest.raises(ImproperlyConfigured, match=named):
        conf.load({"SPENDING": given})


@pytest.mark.parametrize("setting", [{"LIMITS": {"COST": 1}}, {"SPENDING": {"WEEK": {"COST": 1}}}])
def test_a_model_without_a_price_is_told_where_money_limits(settings, setting):
    def unknown() -> list[str]:
        return [re.findall("'(.*?)'", one.msg)[0] for one in [*core_checks.check_prices(), *checks.check_prices()]]

    settings.AGENT_MODEL = "openai-chat:gpt-4o, anthropic:nonsense-9"
    assert unknown() == []
    settings.AGUI = setting
    assert unknown() == ["anthropic:nonsense-9"]
    for model in ("openai:gpt-4o", "demo", "ollama:anything"):
        settings.AGENT_MODEL = model
        assert unknown() == []


def test_budgets_are_made_in_the_admin(chief, user):
    form = {"user": user.pk, "group": "", "period": "day", "cost": "2.5", "tokens": ""}
    assert chief.post(ADD, form).status_code == 302
    assert find_budgets(user)["day"] == (Decimal("2.5"), None)
    assert "$2.50" in chief.get("/admin/agui_spending/budget/").content.decode()


def test_what_is_spent_of_a_budget_is_seen_with_it_by_who_may_view_spending(chief, user, other):
    budget = Budget.objects.create(user=user, period="day", cost=1)
    save_spending(user, "0.25", 1200)
    save_spending(user, "0.5", 1200, ago=1)
    page = f"/admin/agui_spending/budget/{budget.pk}/change/"
    spent = f"$0.2500 and 1,200 tokens since {today()}"
    assert spent in chief.get(page).content.decode()
    other.is_staff = True
    other.save()
    other.user_permissions.add(Permission.objects.get(codename="change_budget"))
    chief.force_login(other)
    html = chief.get(page).content.decode()
    assert "Tokens" in html
    assert "$0.2500" not in html


@pytest.mark.parametrize(
    ("form", "error"),
    [
        ({"cost": "1"}, "Name a user, or a group, and not both."),
        ({"user": "me", "group": "mine", "cost": "1"}, "Name a user, or a group, and not both."),
        ({"user": "me"}, "Say how much: a cost, tokens, or both."),
        ({"user": "me", "cost": "-1"}, "greater than or equal to 0"),
        ({"group": "mine", "cost": "1"}, "This group has a budget for this period"),
    ],
)
def test_a_wrong_budget_is_told(chief, user, form, error):
    group_of(user, "mine", cost=5)
    keys = {"me": user.pk, "mine": Group.objects.get().pk}
    filled = {name: keys.get(value, value) for name, value in form.items()}
    response = chief.post(ADD, {"user": "", "group": "", "period": "day", "cost": "", "tokens": "", **filled})
    assert response.status_code == 200
    assert error in response.content.decode()
    with pytest.raises(IntegrityError):
        Budget.objects.bulk_create([Budget(period="day", cost=1)])
