"""Points in processes that wait for the test: the project asks over a socket what it should do next, and is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any

from servers import Client, events

ASKING = ThreadPoolExecutor(64)


@dataclass(eq=False)
class Point:
    """A point that a process has reached, where it waits."""

    name: str
    thread: str
    run: str
    pid: int
    prompts: list[str] = field(default_factory=list)
    """The user's words in a request to the model, in order."""
    answer: asyncio.Future[str] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def is_open(self) -> bool:
        """Whether the process waits here still."""
        return not self.answer.done()

    def release(self, answer: str) -> None:
        if self.is_open:
            self.answer.set_result(answer)


@asynccontextmanager
async def gates(port: int, arrive: Callable[[Point], None]) -> AsyncIterator[None]:
    """Listen for points. `arrive` gets each one as it is reached."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        point: Point | None = None
        reading = asyncio.ensure_future(reader.readline())
        try:
            while line := await reading:
                point = Point(**json.loads(line))
                # The next line comes after the answer, and an end if the process has left the point.
                reading = asyncio.ensure_future(reader.readline())
                arrive(point)
                await asyncio.wait([point.answer, reading], return_when=asyncio.FIRST_COMPLETED)
                if reading.done():
                    break
                writer.write(point.answer.result().encode() + b"\n")
        except (OSError, asyncio.CancelledError):
            pass  # The process was killed, or the test ends.
        finally:
            if point is not None:
                point.answer.cancel()
            writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", port, limit=2**22):
        yield


class Lost(Exception):
    """The process has got the request, and was gone before its answer came."""


async def fetch(client: Client, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request: its status, and its answer if that is JSON, or the first event of a stream.

    Raises Lost, or ConnectionRefusedError if the process is not there.
    """

    def ask() -> tuple[int, Any]:
        try:
            with client.open(method, path, body) as response:
                if response.headers.get_content_type() == "text/event-stream":
                    return response.status, next(events(response))
                content = response.read()
                if response.headers["Content-Length"] != str(len(content)) and response.status != 204:
                    raise Lost
                is_json = response.headers.get_content_type() == "application/json"
                return response.status, json.loads(content) if is_json else None
        except (ConnectionRefusedError, TimeoutError):
            raise
        except (OSError, HTTPException, StopIteration, json.JSONDecodeError) as error:
            raise Lost from error

    return await asyncio.get_running_loop().run_in_executor(ASKING, ask)
