"""Where blocking code runs: a bounded pool of threads that gives database connections back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache, partial
from typing import Any, TypeVar

from django.db import close_old_connections

from agui import conf

R = TypeVar("R")


async def run_in_thread(fn: Callable[..., R], *args: Any) -> R:
    """Run blocking code off the event loop, on one of AGUI["TOOL_THREADS"] threads.

    Cancelling it leaves running code alone, but code that still waits for a thread never starts.
    """
    executor = _executor(conf.get().tool_threads)
    call = partial(copy_context().run, _with_clean_connections, fn, *args)
    return await asyncio.get_running_loop().run_in_executor(executor, call)


@cache
def _executor(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="agui")


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
