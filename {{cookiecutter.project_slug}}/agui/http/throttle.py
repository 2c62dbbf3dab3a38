"""How often an actor may ask for a run: AGUI["THROTTLE"], counted in Django's cache over a sliding
window.

The window is cut into slots, and each slot is a counter of its own. Taking a place is one atomic
step, so that of a thousand requests at once no more get one than there are.
"""

import logging
import math
import time
from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.core.cache import cache
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from agui import conf
from agui.actor import Actor
from agui.errors import TooManyRequests
from agui.http.tokens import bearer_token

logger = logging.getLogger("agui.throttle")

SLOTS = 10
SECONDS = {"second": 1, "minute": 60, "hour": 60 * 60, "day": 24 * 60 * 60}


@dataclass(frozen=True)
class Window:
    """The places of one user, or of one token."""

    name: str
    limit: int
    seconds: int

    @classmethod
    def of(cls, kind: str, who: str, rate: str) -> "Window":
        limit, _, unit = rate.partition("/")
        # A digest: not every cache takes every character, a token is nothing to write down, and
        # projects share caches.
        digest = salted_hmac("agui.throttle", who, algorithm="sha256").hexdigest()
        return cls(f"agui:throttle:{kind}:{digest}", int(limit), SECONDS[unit])

    def take(self, now: float) -> int:
        """Take a place and answer 0; or take none, and answer in how many seconds there will be one."""
        length = self.seconds / SLOTS
        slot = int(now / length)
        keys = [f"{self.name}:{self.seconds}:{slot - age}" for age in range(SLOTS + 1)]
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
        return max(1, math.ceil((slot - age + SLOTS + 1) * length - now))

    def give_back(self, now: float) -> None:
        cache.decr(f"{self.name}:{self.seconds}:{int(now / (self.seconds / SLOTS))}")


async def throttle(request: HttpRequest, actor: Actor) -> None:
    """Take a place of the user's and of the token's. Raises TooManyRequests, and then nothing is taken."""
    rates = conf.get().throttle
    windows = [Window.of("user", actor.scope, rates.user)] if rates.user else []
    if rates.token and (token := bearer_token(request)):
        # First: a token that is used up takes nothing from its user.
        windows.insert(0, Window.of("token", token, rates.token))
    if windows and (seconds := await sync_to_async(_take)(windows)):
        raise TooManyRequests(
            "Too many messages in a short time.", headers={"Retry-After": str(seconds)}
        )


def _take(windows: list[Window]) -> int:
    now = time.time()
    try:
        for number, window in enumerate(windows):
            if seconds := window.take(now):
                for taken in windows[:number]:
                    taken.give_back(now)
                return seconds
    except Exception:
        # A cache that is out of reach is no reason to answer nobody.
        logger.exception("The requests of an actor can't be counted")
    return 0
