"""End a server at SIGTERM: short runs finish, and long ones keep what they have so far.

This module takes the signal before the handler of the server (daphne, uvicorn), and passes it on
when the runs have ended and their readers know. It passes a second signal on at once.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from django.utils.translation import gettext_lazy as _

from agui import conf, parts
from agui.errors import AtCapacity
from agui.runs.live import live
from agui.tools.audit import recording

logger = logging.getLogger("agui.shutdown")

# How long to wait until stopped runs and the audit trail are stored, and until readers have the
# last events.
SAVE_SECONDS = 3
SEND_SECONDS = 1

# Tool calls without a run, which MCP clients make. They end as runs do.
calls: set[asyncio.Task[Any]] = set()


class Shutdown:
    """The end of a process after SIGTERM."""

    def __init__(self) -> None:
        self.has_begun = False
        self.drain: Callable[[], Awaitable[None]] | None = None
        """Answers the requests in progress, if the server would not do that itself."""
        self._is_passed_on = False
        self._previous: Any = None
        self._task: asyncio.Task[None] | None = None

    def await_signal(self) -> None:
        """Replace the server's handler of SIGTERM, which the server has set before any request."""
        if self._previous is None and threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGTERM)
            if callable(self._previous):
                self._loop = asyncio.get_running_loop()
                signal.signal(signal.SIGTERM, self._receive)

    def refuse_runs(self) -> None:
        """Raise AtCapacity if the server is about to end."""
        if self.has_begun:
            raise AtCapacity(
                _("The server is shutting down. Try again soon."), headers={"Retry-After": "1"}
            )

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.has_begun or self._loop.is_closed():
            self._pass_on()
        else:
            self.has_begun = True
            self._loop.call_soon_threadsafe(self._begin)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._end())

    async def _end(self) -> None:
        try:
            await end_runs()
            if self.drain:
                await self.drain()
        except Exception:
            logger.exception("Ending the runs at shutdown failed")
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        if not self._is_passed_on:
            self._is_passed_on = True
            signal.signal(signal.SIGTERM, self._previous)
            signal.raise_signal(signal.SIGTERM)


async def end_runs() -> None:
    """Wait SHUTDOWN_SECONDS for the runs of this process, stop the rest, and let readers finish."""
    at_work = [*live.tasks, *calls]
    if at_work:
        seconds = conf.get().shutdown_seconds
        logger.info("Shutting down: waiting for %s runs for at most %s s", len(at_work), seconds)
        await asyncio.wait(at_work, timeout=seconds)
    with suppress(TimeoutError):
        async with asyncio.timeout(SAVE_SECONDS):
            await _stop_runs()
    if recording:
        await asyncio.wait(recording, timeout=SAVE_SECONDS)
    for follower in live.present_followers():
        # The runs that are still on belong to other processes. A reader can follow them there.
        if follower.log and follower.log.running:
            follower.log.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(SEND_SECONDS):
            while live.followers:  # noqa: ASYNC110 # readers leave in threads, without an event
                await asyncio.sleep(0.02)
    await end_parts()


async def _stop_runs() -> None:
    for call in calls:
        call.cancel()
    if calls:
        await asyncio.wait(calls)
    while live.tasks:
        for log in live.tasks.values():
            # A run that has not begun yet has no `fail`, so look again.
            if log.fail:
                log.stop("interrupted")
        await asyncio.wait(live.tasks, timeout=0.05)


async def end_parts() -> None:
    """Let each part release what it holds, for SAVE_SECONDS at most."""
    for part in parts.installed():
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                await part.shutdown()
        except Exception:
            logger.exception("Shutting down %s failed", part.name)


shutdown = Shutdown()
