"""Spreadsheets: each sheet as a table of the values that its cells show."""

from datetime import date, datetime, time, timedelta
from io import BytesIO
from typing import Any

from python_calamine import CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

from agui.contrib.office.convert import CUT, MAX_TEXT_CHARACTERS, TooLarge

MAX_SHEETS = 500
MAX_CELLS = 5_000_000


def read(data: bytes, media_type: str) -> str:
    book = CalamineWorkbook.from_filelike(BytesIO(data))
    if len(book.sheets_metadata) > MAX_SHEETS:
        raise TooLarge(f"{len(book.sheets_metadata)} sheets")
    texts = []
    room = MAX_TEXT_CHARACTERS
    for sheet in book.sheets_metadata:
        if sheet.typ != SheetTypeEnum.WorkSheet:
            continue
        hidden = "" if sheet.visible == SheetVisibleEnum.Visible else " (a hidden sheet)"
        text = f"## {sheet.name}{hidden}\n\n{_table(book.get_sheet_by_name(sheet.name), room)}"
        texts.append(text)
        room -= len(text)
        if room <= 0:
            break
    return "\n\n".join(texts)


def _table(sheet: Any, room: int) -> str:
    """Write the rows as a table. Rows without a value stand once, however many follow."""
    lines: list[str] = []
    cells = 0
    was_empty = True
    for row in sheet.iter_rows():
        values = [_value(cell) for cell in row]
        cells += len(values)
        is_empty = not any(values)
        if is_empty and was_empty:
            continue
        was_empty = is_empty
        line = f"| {' | '.join(values)} |"
        lines.append(line)
        if len(lines) == 1:
            lines.append("|" + " --- |" * len(values))
        room -= len(line)
        if room <= 0 or cells > MAX_CELLS:
            return "\n".join(lines) + CUT
    return "\n".join(lines)


def _value(cell: Any) -> str:
    """Write a value as people read it."""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, float):
        return f"{cell:.15g}"
    if isinstance(cell, datetime):
        return cell.isoformat(" ", "seconds").removesuffix(" 00:00:00").removesuffix(":00")
    if isinstance(cell, timedelta):
        minutes, seconds = divmod(int(cell.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    if isinstance(cell, date | time):
        return cell.isoformat()
    return " ".join(str(cell).replace("|", "\\|").split())
