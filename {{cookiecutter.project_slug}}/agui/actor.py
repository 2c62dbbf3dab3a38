"""Who acts: a user, and the name under which what is theirs is kept."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Actor:
    """Whose request this is, and under which name what it makes is kept."""

    user: Any
    scope: str
    """'user:<pk>', or 'session:<key>' of an anonymous visitor."""


# As long as a column of the audit trail.
MAX_NAME_CHARS = 255


def name_of(user: Any) -> str:
    """How a user is called where others read it; '' for a visitor without an account."""
    if user is None or not user.is_authenticated:
        return ""
    full_name = getattr(user, "get_full_name", str)()
    return str(full_name or user.get_username())[:MAX_NAME_CHARS]
