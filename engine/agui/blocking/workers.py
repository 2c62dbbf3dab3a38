"""The workers that event loops share, and their database connections: they end with the last loop.

A server has one event loop. A test, a command and a request to a WSGI server have a loop each, so
nothing outlives them: a test database can't be dropped while there are connections to it. A loop
says that it ends by closing its asynchronous generators, as `asyncio.run` does. daphne's never says
so, and there workers end with the process.
"""

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from weakref import ReferenceType, WeakKeyDictionary, ref

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from agui.blocking.fair_threads import FairThreads

# How long the end of an event loop waits for queries that run. A query that takes longer closes its
# connections itself.
END_SECONDS = 5

closing: list[Callable[[bool], None]] = []
"""Functions of other modules that end their threads: in any case, or unless these have work."""


class Workers:
    """Pools of threads, made on first use, and the connections of those that do nothing now."""

    def __init__(self) -> None:
        self.loops: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncGenerator[None]]
        self.loops = WeakKeyDictionary()
        self.has_ended = False
        self._pools: dict[tuple[str, int], FairThreads] = {}
        self._idle: set[BaseDatabaseWrapper] = set()
        self._busy = 0
        self._changed = threading.Condition()

    def pool(self, name: str, size: int) -> FairThreads:
        with self._changed:
            if (name, size) not in self._pools:
                self._pools[name, size] = FairThreads(size, f"agui-{name}")
            return self._pools[name, size]

    @contextmanager
    def at_work(self, *, may_hang: bool) -> Iterator[None]:
        """Leave the connections of this thread to it until the block ends."""
        with self._changed:
            self._idle.difference_update(connections.all(initialized_only=True))
            self._busy += not may_hang
        try:
            yield
        finally:
            with self._changed:
                # An end that waits goes on after this block, even if a connection can't be closed.
                self._busy -= not may_hang
                self._changed.notify_all()
                for connection in connections.all(initialized_only=True):
                    if self.has_ended:
                        close(connection)
                    elif connection.connection is not None:
                        self._idle.add(_shared(connection))

    def end(self, wait_seconds: float | None) -> None:
        """Start no call any more, and close the connections of calls that have ended.

        Waits for running calls for so long, None for ever. Calls that may hang are not waited for.
        """
        with self._changed:
            self.has_ended = True
            for connection in self._idle:
                close(connection)
            self._idle.clear()
            pools = list(self._pools.values())
        for pool in pools:
            pool.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: not self._busy, wait_seconds)


def _shared(connection: BaseDatabaseWrapper) -> BaseDatabaseWrapper:
    """Let other threads close a connection of this thread."""
    if not connection.allow_thread_sharing:
        connection.inc_thread_sharing()
    return connection


def close(connection: BaseDatabaseWrapper) -> None:
    """Close a connection. Django leaves it open if it is to a database of SQLite in memory."""
    if connection.vendor == "sqlite":
        BaseDatabaseWrapper.close(connection)
    else:
        connection.close()


_lock = threading.Lock()
_current = Workers()
_of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Workers] = WeakKeyDictionary()


async def workers_of_loop() -> Workers:
    """Return the workers of the running event loop, and keep them until it ends."""
    loop = asyncio.get_running_loop()
    workers = _of_loops.get(loop)
    if workers is not None and not workers.has_ended:
        return workers
    with _lock:
        workers = _current
        is_new = loop not in _of_loops  # A loop that has ended its workers can't do so again.
        _of_loops[loop] = workers
        if is_new:
            workers.loops[loop] = waiting = _wait_for_end(ref(loop))
    if is_new:
        await anext(waiting)
    return workers


async def _wait_for_end(loop: ReferenceType[asyncio.AbstractEventLoop]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        workers = _leave(loop())
        if workers is not None:
            await asyncio.to_thread(_end, workers, END_SECONDS)


def _leave(leaving: asyncio.AbstractEventLoop | None) -> Workers | None:
    """Return the workers of a loop that ends, if no other loop uses them."""
    global _current
    if leaving is None:
        return None
    with _lock:
        workers = _of_loops[leaving]
        workers.loops.pop(leaving, None)
        if any(not loop.is_closed() for loop in workers.loops):
            return None
        if workers is _current:
            _current = Workers()  # A loop that begins now gets workers that nobody ends yet.
        return workers


def end_workers() -> None:
    """End all workers, and wait for their calls. The next call of a loop gets new ones."""
    global _current
    with _lock:
        workers, _current = _current, Workers()
        for loop, waiting in workers.loops.items():
            _of_loops[loop] = _current
            _current.loops[loop] = waiting
    _end(workers, None)


def _end(workers: Workers, wait_seconds: float | None) -> None:
    for close_other in closing:
        close_other(wait_seconds is None)
    workers.end(wait_seconds)
