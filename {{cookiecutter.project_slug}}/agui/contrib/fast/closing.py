"""Django closes each response in the thread of its request: a request without one needs none here.

Else two threads are started for it: one that closes, and one that waits for that one to end.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

from asgiref.sync import SyncToAsync
from django.core.cache import close_caches
from django.core.handlers.base import reset_urlconf
from django.core.signals import request_finished
from django.db import close_old_connections

from agui.http.admission import Application, Message, Receive, Send

# The threads of requests, by their context. Django's next call for one that has none starts one.
_threads: Any = SyncToAsync.context_to_thread_executor
_DJANGOS_OWN = {id(close_caches), id(close_old_connections), id(reset_urlconf)}


def close_on_loop(application: Application) -> Application:
    """Make Django close a response on the event loop, if nothing of its request ran in a thread.

    Then no connection is open. Receivers of `request_finished` that aren't Django's get a thread.
    """

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
    context = SyncToAsync.thread_sensitive_context.get(None)
    receivers = {identity for (identity, _), *_ in request_finished.receivers}
    if context and context not in _threads and receivers <= _DJANGOS_OWN:
        _threads[context] = _AtOnce(context, task)


class _AtOnce(Executor):
    """In the place of a request's thread for one call of a task, which it makes at once."""

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
