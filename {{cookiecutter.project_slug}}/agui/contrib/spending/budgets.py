"""What users may spend: AGUI["SPENDING"], and the budgets of users and groups in the admin.

For each period, and for money and tokens each by itself, the closest budget holds: the user's own,
else the largest of their groups', else AGUI["SPENDING"]. It is asked before a run begins and before
each further request to the model.
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils import timezone

from agui import conf
from agui.blocking.executor import in_database
from agui.contrib.spending.conf import SpendingSettings
from agui.contrib.spending.ledger import Spent, spent_by_day, today
from agui.contrib.spending.models import Budget
from agui.errors import TooManyRequests

PERIODS = Budget.Period.values
# For so long it is believed that there are no budgets.
BELIEVED_SECONDS = 10


class BudgetExceeded(TooManyRequests):
    code, message = "budget_exceeded", "Your budget is used up."


class Allowed(NamedTuple):
    """What may be spent in a period; None is no limit."""

    cost: Decimal | None = None
    tokens: int | None = None

    def is_used_up(self, spent: Spent) -> bool:
        tokens = spent.input_tokens + spent.output_tokens
        too_dear = self.cost is not None and (spent.cost or 0) >= self.cost
        return too_dear or (self.tokens is not None and tokens >= self.tokens)


@dataclass
class Belief:
    """Whether there are rows of Budget, as this process knows it: most sites have none, and don't ask for each run."""

    is_so: bool = True
    until: float = 0.0

    def forget(self, **kwargs: Any) -> None:
        self.is_so, self.until = True, 0.0

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() < self.until

    def renew(self) -> None:
        self.is_so = Budget.objects.exists()
        self.until = time.monotonic() + BELIEVED_SECONDS


belief = Belief()


def may_exist() -> bool:
    """Whether there may be a budget that holds for somebody: without a look at the database."""
    return belief.is_so or _has_defaults()


def _has_defaults() -> bool:
    settings = conf.part(SpendingSettings)
    return any(
        Allowed(one.cost, one.tokens) != Allowed()
        for one in (settings.day, settings.week, settings.month)
    )


async def check_budget(user: Any, scope: str) -> None:
    """Refuse a run whose user has spent what they may. Raises BudgetExceeded: when they may again is in it."""
    if not belief.is_fresh:
        await in_database(belief.renew)
    if may_exist() and (used_up := await in_database(find_used_up, user, scope)):
        period, resets_at = used_up
        seconds = max(1, ceil((resets_at - timezone.now()).total_seconds()))
        raise BudgetExceeded(
            f"Your budget for this {period} is used up.",
            headers={"Retry-After": str(seconds)},
            period=period,
            resets_at=resets_at.isoformat(),
        )


def find_used_up(user: Any, scope: str) -> tuple[str, datetime] | None:
    """The period whose budget is used up, and when the next one begins; of several periods the one that ends last."""
    budgets = {
        period: allowed for period, allowed in find_budgets(user).items() if allowed != Allowed()
    }
    if not budgets:
        return None
    day = today()
    days = spent_by_day(scope, min(first_day(period, day) for period in budgets))
    found = []
    for period, allowed in budgets.items():
        begin = first_day(period, day)
        if allowed.is_used_up(sum((spent for on, spent in days.items() if on >= begin), Spent())):
            found.append((next_begin(period, day), period))
    if not found:
        return None
    resets_at, period = max(found)
    return period, resets_at


def find_budgets(user: Any) -> dict[str, Allowed]:
    """What a user, or a visitor, may spend in each period."""
    rows = (
        list(Budget.objects.filter(_holds_for(user)))
        if belief.is_so and user.pk is not None
        else []
    )
    defaults = conf.part(SpendingSettings)
    found = {}
    for period in PERIODS:
        own = [row for row in rows if row.period == period and row.user_id is not None]
        groups = [row for row in rows if row.period == period and row.group_id is not None]
        default = getattr(defaults, period)
        found[period] = Allowed(
            _closest(
                _known(one.cost for one in own), _known(one.cost for one in groups), default.cost
            ),
            _closest(
                _known(one.tokens for one in own),
                _known(one.tokens for one in groups),
                default.tokens,
            ),
        )
    return found


def _holds_for(user: Any) -> Q:
    own = Q(user=user.pk)
    # Not every model of users has groups.
    return own | Q(group__in=user.groups.values("pk")) if hasattr(user, "groups") else own


def _known(amounts: Iterable[Any]) -> list[Any]:
    return [amount for amount in amounts if amount is not None]


def _closest(own: list[Any], groups: list[Any], default: Any) -> Any:
    return max(own or groups, default=default)


def first_day(period: str, day: date) -> date:
    """The first day of the period that a day is in."""
    if period == Budget.Period.WEEK:
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == Budget.Period.MONTH else day


def next_begin(period: str, day: date) -> datetime:
    """When the next period begins: at midnight in the site's time zone."""
    longest = {Budget.Period.DAY: 1, Budget.Period.WEEK: 7, Budget.Period.MONTH: 31}
    begin = first_day(
        period, first_day(period, day) + timedelta(days=longest[Budget.Period(period)])
    )
    return timezone.make_aware(
        datetime.combine(begin, datetime.min.time()), timezone.get_default_timezone()
    )
