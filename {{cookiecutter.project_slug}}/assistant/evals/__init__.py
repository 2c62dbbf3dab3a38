"""How the agent has to behave: `make eval` plays the cases beside this file (docs/evals.md)."""

from typing import Any

from assistant.models import Task


def prepare(user: Any, given: dict[str, Any]) -> None:
    """Create the data of a case before its user says anything."""
    Task.objects.bulk_create(Task(owner=user, **task) for task in given.get("tasks", ()))
