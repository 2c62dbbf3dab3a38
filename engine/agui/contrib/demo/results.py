"""The offline demo model's answers to the results of its tool calls, as Markdown."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic_ai.messages import BinaryContent, ToolReturnPart

from agui.contrib.demo.schemas import UNREADABLE

MAX_CHARS = 2000
MAX_ROWS = 20
MAX_CELL_CHARS = 200

ENDINGS = {
    "denied": "did not run, because it was declined.",
    "failed": "failed:",
    "retried": "refused:",
    "interrupted": "was interrupted:",
}


def explain(part: ToolReturnPart) -> str:
    """Say how a tool call ended, as Markdown."""
    name = f"`{part.tool_name}`"
    content = part.model_response_str(wrap_if_error=False)[: 10 * MAX_CHARS]
    if part.outcome in ENDINGS:
        return f"{name} {ENDINGS[part.outcome]} {content}"
    if isinstance(part.content, BinaryContent):
        media_type = part.content.media_type
        return f"{name} returned a file, which this demo can't look into ({media_type})."
    try:
        value = json.loads(content)
    except UNREADABLE:
        value = content
    return f"{name} returned {_to_markdown(value)}"


def _to_markdown(value: Any) -> str:
    if value in (None, "", [], {}):
        return "nothing."
    if isinstance(value, str):
        return f"this:\n\n{value[:MAX_CHARS]}"
    if isinstance(value, dict):
        if not _are_objects(value.values()):
            return "this:\n\n" + "\n".join(f"- **{key}**: {_cell(value[key])}" for key in value)
        value = [{"": key, **item} for key, item in value.items()]
    if not isinstance(value, list):
        return f"`{_cell(value)}`"
    count = "1 entry" if len(value) == 1 else f"{len(value)} entries"
    text = f"{count}:\n\n{_rows(value[:MAX_ROWS])}"
    if len(value) > MAX_ROWS:
        text += f"\n\nand {len(value) - MAX_ROWS} more."
    return text


def _are_objects(values: Iterable[Any]) -> bool:
    return all(isinstance(value, dict) for value in values)


def _rows(rows: Sequence[Any]) -> str:
    if _are_objects(rows):
        return _table(rows)
    return "\n".join(f"- {_cell(row)}" for row in rows)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    lines = [_table_line(columns), _table_line(["---"] * len(columns))]
    for row in rows:
        lines.append(_table_line(map(row.get, columns)))
    return "\n".join(lines)


def _table_line(cells: Iterable[Any]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(value: Any) -> str:
    """Write a value on one line, so that it can't leave its table cell."""
    if value is None:
        return ""
    text = value
    if not isinstance(value, str):
        text = json.dumps(value, ensure_ascii=False)
    return " ".join(text.split()).replace("|", "\\|")[:MAX_CELL_CHARS]
