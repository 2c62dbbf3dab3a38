"""Charts that the page draws while an `async` tool works, in one line each.

A tool of prices:

    await show_chart(
        ctx, "Prices", labels=["Mon", "Tue"], series={"Trains": [89.9, 42.0]}, type="line", unit="€"
    )
"""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from pydantic_ai import RunContext

from agui.deps import AgentDeps
from agui.events.activities import show_titled

ChartType = Literal["bar", "stacked", "line", "area", "pie", "donut"]


async def show_chart(
    ctx: RunContext[AgentDeps],
    title: str,
    *,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    type: ChartType = "bar",
    unit: str = "",
) -> None:
    """Draw numbers, one series for each name; None is a gap.

    Raises ValueError for an unknown type, or for a series that has not one value for each label.
    """
    if type not in get_args(ChartType):
        types = ", ".join(get_args(ChartType))
        raise ValueError(f"There is no chart of type {type!r}: use one of {types}.")
    listed = []
    for name, values in series.items():
        if len(values) != len(labels):
            raise ValueError(
                f"The series {name!r} has {len(values)} values for {len(labels)} labels: "
                "give one each."
            )
        listed.append({"name": name, "values": list(values)})
    chart = {"title": title, "type": type, "labels": list(labels), "series": listed, "unit": unit}
    # An empty title or unit is left out.
    await show_titled(ctx, "chart", {key: value for key, value in chart.items() if value != ""})
