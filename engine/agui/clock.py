"""The clock of every module of the engine: a test turns this one clock.

asyncio's timers follow the event loop's own clock instead. The defaults of columns ask Django.
"""

import time
from datetime import UTC, datetime

from django.utils import timezone


def monotonic() -> float:
    """Read a clock that never goes back, in seconds: for deadlines and durations."""
    return time.monotonic()


def timestamp() -> float:
    """Count the seconds since 1970."""
    return time.time()


def now() -> datetime:
    """Return the time as rows have it: with a time zone, unless USE_TZ is off."""
    return timezone.now()


def utc_now() -> datetime:
    """Return the time in UTC, always with its time zone."""
    return datetime.fromtimestamp(timestamp(), UTC)
