"""Many clients at once, two server processes, one PostgreSQL: every message is there, in order, once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from postgresql import PostgreSQL
from servers import PRODUCTION, LiveProject, events, run_input, serve

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


class Writer:
    """Somebody who posts to a thread at the same time as somebody else, and hears how it went."""

    def __init__(self, live: LiveProject, thread_id: str, text: str) -> None:
        self.live, self.text = live, text
        self.body = run_input(text, threadId=thread_id)
        self.id = self.body["messages"][0]["id"]

    def post(self, together: Barrier) -> None:
        together.wait()
        self._response = self.live.client(self.live.token).open("POST", "/agent/", self.body)
        self.status: int = self._response.status

    def finish(self) -> None:
        with self._response as response:
            self.stream: list[dict[str, Any]] = list(events(response)) if self.status == 200 else []

    @property
    def has_won(self) -> bool:
        return self.status == 200 and self.stream[-1]["type"] == "RUN_FINISHED"

    @property
    def was_told(self) -> bool:
        return self.status == 409 or (bool(self.stream) and self.stream[-1].get("code") == "conversation_changed")


@pytest.mark.parametrize("processes", [1, 2])
def test_of_two_writers_one_is_told(servers: tuple[LiveProject, LiveProject], processes: int):
    for number in range(ROUNDS):
        thread_id, gate = str(uuid4()), f"gate-{uuid4()}"
        token = servers[0].token
        # Every other time they also have to agree on who makes the thread.
        known = take_turn(servers[0], token, thread_id, "hello") if number % 2 else []
        writers = [Writer(servers[one % processes], thread_id, f"wait {gate} {one}") for one in (0, 1)]
        together = Barrier(2)
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda writer, barrier=together: writer.post(barrier), writers))
            # Both have been answered: the client that got a run has it now.
            (servers[0].path / gate).touch()
            list(pool.map(Writer.finish, writers))
        outcomes = [(writer.status, writer.stream[-1:]) for writer in writers]
        assert [writer.has_won for writer in writers] in ([True, False], [False, True]), outcomes
        winner, loser = sorted(writers, key=lambda writer: not writer.has_won)
        assert loser.was_told, outcomes
        thread = read_thread(servers[1], token, thread_id)
        assert thread[: len(known)] == known
        # What was stored before its writer was told is kept, too.
        kept = [loser.id] if loser.status == 200 else []
        assert sorted(one.id for one in thread[len(known) :] if one.role == "user") == sorted([winner.id, *kept])
        assert [one.text for one in thread[len(known) :] if one.role == "assistant"] == [f"You said: {winner.text}"]
        assert take_turn(servers[1], token, thread_id, "go on") == read_thread(servers[0], token, thread_id)[-2:]
