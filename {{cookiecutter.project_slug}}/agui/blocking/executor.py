"""Where blocking code runs: bounded pools of threads, and what becomes of their database connections."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, Literal, TypeVar
from weakref import WeakSet

from asgiref.sync import AsyncToSync, SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from agui import conf
from agui.blocking.fair_threads import FairThreads
from agui.blocking.patience import wait_for_database

R = TypeVar("R")
Pool = Literal["tools", "audit", "database", "checkpoints", "figures", "reading", "files"]

# After so long a pause, a kept connection is tried before it is used.
IDLE_SECONDS = 1
KEEP_SECONDS = 60
# After so long a request is one that lasts.
RELEASE_SECONDS = 1

closing: list[Callable[[], None]] = []
"""What ends the threads of other modules that keep connections."""

# For whom this request or run is: threads are shared fairly between owners.
owner: ContextVar[str | None] = ContextVar("agui_owner", default=None)

_given_up: ContextVar[threading.Event | None] = ContextVar("agui_given_up", default=None)

_executors: dict[tuple[Pool, int], FairThreads] = {}
_thread = threading.local()
_kept: WeakSet[BaseDatabaseWrapper] = WeakSet()
_lasting: WeakSet[ThreadSensitiveContext] = WeakSet()
_releasing: set[asyncio.Task[None]] = set()


class GivenUp(BaseException):
    """Nobody waits for the result any more."""


async def run_in_thread(fn: Callable[..., R], *args: Any, pool: Pool = "tools") -> R:
    """Run blocking code off the event loop, on one of the pool's threads: AGUI["TOOL_THREADS"] for
    tools.

    No user gets all threads of a pool, and tools that hang take up their own pool only. Cancelling
    leaves running code alone, unless it calls `stop_if_given_up`; code that still waits for a
    thread never starts.
    """
    threads = conf.get().tool_threads if pool == "tools" else conf.get().database_threads
    keeps_none = pool == "tools" or _are_pooled() or conf.is_testing()
    within = _with_clean_connections if keeps_none else _with_kept_connections
    context, given_up = copy_context(), threading.Event()
    context.run(_given_up.set, given_up)
    call = partial(context.run, within, fn, *args)
    try:
        return await asyncio.wrap_future(_executor(pool, threads).submit(owner.get(), call))
    except asyncio.CancelledError:
        given_up.set()
        raise


def stop_if_given_up() -> None:
    """Raise GivenUp if nobody waits for this thread's result any more: for steps of long work that changes nothing."""
    given_up = _given_up.get()
    if given_up is not None and given_up.is_set():
        raise GivenUp


async def in_database(fn: Callable[..., R], *args: Any, pool: Pool = "database") -> R:
    """Run code of the engine that asks the database, on one of a few threads that keep their
    connections.

    In the middle of a transaction, of a TestCase, it runs there: no other thread sees what was
    written. A run waits for a database that is away.
    """
    can_be_test = "django.test" in sys.modules and getattr(AsyncToSync.executors, "current", None)
    if can_be_test and await sync_to_async(_is_in_transaction)():
        return await sync_to_async(fn)(*args)
    return await wait_for_database(lambda: run_in_thread(fn, *args, pool=pool))


def _is_in_transaction() -> bool:
    return any(connection.in_atomic_block for connection in connections.all(initialized_only=True))


def _executor(pool: Pool, threads: int) -> FairThreads:
    if (pool, threads) not in _executors:
        _executors.setdefault((pool, threads), FairThreads(threads, f"agui-{pool}"))
    return _executors[pool, threads]


def _with_clean_connections(fn: Callable[..., R], *args: Any) -> R:
    # Django tidies up connections around a request, and these threads see none. By default this
    # closes them; with CONN_MAX_AGE it keeps the healthy ones.
    close_old_connections()
    try:
        return _call(fn, *args)
    finally:
        if conf.is_testing():  # The test database is dropped in the end
            connections.close_all()
        else:
            close_old_connections()


def _are_pooled() -> bool:
    """Whether Django keeps connections itself, in a pool for all threads: there it is better to give them back."""
    return any(
        (settings.get("OPTIONS") or {}).get("pool") for settings in connections.settings.values()
    )


def _with_kept_connections(fn: Callable[..., R], *args: Any) -> R:
    """Keep the connections of this thread for a minute. A new one costs more than most of what is asked."""
    kept = connections.all(initialized_only=True)
    if (
        any(connection.errors_occurred for connection in kept)
        or time.monotonic() - _last_use() > IDLE_SECONDS
    ):
        for connection in connections.all():
            # Only here: the threads of requests, which are many, are to keep none.
            keep = {"CONN_MAX_AGE": KEEP_SECONDS, "CONN_HEALTH_CHECKS": True}
            connection.settings_dict = {**connection.settings_dict, **keep}
            if connection not in _kept:
                _kept.add(connection)
                connection.inc_thread_sharing()
        close_old_connections()
    try:
        return _call(fn, *args)
    finally:
        _thread.used_at = time.monotonic()


def _last_use() -> float:
    last: float = getattr(_thread, "used_at", -IDLE_SECONDS - 1.0)
    return last


def _call(fn: Callable[..., R], *args: Any) -> R:
    try:
        return fn(*args)
    except StopIteration as error:
        # A future can't carry it: whoever awaits would wait for ever.
        raise RuntimeError("A StopIteration left the function.") from error


def close_kept_connections() -> None:
    """End the threads that keep connections, once they are done, and close these.

    A test database can't be dropped while there are connections to it.
    """
    for close in closing:
        close()
    for pool, threads in list(_executors):
        if pool != "tools":  # These may hang, and keep none
            _executors.pop((pool, threads)).shutdown()
    for connection in list(_kept):
        connection.close()


async def release_connections() -> None:
    """Close the connections of the thread that async ORM calls use here: what follows may wait for long."""
    context = SyncToAsync.thread_sensitive_context.get(None)
    if context is None or context in SyncToAsync.context_to_thread_executor:
        await sync_to_async(_release_connections)()
        release_thread_later()


def release_thread_later() -> None:
    """Let a request or a run that lasts give back the thread that asgiref keeps for it, with its connections.

    Not at once: most end before it would pay.
    """
    owner = SyncToAsync.thread_sensitive_context.get(None)
    if owner is None or owner in _lasting:
        return
    _lasting.add(owner)
    # Nothing else of the present context: a thread that calls us through a synchronous middleware
    # will be gone.
    context = Context()
    context.run(SyncToAsync.thread_sensitive_context.set, owner)
    asyncio.get_running_loop().call_later(RELEASE_SECONDS, _begin_to_release, context=context)


def _begin_to_release() -> None:
    task = asyncio.get_running_loop().create_task(_release_thread())
    _releasing.add(task)
    task.add_done_callback(_releasing.discard)


async def _release_thread() -> None:
    owner = SyncToAsync.thread_sensitive_context.get()
    if owner in SyncToAsync.context_to_thread_executor:
        await sync_to_async(_release_connections)()
    if thread := SyncToAsync.context_to_thread_executor.pop(owner, None):
        # What was asked meanwhile may have opened one again. What comes after gets another thread.
        thread.submit(_release_connections)
        thread.shutdown(wait=False)
    _lasting.discard(owner)


def _release_connections() -> None:
    for connection in connections.all(initialized_only=True):
        # In the middle of a transaction is in the middle of a test.
        if not connection.in_atomic_block:
            connection.close()
