"""What a turn costs the database doesn't depend on how long the thread is."""

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

from agui.stores.model import ModelConversationStore

pytestmark = pytest.mark.django_db(transaction=True)

STATEMENTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
LENGTHS = (2, 200)


async def queries_of(awaitable):
    """The SQL of an awaitable, as the thread that queries see it."""
    captured = CaptureQueriesContext(connection)
    await sync_to_async(captured.__enter__)()
    await awaitable
    await sync_to_async(captured.__exit__)(None, None, None)
    sqls = await sync_to_async(lambda: [query["sql"].strip() for query in captured.captured_queries])()
    return [sql for sql in sqls if sql.startswith(STATEMENTS)]


def turn(number):
    return [ModelRequest(parts=[UserPromptPart(f"Question {number:3}")]), ModelResponse(parts=[TextPart("Answer")])]


async def new_thread(length, thread_id="t"):
    store = ModelConversationStore()
    messages = [message for number in range(length // 2) for message in turn(number)]
    await store.save(Conversation(conversation_id=thread_id, messages=messages), scope="alice")
    return store


@pytest.mark.parametrize("length", LENGTHS)
async def test_load_costs_two_queries(length):
    store = await new_thread(length)
    queries = await queries_of(store.load("t", scope="alice"))
    assert [query.split()[0] for query in queries] == ["SELECT", "WITH"]


@pytest.mark.parametrize("length", LENGTHS)
async def test_history_costs_one_query(length):
    store = await new_thread(length)
    record = await store.read_record("t")
    assert len(await queries_of(store.read_history(record.head_id))) == 1
    assert len(await queries_of(store.read_history(record.head_id, limit=1))) == 1


@pytest.mark.parametrize("length", LENGTHS)
async def test_save_costs_four_queries(length):
    store = await new_thread(length)
    conversation = await store.load("t")
    conversation.messages.extend(turn(length))
    queries = await queries_of(store.save(conversation, scope="alice"))
    assert [query.split()[0] for query in queries] == ["SELECT", "UPDATE", "SELECT", "INSERT"]


async def test_save_writes_only_what_is_new():
    written = []
    for length in LENGTHS:
        store = await new_thread(length, f"t{length:3}")
        conversation = await store.load(f"t{length:3}")
        conversation.messages.extend(turn(999))
        queries = await queries_of(store.save(conversation, scope="alice"))
        written.append(sum(len(query) for query in queries))
    # Primary keys and times differ by a few digits.
    assert abs(written[0] - written[1]) < 40


async def test_first_save_costs_three_queries():
    queries = await queries_of(new_thread(2))
    assert [query.split()[0] for query in queries] == ["SELECT", "INSERT", "INSERT"]


@pytest.mark.parametrize("length", LENGTHS)
async def test_delete_costs_the_same(length):
    store = await new_thread(length)
    queries = await queries_of(store.delete("t", scope="alice"))
    assert [query.split()[0] for query in queries] == ["SELECT"] * 4 + ["DELETE"] * 2


@pytest.mark.parametrize("threads", [1, 20])
async def test_page_of_threads_costs_one_query(threads):
    for number in range(threads):
        store = await new_thread(2, str(number))
    assert len(await queries_of(store.summaries("alice", q="question", limit=30))) == 1
