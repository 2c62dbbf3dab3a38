"""What keeps a run that another process has taken over from starting another tool.

A process that was cut off from its database for long may be taken for dead, and another one goes on
with its runs. What it does when it is back must not happen twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ToolCallPart

from agui.blocking.executor import in_database
from agui.deps import AgentDeps
from agui.errors import RunFailed
from agui.models import Run
from agui.runs.life import DEAD_SECONDS
from agui.runs.processes import process_name
from agui.tools.registry import noting

# Less than it takes to take over a run: after so long the answer of the database counts no more.
GOOD_SECONDS = DEAD_SECONDS / 2


@dataclass
class Fence(AbstractCapability[AgentDeps]):
    """Stands between a run and its tools. Raises RunFailed when the run is another process's."""

    key: str

    async def wrap_tool_execute(
        self,
        ctx: RunContext[AgentDeps],
        *,
        call: ToolCallPart,
        handler: Callable[..., Any],
        **kwargs: Any,
    ) -> Any:
        asked_at = time.monotonic()
        await in_database(self._check)
        # The event loop was blocked, or the database is slow
        while time.monotonic() - asked_at > GOOD_SECONDS:
            asked_at = time.monotonic()
            await in_database(self._check)
        begin = noting.get()

        def begin_if_ours(tool: Callable[[], Any]) -> Any:
            # Called in the tool's own thread, for which it may have waited for long.
            if time.monotonic() - asked_at > GOOD_SECONDS:
                self._check()
            return begin(tool)

        token = noting.set(begin_if_ours)
        try:
            return await handler(kwargs["args"])
        finally:
            noting.reset(token)

    def _check(self) -> None:
        ours = Run.objects.filter(pk=self.key, process=process_name(), status=Run.Status.RUNNING)
        if not ours.exists():
            raise RunFailed("interrupted")
