"""A server that is told to end by SIGTERM: short runs finish, long ones keep their part, and readers are told.

The signal is taken before the server's own handler, whichever server it is, and passed on when all
that is done. A second one is passed on at once.
"""

import asyncio
import logging
import signal
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from agui import conf, parts
from agui.errors import AtCapacity
from agui.runs.live import live
from agui.tools.audit import recording

logger = logging.getLogger("agui.shutdown")

# To write down what stopped runs have reached and what the audit trail lacks, and to send the last
# events.
SAVE_SECONDS = 3
SEND_SECONDS = 1

# Work beside runs that ends as they do: a tool that a client calls by itself.
calls: set[asyncio.Task[Any]] = set()


class Shutdown:
    """What SIGTERM begins, once in the life of a process."""

    def __init__(self) -> None:
        self.has_begun = False
        self.drain: Callable[[], Awaitable[None]] | None = None
        """Lets a server that would not do so by itself answer what it was asked."""
        self._is_passed_on = False
        self._previous: Any = None
        self._task: asyncio.Task[None] | None = None

    def await_signal(self) -> None:
        """Take SIGTERM before the server does, which has its handler by the first request."""
        if self._previous is None and threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGTERM)
            if callable(self._previous):
                self._loop = asyncio.get_running_loop()
                signal.signal(signal.SIGTERM, self._receive)

    def refuse_runs(self) -> None:
        """Raise AtCapacity when the server is about to end: the next one will take the request."""
        if self.has_begun:
            raise AtCapacity(
                "The server is about to end. Try again soon.", headers={"Retry-After": "1"}
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
            logger.exception("Runs could not be brought to their end")
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        if not self._is_passed_on:
            self._is_passed_on = True
            signal.signal(signal.SIGTERM, self._previous)
            signal.raise_signal(signal.SIGTERM)


async def end_runs() -> None:
    """Let the runs of this process finish for SHUTDOWN_SECONDS, stop the others, and let readers read the end."""
    if at_work := [*live.tasks, *calls]:
        seconds = conf.get().shutdown_seconds
        logger.info(
            "The server is about to end: %s runs may go on for %s seconds", len(at_work), seconds
        )
        await asyncio.wait(at_work, timeout=seconds)
    for call in calls:
        call.cancel()
    with suppress(TimeoutError):
        async with asyncio.timeout(SAVE_SECONDS):
            if calls:
                await asyncio.wait(calls)
            while live.tasks:
                for log in live.tasks.values():
                    if log.fail:
                        log.stop("interrupted")
                await asyncio.wait(live.tasks, timeout=0.05)
    if recording:
        await asyncio.wait(recording, timeout=SAVE_SECONDS)
    for follower in live.present_followers():
        if follower.log and follower.log.running:
            follower.log.close()  # Another process's: its reader goes on through that, or the next
    with suppress(TimeoutError):
        async with asyncio.timeout(SEND_SECONDS):
            while live.followers:  # noqa: ASYNC110 # it is in threads that they leave
                await asyncio.sleep(0.02)
    await end_parts()


async def end_parts() -> None:
    """Let each part let go of what it holds, for SAVE_SECONDS at most."""
    for part in parts.installed():
        try:
            async with asyncio.timeout(SAVE_SECONDS):
                await part.shutdown()
        except Exception:
            logger.exception("%s could not be brought to its end", part.name)


shutdown = Shutdown()
