"""Slides of PowerPoint, in their order, with the speaker's notes."""

from collections.abc import Iterable, Iterator
from html import escape
from io import BytesIO
from typing import Any

from pptx import Presentation

from agui.contrib.office.html_text import markdown_of


def read(data: bytes, media_type: str) -> str:
    slides = Presentation(BytesIO(data)).slides
    html = []
    for number, slide in enumerate(slides, 1):
        hidden = " (a hidden slide)" if slide._element.get("show") in ("0", "false") else ""
        title = slide.shapes.title
        words = f": {title.text_frame.text}" if title is not None and title.has_text_frame else ""
        html.append(f"<h2>Slide {number}{hidden}{escape(words)}</h2>")
        others = (shape for shape in slide.shapes if title is None or shape != title)
        html += _shapes(others)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            notes = slide.notes_slide.notes_text_frame.text.strip()
            if notes:
                html.append(f"<p>Notes: {_lines(notes)}</p>")
    return markdown_of("".join(html))


def _shapes(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield _table(shape.table)
        elif getattr(shape, "has_chart", False):
            yield _chart(shape.chart)
        elif shape.has_text_frame:
            yield from _paragraphs(shape.text_frame)
        else:
            description = shape._element._nvXxPr.cNvPr.get("descr") or ""
            yield f'<p><img alt="{escape(description)}"></p>'


def _paragraphs(frame: Any) -> Iterator[str]:
    for paragraph in frame.paragraphs:
        if paragraph.text.strip():
            yield f"<p>{_lines(paragraph.text)}</p>"


def _lines(text: str) -> str:
    return "<br>".join(map(escape, text.replace("\v", "\n").split("\n")))


def _table(table: Any) -> str:
    rows = []
    for row in table.rows:
        cells = []
        for cell in row.cells:
            text = "" if cell.is_spanned else escape(cell.text_frame.text)
            cells.append(f"<td>{text}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _chart(chart: Any) -> str:
    """Write the figures of a chart as a table: a row for each series."""
    title = chart.chart_title.text_frame.text if chart.has_title else ""
    rows = []
    for plot in chart.plots:
        heads = [title or "Chart", *map(str, plot.categories)]
        rows.append(heads)
        for series in plot.series:
            values = ["" if value is None else f"{value:.15g}" for value in series.values]
            rows.append([series.name, *values])
    cells = ("".join(f"<td>{escape(text)}</td>" for text in row) for row in rows)
    return f"<table><tr>{'</tr><tr>'.join(cells)}</tr></table>"
