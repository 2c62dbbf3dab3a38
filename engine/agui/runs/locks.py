"""The lock that a process holds in PostgreSQL, through a connection that ends with the process."""

import hashlib

from django.db.backends.base.base import BaseDatabaseWrapper

# The first number of all our advisory locks, by which they can be listed. It spells "agui".
LOCKS = 0x61677569
# If a host disappears, the server has to free its lock, and the client has to connect again.
PATIENCE = {
    "connect_timeout": 5,
    "keepalives_idle": 3,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "tcp_user_timeout": 12_000,
}
SERVER_PATIENCE = """
SET tcp_keepalives_idle = 3; SET tcp_keepalives_interval = 3; SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 12000; SET idle_session_timeout = 0
"""
HELD = """
SELECT objid::bigint FROM pg_locks
WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2 AND granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


def are_possible(connection: BaseDatabaseWrapper) -> bool:
    """Whether a process can hold a lock through a connection: not if a pooler shares it."""
    is_shared = connection.settings_dict.get("DISABLE_SERVER_SIDE_CURSORS")
    return connection.vendor == "postgresql" and not is_shared


def take(connection: BaseDatabaseWrapper, process: str) -> bool:
    """Take a process's lock; returns whether it holds it now."""
    with connection.cursor() as cursor:
        cursor.execute(SERVER_PATIENCE)
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [LOCKS, number_of(process)])
        return bool(cursor.fetchone()[0])


def held(connection: BaseDatabaseWrapper) -> set[int]:
    """Return the second numbers of the locks of all processes."""
    with connection.cursor() as cursor:
        cursor.execute(HELD, [LOCKS])
        return {_signed(number) for (number,) in cursor.fetchall()}


def number_of(process: str) -> int:
    """Return the second number of a process's lock."""
    return _signed(int.from_bytes(hashlib.sha256(process.encode()).digest()[:4]))


def _signed(number: int) -> int:
    return number - 2**32 if number >= 2**31 else number
