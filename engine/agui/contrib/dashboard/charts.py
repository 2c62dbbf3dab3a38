"""Charts as SVG that the server draws: bars and lines, in a box that stretches with the page.

The SVG has only shapes, so that no text is stretched with it: scales, legends and tables are HTML
around it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any

from django.utils.functional import Promise

WIDTH, HEIGHT = 1000, 200
GAP = 0.18
"""The part of a bar's width that stays empty."""
STEPS = (1, 2, 3, 4, 6, 8, 10)

Write = Callable[[float], str]
"""Writes a number as people read it."""
Shape = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """Numbers of one kind, one for each label; None if there is no number."""

    name: str | Promise
    kind: str
    """Names its colour in dashboard.css."""
    values: Sequence[float | None]


@dataclass
class Chart:
    """The data with which a template draws a chart."""

    title: str | Promise
    series: Sequence[Series]
    labels: Sequence[str]
    """The names of the bars, or of the points of a line, from left to right."""
    write: Write
    is_lines: bool = False
    note: str = ""
    shapes: list[Shape] = field(init=False)
    scale: list[str] = field(init=False)
    """The numbers at the side, from top to bottom."""

    def __post_init__(self) -> None:
        top = self._top()
        self.scale = [
            self.write(top),
            self.write(top / 2),
            self.write(0),
        ]
        if self.is_lines:
            self.shapes = self._lines(top)
        else:
            self.shapes = self._bars(top)

    @property
    def is_empty(self) -> bool:
        return not any(any(series.values) for series in self.series)

    @property
    def marks(self) -> list[str]:
        """The labels below the chart: the first, the middle and the last."""
        middle = len(self.labels) // 2
        return [
            self.labels[0],
            self.labels[middle],
            self.labels[-1],
        ]

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The same numbers as a table, the newest first."""
        rows = []
        for index, label in enumerate(self.labels):
            cells = []
            for series in self.series:
                value = series.values[index]
                if value is None:
                    cells.append("-")
                else:
                    cells.append(self.write(value))
            rows.append((label, cells))
        rows.reverse()
        return rows

    def _top(self) -> float:
        """Return the number at the upper end of the scale."""
        # Bars are stacked, and lines are not.
        merge = max if self.is_lines else sum
        highest = 0.0
        for index in range(len(self.labels)):
            highest = max(highest, merge(series.values[index] or 0 for series in self.series))
        return nice(highest)

    def _about(self, index: int) -> str:
        cells = []
        for series in self.series:
            value = series.values[index]
            if value is not None:
                cells.append(f"{series.name} {self.write(value)}")
        return f"{self.labels[index]}: {', '.join(cells)}"

    def _bars(self, top: float) -> list[Shape]:
        step = WIDTH / len(self.labels)
        shapes = []
        for index in range(len(self.labels)):
            bars = self._stack(index, top)
            if not bars:
                continue
            shape = {
                "about": self._about(index),
                "x": _short((index + GAP / 2) * step),
                "width": _short(step * (1 - GAP)),
                "bars": bars,
            }
            shapes.append(shape)
        return shapes

    def _stack(self, index: int, top: float) -> list[Shape]:
        """Stack the values of all series, the first one at the bottom."""
        y = float(HEIGHT)
        bars = []
        for series in self.series:
            height = (series.values[index] or 0) / top * HEIGHT
            if not height:
                continue
            y -= height
            bar = {
                "kind": series.kind,
                "y": _short(y),
                "height": _short(height),
            }
            bars.append(bar)
        return bars

    def _lines(self, top: float) -> list[Shape]:
        shapes = []
        for series in self.series:
            path, dots = self._line(series, top)
            if not path:
                continue
            shape = {
                "kind": series.kind,
                "about": series.name,
                "path": path,
                "dots": dots,
            }
            shapes.append(shape)
        return shapes

    def _line(self, series: Series, top: float) -> tuple[str, str]:
        """Draw a line with gaps where values are missing, and a dot for each value."""
        step = WIDTH / len(self.labels)
        path, dots = "", ""
        command = "M"
        for index, value in enumerate(series.values):
            if value is None:
                command = "M"
                continue
            x = _short((index + 0.5) * step)
            y = _short(HEIGHT - value / top * HEIGHT)
            point = f"{x} {y}"
            path += f"{command}{point}"
            dots += f"M{point}h0"
            command = "L"
        return path, dots


def nice(value: float) -> float:
    """Return the next number up that is easy to halve and to read."""
    if value <= 0:
        return 1
    power = 10 ** floor(log10(value))
    least = value * 0.999999
    return next(step * power for step in STEPS if step * power >= least)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
