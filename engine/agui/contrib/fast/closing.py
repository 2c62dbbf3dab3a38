"""Close a response on the event loop, if its request has used no thread.

Django closes each response in the thread of its request. For a request without one it starts two
threads: one that closes, and one that waits for that one to end.
"""

import asyncio
from collections.abc import Callable, MutableMapping
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished
from django.db import close_old_connections

from agui.contrib.fast.guard import Changed, find
from agui.http.admission import Application, Message, Receive, Send

# The threads of requests, by their context. Django's next call for one that has none starts one.
_threads: Any = find("asgiref.sync:SyncToAsync.context_to_thread_executor")
_context: Any = find("asgiref.sync:SyncToAsync.thread_sensitive_context")
_DJANGOS_OWN = {id(close_caches), id(close_old_connections), id(reset_urlconf)}


def close_on_loop(application: Application) -> Application:
    """Make Django close a response on the event loop, if nothing of its request ran in a thread.

    Then no connection is open. Receivers of `request_finished` that aren't Django's get a thread.
    Raises Changed.
    """
    if not isinstance(_threads, MutableMapping) or id(close_caches) not in _receivers():
        raise Changed("keeps threads or receivers in another form")

    async def answer(scope: dict[str, Any], receive: Receive, send: Send) -> None:
        task = asyncio.current_task()

        async def send_and_look(message: Message) -> None:
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body"):
                _expect_close(task)

        await application(scope, receive, send_and_look)

    return answer


def _expect_close(task: asyncio.Task[None] | None) -> None:
    """The next call of this task closes the response, for its last byte is sent."""
    context = _context.get(None)
    if context and context not in _threads and _receivers() <= _DJANGOS_OWN:
        _threads[context] = _AtOnce(context, task)


def _receivers() -> set[int]:
    return {identity for (identity, _), *_ in request_finished.receivers}


class _AtOnce(Executor):
    """Stands for a request's thread, and makes one call of a task at once."""

    def __init__(self, context: Any, task: asyncio.Task[None] | None) -> None:
        self._context = context
        self._task = task

    def submit(self, call: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        if asyncio.current_task() is not self._task:  # Such a call may block.
            _threads[self._context] = ThreadPoolExecutor(max_workers=1)
            return _threads[self._context].submit(call, *args, **kwargs)
        del _threads[self._context]
        future: Future[Any] = Future()
        future.set_result(call(*args, **kwargs))
        return future
