"""Django's `check`, which also checks the agents. Other commands don't wait for their import."""

from typing import Any

from django.core.management.commands import check

from agui.server.warm_up import import_agents


class Command(check.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        import_agents()
        super().handle(*args, **options)
