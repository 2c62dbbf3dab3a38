"""Many clients at once, two server processes, one PostgreSQL: every message is there, in order, once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from uuid import uuid4

import pytest
from postgresql import PostgreSQL
from reading import Reading
from servers import PRODUCTION, LiveProject, run_input, serve, wait_until

pytestmark = pytest.mark.nightly

THREADS, TURNS, CLIENTS = 200, 20, 16
ROUNDS = 10

# Answers at once, or holds the answer back until the file that the question names is there.
MODEL = """
import asyncio
from pathlib import Path

from pydantic_ai.messages import UserPromptPart
from pydantic_ai.models.function import FunctionModel


async def answer(messages, info):
    prompt = [part.content for part in messages[-1].parts if isinstance(part, UserPromptPart)][-1]
    yield "You said: "
    while prompt.startswith("wait ") and not Path(__file__).with_name(prompt.split()[1]).exists():
        await asyncio.sleep(0.01)
    yield prompt


model = FunctionModel(stream_function=answer)
"""


@pytest.fixture(scope="module")
def servers(furnished, postgresql_server: PostgreSQL) -> Iterator[tuple[LiveProject, LiveProject]]:
    """Two processes that serve one project."""
    project = furnished(answering=MODEL)
    settings = PRODUCTION | {
        "AGENT_MODEL": "python:answering.model",
        "DATABASE_URL": postgresql_server.create("storm"),
        "LOG_LEVEL": "WARNING",
    }
    with serve(project, **settings) as one, serve(project, **settings) as other:
        yield one, other


class Said(NamedTuple):
    """A message, as a client got to know it."""

    id: str
    role: str
    text: str


def take_turn(live: LiveProject, token: str, thread_id: str, text: str) -> list[Said]:
    """Say something, and read the answer to its end."""
    body = run_input(text, threadId=thread_id)
    stream = live.client(token).run("", **body)
    assert stream[-1]["type"] == "RUN_FINISHED", stream
    (started,) = (event["messageId"] for event in stream if event["type"] == "TEXT_MESSAGE_START")
    return [Said(body["messages"][0]["id"], "user", text), Said(started, "assistant", f"You said: {text}")]


def read_thread(live: LiveProject, token: str, thread_id: str) -> list[Said]:
    thread = live.client(token).thread(thread_id)
    assert thread["running"] is False
    return [Said(message["id"], message["role"], message["content"]) for message in thread["messages"]]


def make_users(live: LiveProject, count: int) -> list[str]:
    """A token for each."""
    code = f"""
from agui.http.tokens import create_token
from users.models import User
for number in range({count}):
    print(create_token(User.objects.create_user(f"user{{number}}"))[1])
"""
    return live.manage("shell", "-v", "0", "-c", code).split()


def test_a_storm_of_clients_loses_nothing(servers: tuple[LiveProject, LiveProject]):
    tokens = make_users(servers[0], CLIENTS)

    def talk(client: int) -> dict[str, list[Said]]:
        """Speak in one's threads by turns, each time through the other process."""
        said: dict[str, list[Said]] = {f"thread {number}": [] for number in range(client, THREADS, CLIENTS)}
        for turn in range(TURNS):
            for number, thread_id in enumerate(said):
                live = servers[(turn + number) % 2]
                said[thread_id] += take_turn(live, tokens[client], thread_id.replace(" ", "-"), f"{thread_id}, {turn}")
        return said

    with ThreadPoolExecutor(CLIENTS) as pool:
        everything = list(pool.map(talk, range(CLIENTS)))
    assert sum(map(len, everything)) == THREADS
    for token, said in zip(tokens, everything, strict=True):
        for number, (thread_id, messages) in enumerate(said.items()):
            assert read_thread(servers[number % 2], token, thread_id.replace(" ", "-")) == messages
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
        assert sorted(one.id for one in thread[len(known) :] if one.role == "user") == sorted(kept)
        answer = f"You said: wait {gate} {winner}"
        assert [one.text for one in thread[len(known) :] if one.role == "assistant"] == [answer]
        assert take_turn(servers[1], token, thread_id, "go on") == read_thread(servers[0], token, thread_id)[-2:]
