"""Throttle the runs of an actor: AGUI["THROTTLE"], counted in Django's cache.

The window slides: it consists of slots, and each slot is a counter. Taking a place is one atomic
step, so a thousand requests at once get no more places than there are.
"""

import logging
import math
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from agui import clock, conf
from agui.actor import Actor
from agui.errors import TooManyRequests
from agui.http.tokens import bearer_token
from agui.namespaces import owner_of

logger = logging.getLogger("agui.throttle")

SLOTS = 10
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}


@dataclass(frozen=True)
class Window:
    """The places of one user, or of one token."""

    name: str
    limit: int
    seconds: int

    @classmethod
    def from_rate(cls, kind: str, who: str, rate: str) -> "Window":
        limit, _, unit = rate.partition("/")
        # The key holds a digest: projects share caches, a token must not be written down, and some
        # caches refuse some characters.
        digest = salted_hmac("agui.throttle", who, algorithm="sha256").hexdigest()
        return cls(f"agui:throttle:{kind}:{digest}", int(limit), SECONDS[unit])

    def take(self, now: float) -> int:
        """Take a place and return 0, or return in how many seconds a place will be free."""
        length = self.seconds / SLOTS
        slot = int(now / length)
        keys = [self._key(slot - age) for age in range(SLOTS + 1)]
        cache.add(keys[0], 0, timeout=self.seconds + math.ceil(length))
        cache.incr(keys[0])
        counts = cache.get_many(keys)
        excess = sum(counts.values()) - self.limit
        if excess <= 0:
            return 0
        cache.decr(keys[0])
        for age in range(SLOTS, -1, -1):
            excess -= counts.get(keys[age], 0)
            if excess <= 0:
                break
        free_at = (slot - age + SLOTS + 1) * length
        return max(1, math.ceil(free_at - now))

    def give_back(self, now: float) -> None:
        slot = int(now / (self.seconds / SLOTS))
        cache.decr(self._key(slot))

    def _key(self, slot: int) -> str:
        return f"{self.name}:{self.seconds}:{slot}"


async def throttle(request: HttpRequest, actor: Actor) -> None:
    """Take a place of the user's and one of the token's.

    Raises TooManyRequests if either has none left, and then takes neither.
    """
    rates = conf.get().throttle
    windows = []
    token = bearer_token(request)
    # The token comes first: a token without places takes none from its user.
    if rates.token and token:
        windows.append(Window.from_rate("token", token, rates.token))
    if rates.user:
        windows.append(Window.from_rate("user", owner_of(actor.scope), rates.user))
    await _take_or_refuse(windows)


async def throttle_action(name: str, actor: Actor, rate: str) -> None:
    """Take a place of a user's for something else that costs, such as "5/minute".

    Raises TooManyRequests.
    """
    await _take_or_refuse([Window.from_rate(name, owner_of(actor.scope), rate)])


def take_place(name: str, who: str, rate: str) -> int:
    """Take a place of somebody, off the event loop. Returns 0, or the seconds to wait."""
    return _take([Window.from_rate(name, who, rate)])


async def _take_or_refuse(windows: list[Window]) -> None:
    if not windows:
        return
    seconds = await sync_to_async(_take)(windows)
    if seconds:
        raise TooManyRequests(
            _("Too many messages in a short time."), headers={"Retry-After": str(seconds)}
        )


def _take(windows: list[Window]) -> int:
    """Take a place in each window. Returns 0, or the seconds to wait."""
    now = clock.timestamp()
    taken: list[Window] = []
    try:
        for window in windows:
            seconds = window.take(now)
            if seconds:
                for other in taken:
                    other.give_back(now)
                return seconds
            taken.append(window)
    except Exception:
        # Requests are served, uncounted, while the cache is out of reach.
        logger.exception("Throttle failed: serving a request without counting it")
    return 0
