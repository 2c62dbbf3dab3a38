"""Run blocking code in bounded pools of threads, with their database connections."""

import asyncio
import math
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from asgiref.sync import AsyncToSync, SyncToAsync, ThreadSensitiveContext, sync_to_async
from django.db import close_old_connections, connections
from django.urls import get_script_prefix, set_script_prefix
from django.utils import timezone, translation

from agui import clock, conf
from agui.blocking.fair_threads import FairThreads
from agui.blocking.patience import wait_for_database
from agui.blocking.workers import Workers, workers_of_loop

R = TypeVar("R")
Pool = str
"""The name of a pool, which is made on first use. Only `tools` has code that may hang."""

# A connection that was idle for this long is tested before its next use.
IDLE_SECONDS = 1
KEEP_SECONDS = 60
# A request or a run that lasts this long gives back its thread.
RELEASE_SECONDS = 1

# The owner of this request or run: threads are shared fairly between owners.
owner: ContextVar[str | None] = ContextVar("agui_owner", default=None)

# The context of this task in asgiref, its threads by context, and the loops that threads wait for.
# They are not documented: without them more threads are kept, and each query looks for its own.
_contexts: Any = getattr(SyncToAsync, "thread_sensitive_context", ContextVar("unknown"))
_threads_of_contexts: Any = getattr(SyncToAsync, "context_to_thread_executor", {})
_loops: Any = getattr(AsyncToSync, "loop_thread_executors", None)

_given_up: ContextVar[threading.Event | None] = ContextVar("agui_given_up", default=None)

_thread = threading.local()
_lasting: WeakSet[ThreadSensitiveContext] = WeakSet()
_releasing: set[asyncio.Task[None]] = set()


class GivenUp(BaseException):
    """The result of this thread's call is not needed any more."""


async def run_in_thread(fn: Callable[..., R], *args: Any, pool: Pool = "tools") -> R:
    """Run blocking code off the event loop, on one of the pool's threads.

    No user gets all threads of a pool, and tools that hang block only the pool of tools.
    Cancelling does not stop running code, unless that calls `stop_if_given_up`. Code that still
    waits for a thread never starts.
    """
    given_up = threading.Event()
    future = _submit(await workers_of_loop(), pool, given_up, fn, *args)
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        given_up.set()
        raise


def _submit(
    workers: Workers, pool: Pool, given_up: threading.Event, fn: Callable[..., R], *args: Any
) -> Future[R]:
    if pool == "tools" or _are_pooled():
        with_connections = _with_clean_connections
    else:
        with_connections = _with_kept_connections
    context = copy_context()
    context.run(_given_up.set, given_up)
    enter = entering_request()

    def call() -> R:
        with workers.at_work(may_hang=pool == "tools"):
            context.run(enter)
            return context.run(with_connections, fn, *args)

    return _threads(workers, pool).submit(owner.get(), call)


class ToolThreads(Executor):
    """The threads of the tools' pool, for functions that pydantic-ai calls."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        return _submit(self._workers, "tools", threading.Event(), partial(fn, *args, **kwargs))


async def tool_threads() -> ToolThreads:
    return ToolThreads(await workers_of_loop())


def entering_request() -> Callable[[], None]:
    """Return what gives another thread or task the language and time zone of this request."""
    language, zone = translation.get_language(), timezone.get_current_timezone()
    prefix = get_script_prefix()

    def enter() -> None:
        translation.activate(language)
        timezone.activate(zone)
        set_script_prefix(prefix)

    return enter


def stop_if_given_up() -> None:
    """Raise GivenUp if the result of this thread's call is not needed any more.

    Long work that changes nothing calls this between its steps.
    """
    given_up = _given_up.get()
    if given_up is not None and given_up.is_set():
        raise GivenUp


async def in_database(fn: Callable[..., R], *args: Any, pool: Pool = "database") -> R:
    """Run a query of the engine on one of a few threads that keep their connections.

    If synchronous code has started this event loop (`async_to_sync`, as a TestCase does) and has an
    open transaction, the query runs in that code's thread: no other thread sees its rows. A run
    waits for a database that is away.
    """
    may_be_awaited = _loops is None or asyncio.get_running_loop() in _loops
    if may_be_awaited and await sync_to_async(_is_in_transaction)():
        return await sync_to_async(fn)(*args)
    return await wait_for_database(lambda: run_in_thread(fn, *args, pool=pool))


def _is_in_transaction() -> bool:
    return any(connection.in_atomic_block for connection in connections.all(initialized_only=True))


def _threads(workers: Workers, pool: Pool) -> FairThreads:
    """Return the pool, of the size in AGUI["TOOL_THREADS"] or AGUI["DATABASE_THREADS"]."""
    settings = conf.get()
    size = settings.tool_threads if pool == "tools" else settings.database_threads
    return workers.pool(pool, size)


def _with_clean_connections(fn: Callable[..., R], *args: Any) -> R:
    # Django closes old connections at the start and end of a request. These threads have no
    # requests, so do it around each call. CONN_MAX_AGE keeps connections that still work.
    close_old_connections()
    try:
        return _call(fn, *args)
    finally:
        close_old_connections()


def _are_pooled() -> bool:
    """Whether Django has a pool of connections for all threads, which needs them back."""
    for settings in connections.settings.values():
        if (settings.get("OPTIONS") or {}).get("pool"):
            return True
    return False


def _with_kept_connections(fn: Callable[..., R], *args: Any) -> R:
    """Keep the connections of this thread for a minute: a new one costs more than most queries."""
    used_at: float = getattr(_thread, "used_at", -math.inf)
    is_idle = clock.monotonic() - used_at > IDLE_SECONDS
    if is_idle or _has_failed_connection():
        _renew_connections()
    try:
        return _call(fn, *args)
    finally:
        _thread.used_at = clock.monotonic()


def _has_failed_connection() -> bool:
    return any(connection.errors_occurred for connection in connections.all(initialized_only=True))


def _renew_connections() -> None:
    """Close the connections of this thread that are too old or don't work."""
    for connection in connections.all():
        # The connections of requests keep their own settings: their threads are many.
        connection.settings_dict = {
            **connection.settings_dict,
            "CONN_MAX_AGE": KEEP_SECONDS,
            "CONN_HEALTH_CHECKS": True,
        }
    close_old_connections()


def _call(fn: Callable[..., R], *args: Any) -> R:
    try:
        return fn(*args)
    except StopIteration as error:
        # A future can't carry a StopIteration: awaiting it would never end.
        raise RuntimeError("A StopIteration left the function.") from error


async def release_connections() -> None:
    """Close the connections of the thread that async ORM calls use here, before a long wait."""
    context = _contexts.get(None)
    if context is None or context in _threads_of_contexts:
        await sync_to_async(_release_connections)()
        release_thread_later()


def release_thread_later() -> None:
    """Give back the thread that asgiref keeps for this request or run, and its connections.

    This happens after RELEASE_SECONDS: most requests end before.
    """
    owner = _contexts.get(None)
    if owner is None or owner in _lasting:
        return
    _lasting.add(owner)
    # The timer gets nothing else of this context: it may name the thread of a synchronous
    # middleware, which is gone by then.
    context = Context()
    context.run(_contexts.set, owner)
    asyncio.get_running_loop().call_later(RELEASE_SECONDS, _begin_to_release, context=context)


def _begin_to_release() -> None:
    task = asyncio.get_running_loop().create_task(_release_thread())
    _releasing.add(task)
    task.add_done_callback(_releasing.discard)


async def _release_thread() -> None:
    owner = _contexts.get()
    if owner in _threads_of_contexts:
        await sync_to_async(_release_connections)()
    thread = _threads_of_contexts.pop(owner, None)
    if thread is not None:
        # A query may have opened a connection again meanwhile. Later queries get another thread.
        thread.submit(_release_connections)
        thread.shutdown(wait=False)
    _lasting.discard(owner)


def _release_connections() -> None:
    for connection in connections.all(initialized_only=True):
        # An open transaction belongs to a test.
        if not connection.in_atomic_block:
            connection.close()
