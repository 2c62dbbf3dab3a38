"""Execute the runs that the web processes order, with AGUI["DURABLE"]["RUN_EXECUTOR"] = "dbos"."""

import asyncio
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from agui import conf
from agui.contrib.durable.conf import DurableSettings
from agui.server.warm_up import import_agents


class Command(BaseCommand):
    help = (
        "Execute runs of the agent until SIGTERM. "
        "Start as many as you need; each takes over the runs of dead ones."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if not conf.part(DurableSettings).is_on:
            raise CommandError(
                "RUN_EXECUTOR is not 'dbos': the web processes execute the runs themselves."
            )
        from agui.contrib.durable.worker import work

        import_agents()
        asyncio.run(work())
