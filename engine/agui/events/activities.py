"""Plans and tables that the page draws while an `async` tool works, in one line each.

    await show_plan(ctx, "Trip", {"Search": "done", "Book": "running", "Pay": "pending"})
    await show_table(ctx, "Trains", [{"train": "FR 9631", "price": 89.9}])

If a tool call shows the same title again, that replaces what it has shown; other titles stand side
by side. `show_activity` shows anything else.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic_ai import RunContext

from agui.deps import AgentDeps
from agui.events.progress import show_activity

StepStatus = Literal["pending", "running", "done", "failed"]


async def show_plan(
    ctx: RunContext[AgentDeps], title: str, steps: Mapping[str, StepStatus]
) -> None:
    """Show a checklist: the steps of the work by name, and how far each of them is.

    The same title again in a tool call replaces the list.
    """
    listed = [{"title": name, "status": status} for name, status in steps.items()]
    await show_titled(ctx, "plan", {"title": title, "steps": listed})


async def show_table(
    ctx: RunContext[AgentDeps], title: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Show rows; the columns are their keys, and cells that a row lacks stay empty.

    The same title again in a tool call replaces the table.
    """
    await show_titled(ctx, "table", {"title": title, **as_table(rows)})


def as_table(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Arrange rows under the columns that are their keys, as the page reads a table."""
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    cells = [[row.get(column) for column in columns] for row in rows]
    return {"columns": list(columns), "rows": cells}


async def show_titled(
    ctx: RunContext[AgentDeps], activity_type: str, content: dict[str, Any]
) -> None:
    """Show an activity that replaces the one of its type and title in the same tool call."""
    title = str(content.get("title", ""))
    digest = hashlib.sha256(title.encode(errors="replace")).hexdigest()[:12]
    message_id = f"{activity_type}-{ctx.tool_call_id}-{digest}"
    await show_activity(ctx, activity_type, content, message_id=message_id)
