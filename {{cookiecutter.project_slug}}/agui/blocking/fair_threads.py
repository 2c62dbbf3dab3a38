"""A pool of threads that users share: waiting work is served in turns, one user after the other.

One user gets most of the threads, but never all: a quarter is kept for users for whom nothing runs
yet.
"""

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A call that waits for a thread, and where its result goes."""

    call: Callable[[], Any]
    future: Future[Any]


class FairThreads:
    """Runs calls on a fixed number of threads. An owner of None is the engine itself, which no share limits."""

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._kept = 0 if threads == 1 else max(1, threads // 4)
        self._waiting: dict[str | None, deque[Job]] = {}
        """By owner; the one whose turn is next comes first."""
        self._running: Counter[str | None] = Counter()
        self._lock = Lock()

    def submit(self, owner: str | None, call: Callable[[], Any]) -> Future[Any]:
        """Run a call as soon as its owner has a thread. Cancelling its future drops it, unless it runs by then."""
        job = Job(call, Future())
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(job)
            self._start_waiting()
        return job.future

    def shutdown(self) -> None:
        """Wait for what runs. What still waits is dropped."""
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for jobs in waiting.values():
            for job in jobs:
                job.future.cancel()
        self._pool.shutdown()

    def _start_waiting(self) -> None:
        while (
            self._free and (owner := next(filter(self._may_start, self._waiting), ...)) is not ...
        ):
            jobs = self._waiting.pop(owner)
            job = jobs.popleft()
            if jobs:
                self._waiting[owner] = jobs  # Last in line
            self._free -= 1
            self._running[owner] += 1
            try:
                self._pool.submit(self._run, owner, job)
            except RuntimeError:  # The interpreter ends
                job.future.cancel()

    def _may_start(self, owner: str | None) -> bool:
        return owner is None or not self._running[owner] or self._free > self._kept

    def _run(self, owner: str | None, job: Job) -> None:
        if job.future.set_running_or_notify_cancel():
            try:
                result = job.call()
            except BaseException as error:
                self._finish(owner)
                job.future.set_exception(error)
            else:
                self._finish(owner)
                job.future.set_result(result)
        else:
            self._finish(owner)

    def _finish(self, owner: str | None) -> None:
        with self._lock:
            self._free += 1
            self._running[owner] -= 1
            if not self._running[owner]:
                del self._running[owner]
            self._start_waiting()
