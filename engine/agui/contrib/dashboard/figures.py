"""Figures of a span of time: how its runs ended, what they used, and how long they took."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

OUTCOMES = ("success", "failed", "denied")
SUCCESS, FAILED, DENIED = range(3)
"""Positions in the numbers of calls of a tool."""

RUNS, TOKENS_IN, TOKENS_OUT, DOLLARS, UNPRICED = range(5)
"""Positions in the amounts of a model."""

# Language models and MCP clients also call tools that don't exist, by names that they invent.
MAX_TOOLS = 100
OTHERS = "others"


@dataclass
class Figures:
    """The figures of a span of time."""

    endings: Counter[str] = field(default_factory=Counter)
    """Runs, by how they ended: a status, or "status:code"."""
    models: dict[str, list[float]] = field(default_factory=dict)
    """By model: runs, tokens in, tokens out, US dollars, runs without a known price."""
    first: Counter[int] = field(default_factory=Counter)
    """Runs, by the milliseconds to the first word, to two digits."""
    total: Counter[int] = field(default_factory=Counter)
    """Runs, by how many milliseconds they took."""
    tools: dict[str, list[int]] = field(default_factory=dict)
    """By tool: calls that succeeded, that failed, that were denied."""

    def add(self, other: "Figures") -> None:
        self.endings.update(other.endings)
        self.first.update(other.first)
        self.total.update(other.total)
        for model, amounts in other.models.items():
            self.add_to_model(model, amounts)
        for tool, calls in other.tools.items():
            self.add_to_tool(tool, calls)

    def add_to_model(self, model: str, amounts: Iterable[float]) -> None:
        sums = self.models.setdefault(model, [0] * 5)
        for position, amount in enumerate(amounts):
            sums[position] += amount

    def add_to_tool(self, tool: str, calls: Iterable[int]) -> None:
        sums = self.tools.setdefault(tool, [0] * len(OUTCOMES))
        for position, number in enumerate(calls):
            sums[position] += number

    def ended(self, statuses: Collection[str]) -> int:
        """Return the number of runs that ended with one of these statuses."""
        number = 0
        for ending, runs in self.endings.items():
            if ending.partition(":")[0] in statuses:
                number += runs
        return number

    def ended_otherwise(self, statuses: Collection[str]) -> int:
        """Return the number of runs that ended with none of these statuses."""
        return self.endings.total() - self.ended(statuses)

    def used(self, position: int) -> float:
        """Return an amount of all models together, as `figures.used(TOKENS_IN)`."""
        return sum(amounts[position] for amounts in self.models.values())

    def calls(self, position: int) -> int:
        """Return a number of calls of all tools together, as `figures.calls(FAILED)`."""
        return sum(calls[position] for calls in self.tools.values())

    def dump(self) -> dict[str, Any]:
        """Return the figures as JSON. Tools beyond MAX_TOOLS share one entry."""
        kept = Figures()
        by_calls = sorted(self.tools, key=lambda tool: -sum(self.tools[tool]))
        for tool in by_calls[:MAX_TOOLS]:
            kept.add_to_tool(tool, self.tools[tool])
        for tool in by_calls[MAX_TOOLS:]:
            kept.add_to_tool(OTHERS, self.tools[tool])
        return {**vars(self), "tools": kept.tools}

    @classmethod
    def load(cls, data: dict[str, Any]) -> "Figures":
        return cls(
            endings=Counter(data["endings"]),
            models=data["models"],
            first=_load_times(data["first"]),
            total=_load_times(data["total"]),
            tools=data["tools"],
        )


def _load_times(runs_by_ms: dict[str, int]) -> Counter[int]:
    return Counter({int(ms): runs for ms, runs in runs_by_ms.items()})


def total(parts: Iterable[Figures]) -> Figures:
    """Add up figures."""
    whole = Figures()
    for part in parts:
        whole.add(part)
    return whole


def percentile(counts: Counter[int], share: float) -> int | None:
    """Return the smallest value that this share of all values does not exceed."""
    remaining = share * counts.total()
    for value in sorted(counts):
        remaining -= counts[value]
        if remaining <= 0:
            return value
    return None
