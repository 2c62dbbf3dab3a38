"""The ranges that the dashboard offers, each divided into periods: the bars of its charts."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.utils import timezone

from agui.contrib.dashboard.figures import Figures
from agui.contrib.dashboard.rollup import DAY, HOUR, read_figures

RANGES = {"24h": "24 hours", "7d": "7 days", "30d": "30 days", "13w": "13 weeks"}


@dataclass(frozen=True)
class Period:
    begin: datetime
    name: str


def periods_of(span: str, now: datetime) -> list[Period]:
    """Divide a range into hours, quarters of days, days or weeks of the site's time zone."""
    if span == "24h":
        return _last_hours(now)
    today = now.astimezone(timezone.get_default_timezone()).date()
    if span == "7d":
        return _quarters_of_days(today, now)
    if span == "30d":
        return _last_days(today)
    return _last_weeks(today)


def _last_hours(now: datetime) -> list[Period]:
    zone = timezone.get_default_timezone()
    this_hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    periods = []
    for ago in reversed(range(24)):
        begin = this_hour - ago * HOUR
        periods.append(Period(begin, f"{begin.astimezone(zone):%a %H:%M}"))
    return periods


def _quarters_of_days(today: date, now: datetime) -> list[Period]:
    periods = []
    for ago in reversed(range(7)):
        midnight = _midnight(today - ago * DAY)
        for hour in (0, 6, 12, 18):
            begin = midnight.replace(hour=hour)
            if begin <= now:
                periods.append(Period(begin, f"{begin:%a %d %b, %H:%M}"))
    return periods


def _last_days(today: date) -> list[Period]:
    periods = []
    for ago in reversed(range(30)):
        day = today - ago * DAY
        periods.append(Period(_midnight(day), f"{day:%d %b}"))
    return periods


def _last_weeks(today: date) -> list[Period]:
    this_monday = today - today.weekday() * DAY
    periods = []
    for ago in reversed(range(13)):
        monday = this_monday - ago * timedelta(weeks=1)
        periods.append(Period(_midnight(monday), f"week of {monday:%d %b}"))
    return periods


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=timezone.get_default_timezone())


def figures_of(periods: Sequence[Period]) -> list[Figures]:
    """Read the figures of each period."""
    figures = [Figures() for _ in periods]
    begins = [period.begin for period in periods]
    for begin, counted in read_figures(begins[0]).items():
        index = max(0, bisect_right(begins, begin) - 1)
        figures[index].add(counted)
    return figures
