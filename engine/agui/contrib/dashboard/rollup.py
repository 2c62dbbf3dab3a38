"""Keep the figures of past hours in rows of RunSpan.

Each hour that is over is counted once: beside the runs of the next hour, when somebody opens the
dashboard, and by `prune_agent_data` before it deletes runs. The rows have only numbers, and no
personal data.
"""

import logging
from datetime import UTC, datetime, timedelta

from django.db import router, transaction
from django.db.models import Min
from django.utils import timezone

from agui import clock
from agui.contrib.dashboard.count import count
from agui.contrib.dashboard.figures import Figures, total
from agui.contrib.dashboard.models import RunSpan
from agui.models import AuditRecord, Run

logger = logging.getLogger("agui.runs")

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
HOURS_KEPT = timedelta(days=8)
KEPT = timedelta(weeks=14)
# Rows of other processes may be committed after this process has seen a later one.
MARGIN = timedelta(minutes=5)
# An hour is not over while one of its runs is active, but only for so long.
LONGEST = timedelta(days=1)


def read_figures(since: datetime) -> dict[datetime, Figures]:
    """Return the figures from `since` on, by the beginning of their hour; older ones are by day."""
    counted_until = roll_up()
    by_begin = {}
    spans = RunSpan.objects.filter(begin__gte=since).values_list("begin", "figures")
    for begin, figures in spans:
        by_begin[begin] = Figures.load(figures)
    by_begin.update(count(max(counted_until, since), None))
    return by_begin


def roll_up() -> datetime:
    """Count the hours that are over. Return the beginning of the first hour that is not over."""
    now = clock.now()
    oldest = _day(now - KEPT)
    end = _hour(now - MARGIN)
    begin = max(oldest, _counted_until() or _first_day() or end)
    if begin >= end:
        return begin
    first_running = _first_running(now)
    if first_running:
        end = min(end, _hour(first_running))
    long_ago = _day(now - HOURS_KEPT)
    while begin < end:
        until = min(_next_day(begin), end)
        # Nobody looks at old days by the hour, so a whole day is counted at once.
        if begin == _day(begin) and until <= long_ago:
            _keep_day(begin, until)
        else:
            _keep_hours(begin, until)
        begin = until
    _join_days(long_ago)
    RunSpan.objects.filter(begin__lt=oldest).delete()
    return begin


def try_to_roll_up() -> None:
    """Roll up beside the runs, so that nobody who opens the dashboard waits for it."""
    try:
        roll_up()
    except Exception:
        logger.exception("Rolling up the runs for the dashboard failed; retrying later")


def _counted_until() -> datetime | None:
    last = RunSpan.objects.order_by("-begin").first()
    if last is None:
        return None
    return _next_day(last.begin) if last.is_day else last.begin + HOUR


def _first_day() -> datetime | None:
    """Return the day of the oldest run or tool call: there is nothing to count before it."""
    firsts = [
        rows.aggregate(at=Min("started_at"))["at"] for rows in (Run.objects, AuditRecord.objects)
    ]
    return min((_day(first) for first in firsts if first), default=None)


def _first_running(now: datetime) -> datetime | None:
    running = Run.objects.filter(status=Run.Status.RUNNING, started_at__gte=now - LONGEST)
    first: datetime | None = running.aggregate(first=Min("started_at"))["first"]
    return first


def _keep_day(begin: datetime, until: datetime) -> None:
    _save([_span_of_day(begin, count(begin, until))])


def _keep_hours(begin: datetime, until: datetime) -> None:
    counted = count(begin, until)
    # The last hour has a row even if it is empty: the next count begins after it.
    counted.setdefault(until - HOUR, Figures())
    spans = []
    for hour, figures in counted.items():
        spans.append(RunSpan(begin=hour, figures=figures.dump()))
    _save(spans)


def _span_of_day(day: datetime, by_hour: dict[datetime, Figures]) -> RunSpan:
    figures = total(by_hour.values())
    return RunSpan(begin=day, is_day=True, figures=figures.dump())


def _save(spans: list[RunSpan]) -> None:
    # Another process that counts at the same time has counted the same.
    RunSpan.objects.bulk_create(spans, ignore_conflicts=True)


def _join_days(before: datetime) -> None:
    """Replace the hours before a moment by their days."""
    days: dict[datetime, dict[datetime, Figures]] = {}
    hours = RunSpan.objects.filter(begin__lt=before, is_day=False)
    for begin, figures in hours.values_list("begin", "figures"):
        days.setdefault(_day(begin), {})[begin] = Figures.load(figures)
    for day, by_hour in days.items():
        _join_day(day, by_hour)


def _join_day(day: datetime, by_hour: dict[datetime, Figures]) -> None:
    database = router.db_for_write(RunSpan)
    with transaction.atomic(using=database):
        hours = RunSpan.objects.filter(begin__in=by_hour, is_day=False)
        deleted, _ = hours.delete()
        if deleted != len(by_hour):
            # Another process is joining this day.
            transaction.set_rollback(True, using=database)
            return
        # If the day already has a row, a slow process has counted these hours a second time.
        _save([_span_of_day(day, by_hour)])


def midnight(moment: datetime) -> datetime:
    """Return when the day began, in the site's time zone."""
    zone = timezone.get_default_timezone()
    return datetime.combine(moment.astimezone(zone), datetime.min.time(), zone)


def _day(moment: datetime) -> datetime:
    """Return the first hour that begins on the day: midnight may be at half past an hour in UTC."""
    return _hour(midnight(moment) + HOUR - timedelta.resolution)


def _next_day(moment: datetime) -> datetime:
    # When clocks change, a day is an hour shorter or longer.
    return _day(midnight(moment) + 1.25 * DAY)


def _hour(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
