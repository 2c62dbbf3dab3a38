"""What the assistant can do. Edit this file first.

A tool is a function. Its type hints say what the model has to send, and its docstring tells the
model what the tool is for. `ctx` is optional, and the model never sees it: `ctx.deps.user` is the
user who asks, `ctx.deps.state` the state that the page and the tools share. A tool acts as that
user, so every query here starts from `tasks_of(ctx)`.
"""

from typing import Annotated, Any

from django.db.models import Count, Q, QuerySet
from pydantic import BaseModel, Field
from pydantic_ai import ModelRetry, RunContext

from agui import AgentDeps, ToolRegistry, show_chart, tool
from assistant.models import Task

registry = ToolRegistry()


class TaskState(BaseModel):
    """What a conversation remembers besides its messages; the page receives each change."""

    category: str = ""


def tasks_of(ctx: RunContext[AgentDeps]) -> QuerySet[Task]:
    return Task.objects.filter(owner=ctx.deps.user)


def counts_of(ctx: RunContext[AgentDeps]) -> QuerySet[Task, Any]:
    open_and_finished = {
        "open": Count("pk", filter=Q(done=False)),
        "finished": Count("pk", filter=Q(done=True)),
    }
    return tasks_of(ctx).order_by("category").values("category").annotate(**open_and_finished)


def as_json(task: Task) -> dict[str, Any]:
    return {"id": task.pk, "title": task.title, "category": task.category, "done": task.done}


@tool(registry, read_only=True)
def list_tasks(ctx: RunContext[AgentDeps], include_done: bool = False) -> list[dict[str, Any]]:
    """List the user's tasks, in the category in focus if there is one.

    Args:
        include_done: Also list the tasks that are finished.
    """
    tasks = tasks_of(ctx)
    if not include_done:
        tasks = tasks.filter(done=False)
    if category := ctx.deps.state.category:
        tasks = tasks.filter(category__iexact=category)
    return [as_json(task) for task in tasks[:100]]


@tool(registry)
def add_task(
    ctx: RunContext[AgentDeps],
    title: Annotated[str, Field(min_length=1, max_length=200)],
    category: Annotated[str, Field(max_length=50)] = "",
) -> dict[str, Any]:
    """Add a task to the user's list.

    Args:
        title: What the user wants to do, in a few words.
        category: One word, such as work or home. Leave it out for the category in focus.
    """
    category = category or ctx.deps.state.category or "general"
    return as_json(Task.objects.create(owner=ctx.deps.user, title=title, category=category))


@tool(registry)
def complete_task(ctx: RunContext[AgentDeps], task_id: int) -> str:
    """Mark one of the user's tasks as done.

    Args:
        task_id: The id of the task, as list_tasks shows it.
    """
    task = tasks_of(ctx).filter(pk=task_id).first()
    if task is None:
        # The model reads this and tries again.
        raise ModelRetry(f"There is no task {task_id}. Find the id with list_tasks.")
    task.done = True
    task.save(update_fields=["done"])
    return f"Done: {task.title}"


# Before a destructive tool, the run pauses and asks `confirm`. The tool runs if the user agrees.
@tool(registry, destructive=True, confirm="Delete all your finished tasks? They can't be restored.")
def delete_finished_tasks(ctx: RunContext[AgentDeps]) -> str:
    """Delete the user's finished tasks for good."""
    count, _ = tasks_of(ctx).filter(done=True).delete()
    return f"Deleted {count} finished tasks."


@tool(registry, read_only=True)
def summarize_tasks(ctx: RunContext[AgentDeps]) -> dict[str, dict[str, int]]:
    """Count the user's open and finished tasks in each category."""
    return {
        row["category"]: {"open": row["open"], "finished": row["finished"]}
        for row in counts_of(ctx)
    }


# A coroutine function is fine, too, and can show the page something. It may await, but must not
# block. Functions like those above run in threads.
@tool(registry, read_only=True)
async def chart_tasks(ctx: RunContext[AgentDeps]) -> str:
    """Draw a chart of the user's tasks: how many are open and finished in each category."""
    rows = [row async for row in counts_of(ctx)]
    if not rows:
        return "There is nothing to draw: the user has no tasks yet."
    series = {"Open": [row["open"] for row in rows], "Finished": [row["finished"] for row in rows]}
    await show_chart(
        ctx, "Your tasks", labels=[row["category"] for row in rows], series=series, type="stacked"
    )
    return "The user sees the chart."


@tool(registry, summary="Focus on a category")
async def focus_on(
    ctx: RunContext[AgentDeps], category: Annotated[str, Field(max_length=50)] = ""
) -> str:
    """Bring one category of tasks into focus for the rest of the conversation.

    Args:
        category: The category to work on. Leave it out to see all tasks again.
    """
    ctx.deps.state.category = category
    return f"The focus is on {category}." if category else "The focus is on all tasks."
