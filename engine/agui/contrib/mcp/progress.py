"""From what a tool shows while it works to the notifications that an MCP client understands."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from agui.protocol.types import EventType

logger = logging.getLogger("agui.mcp")

Report = Callable[[float, float | None, str | None], Awaitable[None]]
DONE = ("done", "failed")


class Progress:
    """Tells a client how far a tool is, in numbers that only grow."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._last = -1.0
        self._shown = 0
        self._has_plan = False

    async def show(self, event: Any) -> None:
        """Tell of an event that a tool has emitted, if it is a step or an activity.

        A plan has a total: a step that is done counts 1 there, and one that has begun counts a
        half. Otherwise each step or activity counts 1.
        """
        payload: Any = event.to_payload() if hasattr(event, "to_payload") else None
        kind = getattr(payload, "type", None)
        if kind is EventType.ACTIVITY_SNAPSHOT and isinstance(payload.content, dict):
            await self._show_activity(payload.content)
        elif kind is EventType.STEP_STARTED and not self._has_plan:
            self._shown += 1
            await self._send(self._shown - 0.5, None, payload.step_name)
        elif kind is EventType.STEP_FINISHED and not self._has_plan:
            await self._send(float(self._shown), None, payload.step_name)

    async def _show_activity(self, content: dict[str, Any]) -> None:
        steps = content.get("steps")
        if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
            if not self._has_plan:
                self._shown += 1
                await self._send(float(self._shown), None, str(content.get("title") or "") or None)
            return
        self._has_plan = True
        progress, title = 0.0, None
        for step in steps:
            if step.get("status") in DONE:
                progress += 1
            elif step.get("status") == "running":
                progress += 0.5
                title = str(step.get("title") or "")
        await self._send(progress, float(len(steps)), title)

    async def _send(self, progress: float, total: float | None, message: str | None) -> None:
        if progress <= self._last:
            return
        self._last = progress
        try:
            await self._report(progress, total, message)
        except Exception as error:
            # The client has left, and its call goes on.
            logger.debug("Progress of an MCP call reached nobody: %r", error)
