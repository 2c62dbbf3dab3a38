"""A pool of threads that users share: their waiting calls take turns, user by user.

One user gets most of the threads, but never all: a quarter stays free for users without a running
call.
"""

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple


class Job(NamedTuple):
    """A call that waits for a thread, and where its result goes."""

    owner: str | None
    call: Callable[[], Any]
    future: Future[Any]


class FairThreads:
    """Runs calls on a fixed number of threads.

    The owner None is the engine itself, and may use all threads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._free = threads
        self._kept = 0 if threads == 1 else max(1, threads // 4)
        self._waiting: dict[str | None, deque[Job]] = {}
        """The calls that wait, by owner. The first owner is the next in turn."""
        self._running: Counter[str | None] = Counter()
        self._lock = Lock()

    def submit(self, owner: str | None, call: Callable[[], Any]) -> Future[Any]:
        """Run a call as soon as its owner may have a thread.

        Cancelling the future drops a call that does not run yet.
        """
        job = Job(owner, call, Future())
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(job)
            self._start_waiting()
        return job.future

    def shutdown(self) -> None:
        """Drop the calls that wait, and start no other. Those that run are not waited for."""
        with self._lock:
            waiting = self._waiting
            self._waiting = {}
        for jobs in waiting.values():
            for job in jobs:
                job.future.cancel()
        self._pool.shutdown(wait=False)

    def _start_waiting(self) -> None:
        """Start calls as long as a thread is free for one. The caller holds the lock."""
        while self._free:
            job = self._next_job()
            if job is None:
                return
            self._free -= 1
            self._running[job.owner] += 1
            try:
                self._pool.submit(self._run, job)
            except RuntimeError:  # The interpreter is shutting down.
                job.future.cancel()

    def _next_job(self) -> Job | None:
        for owner, jobs in self._waiting.items():
            if not self._may_start(owner):
                continue
            job = jobs.popleft()
            del self._waiting[owner]
            if jobs:
                self._waiting[owner] = jobs  # The owner is now the last in turn.
            return job
        return None

    def _may_start(self, owner: str | None) -> bool:
        return owner is None or not self._running[owner] or self._free > self._kept

    def _run(self, job: Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            self._finish(job.owner)
            return
        try:
            result = job.call()
        except BaseException as error:
            self._finish(job.owner)
            job.future.set_exception(error)
        else:
            self._finish(job.owner)
            job.future.set_result(result)

    def _finish(self, owner: str | None) -> None:
        with self._lock:
            self._free += 1
            self._running[owner] -= 1
            if not self._running[owner]:
                del self._running[owner]
            self._start_waiting()
