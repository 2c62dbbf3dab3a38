"""What the page draws of a tool's work, in one line each: a plan, a table, a chart.

    await show_plan(ctx, "Trip", {"Search": "done", "Book": "running", "Pay": "pending"})
    await show_table(ctx, "Trains", [{"train": "FR 9631", "price": 89.9}])
    await show_chart(ctx, "Prices", labels=["Mon", "Tue"], series={"Trains": [89.9, 42.0]}, type="line", unit="€")

For `async` tools. Called again in the same call of a tool, each changes what it has shown.
`show_activity` shows anything else.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic_ai import RunContext

from agui.deps import AgentDeps
from agui.events.progress import show_activity

StepStatus = Literal["pending", "running", "done", "failed"]
ChartType = Literal["bar", "stacked", "line", "area", "pie", "donut"]


async def show_plan(
    ctx: RunContext[AgentDeps], title: str, steps: Mapping[str, StepStatus]
) -> None:
    """Show a checklist: what is to be done, and how far it is."""
    listed = [{"title": name, "status": status} for name, status in steps.items()]
    await show_activity(ctx, "plan", {"title": title, "steps": listed})


async def show_table(
    ctx: RunContext[AgentDeps], title: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Show rows; the columns are their keys."""
    columns = list(dict.fromkeys(key for row in rows for key in row))
    cells = [[row.get(column) for column in columns] for row in rows]
    await show_activity(ctx, "table", {"title": title, "columns": columns, "rows": cells})


async def show_chart(
    ctx: RunContext[AgentDeps],
    title: str,
    *,
    labels: Sequence[str],
    series: Mapping[str, Sequence[float | None]],
    type: ChartType = "bar",
    unit: str = "",
) -> None:
    """Draw numbers, one series for each name. None is a gap. Raises ValueError for what can't be drawn."""
    if type not in get_args(ChartType):
        raise ValueError(
            f"There is no chart of type {type!r}: use one of {', '.join(get_args(ChartType))}."
        )
    for name, values in series.items():
        if len(values) != len(labels):
            raise ValueError(
                f"The series {name!r} has {len(values)} values for {len(labels)} labels: give one each."
            )
    told = [{"name": name, "values": list(values)} for name, values in series.items()]
    chart = {"title": title, "type": type, "labels": list(labels), "series": told, "unit": unit}
    await show_activity(ctx, "chart", {key: value for key, value in chart.items() if value != ""})
