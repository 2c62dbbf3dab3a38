"""Limits failed attempts to sign in; django-axes counts them (docs/security.md).

AXES_FAILURE_LIMIT holds for an account at an address. Attempts from elsewhere don't count, so
nobody can lock out somebody else. An address may fail ADDRESS_FACTOR times as often with all
accounts together.
"""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

from asgiref.sync import sync_to_async
from axes.backends import AxesStandaloneBackend
from axes.handlers.database import AxesDatabaseHandler
from axes.helpers import get_client_username
from axes.models import AccessAttempt
from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

ADDRESS_FACTOR = 10
# A network of this size is one customer of a provider, who may use any address in it.
IPV6_PREFIX = 64


class LimitedModelBackend(AxesStandaloneBackend, ModelBackend):
    """Django's own backend, after a look at the failed attempts.

    One backend and not two, so that `login(request, user)` needs no `backend=`.
    """

    def authenticate(
        self, request: HttpRequest | None, username: Any = None, password: Any = None, **kwargs: Any
    ) -> Any:
        if request is not None:  # Without one, no client is asking: a command or a test
            AxesStandaloneBackend.authenticate(
                self, request, username=username, password=password, **kwargs
            )
        return ModelBackend.authenticate(
            self, request, username=username, password=password, **kwargs
        )

    async def aauthenticate(
        self, request: HttpRequest | None, username: Any = None, password: Any = None, **kwargs: Any
    ) -> Any:
        return await sync_to_async(self.authenticate)(
            request, username=username, password=password, **kwargs
        )


class Attempts(AxesDatabaseHandler):
    """The attempts that failed in the last AXES_COOLOFF_TIME, with a limit of its own for an address."""

    def user_login_failed(
        self, sender: Any, credentials: Any, request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        if request is not None:
            super().user_login_failed(sender, credentials, request, **kwargs)

    def filter_user_attempts(
        self, request: HttpRequest, credentials: Any = None
    ) -> list[QuerySet[AccessAttempt]]:
        """Find the attempts of the account at this address, and all of the address."""
        address = AccessAttempt.objects.filter(ip_address=request.axes_ip_address)  # type: ignore[attr-defined]
        return [address.filter(username=get_client_username(request, credentials)), address]

    def get_failures(self, request: HttpRequest, credentials: Any = None) -> int:
        """Count the failures of the account here, or those of the address in tens, whichever are more."""
        pair, address = self.get_user_attempts(request, credentials)
        return max(_failures(pair), _failures(address) // ADDRESS_FACTOR)

    def reset_user_attempts(self, request: HttpRequest, credentials: Any = None) -> int:
        """Forget the account's failures after it has signed in. Those of other accounts at its address stay."""
        pair, _ = self.filter_user_attempts(request, credentials)
        return pair.delete()[0]

    def locked_until(self, request: HttpRequest, credentials: Any = None) -> datetime | None:
        """When the next attempt counts again; None if it does now."""
        limit = settings.AXES_FAILURE_LIMIT
        pair, address = self.get_user_attempts(request, credentials)
        ends = [*_end(pair, limit), *_end(address, limit * ADDRESS_FACTOR)]
        return max(ends, default=None)


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return sum(attempts.values_list("failures_since_start", flat=True))


def _end(attempts: QuerySet[AccessAttempt], limit: int) -> Iterator[datetime]:
    """When so many of these attempts are forgotten that fewer than the limit are left."""
    count = 0
    for attempt in attempts.order_by("-attempt_time"):
        count += attempt.failures_since_start
        if count >= limit:
            yield attempt.attempt_time + settings.AXES_COOLOFF_TIME
            return


def locked_out(request: HttpRequest, *credentials: Any) -> HttpResponse:
    """Answer an attempt above the limit: 429, and how long to wait."""
    until = Attempts().locked_until(request, getattr(request, "axes_credentials", None))
    wait = until - timezone.now() if until else timedelta()
    seconds = max(1, math.ceil(wait.total_seconds()))
    context = {"minutes": math.ceil(seconds / 60)}
    response = render(request, "registration/locked_out.html", context, status=429)
    response["Retry-After"] = str(seconds)
    response["Cache-Control"] = "no-store"
    return response


def client_address(request: HttpRequest) -> str | None:
    """The address that sends a request; with BEHIND_PROXY the one that the outermost proxy has
    seen.

    Each proxy adds the address of its client at the end of X-Forwarded-For. What stands before
    those is the client's own word.
    """
    address = request.META.get("REMOTE_ADDR")
    if settings.BEHIND_PROXY:
        entries = request.headers.get("X-Forwarded-For", "").split(",")
        address = entries[-min(settings.BEHIND_PROXY, len(entries))].strip() or address
    return _network(address)


def _network(address: str | None) -> str | None:
    """Stand for an IPv6 network by its first address. None for what is no address."""
    try:
        parsed = ip_address(address or "")
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped:
            return str(parsed.ipv4_mapped)
        return str(ip_network((parsed, IPV6_PREFIX), strict=False).network_address)
    return str(parsed)
