"""The part `spending`: the cost of runs, and budgets of users."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.db.models.signals import post_save
from django.utils.translation import gettext_lazy as _

from agui import conf
from agui.actor import Actor
from agui.contrib.spending.conf import SpendingSettings
from agui.errors import HINTS, RUN_ERRORS
from agui.part_values import Addition, EndedRun, Outdated, PersonalData
from agui.parts import Part
from agui.sentences import wording

if TYPE_CHECKING:
    from pydantic_ai.usage import RunUsage


class SpendingConfig(Part):
    name = "agui.contrib.spending"
    label = "agui_spending"
    verbose_name = wording("Agent: spending")
    settings = SpendingSettings

    def ready(self) -> None:
        from agui.contrib.spending import budgets, checks
        from agui.contrib.spending.models import Budget

        checks.register()
        RUN_ERRORS["budget_exceeded"] = _("Your budget is used up. What was done so far is kept.")
        HINTS["budget_exceeded"] = (
            'AGUI["SPENDING"] and the budgets in the admin say who may spend what.'
        )
        forget = budgets.belief.forget
        post_save.connect(forget, sender=Budget, dispatch_uid="agui_spending.budgets")

    def prepare(self) -> None:
        from agui.contrib.spending import keep_budget as keep_budget

    async def before_run(self, actor: Actor) -> None:
        from agui.contrib.spending.budgets import check_budget

        await check_budget(actor.user, actor.scope)

    def capabilities(self, run: Any) -> list[Any]:
        from agui.contrib.spending.budgets import may_exist
        from agui.contrib.spending.keep_budget import KeepBudget

        if not may_exist():
            return []
        return [KeepBudget(run)]

    async def add_to_answer(self, run: Any, answer: str) -> list[Addition]:
        if not answer or not conf.part(SpendingSettings).show_usage:
            return []
        from agui.contrib.spending.usage import usage_of

        return [Addition("usage", "usage", usage_of(run))]

    def run_ended(self, run: EndedRun) -> None:
        from agui.contrib.spending.ledger import record_end
        from agui.contrib.spending.usage import spent_by_model

        spent = spent_by_model(run.usage, run.messages, run.model)
        record_end(run.key, run.scope, run.owner_id, spent)

    def models_used(self, actor: Actor, model: str, usage: "RunUsage") -> None:
        from agui.contrib.spending.ledger import add_spending
        from agui.contrib.spending.usage import spent_by_model

        add_spending(actor.scope, actor.user.pk, spent_by_model(usage, (), model), {})

    def personal_data(self, actor: Actor) -> Iterable[PersonalData]:
        from agui.contrib.spending.models import Budget, Spending

        spending = Spending.objects.filter(scope=actor.scope, owner=actor.user.pk)
        budgets = Budget.objects.filter(user=actor.user.pk, group=None)
        yield PersonalData("spending", spending.order_by("day", "pk"), {"id", "scope", "owner"})
        yield PersonalData("budgets", budgets, {"id", "user", "group"})

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        from agui.contrib.spending.ledger import outdated

        return outdated()
