"""The ranges that the dashboard offers, each divided into periods: the bars of its charts."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format

from agui.contrib.dashboard.figures import Figures
from agui.contrib.dashboard.rollup import DAY, HOUR, read_figures
from agui.sentences import fill, wording

WEEK = timedelta(weeks=1)
RANGES = {
    "24h": wording("24 hours"),
    "7d": wording("7 days"),
    "30d": wording("30 days"),
    "13w": wording("13 weeks"),
}


@dataclass(frozen=True)
class Period:
    begin: datetime
    name: str


def periods_of(span: str, now: datetime) -> list[Period]:
    """Divide a range into hours, quarters of days, days or weeks of the site's time zone."""
    zone = timezone.get_default_timezone()
    today = now.astimezone(zone).date()
    text: Any = ""
    if span == "24h":
        this_hour = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        begins = [this_hour - ago * HOUR for ago in reversed(range(24))]
        form = wording("D H:i")
    elif span == "7d":
        days = _midnights(today, DAY, 7)
        begins = [day.replace(hour=hour) for day in days for hour in (0, 6, 12, 18)]
        form = wording("D d M, H:i")
    elif span == "30d":
        begins = _midnights(today, DAY, 30)
        form = wording("d M")
    else:
        monday = today - today.weekday() * DAY
        begins = _midnights(monday, WEEK, 13)
        form = wording("d M")
        text = wording("week of {day}")
    periods = []
    for begin in begins:
        if begin <= now:
            name = date_format(begin.astimezone(zone), str(form))
            if text:
                name = fill(text, day=name)
            periods.append(Period(begin, name))
    return periods


def _midnights(last: date, step: timedelta, number: int) -> list[datetime]:
    zone = timezone.get_default_timezone()
    midnights = []
    for ago in reversed(range(number)):
        day = last - ago * step
        midnights.append(datetime(day.year, day.month, day.day, tzinfo=zone))
    return midnights


def figures_of(periods: Sequence[Period]) -> list[Figures]:
    """Read the figures of each period."""
    figures = [Figures() for _ in periods]
    begins = [period.begin for period in periods]
    for begin, counted in read_figures(begins[0]).items():
        index = max(0, bisect_right(begins, begin) - 1)
        figures[index].add(counted)
    return figures
