"""The tokens of a user at a remote server: encrypted, renewed by one process at a time, ended."""

import asyncio
import hashlib
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q
from pydantic import ValidationError

from agui import clock
from agui.blocking.executor import in_database
from agui.contrib.mcp.accounts.signing_in import Attempt, Grant, SignInFailed, renew, revoke
from agui.contrib.mcp.models import RemoteAccount
from agui.contrib.mcp.sealing import Unreadable, seal, unseal
from agui.contrib.mcp.servers import Server
from agui.contrib.mcp.sessions import Headers, detach

logger = logging.getLogger("agui.mcp")

TOKENS, ATTEMPT = "tokens", "attempt"
EARLY_SECONDS = 60
ATTEMPT_MINUTES = 10
# Longer than a request may take (outside.py): nobody else renews meanwhile.
LEASE = timedelta(seconds=30)
AGAIN = timedelta(seconds=30)
POLL_SECONDS = 0.1

# A process that ends waits for it.
_revoking = ThreadPoolExecutor(4, thread_name_prefix="agui-mcp-revoking")


# --- Connecting


def begin(user: Any, server: Server, session: str, state: str, attempt: Attempt) -> None:
    """Store a sign-in that the user has begun. An earlier one of theirs is over."""
    row, _ = RemoteAccount.objects.get_or_create(user=user, server=server.name)
    RemoteAccount.objects.filter(pk=row.pk).update(
        state=_digest(state),
        session=_digest(session),
        attempt=seal(row.pk, ATTEMPT, attempt.model_dump(mode="json")),
        attempt_until=clock.now() + timedelta(minutes=ATTEMPT_MINUTES),
    )


def use_state(user: Any, server: Server, session: str, state: str) -> tuple[UUID, Attempt] | None:
    """Return the sign-in that a state belongs to, once."""
    own = RemoteAccount.objects.filter(
        user=user,
        server=server.name,
        state=_digest(state),
        session=_digest(session),
        attempt_until__gt=clock.now(),
    )
    row = own.first()
    if row is None or not own.filter(pk=row.pk).update(state="", attempt="", attempt_until=None):
        return None
    try:
        attempt = Attempt.model_validate(unseal(row.pk, ATTEMPT, row.attempt))
    except (Unreadable, ValidationError):
        return None
    return (row.pk, attempt) if attempt.client.server_url == server.url else None


def store(row_id: UUID, grant: Grant) -> bool:
    """Store the tokens of a sign-in, unless the account was deleted meanwhile."""
    rows = RemoteAccount.objects.filter(pk=row_id)
    now = clock.now()
    changed = rows.update(**_columns(row_id, grant), is_over=False, connected_at=now)
    return bool(changed)


def _columns(row_id: UUID, grant: Grant) -> dict[str, Any]:
    sealed = seal(row_id, TOKENS, grant.model_dump(mode="json", exclude_none=True))
    return {"tokens": sealed, "renew_at": _renewal(grant), "renewing_until": None}


def _renewal(grant: Grant) -> datetime | None:
    """Return when to renew a token: before its end."""
    lifetime = grant.token.expires_in
    if lifetime is None or not grant.token.refresh_token:
        return None
    # An amount that no clock has would be an error, and nobody renews after a year.
    seconds = max(0, min(lifetime, 365 * 86400))
    return clock.now() + timedelta(seconds=seconds - min(EARLY_SECONDS, seconds / 4))


# --- Using


async def headers_of(user: Any, server: Server) -> Headers | None:
    """Return the headers with the user's token; None if they have not connected an account."""
    row = await in_database(_load, user, server)
    grant = _grant_of(row, server)
    if row is None or grant is None:
        return None
    if row.renew_at is not None and row.renew_at <= clock.now():
        grant = await _renew(row, grant, server)
    return grant.headers() if grant else None


async def headers_after_refusal(user: Any, server: Server, refused: Headers) -> Headers | None:
    """Return a newer token than one that the server has refused; None if there is none."""
    row = await in_database(_load, user, server)
    grant = _grant_of(row, server)
    if row is None or grant is None:
        return None
    if grant.headers() == refused:
        grant = await _renew(row, grant, server)
    if grant is None or grant.headers() == refused:
        return None
    return grant.headers()


def _load(user: Any, server: Server) -> RemoteAccount | None:
    if user.pk is None:
        return None
    rows = RemoteAccount.objects.filter(user_id=user.pk, server=server.name)
    row = rows.select_related("user").first()
    return row if row is not None and row.tokens and row.user.is_active else None


def _grant_of(row: RemoteAccount | None, server: Server) -> Grant | None:
    """Read the tokens of a row. Those of another address than the server's now are none."""
    grant = _read(row.pk, row.tokens) if row is not None else None
    return grant if grant is not None and grant.client.server_url == server.url else None


def _read(row_id: UUID, sealed: str) -> Grant | None:
    try:
        return Grant.model_validate(unseal(row_id, TOKENS, sealed))
    except (Unreadable, ValidationError):
        return None


# --- Renewing


async def _renew(row: RemoteAccount, grant: Grant, server: Server) -> Grant | None:
    # A run that is stopped must not lose a token that the server has rotated.
    return await asyncio.shield(detach(_renew_once(row, grant, server)))


async def _renew_once(row: RemoteAccount, grant: Grant, server: Server) -> Grant | None:
    if not grant.token.refresh_token:
        await in_database(_end, row)
        return None
    while not await in_database(_lease, row):
        await asyncio.sleep(POLL_SECONDS)
        newer = await in_database(RemoteAccount.objects.filter(pk=row.pk).first)
        if newer is None or newer.tokens != row.tokens:
            return _grant_of(newer, server) if newer and newer.tokens else None
    try:
        fresh = await renew(grant)
    except SignInFailed as failure:
        logger.warning("Renewing a token for MCP server %r failed: %s", server.name, failure.code)
        if failure.code == "over":
            await in_database(_end, row)
            return None
        await in_database(_postpone, row)
        return grant
    if await in_database(_replace, row, fresh):
        return fresh
    # The user has disconnected the account meanwhile.
    await revoke(fresh)
    return None


def _same(row: RemoteAccount) -> Any:
    return RemoteAccount.objects.filter(pk=row.pk, tokens=row.tokens)


def _lease(row: RemoteAccount) -> bool:
    now = clock.now()
    free = _same(row).filter(Q(renewing_until=None) | Q(renewing_until__lte=now))
    return bool(free.update(renewing_until=now + LEASE))


def _replace(row: RemoteAccount, grant: Grant) -> bool:
    return bool(_same(row).update(**_columns(row.pk, grant)))


def _postpone(row: RemoteAccount) -> None:
    _same(row).update(renewing_until=None, renew_at=clock.now() + AGAIN)


def _end(row: RemoteAccount) -> None:
    _same(row).update(tokens="", is_over=True, renew_at=None, renewing_until=None)


# --- Disconnecting


def disconnect(user: Any, server: Server) -> None:
    RemoteAccount.objects.filter(user=user, server=server.name).delete()


def revoke_later(row_id: UUID, sealed: str) -> None:
    """Tell the server, in a thread, that the tokens of a deleted row are no longer used."""
    grant = _read(row_id, sealed)
    if grant is not None:
        _revoking.submit(_revoke, grant)


def _revoke(grant: Grant) -> None:
    asyncio.run(revoke(grant))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
