"""The engine's own tests on PostgreSQL and Redis: all at night, and by day what SQLite can't show."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from daily import rows_at_night
from postgresql import PostgreSQL
from redis_server import RedisServer, find_redis
from test_engine import files, run_engine_tests_here

pytestmark = pytest.mark.engine
# Locks and who waits for them, processes at once, SQL that Django does not write, and JSON.
OF_DATABASES = files(
    "test_audit.py",
    "test_durable.py",
    "test_erasure.py",
    "test_fast_sql.py",
    "test_mcp_approvals.py",
    "test_mcp_calls.py",
    "test_notifications.py",
    "test_oauth_families.py",
    "test_patience.py",
    "test_queue.py",
    "test_recovery.py",
    "test_runs.py",
    "test_stores.py",
    "test_titles.py",
    "test_transcripts.py::test_marks_who_writes_has_seen_what_was_there",
    "test_transcripts.py::test_marks_pinned_threads_come_first",
    "test_transcripts.py::test_marks_archived_threads_are_in_a_list_of_their_own",
    "test_threads.py",
    "test_transcripts.py::test_threads_a_hit_has_the_message_and_its_place",
    # Rows of files are locked before they go, and figures are rounded by a function of the database.
    "test_prune.py::test_by_default_only_unused_files_go",
    "test_prune.py::test_others_can_write_in_between",
    "test_dashboard.py::test_hours_become_days_of_the_site",
    "test_dashboard.py::test_real_runs_are_on_it",
)


@pytest.mark.parametrize(
    ("name", "chosen"),
    [
        ("by_day", ["-m", "database and not nightly", "--first-values", *OF_DATABASES]),
        *rows_at_night(("at_night", ["tests"])),
    ],
)
def test_engine_on_postgresql(postgresql_server: PostgreSQL, tmp_path: Path, name: str, chosen: list[str]):
    settings = {"DATABASE_URL": postgresql_server.create(f"engine_{name}")}
    with ExitStack() as stack:
        if find_redis():
            settings["TEST_REDIS_URL"] = stack.enter_context(RedisServer(tmp_path)).url
        run_engine_tests_here(*chosen, processes=2 if name == "at_night" else 0, **settings)
