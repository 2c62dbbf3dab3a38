"""How the agent has to behave: `make eval` plays the cases here (agent.md of the manual)."""

from typing import Any

from django.contrib.auth.models import Permission

from assistant.models import Task


def prepare(user: Any, given: dict[str, Any]) -> None:
    """Create the data of a case before its user says anything."""
    for name in given.get("permissions", ()):
        app_label, _, codename = name.partition(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app_label, codename=codename)
        )
    if given.get("staff"):
        user.is_staff = True
        user.save(update_fields=["is_staff"])
    Task.objects.bulk_create(Task(owner=user, **task) for task in given.get("tasks", ()))
