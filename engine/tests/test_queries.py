"""What a turn costs the database doesn't depend on how long the thread is."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from math import inf
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.db import connections
from django.db.backends.signals import connection_created
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from agui.blocking.executor import in_database
from agui.contrib.queue import rows
from agui.contrib.spending import budgets
from agui.models import Message, Run, get_conversation_model
from agui.runs import drafts
from agui.runs.life import life
from agui.runs.processes import process_name
from agui.stores.annotations import annotate
from agui.stores.model import ModelConversationStore
from agui.testing import call, collect, say, wait
from tests.conftest import Client, run_input, script

Thread = get_conversation_model()

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.database]

LENGTHS = (2, 1000)
STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")


@pytest.fixture(autouse=True)
async def statements(settings: Any, monkeypatch: Any) -> AsyncIterator[list[tuple[str, int]]]:
    """The statements of all new connections, each with the size of what goes to the database.

    But not the signs of life: after a failure they have a new connection, and nobody knows when they look.
    """
    # With one thread, only the first query of a test opens a connection.
    settings.AGUI = {"DATABASE_THREADS": 1}
    # Whether there are budgets is asked every few seconds, and not for each turn.
    monkeypatch.setattr(budgets, "belief", budgets.Belief(is_so=False, until=inf))
    # Once in a process, messages are looked for that waited before it, and those of a thread after the end of a run.
    monkeypatch.setattr(apps.get_app_config("agui_queue"), "_is_loaded", True)
    monkeypatch.setattr(rows, "look_after_commit", lambda queue: None)
    await life.begin()  # Signs of life go through a connection of their own, which is there by now
    recorded: list[tuple[str, int]] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if (word := sql.strip().split()[0]) in STATEMENTS and threading.current_thread() is not life._thread:
            recorded.append((word, len(sql) + sum(len(str(param)) for param in params or ())))
        return execute(sql, params, many, context)

    def listen(connection: Any, **kwargs: Any) -> None:
        if note not in connection.execute_wrappers:
            connection.execute_wrappers.append(note)

    connection_created.connect(listen)
    yield recorded
    connection_created.disconnect(listen)
    for connection in connections.all():
        connection.execute_wrappers = [one for one in connection.execute_wrappers if one is not note]


async def words_of(statements: list[tuple[str, int]], awaitable: Any) -> list[str]:
    await in_database(Thread.objects.exists)
    statements.clear()
    await awaitable
    return [word for word, _ in statements]


def turn(number):
    question = ModelRequest(parts=[UserPromptPart(f"Question {number:4}")])
    annotate(question, ids=[f"u{number}"])
    return [question, ModelResponse(parts=[TextPart("Answer")])]


async def new_thread(length, thread_id="t", scope="alice"):
    store = ModelConversationStore()
    messages = [message for number in range(length // 2) for message in turn(number)]
    await store.save(Conversation(conversation_id=thread_id, messages=messages), scope=scope)
    return store


async def turn_of(client: Client, statements: list[tuple[str, int]], length: int, **body: Any) -> list[tuple[str, int]]:
    """What one turn on a thread of this length costs."""
    await new_thread(length, f"t{length:4}", f"user:{client.user.pk}")
    await client.get("skills/")  # The token's first use is noted
    statements.clear()
    events = await client.run(thread=f"t{length:4}", **body)
    assert events[-1]["type"] == "RUN_FINISHED"
    return list(statements)


READING = ["SELECT", "SELECT", "SELECT", "WITH"]
"""The token and its user, the thread and whether a killed process left a run of it, its last messages."""
BEGINNING = ["UPDATE", "INSERT", "INSERT"]
"""The thread, the user's message and the run, in one transaction."""
ANSWERING = ["SELECT", "SELECT"]
"""What the user may do: one of the tools asks for a permission."""
ENDING = ["UPDATE", "INSERT", "UPDATE", "SELECT", "INSERT"]
"""The thread, the answer, the run, what of it was noted before and what it has spent, in one transaction."""


async def test_a_turn_costs_the_same_on_a_short_and_on_a_long_thread(client: Client, statements):
    edited = {"messages": [{"id": "u0", "role": "user", "content": "Another"}]}
    with script(*[say("Fine")] * 4):
        short, long = [await turn_of(client, statements, length, text="Hello") for length in LENGTHS]
        await Message.objects.all().adelete()
        await Thread.objects.all().adelete()
        edits = [await turn_of(client, statements, length, **edited) for length in LENGTHS]
    assert [word for word, _ in short] == [*READING, *BEGINNING, *ANSWERING, *ENDING]
    # One more: does the thread have the message already, farther back than the model reads?
    assert [word for word, _ in long] == [*READING, "SELECT", *BEGINNING, *ANSWERING, *ENDING]
    # Ids and times differ by a few characters.
    written = [sum(size for word, size in cost if word in ("INSERT", "UPDATE")) for cost in (short, long)]
    assert abs(written[0] - written[1]) < 50
    assert [word for word, _ in edits[0]] == [word for word, _ in edits[1]]


async def test_loading_and_saving_cost_few_queries(statements):
    assert await words_of(statements, new_thread(2)) == ["SELECT", "INSERT", "INSERT"]
    store = await new_thread(100, "long")
    conversation = await store.load("long")
    assert await words_of(statements, store.load("long", scope="alice")) == ["SELECT", "WITH"]
    for number in (100, 101):
        conversation.messages.extend(turn(number))
        assert await words_of(statements, store.save(conversation, scope="alice")) == ["UPDATE", "INSERT"]
    conversation.messages.extend(turn(102))
    another = ModelConversationStore()
    assert await words_of(statements, another.save(conversation, scope="alice")) == ["SELECT", "UPDATE", "INSERT"]


async def test_delete_costs_the_same(statements):
    short, long = [
        await words_of(statements, (await new_thread(length)).delete("t", scope="alice")) for length in LENGTHS
    ]
    assert not await Message.objects.aexists()
    assert short == long
    assert len(short) <= 10


async def test_page_of_threads_costs_one_query(statements):
    for number in range(20):
        store = await new_thread(2, str(number))
    assert await words_of(statements, store.summaries("alice", q="question", limit=30)) == ["SELECT"]


async def test_a_tool_call_costs_no_query_of_the_thread(client: Client, statements):
    with script(say("Fine"), call("echo", text="x"), say("Fine")):
        plain = await turn_of(client, statements, 2, text="Hello")
        statements.clear()
        await client.run("Again", thread="t   2")
    # Its audit record and the draft of the run are written beside, on threads of their own.
    words = [word for word, _ in statements]
    assert words.count("WITH") == [word for word, _ in plain].count("WITH") == 1


async def test_many_waiting_streams_hold_no_connection_of_their_own(client: Client, settings):
    settings.AGUI = {"DATABASE_THREADS": 2, "MAX_RUNS_PER_USER": 20}
    opened: set[Any] = set()

    def note(connection: Any, **kwargs: Any) -> None:
        opened.add(connection)

    connection_created.connect(note)
    go_on = asyncio.Event()
    reached = [asyncio.Event() for _ in range(12)]
    with script(*[[wait(go_on, one), say("Hi")] for one in reached]):
        responses = [await client.post(run_input("Hi", thread=str(number))) for number in range(12)]
        await asyncio.gather(*[one.wait() for one in reached])
        held = [connection for connection in opened if connection.connection is not None]
        go_on.set()
        for response in responses:
            await collect(response)
    assert 0 < len(held) <= 4  # two for conversations, two for drafts
    assert await Run.objects.filter(status="finished").acount() == 12


def test_a_draft_that_fails_stops_no_other(caplog, django_assert_num_queries):
    ids = [UUID(int=number) for number in range(4)]
    for number, key in enumerate(ids):
        Run.objects.create(id=key, thread_id=f"t{number}", run_id="r", process=process_name())
    columns: list[dict[str, Any]] = [
        {"usage": {"requests": 1}},
        {"usage": {}, "scope": None},
        {"usage": {"requests": 3}},
    ]
    drafts._write({str(key): draft for key, draft in zip(ids[:3], columns, strict=True)})
    assert "draft of run" in caplog.text
    with django_assert_num_queries(1):
        drafts._write({str(ids[3]): {"usage": {"requests": 4}}})
    assert [run.usage.get("requests") for run in Run.objects.order_by("thread_id")] == [1, None, 3, 4]
