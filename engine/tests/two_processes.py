"""Two processes that share a Redis, both of them played by this one: fixtures for the part redis."""

import asyncio
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("redis")

from django.test import AsyncClient
from redis import Redis
from redis_server import RedisServer

from agui.contrib.redis.logs import RedisLogs
from agui.runs import recovery
from agui.runs.live import live
from tests.conftest import Client

__all__ = ["patience", "processes", "redis", "server", "there"]

needs_redis = pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")


class Processes:
    """The logs of two processes instead of this one's."""

    def __init__(self, url: str) -> None:
        self.all = [RedisLogs(url, recovery), RedisLogs(url, recovery)]
        self.here = self.all[0]

    @contextmanager
    def elsewhere(self) -> Iterator[RedisLogs]:
        self.here = self.all[1]
        try:
            yield self.here
        finally:
            self.here = self.all[0]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.here, name)

    def close(self, log: Any) -> None:
        self.owner(log).close(log)

    def release(self, log: Any, error: BaseException) -> None:
        self.owner(log).release(log, error)

    def owner(self, log: Any) -> RedisLogs:
        return next(logs for logs in self.all if log in logs._active.values())

    async def pushed(self) -> None:
        """Wait until Redis has all that the processes have to tell it."""
        for logs in self.all:
            if logs._tasks:
                await logs.mirror.push()

    async def aclose(self) -> None:
        for logs in self.all:
            await logs.aclose()


class Server(RedisServer):
    @contextmanager
    def hanging(self) -> Iterator[None]:
        self.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


class OfTheOther(AsyncClient):
    """Its requests are answered by the second process."""

    processes: Processes

    async def request(self, **scope: Any) -> Any:
        with self.processes.elsewhere():
            return await super().request(**scope)


@pytest.fixture
def there(user: Any, processes: Processes) -> Client:
    """The user's client at the second process."""
    http = OfTheOther()
    http.processes = processes
    return Client(user, http=http)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that stands still for seconds is not a Redis that is away."""
    monkeypatch.setattr("agui.contrib.redis.server.TIMEOUT_SECONDS", 20.0)


@pytest.fixture
def redis(server: Server) -> Iterator[Redis]:
    with Redis.from_url(server.url) as client:
        yield client


@pytest.fixture
async def processes(
    server: Server, redis: Redis, patience: None, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Processes]:
    redis.flushall()
    processes = Processes(server.url)
    monkeypatch.setattr(live, "logs", processes)
    yield processes
    for logs in processes.all:
        for log in list(logs._active.values()):
            log.stop()
    if live.tasks:
        await asyncio.wait(live.tasks, timeout=60)
    await processes.aclose()
