"""Very many clients at once, two server processes, one PostgreSQL: every message is there, in order, once."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest
from postgresql import PostgreSQL
from reading import Reading
from servers import HANG_SECONDS, PRODUCTION, LiveProject, run_input, serve, text_of, wait_until

pytestmark = [pytest.mark.servers, pytest.mark.nightly]

THREADS, TURNS, CLIENTS = 200, 20, 16
ROUNDS = 10
STREAMS = 100
LAZY_READERS, OUTPUT_BYTES = 30, 20_000_000

# Repeats the question, or holds the answer back until the file that it names is there, or says very much.
MODEL = f"""
import asyncio
from pathlib import Path

from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    prompt = [part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)][-1]
    yield "You said: "
    while prompt.startswith("wait ") and not Path(__file__).with_name(prompt.split()[1]).exists():
        await asyncio.sleep(0.01)
    for _ in range({OUTPUT_BYTES} // 20_000 if prompt == "much" else 0):
        yield "x" * 20_000
    yield prompt


model = FunctionModel(stream_function=answer)
"""
ROOM = f"""
from config.settings import *

AGUI = {{"MAX_OUTPUT_BYTES": {2 * OUTPUT_BYTES}}}
AGUI |= dict.fromkeys(["MAX_CONCURRENT_RUNS", "MAX_RUNS_PER_USER", "MAX_READERS_PER_USER"], 500)
"""
TOKENS = """
from agui.http.tokens import create_token
from users.models import User
for number in range({}):
    print(create_token(User.objects.create_user(f"user{{number}}"))[1])
"""

# A message as a client got to know it: its id, its role, its text.
Said = tuple[str, str, str]


@pytest.fixture(scope="module")
def servers(furnished, postgresql_server: PostgreSQL) -> Iterator[tuple[LiveProject, LiveProject]]:
    """Two processes that serve one project."""
    project = furnished(answering=MODEL, roomy_settings=ROOM)
    settings = PRODUCTION | {
        "AGENT_MODEL": "python:answering.model",
        "DJANGO_SETTINGS_MODULE": "roomy_settings",
        "DATABASE_URL": postgresql_server.create("storm"),
        "LOG_LEVEL": "WARNING",
    }
    with serve(project, **settings) as one, serve(project, **settings) as other:
        yield one, other


def take_turn(live: LiveProject, token: str, thread_id: str, text: str) -> list[Said]:
    """Say something, and read the answer to its end."""
    body = run_input(text, threadId=thread_id)
    stream = live.client(token).run("", **body)
    assert stream[-1]["type"] == "RUN_FINISHED", stream
    (started,) = (event["messageId"] for event in stream if event["type"] == "TEXT_MESSAGE_START")
    return [(body["messages"][0]["id"], "user", text), (started, "assistant", f"You said: {text}")]


def read_thread(live: LiveProject, token: str, thread_id: str) -> list[Said]:
    thread = live.client(token).thread(thread_id)
    assert thread["running"] is False
    return [(message["id"], message["role"], message["content"]) for message in thread["messages"]]


def test_many_streams_hold_no_threads_and_no_connections(
    servers: tuple[LiveProject, LiveProject], postgresql_server: PostgreSQL
):
    live, gate = servers[0], "gate-of-many"
    tasks = Path(f"/proc/{live.process.pid}/task")
    readings = [Reading(str(uuid4())) for _ in range(STREAMS)]
    with ThreadPoolExecutor(STREAMS) as pool:
        for reading in readings:
            body = run_input(f"wait {gate}", threadId=reading.thread_id)
            reading.start(pool, live.client(live.token), body)
        assert all(reading.begun.wait(HANG_SECONDS) for reading in readings)
        wait_until(lambda: len(list(tasks.iterdir())) <= 20 and postgresql_server.connections("storm") <= 10)
        (live.path / gate).touch()
    assert {(reading.last["type"], reading.text) for reading in readings} == {
        ("RUN_FINISHED", f"You said: wait {gate}")
    }


def memory(live: LiveProject) -> int:
    """The bytes that the server's process has in memory."""
    status = Path(f"/proc/{live.process.pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))


def test_readers_that_never_read_fill_no_memory(servers: tuple[LiveProject, LiveProject]):
    live = servers[0]
    client = live.client(live.token)
    assert len(text_of(client.run("much", threadId="much"))) > OUTPUT_BYTES
    before = memory(live)
    request = ["GET /agent/threads/much/events/ HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {live.token}"]
    with ExitStack() as stack:
        for _ in range(LAZY_READERS):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", live.port)))
            connection.sendall("\r\n".join([*request, "", ""]).encode())
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        # The others are served as ever.
        for number in range(20):
            take_turn(live, live.token, f"other-{number}", "hello")
        # All of it for each would be twice as much, at least.
        assert memory(live) - before < LAZY_READERS * OUTPUT_BYTES / 2


def test_a_storm_of_clients_loses_nothing(servers: tuple[LiveProject, LiveProject]):
    tokens = servers[0].manage("shell", "-v", "0", "-c", TOKENS.format(CLIENTS)).split()

    def talk(client: int) -> dict[str, list[Said]]:
        """Speak in one's threads by turns, each time through the other process."""
        said: dict[str, list[Said]] = {f"thread-{number}": [] for number in range(client, THREADS, CLIENTS)}
        for turn in range(TURNS):
            for number, thread_id in enumerate(said):
                live = servers[(turn + number) % 2]
                said[thread_id] += take_turn(live, tokens[client], thread_id, f"{thread_id}, {turn}")
        return said

    with ThreadPoolExecutor(CLIENTS) as pool:
        everything = list(pool.map(talk, range(CLIENTS)))
    assert sum(map(len, everything)) == THREADS
    for token, said in zip(tokens, everything, strict=True):
        for number, (thread_id, messages) in enumerate(said.items()):
            assert read_thread(servers[number % 2], token, thread_id) == messages
        assert len(servers[0].client(token).read("/agent/threads/?limit=100")["threads"]) == len(said)


@pytest.mark.parametrize("processes", [1, 2])
def test_of_two_writers_one_is_told(servers: tuple[LiveProject, LiveProject], processes: int):
    token = servers[0].token
    for number in range(ROUNDS):
        thread_id, gate = str(uuid4()), f"gate-{uuid4()}"
        # Every other time they also have to agree on who makes the thread.
        known = take_turn(servers[0], token, thread_id, "hello") if number % 2 else []
        bodies = [run_input(f"wait {gate} {one}", threadId=thread_id) for one in (0, 1)]
        readings = [Reading(thread_id) for _ in bodies]
        with ThreadPoolExecutor(2) as pool:
            for one, reading in enumerate(readings):
                reading.start(pool, servers[one % processes].client(token), bodies[one])
            # Until both have been answered: the client that got a run has it then.
            wait_until(lambda both=readings: all(reading.frames or reading.reader.done() for reading in both))
            (servers[0].path / gate).touch()
        outcomes = [(reading.reader.result(), reading.events[-1:]) for reading in readings]
        winner, loser = sorted(range(2), key=lambda one: outcomes[one][0] != 200 or "code" in readings[one].last)
        status, ended = outcomes[loser]
        assert readings[winner].last["type"] == "RUN_FINISHED", outcomes
        assert status == 409 or ended[0].get("code") == "conversation_changed", outcomes
        thread = read_thread(servers[1], token, thread_id)
        assert thread[: len(known)] == known
        # What was stored before its writer was told is kept, too.
        kept = [bodies[one]["messages"][0]["id"] for one in (winner, *([loser] if status == 200 else []))]
        new = thread[len(known) :]
        assert sorted(key for key, role, _ in new if role == "user") == sorted(kept)
        assert [text for _, role, text in new if role == "assistant"] == [f"You said: wait {gate} {winner}"]
        assert take_turn(servers[1], token, thread_id, "go on") == read_thread(servers[0], token, thread_id)[-2:]
