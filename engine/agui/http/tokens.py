"""API tokens: made once, shown once, kept as a digest.

    token, text = create_token(user, "laptop", days=30)     # show `text`: it can't be shown again
    user = await token_user(request)                        # Authorization: Bearer agt_...

A token is 256 random bits. Its plain SHA-256 is therefore safe, and finding it by a unique index
leaks nothing: a slow password hash would add nothing.
"""

import hashlib
import secrets
from datetime import datetime, timedelta
from types import EllipsisType
from typing import Any

from django.contrib.auth import get_user_model
from django.http import HttpRequest

from agui import clock, conf, statements
from agui.blocking.executor import in_database
from agui.errors import Unauthorized
from agui.models import ApiToken

PREFIX = "agt_"
SHOWN_CHARS = 12
MAX_DAYS = 36500
USE_RESOLUTION = timedelta(minutes=1)
UNKNOWN = "The API token is unknown, expired or revoked."


def create_token(
    user: Any, name: str = "", days: int | EllipsisType | None = ...
) -> tuple[ApiToken, str]:
    """Save a new token that is valid for `days`, and return its row and its text.

    By default the settings say how long it is valid. None is for ever.
    """
    if isinstance(days, EllipsisType):
        days = conf.get().token_days
    token = ApiToken(user=user, name=name)
    text = mint(token, days)
    token.save()
    return token, text


def mint(token: ApiToken, days: int | None) -> str:
    """Give an unsaved row its secret, and return the secret.

    Raises ValueError if `days` is out of range.
    """
    if days is not None and not 0 < days <= MAX_DAYS:
        raise ValueError(
            f"{days!r} days is not a valid lifetime for a token: use a number from 1 to {MAX_DAYS}."
        )
    text = PREFIX + secrets.token_urlsafe(32)
    token.prefix = text[:SHOWN_CHARS]
    token.digest = hash_token(text)
    if days is not None:
        token.expires_at = clock.now() + timedelta(days=days)
    return text


def hash_token(token: str) -> str:
    # Every text that a header can hold has a digest: a strange token is unknown, not an error.
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


async def token_user(request: HttpRequest) -> Any | None:
    """Find the user of the request's bearer token; None if it has no token.

    Raises Unauthorized if the token is unknown, expired or revoked, or if its user is inactive.
    """
    token = bearer_token(request)
    if token is None:
        return None
    return await in_database(_find_user, hash_token(token))


def bearer_token(request: HttpRequest) -> str | None:
    """Return the bearer token of the Authorization header; None if there is none."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


def _find_user(digest: str) -> Any:
    now = clock.now()
    tokens = statements.select(ApiToken, digest=digest)
    if not tokens or not _is_valid(tokens[0], now):
        raise Unauthorized(UNKNOWN)
    token = tokens[0]
    users = statements.select(get_user_model(), pk=token.user_id)
    if not users or not getattr(users[0], "is_active", True):
        raise Unauthorized(UNKNOWN)
    if token.last_used_at is None or token.last_used_at <= now - USE_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return users[0]


def _is_valid(token: ApiToken, now: datetime) -> bool:
    is_expired = token.expires_at is not None and token.expires_at <= now
    return not is_expired and not token.revoked_at
