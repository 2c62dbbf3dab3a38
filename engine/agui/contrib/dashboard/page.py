"""The content of the dashboard: the number of runs, their usage, cost and duration."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from agui.contrib.dashboard.charts import Chart, Series
from agui.contrib.dashboard.figures import (
    DENIED,
    DOLLARS,
    FAILED,
    RUNS,
    SUCCESS,
    TOKENS_IN,
    TOKENS_OUT,
    UNPRICED,
    Figures,
    percentile,
)
from agui.contrib.dashboard.periods import Period
from agui.models import Run
from agui.money import dollars
from agui.sentences import fill, wording

# A paused run waits for its user, which is not a failure.
WELL = (Run.Status.FINISHED, Run.Status.PAUSED)
NEITHER = (Run.Status.CANCELLED, Run.Status.RUNNING)
NOT_FAILED = WELL + NEITHER
MAX_ROWS = 10
MODEL_HEAD = (
    wording("model"),
    wording("runs"),
    wording("read"),
    wording("written"),
    wording("cost"),
)

AllFigures = Sequence[Figures]
Rows = Sequence[list[str]]
Words = str | Promise


def count_text(number: float) -> str:
    """Write a count in little space."""
    unit = ""
    if number >= 1e9:
        number, unit = number / 1e9, "G"
    elif number >= 1e6:
        number, unit = number / 1e6, "M"
    elif number >= 1e4:
        number, unit = number / 1e3, "k"
    return f"{number:,.1f}".removesuffix(".0") + unit


def time_text(ms: float | None) -> str:
    if ms is None:
        return "-"
    if ms < 1000:
        return f"{ms:,.0f} ms"
    if ms < 120_000:
        return f"{ms / 1000:,.1f} s"
    return f"{ms / 60_000:,.1f} min"


def share_text(part: float, whole: float) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def charts_of(periods: Sequence[Period], all_figures: AllFigures) -> list[Chart]:
    """Draw the charts. `all_figures` are the figures of each period."""
    labels = [period.name for period in periods]
    first = [figures.first for figures in all_figures]
    total = [figures.total for figures in all_figures]
    return [
        Chart(wording("Runs"), _runs(all_figures), labels, count_text),
        Chart(wording("Tokens"), _tokens(all_figures), labels, count_text),
        Chart(wording("Cost"), _cost(all_figures), labels, dollars, note=_cost_note(all_figures)),
        Chart(wording("Time to the first word"), _times(first), labels, time_text, is_lines=True),
        Chart(wording("Time of the whole run"), _times(total), labels, time_text, is_lines=True),
        Chart(wording("Tool calls"), _calls(all_figures), labels, count_text),
    ]


def _runs(all_figures: AllFigures) -> list[Series]:
    return [
        _series(wording("ended well"), "good", all_figures, Figures.ended, WELL),
        _series(wording("cancelled or ongoing"), "quiet", all_figures, Figures.ended, NEITHER),
        _series(wording("failed"), "bad", all_figures, Figures.ended_otherwise, NOT_FAILED),
    ]


def _tokens(all_figures: AllFigures) -> list[Series]:
    return [
        _series(wording("read"), "a", all_figures, Figures.used, TOKENS_IN),
        _series(wording("written"), "b", all_figures, Figures.used, TOKENS_OUT),
    ]


def _cost(all_figures: AllFigures) -> list[Series]:
    return [_series(wording("US dollars"), "a", all_figures, Figures.used, DOLLARS)]


def _cost_note(all_figures: AllFigures) -> str:
    unpriced = sum(figures.used(UNPRICED) for figures in all_figures)
    if not unpriced:
        return ""
    return fill(_("Without {number} runs whose price is not known."), number=count_text(unpriced))


def _times(counts: Sequence[Counter[int]]) -> list[Series]:
    return [
        _series("p50", "a", counts, percentile, 0.5),
        _series("p95", "b", counts, percentile, 0.95),
    ]


def _calls(all_figures: AllFigures) -> list[Series]:
    return [
        _series(wording("success"), "good", all_figures, Figures.calls, SUCCESS),
        _series(wording("denied"), "quiet", all_figures, Figures.calls, DENIED),
        _series(wording("failed"), "bad", all_figures, Figures.calls, FAILED),
    ]


def _series(
    name: Words,
    kind: str,
    all_figures: Sequence[Any],
    measure: Callable[[Any, Any], float | None],
    what: Any,
) -> Series:
    return Series(name, kind, [measure(figures, what) for figures in all_figures])


def tiles_of(whole: Figures) -> list[tuple[Words, str]]:
    """List the names and the values of the tiles."""
    runs = whole.endings.total()
    calls = sum(sum(numbers) for numbers in whole.tools.values())
    tokens = whole.used(TOKENS_IN) + whole.used(TOKENS_OUT)
    return [
        (wording("Runs"), f"{runs:,}"),
        (wording("Failed"), share_text(whole.ended_otherwise(NOT_FAILED), runs)),
        (wording("Tokens"), count_text(tokens)),
        _cost_tile(whole),
        (wording("First word, p50"), time_text(percentile(whole.first, 0.5))),
        (wording("First word, p95"), time_text(percentile(whole.first, 0.95))),
        (wording("Whole run, p50"), time_text(percentile(whole.total, 0.5))),
        (wording("Whole run, p95"), time_text(percentile(whole.total, 0.95))),
        (wording("Tool calls"), f"{calls:,}"),
        (wording("Tool calls failed"), share_text(whole.calls(FAILED), calls)),
    ]


def _cost_tile(whole: Figures) -> tuple[Words, str]:
    cost = whole.used(DOLLARS)
    if not whole.used(UNPRICED):
        return wording("Cost"), dollars(cost)
    # If no run has a known price, $0.00 would be wrong.
    if whole.endings.total() and not cost:
        return wording("Cost"), "-"
    return wording("Cost, at least"), dollars(cost)


def tables_of(whole: Figures, users: Rows | None) -> list[dict[str, Any]]:
    """List the tables. `users` are the rows of those who spent most, if the viewer may see them."""
    tables = [
        _table(
            wording("Errors"),
            [wording("ending"), wording("runs"), wording("of all")],
            _error_rows(whole),
        ),
        _table(wording("Models"), MODEL_HEAD, _model_rows(whole)),
        _table(
            wording("Tools"),
            [wording("tool"), wording("calls"), wording("failed"), wording("denied")],
            _tool_rows(whole),
        ),
    ]
    if users is not None:
        head = [wording("user"), wording("tokens"), wording("cost")]
        tables.append(_table(wording("Users who spent most"), head, users))
    return tables


def _table(title: Words, head: Sequence[Words], rows: Rows) -> dict[str, Any]:
    return {
        "title": title,
        "head": head,
        "rows": rows[:MAX_ROWS],
    }


def _error_rows(whole: Figures) -> Rows:
    runs = whole.endings.total()
    rows = []
    for ending, number in whole.endings.most_common():
        status, _, code = ending.partition(":")
        if status in NOT_FAILED:
            continue
        row = [
            _ending(status, code),
            f"{number:,}",
            share_text(number, runs),
        ]
        rows.append(row)
    return rows


def _ending(status: str, code: str) -> str:
    labels = dict(Run.Status.choices)
    label = str(labels.get(status, status))
    return f"{label}: {code}" if code else label


def _model_rows(whole: Figures) -> Rows:
    rows = []
    models = whole.models
    for model in sorted(models, key=lambda model: -models[model][RUNS]):
        runs, tokens_in, tokens_out, dollars_known, unpriced = models[model]
        cost = dollars(dollars_known)
        if unpriced >= runs:
            cost = "-"
        elif unpriced:
            cost = fill(wording("{amount} and more"), amount=cost)
        row = [
            model or "-",
            f"{runs:,.0f}",
            count_text(tokens_in),
            count_text(tokens_out),
            cost,
        ]
        rows.append(row)
    return rows


def _tool_rows(whole: Figures) -> Rows:
    rows = []
    tools = whole.tools
    for tool in sorted(tools, key=lambda tool: -sum(tools[tool])):
        calls = tools[tool]
        number = sum(calls)
        row = [
            tool,
            f"{number:,}",
            share_text(calls[FAILED], number),
            share_text(calls[DENIED], number),
        ]
        rows.append(row)
    return rows
