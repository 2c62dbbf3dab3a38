"""What only this server may read or write: keys made from SECRET_KEY and its fallbacks."""

import hashlib
import json
from typing import Any
from uuid import UUID

from django.conf import settings
from mcp.server.request_state import AESGCMRequestStateCodec, InvalidRequestState


class Unreadable(Exception):
    """The keys have changed since, or somebody else has written this."""


def keys_for(purpose: str) -> list[str]:
    """Return the keys for one purpose: the first one writes, all of them read."""
    keys: dict[str, None] = {}
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        text = secret if isinstance(secret, str) else secret.decode("latin-1")
        keys[hashlib.sha256(f"{purpose}\n{text}".encode()).hexdigest()] = None
    return list(keys)


def codec_of(*keys: str) -> AESGCMRequestStateCodec:
    """Return what encrypts with the first key, and reads what any of them has encrypted."""
    return AESGCMRequestStateCodec(list(keys))


def _codec() -> AESGCMRequestStateCodec:
    return codec_of(*keys_for("agui.mcp.row"))


def seal(row_id: UUID, name: str, value: Any) -> str:
    """Encrypt a value for one column of one row: in another place it can't be read."""
    return _codec().seal(json.dumps([str(row_id), name, value]).encode())


def unseal(row_id: UUID, name: str, text: str) -> Any:
    """Raises Unreadable."""
    try:
        place = json.loads(_codec().unseal(text))
    except InvalidRequestState as error:
        raise Unreadable from error
    if place[:2] != [str(row_id), name]:
        raise Unreadable
    return place[2]
