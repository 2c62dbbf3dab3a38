"""Close the connections to the database that a test leaves open."""

from asgiref.sync import SyncToAsync
from django.db import connections

from agui.blocking.workers import end_workers


def close_connections() -> None:
    """Close the connections that the engine and async code keep for the next test.

    PostgreSQL can't drop a test database while there are connections to it. Call this after each
    test, and never from a coroutine. It ends the engine's threads, and closes the connections of
    the thread in which asgiref runs async queries. The test's own connection stays.
    """
    end_workers()
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
