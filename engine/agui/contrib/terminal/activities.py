"""Draw plans, tables, charts, documents and cards of tools in a terminal."""

import json
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from agui.contrib.terminal.markdown import Block
from agui.contrib.terminal.printable import one_line, printable

MARKS = {"done": "✓", "running": "…", "failed": "✗"}
BAR_CELLS = 20
MAX_ROWS = 100
# Larger numbers, infinity and NaN have no bar.
LARGEST = 1e100


def draw(kind: str, content: Any) -> RenderableType:
    """Draw an activity by its type; one of an unknown form as JSON."""
    match kind, content:
        case "plan", {"steps": [*steps]} if _are_all(dict, steps):
            return _plan(_title(content), steps)
        case "table", {"columns": [*columns], "rows": [*rows]} if _are_all(list, rows):
            return _table(_title(content), columns, rows)
        case "chart", {"labels": [*labels], "series": [*series]} if all(map(_is_series, series)):
            return _chart(content, labels, series)
        case "document", {"kind": "table", "columns": [*columns], "rows": [*rows]} if _are_all(
            list, rows
        ):
            return _table(_title(content), columns, rows)
        case "document", {"kind": "markdown" | "code", "text": [*pieces]} if _are_all(str, pieces):
            return _text(content, printable("".join(pieces)))
        case "document", {"kind": "image" | "page", "path": str() as path}:
            return Group(_heading(content), Text(one_line(path)))
        case "view" | "mcp-apps", {"text": str() as text}:
            return Text(printable(text))
    return Text(printable(json.dumps(content, indent=2, ensure_ascii=False)))


def _text(content: dict[str, Any], text: str) -> RenderableType:
    body = Block(text) if content["kind"] == "markdown" else Text(text)
    return Group(_heading(content), body)


def _heading(content: dict[str, Any]) -> Text:
    return Text(_title(content) or one_line(content.get("id", "")), style="bold underline")


def _are_all(kind: type, values: list[Any]) -> bool:
    return all(isinstance(value, kind) for value in values)


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


def _plan(title: str, steps: list[dict[str, Any]]) -> Text:
    lines = [title]
    for step in steps:
        mark = MARKS.get(str(step.get("status")), "·")
        lines.append(f"{mark} {one_line(step.get('title', ''))}")
    return Text("\n".join(lines))


def _table(title: str, columns: list[Any], rows: list[list[Any]]) -> Table:
    table = Table(title=Text(title), title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(Text(_cell(column)), overflow="fold")
    for row in rows[:MAX_ROWS]:
        table.add_row(*(Text(_cell(cell)) for cell in row[: len(columns)]))
    if len(rows) > MAX_ROWS:
        table.caption = Text(f"{len(rows) - MAX_ROWS} more rows")
    return table


def _chart(content: dict[str, Any], labels: list[Any], series: list[dict[str, Any]]) -> Table:
    """A row for each label, a bar for each value."""
    unit = f" {one_line(content['unit'])}" if content.get("unit") else ""
    columns = [""]
    largest = 0.0
    for line in series:
        columns.append(line.get("name", ""))
        for value in line["values"]:
            largest = max(largest, abs(_number(value) or 0))
    rows = []
    for index, label in enumerate(labels):
        row = [label]
        for line in series:
            value = line["values"][index] if index < len(line["values"]) else None
            row.append(_bar(value, largest or 1, unit))
        rows.append(row)
    return _table(_title(content), columns, rows)


def _bar(value: Any, largest: float, unit: str) -> str:
    number = _number(value)
    if number is None:
        return _cell(value)
    cells = round(abs(number) / largest * BAR_CELLS)
    return f"{'█' * cells} {number:g}{unit}".strip()
