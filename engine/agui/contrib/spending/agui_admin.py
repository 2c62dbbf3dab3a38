"""Money in the admin: what users have spent, and their budgets."""

from typing import Any

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.http import HttpRequest

from agui.contrib.admin.lists import RecordAdmin, UserByName, cost, recent
from agui.contrib.admin.names import name_of
from agui.contrib.spending.budgets import first_day
from agui.contrib.spending.ledger import Spent, spent_by_day, today
from agui.contrib.spending.models import Budget, Spending
from agui.money import dollars
from agui.sentences import fill, wording

USERNAME = get_user_model().USERNAME_FIELD


def count(column: str) -> Any:
    @admin.display(description=name_of(column), ordering=column)
    def show(row: Any) -> str:
        return f"{getattr(row, column):,}"

    return show


COST: Any = cost
COUNTS = [count(column) for column in ("requests", "input_tokens", "output_tokens")]


@admin.register(Spending)
class SpendingAdmin(RecordAdmin):
    class Media:
        css = {"all": ["agui_spending/admin.css"]}

    list_display = ["day", "who", "model", *COUNTS, COST]
    list_filter = ["day", recent("model")]
    list_select_related = ["owner"]
    search_fields = [f"owner__{USERNAME}", "model"]
    search_help_text = wording("A user's name, or a model")
    fields = ["day", "who", "model", *COUNTS, COST, "unpriced"]
    readonly_fields = ["who", *COUNTS, COST]


@admin.register(Budget)
class BudgetAdmin(UserByName):
    list_display = ["__str__", "user", "group", "period", "amount", "token_count"]
    list_filter = ["period", ("user", admin.EmptyFieldListFilter), "group"]
    list_select_related = ["user", "group"]
    search_fields = [f"user__{USERNAME}", "group__name"]
    search_help_text = wording("A user's or a group's name")
    readonly_fields = ["spent"]

    def get_fields(self, request: HttpRequest, obj: Budget | None = None) -> Any:
        fields: list[Any] = [("user", "group"), "period", "cost", "tokens"]
        if obj and request.user.has_perm("agui_spending.view_spending"):
            fields.append("spent")
        return fields

    @admin.display(description=wording("spent so far"))
    def spent(self, budget: Budget) -> str:
        # Each user of a group has the budget for themselves: there is no common sum.
        if budget.user_id is None:
            return "-"
        begin = first_day(budget.period, today())
        by_day = spent_by_day(f"user:{budget.user_id}", begin)
        spent = sum(by_day.values(), Spent())
        return fill(
            wording("{cost} and {tokens} tokens since {day}"),
            cost=dollars(spent.cost),
            tokens=f"{spent.tokens:,}",
            day=begin,
        )

    @admin.display(description=wording("cost"), ordering="cost")
    def amount(self, budget: Budget) -> str:
        return dollars(budget.cost)

    @admin.display(description=wording("tokens"), ordering="tokens")
    def token_count(self, budget: Budget) -> str:
        if budget.tokens is None:
            return "-"
        return f"{budget.tokens:,}"
