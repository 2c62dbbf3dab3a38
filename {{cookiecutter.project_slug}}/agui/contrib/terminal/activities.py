"""What tools show beside their results: plans, tables and charts, as far as a terminal can draw them."""

import json
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from agui.contrib.terminal.printable import one_line, printable

MARKS = {"done": "✓", "running": "…", "failed": "✗"}
BAR_CELLS = 20
MAX_ROWS = 100
LARGEST = 1e100  # of what is drawn as a bar; not a number is beyond it, too


def draw(kind: str, content: Any) -> RenderableType:
    """Draw an activity by its type; one of an unknown form as JSON."""
    match kind, content:
        case "plan", {"steps": [*steps]} if all(isinstance(step, dict) for step in steps):
            lines = [
                f"{MARKS.get(str(step.get('status')), '·')} {one_line(step.get('title', ''))}"
                for step in steps
            ]
            return Text("\n".join([_title(content), *lines]))
        case "table", {"columns": [*columns], "rows": [*rows]} if all(
            isinstance(row, list) for row in rows
        ):
            return _table(_title(content), columns, [[_cell(cell) for cell in row] for row in rows])
        case "chart", {"labels": [*labels], "series": [*series]} if all(
            _is_series(one) for one in series
        ):
            return _chart(content, labels, series)
    return Text(printable(json.dumps(content, indent=2, ensure_ascii=False)))


def _title(content: dict[str, Any]) -> str:
    return one_line(content.get("title", ""))


def _cell(value: Any) -> str:
    return "" if value is None else one_line(value)


def _is_series(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("values"), list)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or not -LARGEST <= value <= LARGEST:
        return None
    return float(value)


def _table(title: str, columns: list[Any], rows: list[list[str]]) -> Table:
    table = Table(title=Text(title), title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(Text(_cell(column)), overflow="fold")
    for row in rows[:MAX_ROWS]:
        table.add_row(*(Text(cell) for cell in row[: len(columns)]))
    if len(rows) > MAX_ROWS:
        table.caption = Text(f"{len(rows) - MAX_ROWS} more rows")
    return table


def _chart(content: dict[str, Any], labels: list[Any], series: list[dict[str, Any]]) -> Table:
    """A row for each label, a bar for each value."""
    unit = f" {one_line(content['unit'])}" if content.get("unit") else ""
    numbers = [
        number
        for one in series
        for value in one["values"]
        if (number := _number(value)) is not None
    ]
    largest = max(map(abs, numbers), default=0) or 1

    def bar(values: list[Any], row: int) -> str:
        value = values[row] if row < len(values) else None
        if (number := _number(value)) is None:
            return _cell(value)
        return f"{'█' * round(abs(number) / largest * BAR_CELLS)} {number:g}{unit}".strip()

    rows = [
        [_cell(label), *(bar(one["values"], row) for one in series)]
        for row, label in enumerate(labels)
    ]
    return _table(_title(content), ["", *(one.get("name", "") for one in series)], rows)
