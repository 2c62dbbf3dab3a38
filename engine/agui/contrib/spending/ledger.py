"""The cost of runs by user, day and model: pydantic-ai knows the price of each response.

An unknown price is None, never 0. The ledger outlives the runs.
"""

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from django.conf import settings
from django.db import connections, router
from django.db.models import Exists, Field, OuterRef, Q
from django.utils import timezone

from agui import clock, conf, statements
from agui.contrib.spending.conf import SpendingSettings
from agui.contrib.spending.models import RunSpending, Spending
from agui.models import Run
from agui.namespaces import all_scopes
from agui.part_values import Outdated

if TYPE_CHECKING:
    from pydantic_ai.usage import RequestUsage, RunUsage

VISITOR = "session:"
MONTH_DAYS = 31
# A run that has not ended after this time has died with its process.
LONGEST_RUN = timedelta(days=7)
# One statement, so that two runs that end at once are both counted.
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
    """An amount of use, as of one model."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    unpriced: int = 0
    """Requests without a known price."""
    cost: Decimal | None = None
    """US dollars, of the other requests."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @classmethod
    def from_usage(cls, usage: "RequestUsage | RunUsage") -> "Spent":
        unpriced = 0 if usage.cost is not None else usage.requests
        return cls(usage.requests, usage.input_tokens, usage.output_tokens, unpriced, usage.cost)

    def __add__(self, other: "Spent") -> "Spent":  # type: ignore[override]
        cost = self.cost
        if cost is None:
            cost = other.cost
        elif other.cost is not None:
            cost += other.cost
        return Spent(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.unpriced + other.unpriced,
            cost,
        )

    def __sub__(self, other: "Spent") -> "Spent":
        """Return by how much this is more than the other; a cost that has not grown is None."""
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
    """Record what an owner has used since `before`. Raises IntegrityError if they are deleted."""
    # Inserted with SQL, because bulk_create() can't add to existing rows.
    connection = connections[router.db_for_write(Spending)]
    day = _field("day").get_db_prep_save(today(), connection)
    owner = _field("owner").get_db_prep_save(owner_id, connection)
    rows: list[str] = []
    params: list[Any] = []
    # Sorted, so that two runs never wait for each other's rows.
    for model in sorted(now):
        more = now[model] - before.get(model, Spent())
        if any(more[:3]) or more.cost:
            cost = _field("cost").get_db_prep_save(more.cost, connection)
            rows.append(ROW)
            params += [scope, owner, day, model, *more[:4], cost]
    if not rows:
        return
    sql = ADD.format(table=Spending._meta.db_table, rows=", ".join(rows))
    with connection.cursor() as cursor:
        cursor.execute(sql, params)


def _field(name: str) -> Field:
    return cast(Field, Spending._meta.get_field(name))


def record_so_far(key: str, scope: str, owner_id: Any, spent: ByModel) -> None:
    """Record what a run has used that has not ended. The caller has to hold the run."""
    add_spending(scope, owner_id, spent, _recorded(key))
    columns = {"scope": scope, "owner_id": owner_id, "spent": dump_spent(spent)}
    RunSpending.objects.update_or_create(pk=key, defaults=columns)


def record_end(key: str, scope: str, owner_id: Any, spent: ByModel) -> None:
    """Record what a run that has ended has used since it was last recorded."""
    recorded = _recorded(key)
    add_spending(scope, owner_id, spent, recorded)
    if recorded:
        RunSpending.objects.filter(pk=key).delete()


def _recorded(key: str) -> dict[str, Spent]:
    rows = statements.select(RunSpending, pk=key)
    return load_spent(rows[0].spent) if rows else {}


def outdated() -> Iterator[Outdated]:
    """List old spending, and what runs have left that never ended."""
    now = clock.now()
    # Visitors' spending counts for their budget, of a month at most, while their session lasts.
    session_days = settings.SESSION_COOKIE_AGE // (24 * 60 * 60) + 1
    visit = timedelta(days=max(MONTH_DAYS, session_days))
    old = Q(owner=None, scope__contains=VISITOR, day__lt=now - visit)
    days = conf.part(SpendingSettings).retention_days
    if days:
        old |= Q(day__lt=now - timedelta(days=days))
    yield Outdated("spending", Spending.objects.filter(old))
    runs = Run.objects.filter(pk=OuterRef("pk"))
    lost = RunSpending.objects.filter(~Exists(runs), noted_at__lt=now - LONGEST_RUN)
    yield Outdated("spending of runs that were lost", lost)


def today() -> date:
    """Return the day in the site's time zone, whatever the user's is."""
    return timezone.localdate(clock.now(), timezone.get_default_timezone())


def dump_spent(spent: ByModel) -> dict[str, Any]:
    data = {}
    for model, amount in spent.items():
        cost = None if amount.cost is None else str(amount.cost)
        data[model] = [*amount[:4], cost]
    return data


def load_spent(data: Mapping[str, Any]) -> dict[str, Spent]:
    spent = {}
    for model, (requests, tokens_in, tokens_out, unpriced, cost) in data.items():
        price = None if cost is None else Decimal(cost)
        spent[model] = Spent(requests, tokens_in, tokens_out, unpriced, price)
    return spent


def spent_by_day(scope: str, since: date) -> dict[date, Spent]:
    """Return what an owner has used on each day from `since` on, with one query of an index."""
    columns = ("day", "requests", "input_tokens", "output_tokens", "unpriced", "cost")
    rows = Spending.objects.filter(scope__in=all_scopes(scope), day__gte=since).order_by()
    by_day: dict[date, Spent] = {}
    for day, *amounts in rows.values_list(*columns):
        by_day[day] = by_day.get(day, Spent()) + Spent(*amounts)
    return by_day
