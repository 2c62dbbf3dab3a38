"""What the dashboard shows: how many runs, what they used and cost, how long they took, and what failed."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.utils import timezone

from agui.contrib.dashboard.charts import Chart, Series, Write
from agui.contrib.dashboard.rollup import HOUR, Figures, percentile, read_figures
from agui.models import Run
from agui.money import dollars

RANGES = {"24h": "24 hours", "7d": "7 days", "30d": "30 days", "13w": "13 weeks"}
WELL = (Run.Status.FINISHED, Run.Status.PAUSED)
NEITHER = (Run.Status.CANCELLED, Run.Status.RUNNING)
MAX_ROWS = 10


@dataclass(frozen=True)
class Place:
    """A bar of the charts: when it begins, and what it is called."""

    begin: datetime
    name: str


def places_of(span: str, now: datetime) -> list[Place]:
    """Divide a range into bars: hours, quarters of days, days or weeks of the site's time zone."""
    zone = timezone.get_default_timezone()
    if span == "24h":
        first = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0) - 23 * HOUR
        hours = (first + number * HOUR for number in range(24))
        return [Place(hour, f"{hour.astimezone(zone):%a %H:%M}") for hour in hours]
    day = now.astimezone(zone).date()
    if span == "7d":
        days = [day - timedelta(days=6 - number) for number in range(7)]
        parts = [
            datetime(one.year, one.month, one.day, hour, tzinfo=zone)
            for one in days
            for hour in (0, 6, 12, 18)
        ]
        return [Place(part, f"{part:%a %d %b, %H:%M}") for part in parts if part <= now]
    if span == "30d":
        return [_place(day - timedelta(days=29 - number)) for number in range(30)]
    monday = day - timedelta(days=day.weekday())
    return [_place(monday - timedelta(weeks=12 - number), "week of ") for number in range(13)]


def _place(day: date, of: str = "") -> Place:
    begin = datetime(day.year, day.month, day.day, tzinfo=timezone.get_default_timezone())
    return Place(begin, f"{of}{day:%d %b}")


def figures_of(places: Sequence[Place]) -> list[Figures]:
    found = [Figures() for _ in places]
    begins = [place.begin for place in places]
    for begin, figures in read_figures(begins[0]).items():
        found[max(0, bisect_right(begins, begin) - 1)].add(figures)
    return found


def count_text(number: float) -> str:
    """Write a count in little space."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if number >= size:
            return f"{number / (1000 if unit == 'k' else size):,.1f}".removesuffix(".0") + unit
    return f"{number:,.1f}".removesuffix(".0")


def time_text(ms: float | None) -> str:
    if ms is None:
        return "-"
    if ms < 1000:
        return f"{ms:,.0f} ms"
    return f"{ms / 1000:,.1f} s" if ms < 120_000 else f"{ms / 60_000:,.1f} min"


def share_text(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def charts_of(places: Sequence[Place], parts: Sequence[Figures]) -> list[Chart]:
    labels = [place.name for place in places]

    def bars(title: str, write: Write, *series: Series, note: str = "") -> Chart:
        return Chart(title, series, labels, write, note=note)

    def lines(title: str, counts: Sequence[Counter[int]]) -> Chart:
        shares = (("p50", "a", 0.5), ("p95", "b", 0.95))
        series = [
            Series(name, kind, [percentile(one, share) for one in counts])
            for name, kind, share in shares
        ]
        return Chart(title, series, labels, time_text, is_lines=True)

    unpriced = sum(amounts[4] for part in parts for amounts in part.models.values())
    return [
        bars(
            "Runs",
            count_text,
            Series("ended well", "good", [_ended(part, WELL) for part in parts]),
            Series("cancelled or on", "quiet", [_ended(part, NEITHER) for part in parts]),
            Series("failed", "bad", [_failed(part) for part in parts]),
        ),
        bars(
            "Tokens",
            count_text,
            Series("read", "a", [_used(part, 1) for part in parts]),
            Series("written", "b", [_used(part, 2) for part in parts]),
        ),
        bars(
            "Cost",
            dollars,
            Series("US dollars", "a", [_used(part, 3) for part in parts]),
            note=f"Without {count_text(unpriced)} runs whose price is not known."
            if unpriced
            else "",
        ),
        lines("Time to the first word", [part.first for part in parts]),
        lines("Time of the whole run", [part.total for part in parts]),
        bars(
            "Tool calls",
            count_text,
            Series("success", "good", [_calls(part, 0) for part in parts]),
            Series("denied", "quiet", [_calls(part, 2) for part in parts]),
            Series("failed", "bad", [_calls(part, 1) for part in parts]),
        ),
    ]


def _ended(figures: Figures, statuses: Sequence[str]) -> int:
    return sum(
        number for ending, number in figures.endings.items() if ending.partition(":")[0] in statuses
    )


def _failed(figures: Figures) -> int:
    return figures.endings.total() - _ended(figures, (*WELL, *NEITHER))


def _used(figures: Figures, place: int) -> float:
    return sum(amounts[place] for amounts in figures.models.values())


def _calls(figures: Figures, place: int) -> int:
    return sum(counts[place] for counts in figures.tools.values())


def tiles_of(whole: Figures) -> list[tuple[str, str]]:
    runs = whole.endings.total()
    unpriced = _used(whole, 4)
    cost = "-" if runs and unpriced and not _used(whole, 3) else dollars(_used(whole, 3))
    calls = sum(_calls(whole, place) for place in range(3))
    return [
        ("Runs", f"{runs:,}"),
        ("Failed", share_text(_failed(whole), runs)),
        ("Tokens", count_text(_used(whole, 1) + _used(whole, 2))),
        ("Cost, at least" if unpriced and cost != "-" else "Cost", cost),
        ("First word, p50", time_text(percentile(whole.first, 0.5))),
        ("First word, p95", time_text(percentile(whole.first, 0.95))),
        ("Whole run, p50", time_text(percentile(whole.total, 0.5))),
        ("Whole run, p95", time_text(percentile(whole.total, 0.95))),
        ("Tool calls", f"{calls:,}"),
        ("Tool calls failed", share_text(_calls(whole, 1), calls)),
    ]


def tables_of(whole: Figures, users: Sequence[Any] | None) -> list[dict[str, Any]]:
    runs = whole.endings.total()
    failed = [
        (ending.replace(":", ": "), number)
        for ending, number in whole.endings.most_common()
        if ending.partition(":")[0] not in (*WELL, *NEITHER)
    ]
    models = sorted(whole.models.items(), key=lambda item: -item[1][0])
    tools = sorted(whole.tools.items(), key=lambda item: -sum(item[1]))
    tables = [
        {
            "title": "Errors",
            "head": ["ending", "runs", "of all"],
            "rows": [
                [ending, f"{number:,}", share_text(number, runs)] for ending, number in failed
            ],
        },
        {
            "title": "Models",
            "head": ["model", "runs", "read", "written", "cost"],
            "rows": [
                [
                    *(
                        model or "-",
                        f"{number:,.0f}",
                        count_text(tokens_in),
                        count_text(tokens_out),
                    ),
                    "-"
                    if unpriced >= number
                    else dollars(cost) + (" and more" if unpriced else ""),
                ]
                for model, (number, tokens_in, tokens_out, cost, unpriced) in models
            ],
        },
        {
            "title": "Tools",
            "head": ["tool", "calls", "failed", "denied"],
            "rows": [
                [
                    tool,
                    f"{sum(counts):,}",
                    share_text(counts[1], sum(counts)),
                    share_text(counts[2], sum(counts)),
                ]
                for tool, counts in tools
            ],
        },
    ]
    if users is not None:
        tables.append(
            {"title": "Users who spent most", "head": ["user", "tokens", "cost"], "rows": users}
        )
    return [{**table, "rows": table["rows"][:MAX_ROWS]} for table in tables]
