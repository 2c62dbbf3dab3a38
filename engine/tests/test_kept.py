"""What the engine keeps for its next query: threads and connections, which end with the last event loop."""

import asyncio
import os
import subprocess
import sys
import threading
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from daily import by_day
from django.conf import settings as django_settings
from django.contrib.auth import get_user_model
from django.db import connection, connections, transaction
from django.db.backends.sqlite3.base import DatabaseWrapper
from servers import wait_until

from agui.blocking import workers
from agui.blocking.executor import in_database, run_in_thread
from agui.models import Run
from agui.runs.life import life
from agui.testing import close_connections

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

OWN_TESTS = """
from asgiref.sync import async_to_sync
from django.contrib.auth import get_user_model
from django.test import TestCase, TransactionTestCase
from pydantic_ai.models.test import TestModel

from agui.http.tokens import create_token
from agui.testing import Chat


class InATransaction(TestCase):
    def test_threads(self):
        ada = get_user_model().objects.create_user("ada")
        self.client.force_login(ada)
        for headers in ({}, {"authorization": f"Bearer {create_token(ada)[1]}"}):
            self.assertEqual(self.client.get("/agent/threads/", headers=headers).json()["threads"], [])


class Committed(TransactionTestCase):
    async def test_a_run(self):
        ada = await get_user_model().objects.acreate_user("ada")
        answer = await Chat(ada, model=TestModel(call_tools=[], custom_output_text="Yes.")).send("Hello")
        self.assertEqual((answer.text, answer.error), ("Yes.", None))

    def test_a_run_of_synchronous_code(self):
        ada = get_user_model().objects.create_user("ada")
        chat = Chat(ada, model=TestModel(call_tools=[], custom_output_text="Yes."))
        self.assertEqual(async_to_sync(chat.send)("Hello").text, "Yes.")
"""
OWN_SETTINGS = """from config.settings import *
DATABASES["default"]["TEST"] = {test}
"""


def open_connection() -> Any:
    connection.ensure_connection()
    return connections[connection.alias]


def test_what_is_kept_ends_with_the_last_event_loop():
    def threads_of_queries() -> list[str]:
        return [thread.name for thread in threading.enumerate() if thread.name.startswith("agui-database")]

    with asyncio.Runner() as server:
        kept = server.run(in_database(open_connection))
        asyncio.run(in_database(open_connection))
        assert kept.connection
        assert threads_of_queries()
        server.run(in_database(open_connection))
    assert kept.connection is None
    # Nobody waits for a thread that has nothing to do, and the next event loop gets a new one.
    wait_until(lambda: not threads_of_queries())
    assert asyncio.run(in_database(Run.objects.count)) == 0


def test_a_lasting_connection_of_a_tool_is_closed_at_the_end(monkeypatch):
    monkeypatch.setitem(connections.settings[connection.alias], "CONN_MAX_AGE", 600)
    with asyncio.Runner() as server:
        # A connection that is open already has its age.
        server.run(run_in_thread(connections.close_all))
        lasting = server.run(run_in_thread(open_connection))
        assert lasting.connection
    assert lasting.connection is None


def test_a_tool_at_work_keeps_its_connection_when_the_last_event_loop_ends():
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def write() -> None:
        with transaction.atomic():
            user = get_user_model().objects.create_user("ada")
            begun.set()
            go_on.wait(60)
            seen.append(get_user_model().objects.get(pk=user.pk).username)
        seen.append(connections[connection.alias])

    async def give_up() -> None:
        task = asyncio.create_task(run_in_thread(write))
        await asyncio.to_thread(begun.wait, 60)
        task.cancel()

    asyncio.run(give_up())
    go_on.set()
    wait_until(lambda: len(seen) == 2)
    assert seen[0] == "ada"
    wait_until(lambda: seen[1].connection is None)
    assert get_user_model().objects.filter(username="ada").exists()


def test_a_loop_that_begins_while_another_one_ends_is_left_alone(monkeypatch):
    ending, go_on = threading.Event(), threading.Event()
    monkeypatch.setattr(workers, "closing", [lambda _: (ending.set(), go_on.wait(60))])
    old = threading.Thread(target=asyncio.run, args=(in_database(Run.objects.count),))
    old.start()
    assert ending.wait(60)
    monkeypatch.setattr(workers, "closing", [])
    with asyncio.Runner() as server:
        kept = server.run(in_database(open_connection))
        go_on.set()
        old.join(60)
        assert kept.connection
        assert server.run(in_database(Run.objects.count)) == 0
    assert kept.connection is None


def test_a_loop_that_never_says_that_it_ends_holds_up_nobody():
    silent = asyncio.new_event_loop()
    silent.run_until_complete(in_database(Run.objects.count))
    silent.close()
    kept = asyncio.run(in_database(open_connection))
    assert kept.connection is None


def test_close_connections_closes_those_of_asynchronous_queries():
    # A loop that nobody ends, as between the tests of a session.
    with asyncio.Runner() as session:
        used = [session.run(sync_to_async(open_connection)()), session.run(in_database(open_connection))]
        assert all(one.connection for one in used)
        close_connections()
        assert [one.connection for one in used] == [None, None]
        assert session.run(in_database(Run.objects.count)) == 0


def test_a_query_for_synchronous_code_belongs_to_its_transaction():
    with transaction.atomic():
        get_user_model().objects.create_user("ada")
        assert async_to_sync(in_database)(get_user_model().objects.count) == 1


def test_a_database_in_memory_gets_no_heartbeats():
    """No other process could see them. A second connection to it would only meet locked tables."""
    life.stop()
    usual = connections[connection.alias]
    name = "file:signs?mode=memory&cache=shared"
    connections[connection.alias] = DatabaseWrapper({**usual.settings_dict, "NAME": name, "OPTIONS": {}})
    try:
        life.start()
        assert "agui-life" not in [thread.name for thread in threading.enumerate()]
    finally:
        connections[connection.alias] = usual


@pytest.mark.parametrize("kind", by_day(["server or file", "in memory"], 2))
def test_a_projects_own_tests_need_nothing_of_the_engine(tmp_path, kind):
    """Django's own runner drops the test database, although the project has no fixture for the engine."""
    if kind == "in memory" and connection.vendor != "sqlite":
        pytest.skip("Only SQLite has databases in memory")
    name = f"test_{os.getpid()}_own" if connection.vendor == "postgresql" else str(tmp_path / "own.sqlite3")
    (tmp_path / "own_settings.py").write_text(OWN_SETTINGS.format(test={} if kind == "in memory" else {"NAME": name}))
    (tmp_path / "test_own.py").write_text(OWN_TESTS)
    command = [sys.executable, "-Walways", "manage.py", "test", "--noinput", "-t", tmp_path, tmp_path]
    settings = {"DEBUG": "1", "DJANGO_SETTINGS_MODULE": "own_settings", "PYTHONPATH": str(tmp_path)}
    where = {"cwd": django_settings.BASE_DIR, "env": os.environ | settings}
    done = subprocess.run(command, **where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Ran 3 tests" in done.stderr
    for sign in ("WARNING", "ERROR", "ResourceWarning", "accessed by other users"):
        assert sign not in done.stderr, done.stderr
