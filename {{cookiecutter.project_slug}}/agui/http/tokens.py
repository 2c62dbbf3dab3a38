"""API tokens: made once, shown once, kept as a digest, checked in constant time.

    token, text = create_token(user, "laptop", days=30)     # show `text`: it can't be shown again
    user = await token_user(request)                        # Authorization: Bearer agt_...

A token is 256 random bits: finding its plain SHA-256 by the unique index leaks nothing, and needs
no slow password hash.
"""

import hashlib
import secrets
from datetime import timedelta
from types import EllipsisType
from typing import Any

from django.http import HttpRequest
from django.utils import timezone

from agui import conf
from agui.blocking.executor import in_database
from agui.errors import Unauthorized
from agui.models import ApiToken

PREFIX = "agt_"
SHOWN_CHARS = 12
MAX_DAYS = 36500
USE_RESOLUTION = timedelta(minutes=1)
# Written out, as every request asks it: Django takes ten times longer to make such a query than a
# database to answer.
BY_DIGEST = "SELECT * FROM agui_apitoken WHERE digest = %s"


def create_token(
    user: Any, name: str = "", days: int | EllipsisType | None = ...
) -> tuple[ApiToken, str]:
    """Make and keep a token that lives for `days`: by default as the settings say, None is for ever."""
    token = ApiToken(user=user, name=name)
    text = mint(token, conf.get().token_days if isinstance(days, EllipsisType) else days)
    token.save()
    return token, text


def mint(token: ApiToken, days: int | None) -> str:
    """Give a row that is not saved yet its secret, and return that. Raises ValueError for a life out of range."""
    if days is not None and not 0 < days <= MAX_DAYS:
        raise ValueError(
            f"{days!r} days are no life for a token: use a number from 1 to {MAX_DAYS}."
        )
    text = PREFIX + secrets.token_urlsafe(32)
    token.prefix, token.digest = text[:SHOWN_CHARS], hash_token(text)
    token.expires_at = None if days is None else timezone.now() + timedelta(days=days)
    return text


def hash_token(token: str) -> str:
    # Whatever a header can hold has a digest: a strange token is unknown, not an error.
    return hashlib.sha256(token.encode(errors="surrogatepass")).hexdigest()


async def token_user(request: HttpRequest) -> Any | None:
    """Find the user of the request's bearer token; None if it has none.

    Raises Unauthorized for a token that is unknown, expired, revoked or an inactive user's.
    """
    token = bearer_token(request)
    return None if token is None else await in_database(_find_user, hash_token(token))


def bearer_token(request: HttpRequest) -> str | None:
    """What the Authorization header holds; None without a bearer's."""
    scheme, _, text = request.headers.get("Authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else None


def _find_user(digest: str) -> Any:
    now = timezone.now()
    token = next(iter(ApiToken.objects.raw(BY_DIGEST, [digest])), None)
    if (
        token is None
        or token.revoked_at
        or (token.expires_at and token.expires_at <= now)
        or not token.user.is_active
    ):
        raise Unauthorized("The API token is unknown, expired or revoked.")
    if token.last_used_at is None or token.last_used_at <= now - USE_RESOLUTION:
        ApiToken.objects.filter(pk=token.pk).update(last_used_at=now)
    return token.user
