"""How the agent has to behave: the cases beside this file, played by `make eval` (docs/evals.md)."""

from typing import Any

from assistant.models import Task


def prepare(user: Any, given: dict[str, Any]) -> None:
    """Make what a case is given before its user says anything."""
    Task.objects.bulk_create(Task(owner=user, **task) for task in given.get("tasks", ()))
