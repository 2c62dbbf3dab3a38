"""Django's `check`, which also looks at the agent: other commands don't wait for it."""

from typing import Any

from django.core.management.commands import check

from agui.server.warm_up import import_agents


class Command(check.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        import_agents()
        super().handle(*args, **options)
