"""Plans, tables and charts that the page draws while an `async` tool works, in one line each.

    await show_plan(ctx, "Trip", {"Search": "done", "Book": "running", "Pay": "pending"})
    await show_table(ctx, "Trains", [{"train": "FR 9631", "price": 89.9}])
    await show_chart(
        ctx, "Prices", labels=["Mon", "Tue"], series={"Trains": [89.9, 42.0]}, type="line", unit="€"
    )

If a tool call shows the same title again, that replaces what it has shown; other titles stand side
by side. `show_activity` shows anything else.
"""

import hashlib
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
    """Show a checklist: the steps of the work, and how far it is."""
    listed = [{"title": name, "status": status} for name, status in steps.items()]
    await _show(ctx, "plan", {"title": title, "steps": listed})


async def show_table(
    ctx: RunContext[AgentDeps], title: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Show rows; the columns are their keys."""
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    cells = [[row.get(column) for column in columns] for row in rows]
    await _show(ctx, "table", {"title": title, "columns": list(columns), "rows": cells})


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
    await _show(ctx, "chart", {key: value for key, value in chart.items() if value != ""})


async def _show(ctx: RunContext[AgentDeps], activity_type: str, content: dict[str, Any]) -> None:
    title = str(content.get("title", ""))
    digest = hashlib.sha256(title.encode(errors="replace")).hexdigest()[:12]
    message_id = f"{activity_type}-{ctx.tool_call_id}-{digest}"
    await show_activity(ctx, activity_type, content, message_id=message_id)
