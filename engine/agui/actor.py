"""The user of a request, and the scope that owns their threads."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Actor:
    """The user of a request, and the scope that owns what the request creates."""

    user: Any
    scope: str
    """'user:<pk>', or 'session:<key>' for an anonymous visitor. See namespaces.py for more agents.
    """


# The audit trail has a column of this length.
MAX_NAME_CHARS = 255


def name_of(user: Any) -> str:
    """Return a user's name as other people read it; '' for a visitor without an account."""
    if user is None or not user.is_authenticated:
        return ""
    full_name = getattr(user, "get_full_name", str)()
    return str(full_name or user.get_username())[:MAX_NAME_CHARS]
