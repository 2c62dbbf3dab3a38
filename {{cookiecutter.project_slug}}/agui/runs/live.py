"""The runs of this process: their logs, their tasks, and who reads them."""

import asyncio
from collections.abc import AsyncGenerator
from functools import cached_property
from weakref import WeakValueDictionary

from agui import conf
from agui.blocking.executor import release_thread_later
from agui.errors import TooManyRequests
from agui.runlog.memory import RunLog, RunLogs
from agui.runs import recovery


class LiveRuns:
    """The logs of the runs that this process knows, the tasks of those that it executes, and who reads."""

    def __init__(self) -> None:
        # The loop itself keeps only weak references to its tasks.
        self.tasks: dict[asyncio.Task[None], RunLog] = {}
        # Who reads, or is about to
        self.followers: WeakValueDictionary[int, Follower] = WeakValueDictionary()

    @cached_property
    def logs(self) -> RunLogs:
        """Where the settings want them, as they are on first use."""
        url = conf.get().redis_url
        if url is None:
            return RunLogs()
        from agui.runlog.redis import RedisLogs  # Its library is an extra

        return RedisLogs(url, recovery)

    def present_followers(self) -> list["Follower"]:
        # Responses are closed in threads. This is one step, where `values()` would find the
        # dictionary changed.
        return [follower for reference in self.followers.valuerefs() if (follower := reference())]


class Follower:
    """A reader of a run's log. With ON_DISCONNECT = "cancel", a run ends with the reader that started it.

    Raises TooManyRequests for one more than a user may have.
    """

    scope: str
    log: RunLog | None = None

    def __init__(self, scope: str) -> None:
        if (
            sum(one.scope == scope for one in live.present_followers())
            >= conf.get().max_readers_per_user
        ):
            raise TooManyRequests("Too many streams at once.", headers={"Retry-After": "1"})
        self.scope = scope
        live.followers[id(self)] = self

    def read(self, log: RunLog, after: int = 0, *, started_run: bool = False) -> "Follower":
        self.log, self.started_run = log, started_run
        log.readers.add(self)
        self._frames = log.follow(after)
        return self

    def __aiter__(self) -> AsyncGenerator[bytes]:
        release_thread_later()
        return self._frames

    def close(self) -> None:
        """Called by Django at the end of the response, also when the client has gone, or when it never got one."""
        live.followers.pop(id(self), None)
        if self.log:
            self.log.readers.discard(self)
        if (
            self.log
            and self.started_run
            and self.log.running
            and conf.get().on_disconnect == "cancel"
        ):
            self.log.stop()

    __del__ = close


live = LiveRuns()
