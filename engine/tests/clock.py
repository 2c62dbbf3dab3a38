"""The time of the engine and of asyncio's timers, which a test turns (the fixture `clock`)."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from weakref import WeakKeyDictionary


class Clock:
    """Stands in for the modules that agui.clock reads the time from.

    It goes on as the machine's does until a test stops it. Then it stands still, except for what the test lets pass.
    After the test it goes on from there, because a monotonic clock never goes back.
    """

    def __init__(self) -> None:
        self._ahead = 0.0
        self._stands_at: float | None = None
        self._moment = datetime.now(UTC)
        self._turned: WeakKeyDictionary[asyncio.AbstractEventLoop, float] = WeakKeyDictionary()

    def stop(self, at: datetime | None = None) -> None:
        """Stand still at this moment: now, if none is given."""
        self._stands_at = self.monotonic()
        self._moment = at or datetime.now(UTC)

    def resume(self) -> None:
        if self._stands_at is not None:
            self._ahead = max(self._ahead, self._stands_at - time.monotonic())
        self._stands_at = None

    def advance(self, seconds: float) -> None:
        """Let so much time pass at once, for the engine and for the event loop that runs in this thread, if any."""
        assert self._stands_at is not None
        self._stands_at += seconds
        self._moment += timedelta(seconds=seconds)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if loop not in self._turned:
            real = loop.time
            loop.time = lambda: real() + self._turned[loop]  # type: ignore[method-assign]
        self._turned[loop] = self._turned.get(loop, 0.0) + seconds

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead if self._stands_at is None else self._stands_at

    def now(self) -> datetime:
        return datetime.now(UTC) if self._stands_at is None else self._moment

    def time(self) -> float:
        return self.now().timestamp()


the_clock = Clock()
