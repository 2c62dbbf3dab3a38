"""Readers as they come: those that never read, those that break off, and very many at once."""

import asyncio
import json
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from postgresql import PostgreSQL
from servers import HANG_SECONDS, PRODUCTION, LiveProject, run_input, serve, text_of

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

LAZY_READERS = 30
OUTPUT_BYTES = 20_000_000

MODEL = f"""
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    for _ in range({OUTPUT_BYTES} // 20_000 if messages[-1].parts[-1].content == "long" else 1):
        yield "x" * 20_000


model = FunctionModel(stream_function=answer)
"""
ROOM = f"""
from config.settings import *

AGUI = {{
    "MAX_CONCURRENT_RUNS": 500,
    "MAX_RUNS_PER_USER": 500,
    "MAX_READERS_PER_USER": 500,
    "MAX_OUTPUT_BYTES": {2 * OUTPUT_BYTES},
}}
"""
SETTINGS = PRODUCTION | {
    "AGENT_MODEL": "python:answering.model",
    "DJANGO_SETTINGS_MODULE": "roomy_settings",
    "LOG_LEVEL": "WARNING",
}


def memory(live: LiveProject) -> int:
    """The bytes that the server's process has in memory."""
    status = Path(f"/proc/{live.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def test_readers_that_never_read_fill_no_memory(furnished):
    with ExitStack() as stack:
        live = stack.enter_context(serve(furnished(answering=MODEL, roomy_settings=ROOM), **SETTINGS))
        client = live.client(live.token)
        assert len(text_of(client.run("long", threadId="long"))) == OUTPUT_BYTES
        before = memory(live)
        request = ["GET /agent/threads/long/events/ HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {live.token}"]
        for _ in range(LAZY_READERS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", live.port)))
            connection.sendall("\r\n".join([*request, "", ""]).encode())
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        # The others are served as ever.
        for number in range(20):
            assert len(text_of(client.run("short", threadId=f"other-{number}"))) == 20_000
        grown = memory(live) - before
    # All of it for each would be twice as much, at least.
    assert grown < LAZY_READERS * OUTPUT_BYTES / 2


# --- Very many at once

MANY = 100
WAITING = """
import asyncio
from pathlib import Path
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    yield "Half, "
    while not Path(__file__).with_name("go-on").exists():
        await asyncio.sleep(0.02)
    yield "whole."


model = FunctionModel(stream_function=answer)
"""


async def stream(live: LiveProject, has_begun: asyncio.Semaphore) -> bytes:
    """Ask, and read the answer to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", live.port)
    body = json.dumps(run_input("Hi")).encode()
    head = ["POST /agent/ HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {live.token}", "Connection: close"]
    head += ["Content-Type: application/json", f"Content-Length: {len(body)}", "", ""]
    writer.write("\r\n".join(head).encode() + body)
    answer = await reader.readuntil(b"Half, ")
    has_begun.release()
    answer += await reader.read()
    writer.close()
    return answer


def threads(live: LiveProject) -> int:
    return len(list(Path(f"/proc/{live.process.pid}/task").iterdir()))


def test_many_streams_hold_no_threads_and_no_connections(furnished, postgresql_server: PostgreSQL):
    project = furnished(answering=WAITING, roomy_settings=ROOM)
    settings = SETTINGS | {"DATABASE_URL": postgresql_server.create("many")}

    async def read_all(live: LiveProject) -> list[bytes]:
        has_begun = asyncio.Semaphore(0)
        async with asyncio.TaskGroup() as group:
            streams = [group.create_task(stream(live, has_begun)) for _ in range(MANY)]
            for _ in streams:
                await has_begun.acquire()
            async with asyncio.timeout(HANG_SECONDS):
                while threads(live) > 20 or postgresql_server.connections("many") > 10:  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            (project / "go-on").touch()
        return [one.result() for one in streams]

    # In a thread of its own: Playwright leaves a loop behind in this one.
    with serve(project, **settings) as live, ThreadPoolExecutor(1) as pool:
        answers = pool.submit(asyncio.run, read_all(live)).result()
    assert [answer for answer in answers if b"whole." not in answer or b"RUN_FINISHED" not in answer] == []
