"""Where blocking code runs: a bounded pool of threads that gives database connections back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import Any, Literal, TypeVar

from asgiref.sync import sync_to_async
from django.db import close_old_connections, connections

from agui import conf

R = TypeVar("R")
Pool = Literal["tools", "audit"]


async def run_in_thread(fn: Callable[..., R], *args: Any, pool: Pool = "tools") -> R:
    """Run blocking code off the event loop, on one of AGUI["TOOL_THREADS"] threads.

    Cancelling it leaves running code alone, but code that still waits for a thread never starts.
    Tools that hang take up their own pool only.
    """
    executor = _executor(pool, conf.get().tool_threads)
    call = partial(copy_context().run, _with_clean_connections, fn, *args)
    return await asyncio.get_running_loop().run_in_executor(executor, call)


@cache
def _executor(pool: Pool, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix=f"agui-{pool}")


def _with_clean_connections(fn: Callable[..., R], *args: Any) -> R:
    # Django tidies up connections around a request, and these threads see none. By default this
    # closes them; with CONN_MAX_AGE it keeps the healthy ones.
    close_old_connections()
    try:
        return fn(*args)
    except StopIteration as error:
        # A future can't carry it: whoever awaits would wait for ever.
        raise RuntimeError("A StopIteration left the function.") from error
    finally:
        close_old_connections()


async def release_connections() -> None:
    """Close the connections of the thread that async ORM calls use here: what follows may wait for long."""
    await sync_to_async(_release_connections)()


def _release_connections() -> None:
    for connection in connections.all(initialized_only=True):
        # In the middle of a transaction is in the middle of a test.
        if not connection.in_atomic_block:
            connection.close()
