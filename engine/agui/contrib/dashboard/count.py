"""Count the runs and the tool calls of each hour, in the database."""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

from django.db.models import BigIntegerField, CharField, Count, F, Func, Q, QuerySet, Sum
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from agui.contrib.dashboard.figures import OUTCOMES, Figures
from agui.models import AuditRecord, Run

FiguresByHour = dict[str, Figures]


class HourOf(Func):
    """The hour of a moment, as text: Django's own functions need up to 5 microseconds a row."""

    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "SUBSTR(%(expressions)s, 1, 13)"
        return self.as_sql(compiler, connection, template=template, **context)

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        template = "TO_CHAR(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24')"
        return self.as_sql(compiler, connection, template=template, **context)


class Rounded(Func):
    """A number to two digits: a million durations have a few hundred different ones."""

    output_field = BigIntegerField()
    template = (
        "CASE WHEN %(expressions)s < 100 THEN %(expressions)s"
        " WHEN %(expressions)s < 1000 THEN (%(expressions)s + 5) / 10 * 10"
        " WHEN %(expressions)s < 10000 THEN (%(expressions)s + 50) / 100 * 100"
        " WHEN %(expressions)s < 100000 THEN (%(expressions)s + 500) / 1000 * 1000"
        " WHEN %(expressions)s < 1000000 THEN (%(expressions)s + 5000) / 10000 * 10000"
        " ELSE (%(expressions)s + 50000) / 100000 * 100000 END"
    )


def count(begin: datetime, end: datetime | None) -> dict[datetime, Figures]:
    """Count the rows that began from `begin` until `end`, by their hour."""
    within = Q(started_at__gte=begin)
    if end:
        within &= Q(started_at__lt=end)
    hour_of_start = HourOf(F("started_at"))
    runs = Run.objects.filter(within).order_by().annotate(hour=hour_of_start)
    calls = AuditRecord.objects.filter(within).order_by().annotate(hour=hour_of_start)
    by_hour: FiguresByHour = defaultdict(Figures)
    _count_runs(runs, by_hour)
    for hour, ms, number in _count_times(runs, "first_event_ms"):
        by_hour[hour].first[ms] += number
    for hour, ms, number in _count_times(runs, "duration_ms"):
        by_hour[hour].total[ms] += number
    _count_calls(calls, by_hour)
    return {_parse(hour): figures for hour, figures in by_hour.items()}


def _parse(hour: str) -> datetime:
    return datetime.fromisoformat(f"{hour}:00").replace(tzinfo=UTC)


def _count_runs(runs: QuerySet[Any], by_hour: FiguresByHour) -> None:
    groups = runs.values_list("hour", "status", "code", "model")
    # A run that has asked no model needs no price, so `asked` leaves it out.
    rows: QuerySet[Any, Any] = groups.annotate(
        n=Count("pk"),
        tokens_in=_sum_of_usage("input_tokens"),
        tokens_out=_sum_of_usage("output_tokens"),
        dollars=Sum("cost"),
        priced=Count("cost"),
        asked=Count("pk", filter=Q(usage__requests__gt=0)),
    )
    for hour, status, code, model, number, tokens_in, tokens_out, cost, priced, asked in rows:
        ending = status
        if code and code != status:
            ending = f"{status}:{code}"
        by_hour[hour].endings[ending] += number
        amounts = [
            number,
            tokens_in or 0,
            tokens_out or 0,
            float(cost or 0),
            max(0, asked - priced),
        ]
        by_hour[hour].add_to_model(model, amounts)


def _sum_of_usage(key: str) -> Sum:
    return Sum(Cast(KeyTextTransform(key, "usage"), BigIntegerField()))


def _count_times(runs: QuerySet[Any], column: str) -> QuerySet[Any, Any]:
    """Count the runs by their hour and the milliseconds in a column."""
    timed = runs.filter(**{f"{column}__isnull": False})
    rounded = timed.annotate(ms=Rounded(F(column)))
    return rounded.values_list("hour", "ms").annotate(n=Count("pk"))


def _count_calls(calls: QuerySet[Any], by_hour: FiguresByHour) -> None:
    groups = calls.values_list("hour", "tool_name", "outcome")
    for hour, tool, outcome, number in groups.annotate(n=Count("pk")):
        numbers = [0] * len(OUTCOMES)
        if outcome in OUTCOMES:
            numbers[OUTCOMES.index(outcome)] = number
        by_hour[hour].add_to_tool(tool, numbers)
