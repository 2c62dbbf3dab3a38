"""A page of figures about runs in the admin."""

import asyncio
import contextvars
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from agui import clock
from agui.part_values import Outdated
from agui.parts import Part
from agui.sentences import wording
from agui.tenants import current_tenant, working_for

# The answer comes first: a user is waiting for it.
DELAY_SECONDS = 5


class DashboardConfig(Part):
    name = "agui.contrib.dashboard"
    label = "agui_dashboard"
    verbose_name = wording("Agent: dashboard")
    needs = ("agui.contrib.admin",)

    hours: ClassVar[dict[str | None, int]] = {}
    """The hour of the last count for each tenant, since the epoch."""
    counting: asyncio.Task[None] | None = None

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        """Count the past hours beside the first run of each hour."""
        hour = int(clock.timestamp() // 3600)
        tenant = current_tenant()
        if hour != self.hours.get(tenant):
            self.hours[tenant] = hour
            loop = asyncio.get_running_loop()
            # The empty context keeps the run's trace and log fields out of the count.
            loop.call_later(DELAY_SECONDS, self.count, tenant, context=contextvars.Context())
        return super().run_context(run)

    def count(self, tenant: str | None) -> None:
        from agui.blocking.executor import run_in_thread
        from agui.contrib.dashboard.rollup import try_to_roll_up

        # The pool has a thread for this alone: after a long pause there is much to count.
        counting = run_in_thread(try_to_roll_up, pool="figures")
        with working_for(tenant):
            self.counting = asyncio.get_running_loop().create_task(counting)

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        """Count the runs before they are deleted. Each count deletes the part's own old rows."""
        from agui.contrib.dashboard.rollup import roll_up

        if not dry_run:
            roll_up()
        return ()
