"""What runs cost: pydantic-ai prices each response of a model, and here it is added up by user, day and model.

A price that nobody knows is None, never 0. What was spent outlives the runs it was spent on.
"""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from django.db import connections, router
from django.db.models import Field
from django.utils import timezone

from agui.models import Spending

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage, RunUsage

# In one step: of two runs that end at once, neither forgets the other's.
ADD = """
INSERT INTO agui_spending AS kept
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
    """Note what a run has used since `before`. Raises IntegrityError when its owner is gone."""
    more = {model: spent - before.get(model, Spent()) for model, spent in now.items()}
    # In one order: else two runs could wait for each other.
    rows = [(model, *spent) for model, spent in sorted(more.items()) if any(spent[:3]) or spent.cost]
    if not rows:
        return
    connection = connections[router.db_for_write(Spending)]
    day, owner, price = (cast(Field, Spending._meta.get_field(name)) for name in ("day", "owner", "cost"))
    whose = (scope, owner.get_db_prep_save(owner_id, connection))
    on = day.get_db_prep_save(today(), connection)
    params: list[Any] = []
    for *counts, cost in rows:
        params += [*whose, on, *counts, price.get_db_prep_save(cost, connection)]
    with connection.cursor() as cursor:
        cursor.execute(ADD.format(rows=", ".join([ROW] * len(rows))), params)


def today() -> date:
    """The day in the site's time zone: whatever the user's is."""
    return timezone.localdate(timezone=timezone.get_default_timezone())


def dump_spent(spent: ByModel) -> dict[str, Any]:
    return {model: [*amount[:4], None if amount.cost is None else str(amount.cost)] for model, amount in spent.items()}


def load_spent(data: Mapping[str, Any]) -> dict[str, Spent]:
    return {
        model: Spent(requests, tokens_in, tokens_out, unpriced, None if cost is None else Decimal(cost))
        for model, (requests, tokens_in, tokens_out, unpriced, cost) in data.items()
    }


def spent_by_day(scope: str, since: date) -> dict[date, Spent]:
    """What a user, or a visitor, has used on each day from `since` on: one query of an index."""
    columns = ("day", "requests", "input_tokens", "output_tokens", "unpriced", "cost")
    found: dict[date, Spent] = {}
    for day, *amounts in Spending.objects.filter(scope=scope, day__gte=since).order_by().values_list(*columns):
        found[day] = found.get(day, Spent()) + Spent(*amounts)
    return found


def dollars(cost: Decimal | float | None) -> str:
    """Write an amount as people read it; "-" for one that is not known."""
    if cost is None:
        return "-"
    if 0 < cost < Decimal("0.0001"):
        return "< $0.0001"
    return f"${cost:,.2f}" if cost >= 1 or not cost else f"${cost:.4f}"
