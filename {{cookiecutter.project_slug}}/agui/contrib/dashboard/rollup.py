"""What the runs of each hour came to: how they ended, what they used, how long they took, how their
tools fared.

Hours that are over are counted once, into rows of RunSpan: beside the runs of the next hour, by
whoever looks first, and by `prune_agent_data` before it deletes runs. There are only numbers in
them, and nothing that is anybody's.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import router, transaction
from django.db.models import BigIntegerField, CharField, Count, F, Func, Min, Q, QuerySet, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast
from django.utils import timezone

from agui.contrib.dashboard.models import RunSpan
from agui.models import AuditRecord, Run

logger = logging.getLogger("agui.runs")

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS_KEPT = timedelta(days=8)
KEPT = timedelta(weeks=14)
# What begins in one process may come late from another.
MARGIN = timedelta(minutes=5)
# A run that is on for longer is not waited for.
LONGEST = timedelta(days=1)
OUTCOMES = ("success", "failed", "denied")
# Models and MCP clients call tools by names of their own, too.
MAX_TOOLS = 100
OTHERS = "others"


class HourOf(Func):
    """The hour of a moment, as text. Django's own functions for it take a microsecond or five for each row."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(
            compiler, connection, template="SUBSTR(%(expressions)s, 1, 13)", **context
        )

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')"
        return self.as_sql(compiler, connection, template=template, **context)


class Rounded(Func):
    """A number to two digits: what is left of a million durations is a few hundred."""

    output_field = BigIntegerField()
    template = (
        "CASE WHEN %(expressions)s < 100 THEN %(expressions)s"
        " WHEN %(expressions)s < 1000 THEN (%(expressions)s + 5) / 10 * 10"
        " WHEN %(expressions)s < 10000 THEN (%(expressions)s + 50) / 100 * 100"
        " WHEN %(expressions)s < 100000 THEN (%(expressions)s + 500) / 1000 * 1000"
        " WHEN %(expressions)s < 1000000 THEN (%(expressions)s + 5000) / 10000 * 10000"
        " ELSE (%(expressions)s + 50000) / 100000 * 100000 END"
    )


@dataclass
class Figures:
    """What the runs of some time came to."""

    endings: Counter[str] = field(default_factory=Counter)
    """Runs, by how they ended: a status, or "status:code"."""
    models: dict[str, list[float]] = field(default_factory=dict)
    """By model: runs, tokens in, tokens out, US dollars, runs whose price is not known."""
    first: Counter[int] = field(default_factory=Counter)
    """Runs, by the milliseconds to the first word, to two digits."""
    total: Counter[int] = field(default_factory=Counter)
    """Runs, by how many milliseconds they took."""
    tools: dict[str, list[int]] = field(default_factory=dict)
    """By tool: calls that were a success, that failed, that were denied."""

    def add(self, other: "Figures") -> None:
        for name in ("endings", "first", "total"):
            mine = getattr(self, name)
            for key, count in getattr(other, name).items():
                mine[key] += count
        for model, amounts in other.models.items():
            self.models[model] = [
                a + b for a, b in zip(self.models.get(model, [0] * 5), amounts, strict=True)
            ]
        for tool, counts in other.tools.items():
            self.tools[tool] = [
                a + b for a, b in zip(self.tools.get(tool, [0] * 3), counts, strict=True)
            ]

    def dump(self) -> dict[str, Any]:
        """The figures as JSON, with no more tools than a project has."""
        most = sorted(self.tools, key=lambda name: -sum(self.tools[name]))
        rest = [self.tools[name] for name in most[MAX_TOOLS:]]
        tools = {name: self.tools[name] for name in most[:MAX_TOOLS]}
        return {
            **vars(self),
            "tools": {
                **tools,
                **({OTHERS: [sum(n) for n in zip(*rest, strict=True)]} if rest else {}),
            },
        }

    @classmethod
    def load(cls, data: dict[str, Any]) -> "Figures":
        first, total = (
            Counter({int(ms): n for ms, n in data[name].items()}) for name in ("first", "total")
        )
        return cls(Counter(data["endings"]), data["models"], first, total, data["tools"])


def percentile(counts: Counter[int], share: float) -> int | None:
    """The least number that this share of them does not pass."""
    left = share * counts.total()
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return value
    return None


def read_figures(since: datetime) -> dict[datetime, Figures]:
    """The figures from `since` on, by the begin of the hours, or farther back of the days, in which there were any."""
    end = roll_up()
    spans = RunSpan.objects.filter(begin__gte=since).values_list("begin", "figures")
    return {begin: Figures.load(figures) for begin, figures in spans} | count(max(end, since), None)


def roll_up() -> datetime:
    """Count the hours that are over and not counted yet. When the first one begins that is not over."""
    now = timezone.now()
    oldest = _day(now - KEPT)
    last = RunSpan.objects.order_by("-begin").first()
    after = last and (_next_day(last.begin) if last.is_day else last.begin + HOUR)
    begin = max(oldest, after or oldest)
    end = _hour(now - MARGIN)
    if begin >= end:
        return begin
    on = Run.objects.filter(status=Run.Status.RUNNING, started_at__gte=now - LONGEST)
    if first := on.aggregate(first=Min("started_at"))["first"]:
        end = min(end, _hour(first))
    long_ago = _day(now - HOURS_KEPT)
    while begin < end:
        until = min(_next_day(begin), end)
        _keep(begin, until, is_day=begin == _day(begin) and until <= long_ago)
        begin = until
    _join_days(long_ago)
    RunSpan.objects.filter(begin__lt=oldest).delete()
    return begin


def keep_up() -> None:
    """Roll up beside the runs, so that nobody who looks has to wait for it."""
    try:
        roll_up()
    except Exception:
        logger.exception("The runs of the last hour could not be counted")


def _keep(begin: datetime, until: datetime, *, is_day: bool) -> None:
    counted = count(begin, until)
    if is_day:
        counted = {begin: total(counted.values())}
    else:
        counted.setdefault(until - HOUR, Figures())  # It says how far they are counted
    rows = [
        RunSpan(begin=one, is_day=is_day, figures=figures.dump())
        for one, figures in counted.items()
    ]
    # Whoever looks at the same time has counted the same.
    RunSpan.objects.bulk_create(rows, ignore_conflicts=True)


def _join_days(before: datetime) -> None:
    """Make hours that nobody looks at one by one any more into days."""
    days: dict[datetime, dict[datetime, Figures]] = {}
    for begin, figures in RunSpan.objects.filter(begin__lt=before, is_day=False).values_list(
        "begin", "figures"
    ):
        days.setdefault(_day(begin), {})[begin] = Figures.load(figures)
    for day, hours in days.items():
        with transaction.atomic(using=router.db_for_write(RunSpan)):
            gone, _ = RunSpan.objects.filter(begin__in=hours, is_day=False).delete()
            if gone != len(hours):
                # Somebody else does it
                transaction.set_rollback(True, using=router.db_for_write(RunSpan))
                continue
            # If there is one, these hours were counted once more by somebody who was slow.
            joined = RunSpan(begin=day, is_day=True, figures=total(hours.values()).dump())
            RunSpan.objects.bulk_create([joined], ignore_conflicts=True)


def total(parts: Iterable[Figures]) -> Figures:
    whole = Figures()
    for part in parts:
        whole.add(part)
    return whole


def midnight(moment: datetime) -> datetime:
    """When the day began, in the site's time zone."""
    zone = timezone.get_default_timezone()
    return datetime.combine(moment.astimezone(zone), datetime.min.time(), zone)


def _day(moment: datetime) -> datetime:
    """The first hour that begins on its day: where midnight is at half past, no hour is cut in two."""
    return _hour(midnight(moment) + HOUR - timedelta.resolution)


def _next_day(moment: datetime) -> datetime:
    return _day(midnight(moment) + 1.25 * DAY)  # When clocks change, a day has an hour less or more


def _hour(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def count(begin: datetime, end: datetime | None) -> dict[datetime, Figures]:
    """Count the rows that began in this time, by the hour."""
    found: dict[str, Figures] = {}

    def figures(hour: str) -> Figures:
        return found.setdefault(hour, Figures())

    within = Q(started_at__gte=begin) & (Q(started_at__lt=end) if end else Q())
    runs = Run.objects.filter(within).order_by().annotate(hour=HourOf(F("started_at")))
    _count_runs(runs, figures)
    for name, column in (("first", "first_event_ms"), ("total", "duration_ms")):
        known = runs.filter(**{f"{column}__isnull": False}).annotate(ms=Rounded(F(column)))
        for hour, ms, number in known.values_list("hour", "ms").annotate(n=Count("pk")):
            getattr(figures(hour), name)[ms] += number
    calls: QuerySet[Any] = (
        AuditRecord.objects.filter(within).order_by().annotate(hour=HourOf(F("started_at")))
    )
    for hour, tool, outcome, number in calls.values_list("hour", "tool_name", "outcome").annotate(
        n=Count("pk")
    ):
        outcomes = figures(hour).tools.setdefault(tool, [0] * len(OUTCOMES))
        if outcome in OUTCOMES:
            outcomes[OUTCOMES.index(outcome)] += number
    return {
        datetime.fromisoformat(f"{hour}:00").replace(tzinfo=UTC): figures
        for hour, figures in found.items()
    }


def _count_runs(runs: QuerySet[Any], figures: Callable[[str], Figures]) -> None:
    def used(key: str) -> Sum:
        return Sum(Cast(KeyTextTransform(key, "usage"), BigIntegerField()))

    rows: Iterable[Any] = runs.values_list("hour", "status", "code", "model").annotate(
        n=Count("pk"),
        tokens_in=used("input_tokens"),
        tokens_out=used("output_tokens"),
        dollars=Sum("cost"),
        priced=Count("cost"),
        asked=Count("pk", filter=Q(usage__requests__gt=0)),
    )
    for hour, status, code, model, number, tokens_in, tokens_out, cost, priced, asked in rows:
        one = figures(hour)
        one.endings[f"{status}:{code}" if code and code != status else status] += number
        amounts = [
            number,
            tokens_in or 0,
            tokens_out or 0,
            float(cost or 0),
            max(0, asked - priced),
        ]
        one.models[model] = [
            a + b for a, b in zip(one.models.get(model, [0] * 5), amounts, strict=True)
        ]
