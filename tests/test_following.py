"""Readers as they come: those that never read, those that break off, and very many at once."""

import asyncio
import json
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from conftest import furnish_project
from postgresql import PostgreSQL
from servers import HANG_SECONDS, LiveProject, run_input, serve, text_of

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
SETTINGS = {
    "AGENT_MODEL": "python:answering.model",
    "DEBUG": "0",
    "SECRET_KEY": "only-for-this-test-on-the-loopback-interface-0123456789",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "0",
    "LOG_LEVEL": "WARNING",
}


@pytest.fixture
def live(rendered, environment: Path, tmp_path: Path) -> Iterator[LiveProject]:
    project = tmp_path / "project"
    shutil.copytree(rendered["demo"], project)
    furnish_project(project, environment)
    (project / "answering.py").write_text(MODEL)
    (project / "roomy_settings.py").write_text(ROOM)
    with serve(project, **SETTINGS, DJANGO_SETTINGS_MODULE="roomy_settings") as live:
        yield live


def memory(live: LiveProject) -> int:
    """The bytes that the server's process has in memory."""
    status = Path(f"/proc/{live.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def test_readers_that_never_read_fill_no_memory(live: LiveProject):
    client = live.client(live.token)
    assert len(text_of(client.run("long", threadId="long"))) == OUTPUT_BYTES
    before = memory(live)
    with ExitStack() as lazy:
        for _ in range(LAZY_READERS):
            connection = lazy.enter_context(socket.create_connection(("127.0.0.1", live.port)))
            request = (
                f"GET /agent/threads/long/events/ HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {live.token}"
            )
            connection.sendall(f"{request}\r\n\r\n".encode())
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
    headers = (
        f"Host: 127.0.0.1\r\nAuthorization: Bearer {live.token}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}"
    )
    writer.write(f"POST /agent/ HTTP/1.1\r\n{headers}\r\n\r\n".encode() + body)
    answer = await reader.readuntil(b"Half, ")
    has_begun.release()
    answer += await reader.read()
    writer.close()
    return answer


def threads(live: LiveProject) -> int:
    return len(list(Path(f"/proc/{live.process.pid}/task").iterdir()))


def test_many_streams_hold_no_threads_and_no_connections(
    rendered, environment: Path, tmp_path: Path, postgresql_server: PostgreSQL
):
    project = tmp_path / "project"
    shutil.copytree(rendered["demo"], project)
    furnish_project(project, environment)
    (project / "answering.py").write_text(WAITING)
    (project / "roomy_settings.py").write_text(ROOM)
    database = postgresql_server.create("many")
    settings = SETTINGS | {"DJANGO_SETTINGS_MODULE": "roomy_settings", "DATABASE_URL": database}

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
