"""A check before each tool: does the run still belong to this process?

If a process is cut off from its database for long, others take it for dead, and one of them goes on
with its runs. When the process is back, it must not call tools a second time.
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

# How long an answer of the database counts. It takes longer to take over a run.
GOOD_SECONDS = DEAD_SECONDS / 2


@dataclass
class Fence(AbstractCapability[AgentDeps]):
    """Stands between a run and its tools. Raises RunFailed if another process has the run."""

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
        # Ask again if the event loop was blocked, or the database is slow.
        while time.monotonic() - asked_at > GOOD_SECONDS:
            asked_at = time.monotonic()
            await in_database(self._check)
        begin = noting.get()

        def begin_if_ours(tool: Callable[[], Any]) -> Any:
            # This runs in the tool's thread, for which the call may have waited for long.
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
