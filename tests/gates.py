"""Points in processes that wait for the test: the project asks over a socket what it should do next, and is told."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


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


class Refused(Exception):
    """The process is not there: it has not got the request."""


class Lost(Exception):
    """The process has got the request, and was gone before its answer came."""


async def fetch(
    port: int, token: str, method: str, path: str, body: dict[str, Any] | None = None, *, seconds: float = 120
) -> tuple[int, Any]:
    """Send a request: its status, and its answer if that is JSON, or the first event of a stream.

    Raises Refused and Lost.
    """
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    except OSError as error:
        raise Refused from error
    data = b"" if body is None else json.dumps(body).encode()
    head = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        f"Content-Length: {len(data)}",
        "Connection: close",
    ]
    try:
        async with asyncio.timeout(seconds):
            writer.write("\r\n".join([*head, "", ""]).encode() + data)
            await writer.drain()
            answer = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            status = int(answer.split()[1])
            if "text/event-stream" in answer:
                while not (frame := await reader.readuntil(b"\n\n")).partition(b"data:")[2]:
                    pass  # A comment, as nothing has come for a while.
                return status, json.loads(frame.partition(b"data:")[2])
            content = await reader.read()
            if f"content-length: {len(content)}\r\n" not in answer and status != 204:
                raise Lost
            return status, json.loads(content) if "application/json" in answer else None
    except (OSError, asyncio.IncompleteReadError) as error:
        if isinstance(error, TimeoutError):
            raise AssertionError(f"{method} {path} was not answered.") from None
        raise Lost from error
    finally:
        writer.close()
