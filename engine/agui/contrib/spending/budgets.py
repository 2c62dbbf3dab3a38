"""The budgets of users: AGUI["SPENDING"], and the budgets of users and groups in the admin.

In each period, and separately for money and for tokens, the most specific budget applies: the
user's own, then the largest of their groups', then AGUI["SPENDING"]. It is checked before a run
begins and before each further request to the model.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agui import clock, conf
from agui.blocking.executor import in_database
from agui.contrib.spending.conf import SpendingSettings
from agui.contrib.spending.ledger import Spent, spent_by_day, today
from agui.contrib.spending.models import Budget
from agui.errors import TooManyRequests

PERIODS = Budget.Period.values
LONGEST = {
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=31),
}
BELIEVED_SECONDS = 10
"""The time for which a process relies on its copy of the table of budgets."""


USED_UP = {
    "day": _("Your budget for this day is used up."),
    "week": _("Your budget for this week is used up."),
    "month": _("Your budget for this month is used up."),
}


class BudgetExceeded(TooManyRequests):
    code, message = "budget_exceeded", _("Your budget is used up.")


class Allowed(NamedTuple):
    """The limits of a period; None is no limit."""

    cost: Decimal | None = None
    tokens: int | None = None

    def is_used_up(self, spent: Spent) -> bool:
        if self.cost is not None and (spent.cost or 0) >= self.cost:
            return True
        return self.tokens is not None and spent.tokens >= self.tokens


@dataclass
class Belief:
    """Whether the table of budgets has rows. Most sites have none, and don't ask for each run."""

    is_so: bool = True
    until: float = 0.0

    def forget(self, **kwargs: Any) -> None:
        self.is_so = True
        self.until = 0.0

    @property
    def is_fresh(self) -> bool:
        return clock.monotonic() < self.until

    def renew(self) -> None:
        self.is_so = Budget.objects.exists()
        self.until = clock.monotonic() + BELIEVED_SECONDS


belief = Belief()


def may_exist() -> bool:
    """Return whether a budget may apply to anybody, without asking the database."""
    return belief.is_so or _has_defaults()


def _has_defaults() -> bool:
    defaults = conf.part(SpendingSettings)
    for allowance in (defaults.day, defaults.week, defaults.month):
        if allowance.cost is not None or allowance.tokens is not None:
            return True
    return False


async def check_budget(user: Any, scope: str) -> None:
    """Raise BudgetExceeded, which says until when, if the user's budget is used up."""
    if not belief.is_fresh:
        await in_database(belief.renew)
    if not may_exist():
        return
    used_up = await in_database(find_used_up, user, scope)
    if used_up:
        period, resets_at = used_up
        seconds = max(1, ceil((resets_at - clock.now()).total_seconds()))
        raise BudgetExceeded(
            USED_UP[period],
            headers={"Retry-After": str(seconds)},
            period=period,
            resets_at=resets_at.isoformat(),
        )


def find_used_up(user: Any, scope: str) -> tuple[str, datetime] | None:
    """Return the period whose budget is used up, and when the next one begins.

    If there are several, return the one that ends last.
    """
    budgets = {}
    for period, allowed in find_budgets(user).items():
        if allowed != Allowed():
            budgets[period] = allowed
    if not budgets:
        return None
    day = today()
    by_day = spent_by_day(scope, min(first_day(period, day) for period in budgets))
    used_up = []
    for period, allowed in budgets.items():
        if allowed.is_used_up(_spent_since(first_day(period, day), by_day)):
            used_up.append((next_begin(period, day), period))
    if not used_up:
        return None
    resets_at, period = max(used_up)
    return period, resets_at


def _spent_since(begin: date, by_day: Mapping[date, Spent]) -> Spent:
    total = Spent()
    for day, spent in by_day.items():
        if day >= begin:
            total += spent
    return total


def find_budgets(user: Any) -> dict[str, Allowed]:
    """Return what a user, or a visitor, may spend in each period."""
    rows: list[Budget] = []
    if belief.is_so and user.pk is not None:
        rows = list(Budget.objects.filter(_applies_to(user)))
    defaults = conf.part(SpendingSettings)
    budgets = {}
    for period in PERIODS:
        of_period = [row for row in rows if row.period == period]
        own = [row for row in of_period if row.user_id is not None]
        groups = [row for row in of_period if row.group_id is not None]
        default = getattr(defaults, period)
        budgets[period] = Allowed(
            _closest("cost", own, groups, default),
            _closest("tokens", own, groups, default),
        )
    return budgets


def _applies_to(user: Any) -> Q:
    own = Q(user=user.pk)
    # A project's own user model may have no groups.
    if not hasattr(user, "groups"):
        return own
    return own | Q(group__in=user.groups.values("pk"))


def _closest(limit: str, own: list[Budget], groups: list[Budget], default: Any) -> Any:
    """Return the cost or the tokens of the closest budget that has them."""
    # The user's own budget applies even if a group's is larger.
    amounts = _amounts(limit, own) or _amounts(limit, groups)
    return max(amounts, default=getattr(default, limit))


def _amounts(limit: str, rows: Iterable[Budget]) -> list[Any]:
    amounts = (getattr(row, limit) for row in rows)
    return [amount for amount in amounts if amount is not None]


def first_day(period: str, day: date) -> date:
    """Return the first day of the period that a day is in."""
    if period == Budget.Period.WEEK:
        return day - timedelta(days=day.weekday())
    if period == Budget.Period.MONTH:
        return day.replace(day=1)
    return day


def next_begin(period: str, day: date) -> datetime:
    """Return when the next period begins: at midnight in the site's time zone."""
    # This day is in the next period, however short the current one is.
    in_next = first_day(period, day) + LONGEST[period]
    midnight = datetime.combine(first_day(period, in_next), datetime.min.time())
    return timezone.make_aware(midnight, timezone.get_default_timezone())
