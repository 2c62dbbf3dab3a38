"""A page of figures in the admin: how many runs, how they ended, what they used, how long they took."""

import asyncio
import contextvars
import time
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

from agui.parts import Outdated, Part

# The answer that a user waits for comes first.
DELAY_SECONDS = 5


class DashboardConfig(Part):
    name = "agui.contrib.dashboard"
    label = "agui_dashboard"
    verbose_name = "Agent: dashboard"

    hour = 0
    """The hour of the last count, since the epoch."""
    counting: asyncio.Task[None] | None = None

    def run_context(self, run: Any) -> AbstractContextManager[Any]:
        """Let the first run of each hour have the hours counted that are over."""
        if (hour := int(time.time() // 3600)) != self.hour:
            self.hour = hour
            asyncio.get_running_loop().call_later(
                DELAY_SECONDS, self.count, context=contextvars.Context()
            )
        return super().run_context(run)

    def count(self) -> None:
        from agui.blocking.executor import run_in_thread
        from agui.contrib.dashboard.rollup import keep_up

        # On a thread of its own: after a long pause there is much to count.
        self.counting = asyncio.get_running_loop().create_task(
            run_in_thread(keep_up, pool="figures")
        )

    def prune(self, dry_run: bool) -> Iterable[Outdated]:
        """Count the runs before they go. Old rows of its own go with each count."""
        from agui.contrib.dashboard.rollup import roll_up

        if not dry_run:
            roll_up()
        return ()
