"""What a question costs the database doesn't grow with rows that its answer doesn't need.

SQLite says how many steps of its machine a query took, and PostgreSQL how many rows it read.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agui.blocking.executor import in_database
from agui.contrib.dashboard.rollup import roll_up
from agui.http.threads import open_threads
from agui.models import Message, Run, get_conversation_model
from agui.stores.model import ModelConversationStore

Thread = get_conversation_model()

pytestmark = pytest.mark.django_db(transaction=True)

FEW, MANY = 60, 240
PAGE = 30
# A longer way through an index, and a sort of rows that are equally old.
HARDLY_MORE = 1.2


def fill(scope: str, first: int, last: int) -> None:
    """Store threads with two messages each, the first one as the newest."""
    now = timezone.now()
    threads = []
    for number in range(first, last):
        at = now - timedelta(minutes=number)
        threads.append(Thread(thread_id=f"t{number}", scope=scope, revision="r", updated_at=at, words="a title"))
    messages = []
    for thread in Thread.objects.bulk_create(threads):
        for place, words in enumerate(["what about the weather", f"rain{thread.thread_id}"]):
            messages.append(Message(id=f"{scope}-{thread.thread_id}-{place}", thread=thread, data="{}", words=words))
    Message.objects.bulk_create(messages)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def steps_of(sql: str, params: Any) -> int:
    """Count the steps of a query in SQLite's machine, or the messages and runs that PostgreSQL has read."""
    if connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            # PostgreSQL reads small tables from end to end, which says nothing about large ones.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
            [[[plan]]] = cursor.fetchall()
        return sum_of_rows(plan["Plan"])
    steps: list[None] = []
    connection.ensure_connection()
    connection.connection.set_progress_handler(lambda: steps.append(None), 1)
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            cursor.fetchall()
    finally:
        connection.connection.set_progress_handler(None, 0)
    return len(steps)


def sum_of_rows(node: dict[str, Any]) -> int:
    """Add up the messages and runs that were read. How threads are read depends on how few a table has."""
    rows = sum(map(sum_of_rows, node.get("Plans", [])))
    if node.get("Relation Name") in (Message._meta.db_table, Run._meta.db_table):
        rows += (node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]
    return rows


class Statements:
    """Notes all statements of a connection, as its execute_wrapper."""

    def __init__(self) -> None:
        self.all: list[tuple[str, Any]] = []

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        self.all.append((sql, params))
        return execute(sql, params, many, context)


@pytest.fixture(autouse=True)
def one_thread(settings):
    settings.AGUI = {"DATABASE_THREADS": 1}


async def cost_of_page(**asked: Any) -> int:
    """Ask for a page of threads. Returns the steps of its one query."""
    statements = Statements()
    await in_database(lambda: connection.execute_wrappers.append(statements))
    try:
        await ModelConversationStore().summaries("user:1", limit=PAGE, **asked)
    finally:
        await in_database(lambda: connection.execute_wrappers.remove(statements))
    [(sql, params)] = statements.all
    return await in_database(steps_of, sql, params)


@pytest.mark.parametrize("q", ["", "weather", "weather title"])
async def test_a_page_of_more_threads_costs_no_more(q):
    await in_database(fill, "user:1", 0, FEW)
    few = await cost_of_page(q=q)
    await in_database(fill, "user:1", FEW, MANY)
    assert await cost_of_page(q=q) <= few * HARDLY_MORE


async def test_the_last_page_costs_no_more_than_the_first():
    await in_database(fill, "user:1", 0, MANY)
    store = ModelConversationStore()
    cursor, costs = None, []
    for _ in range(MANY // PAGE):
        costs.append(await cost_of_page(cursor=cursor))
        _, cursor = await store.summaries("user:1", limit=PAGE, cursor=cursor)
    assert cursor is None
    assert costs[-1] <= costs[1] * HARDLY_MORE


def test_a_list_reads_no_runs_that_have_ended():
    # SQLite may read a table from end to end if the list is most of it.
    threads = [f"t{number}" for number in range(10 * PAGE)]
    costs = []
    for count in (FEW, MANY):
        ended = {"run_id": "r", "scope": "user:1", "status": "finished"}
        for _ in range(count // PAGE):
            Run.objects.bulk_create(Run(thread_id=thread, **ended) for thread in threads)
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        statements = Statements()
        with connection.execute_wrapper(statements):
            assert open_threads("user:1", threads[:PAGE]) == (set(), set())
        costs.append(sum(steps_of(sql, params) for sql, params in statements.all))
    assert costs[1] <= costs[0] * HARDLY_MORE


@pytest.mark.parametrize("q", ["raint7", "nothing has it"])
async def test_a_search_reads_nothing_of_other_users(q):
    await in_database(fill, "user:1", 0, FEW)
    alone = await cost_of_page(q=q)
    for number in range(2, 6):
        await in_database(fill, f"user:{number}", 0, MANY)
    assert await cost_of_page(q=q) <= alone * HARDLY_MORE


def test_a_young_site_counts_its_own_days_only():
    now = timezone.now()
    costs = []
    for age in (0, 1, 4):
        if age:
            Run.objects.create(thread_id="t", run_id="r", status="finished", started_at=now - timedelta(days=age))
        with CaptureQueriesContext(connection) as queries:
            roll_up()
        costs.append(len(queries))
        connection.cursor().execute("DELETE FROM agui_dashboard_runspan")
    # A day costs seven: the runs, two times, the tool calls, and what is kept, in a transaction.
    assert costs[0] <= 3
    assert costs[1] < 30
    assert costs[2] - costs[1] <= 3 * 7


def test_pruning_takes_as_many_statements_a_row():
    costs = []
    for number in (400, 1600):
        old = timezone.now() - timedelta(days=20)
        rows = [Run(thread_id="t", run_id="r", status="finished", started_at=old) for _ in range(number)]
        Run.objects.bulk_create(rows)
        with CaptureQueriesContext(connection) as queries:
            call_command("prune_agent_data", runs=10)
        assert not Run.objects.exists()
        costs.append(len(queries))
    # 200 rows at a time, and what it costs without any.
    assert costs[1] < 4 * costs[0]
