"""Charts as SVG that the server draws: bars and lines, in a box that stretches with the page.

Only shapes are in the SVG, so that no text is stretched with it: scales, legends and tables are
HTML around it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import floor, log10
from typing import Any

WIDTH, HEIGHT = 1000, 200
GAP = 0.18
"""How much of the place of a bar stays free."""
STEPS = (1, 2, 3, 4, 6, 8, 10)

Write = Callable[[float], str]
"""Writes a number as people read it."""


@dataclass(frozen=True)
class Series:
    """Numbers of one kind, one for each place; None where there is none."""

    name: str
    kind: str
    """Names its colour in dashboard.css."""
    values: Sequence[float | None]


@dataclass
class Chart:
    """What a template needs to show it."""

    title: str
    series: Sequence[Series]
    labels: Sequence[str]
    """What each place is called."""
    write: Write
    is_lines: bool = False
    note: str = ""
    shapes: list[dict[str, Any]] = field(init=False)
    scale: list[str] = field(init=False)
    """What is written at the side, from above."""

    def __post_init__(self) -> None:
        top = self._top()
        self.scale = [self.write(top), self.write(top / 2), self.write(0)]
        self.shapes = self._lines(top) if self.is_lines else self._bars(top)

    @property
    def is_empty(self) -> bool:
        return not any(value for series in self.series for value in series.values)

    @property
    def marks(self) -> list[str]:
        """What is written below: the first place, one in the middle, the last."""
        return [self.labels[0], self.labels[len(self.labels) // 2], self.labels[-1]]

    @property
    def rows(self) -> list[tuple[str, list[str]]]:
        """The same as a table, the newest first."""

        def cell(value: float | None) -> str:
            return "-" if value is None else self.write(value)

        columns = [[cell(value) for value in series.values] for series in self.series]
        rows = [
            (label, [column[place] for column in columns])
            for place, label in enumerate(self.labels)
        ]
        return rows[::-1]

    def _top(self) -> float:
        places = zip(*(series.values for series in self.series), strict=True)
        merge = max if self.is_lines else sum
        return nice(max((merge(value or 0 for value in place) for place in places), default=0))

    def _about(self, place: int) -> str:
        cells = (
            f"{series.name} {self.write(value)}"
            for series in self.series
            if (value := series.values[place]) is not None
        )
        return f"{self.labels[place]}: {', '.join(cells)}"

    def _bars(self, top: float) -> list[dict[str, Any]]:
        step = WIDTH / len(self.labels)
        shapes = []
        for place in range(len(self.labels)):
            y, bars = float(HEIGHT), []
            for series in self.series:
                height = (series.values[place] or 0) / top * HEIGHT
                y -= height
                if height:
                    bars.append({"kind": series.kind, "y": _short(y), "height": _short(height)})
            x, width = _short((place + GAP / 2) * step), _short(step * (1 - GAP))
            if bars:
                shapes.append({"about": self._about(place), "x": x, "width": width, "bars": bars})
        return shapes

    def _lines(self, top: float) -> list[dict[str, Any]]:
        step = WIDTH / len(self.labels)
        shapes = []
        for series in self.series:
            path, dots, is_drawn = "", "", False
            for place, value in enumerate(series.values):
                if value is not None:
                    at = f"{_short((place + 0.5) * step)} {_short(HEIGHT - value / top * HEIGHT)}"
                    path += f"{'L' if is_drawn else 'M'}{at}"
                    dots += f"M{at}h0"
                is_drawn = value is not None
            if path:
                shapes.append(
                    {"kind": series.kind, "about": series.name, "path": path, "dots": dots}
                )
        return shapes


def nice(value: float) -> float:
    """The next number up that is easily halved and read."""
    if value <= 0:
        return 1
    power = 10 ** floor(log10(value))
    return next(step * power for step in STEPS if step * power >= value * 0.999999)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")
