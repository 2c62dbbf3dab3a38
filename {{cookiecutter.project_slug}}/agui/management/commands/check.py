"""Django's `check`, which also looks at the agent: other commands don't wait for it."""

from typing import Any

from django.core.management.commands import check

from agui.discovery import discover


class Command(check.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        discover()
        super().handle(*args, **options)
