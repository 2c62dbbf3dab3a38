"""What runs cost: pydantic-ai prices each response of a model, and here it is added up by user, day and model.

A price that nobody knows is None, never 0. What was spent outlives the runs it was spent on.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from django.conf import settings
from django.db import connections, router
from django.db.models import Exists, Field, OuterRef, Q
from django.utils import timezone

from agui import conf
from agui.contrib.spending.conf import SpendingSettings
from agui.contrib.spending.models import RunSpending, Spending
from agui.models import Run
from agui.parts import Outdated

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage, RunUsage

VISITOR = "session:"
MONTH_DAYS = 31
# A run that is on for longer has died with its process.
LONGEST_RUN = timedelta(days=7)
# In one step: of two runs that end at once, neither forgets the other's.
ADD = """
INSERT INTO {table} AS kept
    (scope, owner_id, day, model, requests, input_tokens, output_tokens, unpriced, cost)
VALUES {rows}
ON CONFLICT (scope, day, model) DO UPDATE SET
    requests = kept.requests + excluded.requests,
    input_tokens = kept.input_tokens + excluded.input_tokens,
    output_tokens = kept.output_tokens + excluded.output_tokens,
    unpriced = kept.unpriced + excluded.unpriced,
    cost = COALESCE(kept.cost + excluded.cost, kept.cost, excluded.cost)
"""
ROW = "(%s, %s, %s, %s, %s, %s, %s, %s, %s)"


class Spent(NamedTuple):
    """What was used of one model."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced: int = 0
    """Requests whose price nobody knows."""
    cost: Decimal | None = None
    """US dollars, of the other requests."""

    @classmethod
    def of(cls, usage: "RequestUsage | RunUsage") -> "Spent":
        unpriced = 0 if usage.cost is not None else usage.requests
        return cls(usage.requests, usage.input_tokens, usage.output_tokens, unpriced, usage.cost)

    def __add__(self, other: "Spent") -> "Spent":  # type: ignore[override]
        costs = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Spent(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.unpriced + other.unpriced,
            sum(costs, Decimal(0)) if costs else None,
        )

    def __sub__(self, other: "Spent") -> "Spent":
        """What there is more than in the other; None for a cost that has not grown."""
        cost = self.cost
        if cost is not None and other.cost is not None:
            cost = cost - other.cost if cost > other.cost else None
        return Spent(
            max(0, self.requests - other.requests),
            max(0, self.input_tokens - other.input_tokens),
            max(0, self.output_tokens - other.output_tokens),
            max(0, self.unpriced - other.unpriced),
            cost,
        )


ByModel = Mapping[str, Spent]


def add_spending(scope: str, owner_id: Any, now: ByModel, before: ByModel) -> None:
    """Note what somebody has used since `before`. Raises IntegrityError when the owner is gone."""
    more = {model: spent - before.get(model, Spent()) for model, spent in now.items()}
    # In one order: else two runs could wait for each other.
    rows = [
        (model, *spent) for model, spent in sorted(more.items()) if any(spent[:3]) or spent.cost
    ]
    if not rows:
        return
    connection = connections[router.db_for_write(Spending)]
    day, owner, price = (
        cast(Field, Spending._meta.get_field(name)) for name in ("day", "owner", "cost")
    )
    whose = (scope, owner.get_db_prep_save(owner_id, connection))
    on = day.get_db_prep_save(today(), connection)
    params: list[Any] = []
    for *counts, cost in rows:
        params += [*whose, on, *counts, price.get_db_prep_save(cost, connection)]
    with connection.cursor() as cursor:
        cursor.execute(
            ADD.format(table=Spending._meta.db_table, rows=", ".join([ROW] * len(rows))), params
        )


def note_so_far(key: str, scope: str, owner_id: Any, spent: ByModel) -> None:
    """Note what a run has used that is still on. It is the caller's to see that nobody else has the run meanwhile."""
    add_spending(scope, owner_id, spent, _noted(key))
    columns = {"scope": scope, "owner_id": owner_id, "spent": dump_spent(spent)}
    RunSpending.objects.update_or_create(pk=key, defaults=columns)


def note_end(key: str, scope: str, owner_id: Any, spent: ByModel) -> None:
    """Note what a run has used that has ended, but for what was noted while it was on."""
    noted = _noted(key)
    add_spending(scope, owner_id, spent, noted)
    if noted:
        RunSpending.objects.filter(pk=key).delete()


def _noted(key: str) -> dict[str, Spent]:
    rows = RunSpending.objects.filter(pk=key).values_list("spent", flat=True)
    return load_spent(rows.first() or {})


def outdated() -> Iterator[Outdated]:
    """List what is kept no longer of what was spent, and what runs have left that never ended."""
    now = timezone.now()
    # Visitors': no budget looks further back than a month.
    visit = max(MONTH_DAYS, settings.SESSION_COOKIE_AGE // (24 * 60 * 60) + 1)
    old = Q(owner=None, scope__startswith=VISITOR, day__lt=now - timedelta(days=visit))
    if days := conf.part(SpendingSettings).retention_days:
        old |= Q(day__lt=now - timedelta(days=days))
    yield Outdated("spending", Spending.objects.filter(old))
    there = Run.objects.filter(pk=OuterRef("pk"))
    left = RunSpending.objects.filter(~Exists(there), noted_at__lt=now - LONGEST_RUN)
    yield Outdated("spending of runs that were lost", left)


def today() -> date:
    """The day in the site's time zone: whatever the user's is."""
    return timezone.localdate(timezone=timezone.get_default_timezone())


def dump_spent(spent: ByModel) -> dict[str, Any]:
    return {
        model: [*amount[:4], None if amount.cost is None else str(amount.cost)]
        for model, amount in spent.items()
    }


def load_spent(data: Mapping[str, Any]) -> dict[str, Spent]:
    return {
        model: Spent(
            requests, tokens_in, tokens_out, unpriced, None if cost is None else Decimal(cost)
        )
        for model, (requests, tokens_in, tokens_out, unpriced, cost) in data.items()
    }


def spent_by_day(scope: str, since: date) -> dict[date, Spent]:
    """What a user, or a visitor, has used on each day from `since` on: one query of an index."""
    columns = ("day", "requests", "input_tokens", "output_tokens", "unpriced", "cost")
    found: dict[date, Spent] = {}
    for day, *amounts in (
        Spending.objects.filter(scope=scope, day__gte=since).order_by().values_list(*columns)
    ):
        found[day] = found.get(day, Spent()) + Spent(*amounts)
    return found
