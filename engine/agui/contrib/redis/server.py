"""The connection to Redis. While Redis is away, nobody waits for it: each call fails at once."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from django.utils.crypto import salted_hmac
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError, NoScriptError, RedisError

from agui import clock
from agui.namespaces import owner_of

logger = logging.getLogger("agui.runlog")

TIMEOUT_SECONDS = 2.0
# How long to leave Redis alone after it did not answer.
AWAY_SECONDS = 1.0
MAX_CONNECTIONS = 16

Value = str | bytes | int | float


class Away(Exception):
    """Raised if Redis can't be reached, or does not answer in time."""


@dataclass(frozen=True)
class ThreadKeys:
    """The keys of one thread of one owner."""

    lock: str
    last: str
    runs: str

    @classmethod
    def for_thread(cls, scope: str, thread_id: str) -> "ThreadKeys":
        thread = _digest(f"{scope}\0{thread_id}")
        runs = f"agui:runs:{_digest(owner_of(scope))}"
        return cls(f"agui:lock:{thread}", f"agui:last:{thread}", runs)


def _digest(text: str) -> str:
    # The digest depends on the SECRET_KEY, because another project may use the same Redis, and has
    # a user 1 as well. Clients choose the ids of threads, so these may hold lone surrogates.
    data = text.encode(errors="surrogatepass")
    return salted_hmac("agui.runlog", data, algorithm="sha256").hexdigest()[:40]


def log_key(run: str) -> str:
    return f"agui:log:{run}"


def stop_key(run: str) -> str:
    return f"agui:stop:{run}"


def read_key(run: str) -> str:
    return f"agui:read:{run}"


class Server:
    """Redis, with the calls that the logs need."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.process = uuid4().hex
        self._home: asyncio.AbstractEventLoop | None = None
        self._client: Redis | None = None
        self._away_until = 0.0
        self._is_away = False

    def start(self) -> None:
        """Keep connections open for calls from this event loop."""
        if self._home is not asyncio.get_running_loop():
            self._home = asyncio.get_running_loop()
            self._client = _connect(self.url)

    @property
    def inbox(self) -> str:
        return f"agui:inbox:{self.process}"

    async def run(self, script: str, keys: Sequence[str], *arguments: Value) -> Any:
        """Run a script. Raises Away."""
        [answer] = await self.run_all(script, [(keys, arguments)])
        return answer

    async def run_all(
        self, script: str, calls: Sequence[tuple[Sequence[str], Sequence[Value]]]
    ) -> list[Any]:
        """Run a script several times in one round trip. Raises Away."""
        digest = hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()
        async with self._connected() as client:
            answers = await _evaluate(client, digest, calls)
            if any(isinstance(answer, NoScriptError) for answer in answers):
                # Redis does not know the script, or was restarted.
                await client.script_load(script)
                answers = await _evaluate(client, digest, calls)
            for answer in answers:
                if isinstance(answer, Exception):
                    raise answer
        return answers

    async def values(self, keys: Sequence[str]) -> list[str | None]:
        """Read the values of keys. Raises Away."""
        async with self._connected() as client:
            values = await client.mget(keys)
        return [None if value is None else value.decode() for value in values]

    async def frames(self, run: str) -> tuple[list[bytes], bool]:
        """Read all frames of a log, and whether it has ended. Raises Away."""
        async with self._connected() as client:
            entries = await client.xrange(log_key(run))
        frames = [fields[b"frame"] for _, fields in entries if b"frame" in fields]
        return frames, len(frames) < len(entries)

    async def read(self, streams: dict[str, str], wait_ms: int) -> dict[str, list[Any]]:
        """Wait for new entries in these streams, each after a position. Raises Away."""
        async with self._connected(seconds=wait_ms / 1000 + TIMEOUT_SECONDS) as client:
            answer = await client.xread(streams, count=500, block=wait_ms)
        pairs = answer.items() if isinstance(answer, dict) else answer
        return {name.decode(): entries for name, entries in pairs}

    async def hold(self, lock: str, entry: str, for_ms: int) -> None:
        async with self._connected() as client:
            await client.set(lock, entry, px=for_ms)

    async def delete(self, keys: Sequence[str]) -> None:
        async with self._connected() as client:
            await client.delete(*keys)

    async def mark(self, keys: Sequence[str], for_ms: int) -> None:
        """Set keys that expire. Raises Away."""
        async with self._connected() as client, client.pipeline(transaction=False) as pipe:
            for key in keys:
                pipe.set(key, 1, px=for_ms)
            await pipe.execute()

    async def wake(self) -> None:
        """Make this process's own `read` return. Raises Away."""
        async with self._connected() as client:
            await client.xadd(self.inbox, {"run": ""}, maxlen=100)
            await client.pexpire(self.inbox, 600_000)

    async def ping(self) -> bool:
        try:
            async with self._connected() as client:
                await client.ping()
        except Away:
            return False
        return True

    @asynccontextmanager
    async def _connected(self, seconds: float | None = None) -> AsyncGenerator[Any]:
        """Enter a connection; at its end errors become Away, and nobody asks for AWAY_SECONDS."""
        if clock.monotonic() < self._away_until:
            raise Away
        client = self._client
        if client is None or self._home is not asyncio.get_running_loop():
            client = _connect(self.url)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS if seconds is None else seconds):
                yield client
        # The timeout raises TimeoutError, which is an OSError.
        except (RedisError, OSError) as error:
            self._away_until = clock.monotonic() + AWAY_SECONDS
            if not self._is_away:
                logger.error(
                    "Redis connection failed: %s; retrying every %s s. Runs go on, but no other "
                    "process can follow them",
                    str(error) or "timed out",
                    AWAY_SECONDS,
                )
            self._is_away = True
            raise Away from error
        finally:
            # Close a connection of another event loop, or one that `aclose` has let go meanwhile.
            if client is not self._client:
                await client.aclose()
        if self._is_away:
            logger.warning("Redis connection restored")
        self._is_away = False

    async def close_with_loop(self) -> None:
        """Close the connections of this event loop when it ends: it cancels its tasks then.

        A job that calls `async_to_sync` has a loop of its own, which nobody shuts down.
        """
        client = self._client
        try:
            await asyncio.Event().wait()
        finally:
            if client is not None:
                await client.aclose()

    async def aclose(self) -> None:
        home, client = self._home, self._client
        self._home = self._client = None
        if client is not None and home is asyncio.get_running_loop():
            await client.aclose()


def _connect(url: str) -> "Redis":
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=MAX_CONNECTIONS,
        timeout=TIMEOUT_SECONDS,
        socket_connect_timeout=TIMEOUT_SECONDS,
        socket_timeout=None,
        # A restart of Redis cuts all open connections. The second try gets a new one.
        retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionError,)),
        retry_on_error=[ConnectionError],  # redis 5 has a second try for these alone.
    )
    return Redis.from_pool(pool)


async def _evaluate(
    client: "Redis", digest: str, calls: Sequence[tuple[Sequence[str], Sequence[Value]]]
) -> list[Any]:
    async with client.pipeline(transaction=False) as pipe:
        for keys, arguments in calls:
            pipe.evalsha(digest, len(keys), *keys, *arguments)
        return await pipe.execute(raise_on_error=False)
