"""The runs of this process: their logs, their tasks and their readers."""

import asyncio
from collections.abc import AsyncGenerator
from functools import cached_property
from weakref import WeakValueDictionary

from django.utils.translation import gettext_lazy as _

from agui import conf, parts
from agui.blocking.executor import release_thread_later
from agui.errors import TooManyRequests
from agui.namespaces import owner_of
from agui.runlog.memory import RunLog, RunLogs


class LiveRuns:
    """The logs of all runs that this process knows, the tasks of its own runs, and the readers."""

    def __init__(self) -> None:
        # The event loop keeps only weak references to its tasks.
        self.tasks: dict[asyncio.Task[None], RunLog] = {}
        # All readers, also those that have no log yet.
        self.followers: WeakValueDictionary[int, Follower] = WeakValueDictionary()

    @cached_property
    def logs(self) -> RunLogs:
        """The logs, kept where a part says at the first use, or in memory."""
        shared = (part.run_logs() for part in parts.installed())
        return next(filter(None, shared), None) or RunLogs()

    def present_followers(self) -> list["Follower"]:
        followers = []
        # Responses are closed in threads. `valuerefs()` copies the dictionary in one step, while
        # `values()` would fail if it changes.
        for reference in self.followers.valuerefs():
            follower = reference()
            if follower is not None:
                followers.append(follower)
        return followers


class Follower:
    """A reader of a run's log.

    With ON_DISCONNECT = "cancel", a run ends with the reader that started it. Raises
    TooManyRequests if the user has the allowed number of readers already.
    """

    log: RunLog | None = None

    def __init__(self, scope: str) -> None:
        self.owner = owner_of(scope)
        readers = sum(follower.owner == self.owner for follower in live.present_followers())
        if readers >= conf.get().max_readers_per_user:
            raise TooManyRequests(_("Too many streams at once."), headers={"Retry-After": "1"})
        live.followers[id(self)] = self

    def read(self, log: RunLog, after: int = 0, *, started_run: bool = False) -> "Follower":
        self.log = log
        self.started_run = started_run
        log.readers.add(self)
        self._frames = log.follow(after)
        return self

    def __aiter__(self) -> AsyncGenerator[bytes]:
        release_thread_later()
        return self._frames

    def close(self) -> None:
        """Stop reading. Django calls it at the end of each response, however that ends."""
        live.followers.pop(id(self), None)
        if self.log is None:
            return
        self.log.readers.discard(self)
        if self.started_run and self.log.running and conf.get().on_disconnect == "cancel":
            self.log.stop()

    __del__ = close


live = LiveRuns()
