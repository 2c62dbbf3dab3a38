"""Limits of failed attempts to sign in, which django-axes counts (security.md of the manual).

AXES_FAILURE_LIMIT applies to an account at an address. Attempts from other addresses don't count,
so nobody can lock out somebody else. All accounts together may fail ADDRESS_FACTOR times as often
at one address.
"""

import math
from contextlib import suppress
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
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

from agui import clock

ADDRESS_FACTOR = 10
# A provider gives a customer a network of this size, with all addresses in it.
IPV6_PREFIX = 64
# Each address of these networks is a client of its own: local ones, and translated IPv4 ones.
SHARED_NETWORKS = (ip_network("::/64"), ip_network("64:ff9b::/64"), ip_network("fe80::/10"))


class LimitedModelBackend(AxesStandaloneBackend, ModelBackend):
    """Django's own backend, which first checks the failed attempts.

    These are one backend and not two, so `login(request, user)` needs no `backend=`.
    """

    def authenticate(
        self, request: HttpRequest | None, username: Any = None, password: Any = None, **kwargs: Any
    ) -> Any:
        kwargs |= {"username": username, "password": password}
        if request is not None:  # A command or a test has no request, and no client to limit.
            AxesStandaloneBackend.authenticate(self, request, **kwargs)
        return ModelBackend.authenticate(self, request, **kwargs)

    async def aauthenticate(
        self, request: HttpRequest | None, username: Any = None, password: Any = None, **kwargs: Any
    ) -> Any:
        authenticate = sync_to_async(self.authenticate)
        return await authenticate(request, username, password, **kwargs)


class Attempts(AxesDatabaseHandler):
    """The attempts that failed in the last AXES_COOLOFF_TIME, by account and by address."""

    def user_login_failed(
        self, sender: Any, credentials: Any, request: HttpRequest | None = None, **kwargs: Any
    ) -> None:
        if request is not None:
            super().user_login_failed(sender, credentials, request, **kwargs)

    def filter_user_attempts(
        self, request: HttpRequest, credentials: Any = None
    ) -> list[QuerySet[AccessAttempt]]:
        """Find the attempts of the account at this address, and all attempts of the address.

        Clients of an unknown address may be anybody, so they can't lock out each other.
        """
        address = request.axes_ip_address  # type: ignore[attr-defined]
        attempts = AccessAttempt.objects.filter(ip_address=address)
        of_account = attempts.filter(username=get_client_username(request, credentials))
        return [of_account, attempts if address else attempts.none()]

    def get_failures(self, request: HttpRequest, credentials: Any = None) -> int:
        """Count the failures of the account, or those of its address by ADDRESS_FACTOR if more."""
        of_account, of_address = self.get_user_attempts(request, credentials)
        return max(_failures(of_account), _failures(of_address) // ADDRESS_FACTOR)

    def reset_user_attempts(self, request: HttpRequest, credentials: Any = None) -> int:
        """Forget the account's failures at this address, but not those of other accounts."""
        of_account, _ = self.filter_user_attempts(request, credentials)
        return of_account.delete()[0]

    def locked_until(self, request: HttpRequest, credentials: Any = None) -> datetime | None:
        """Return when the next attempt is possible; None if that is now."""
        limit = settings.AXES_FAILURE_LIMIT
        of_account, of_address = self.get_user_attempts(request, credentials)
        ends = [_end(of_account, limit), _end(of_address, limit * ADDRESS_FACTOR)]
        return max(filter(None, ends), default=None)


def _failures(attempts: QuerySet[AccessAttempt]) -> int:
    return sum(attempts.values_list("failures_since_start", flat=True))


def _end(attempts: QuerySet[AccessAttempt], limit: int) -> datetime | None:
    """Return when enough of these attempts are forgotten to be below the limit."""
    count = 0
    for attempt in attempts.order_by("-attempt_time"):
        count += attempt.failures_since_start
        if count >= limit:
            return attempt.attempt_time + settings.AXES_COOLOFF_TIME
    return None


def locked_out(request: HttpRequest, *credentials: Any) -> HttpResponse:
    """Answer an attempt above the limit with 429 and the time to wait."""
    until = Attempts().locked_until(request, getattr(request, "axes_credentials", None))
    wait = until - clock.now() if until else timedelta()
    seconds = max(1, math.ceil(wait.total_seconds()))
    context = {"minutes": math.ceil(seconds / 60)}
    response = render(request, "registration/locked_out.html", context, status=429)
    response["Retry-After"] = str(seconds)
    response["Cache-Control"] = "no-store"
    return response


def client_address(request: HttpRequest) -> str | None:
    """Return the address of a request's client; with BEHIND_PROXY, as the outermost proxy saw it.

    Each proxy appends the address of its client to X-Forwarded-For. The client itself wrote the
    entries before those.
    """
    address = request.META.get("REMOTE_ADDR")
    if settings.BEHIND_PROXY:
        entries = request.headers.get("X-Forwarded-For", "").split(",")
        position = min(settings.BEHIND_PROXY, len(entries))
        address = entries[-position].strip() or address
    return _network(address)


def _network(entry: str | None) -> str | None:
    """Return an IPv4 address, or the first address of an IPv6 network; None if it is invalid."""
    address = _parse(entry or "")
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            address = address.ipv4_mapped
        elif not any(address in network for network in SHARED_NETWORKS):
            address = ip_network((address, IPV6_PREFIX), strict=False).network_address
    return str(address) if address else None


def _parse(entry: str) -> IPv4Address | IPv6Address | None:
    """Parse an address, which may have a port, as in 192.0.2.1:50123 or [2001:db8::1]:443."""
    text = entry.strip(' "').removeprefix("[").partition("]")[0].partition("%")[0]
    for candidate in (text, text.rpartition(":")[0]):
        with suppress(ValueError):
            return ip_address(candidate)
    return None
