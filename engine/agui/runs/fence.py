"""Check before each tool that the run still belongs to this process.

If a process is cut off from its database for long, others take it for dead, and one of them goes on
with its runs. When the process is back, it must not call tools a second time.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from agui import clock
from agui.blocking.executor import in_database
from agui.errors import RunFailed
from agui.models import Run
from agui.runs.life import DEAD_SECONDS
from agui.runs.processes import process_name
from agui.tools.registry import call_wrapper

# How long an answer of the database counts. It takes longer to take over a run.
GOOD_SECONDS = DEAD_SECONDS / 2


@dataclass
class Fence:
    """Stands between a run and its tools."""

    key: str

    async def call(self, tool: Callable[[], Awaitable[Any]]) -> Any:
        """Call a tool. Raises RunFailed if another process has the run."""
        asked_at = clock.monotonic()
        await in_database(self._check)
        # Ask again if the event loop was blocked, or the database is slow.
        while clock.monotonic() - asked_at > GOOD_SECONDS:
            asked_at = clock.monotonic()
            await in_database(self._check)
        begin = call_wrapper.get()

        def begin_if_ours(function: Callable[[], Any]) -> Any:
            # This runs in the tool's thread, for which the call may have waited for long.
            if clock.monotonic() - asked_at > GOOD_SECONDS:
                self._check()
            return begin(function)

        token = call_wrapper.set(begin_if_ours)
        try:
            return await tool()
        finally:
            call_wrapper.reset(token)

    def _check(self) -> None:
        ours = Run.objects.filter(pk=self.key, process=process_name(), status=Run.Status.RUNNING)
        if not ours.exists():
            raise RunFailed("interrupted")
