"""PostgreSQL is restarted in the middle of runs: they wait for it, and nothing that was said or done is lost."""

import ast
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import own_postgresql
from postgresql import PostgreSQL
from servers import serve, wait_until
from test_kill import Watched, check_records, kept, read_thread

pytestmark = pytest.mark.servers

RUNS = 4
# What the log says once for each run that has missed its database.
WAITS = "Database unavailable: "


@pytest.fixture
def server() -> Iterator[PostgreSQL]:
    """A server of our own: others' tests would miss the common one."""
    yield from own_postgresql()


@pytest.mark.nightly
@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_runs_wait_for_a_database_that_is_away(furnished, server: PostgreSQL, mode: str):
    project = furnished("killed")
    (project / "effects").touch()
    url = server.create("away")
    with serve(project, DJANGO_SETTINGS_MODULE="killed_settings", DATABASE_URL=url) as live:
        watched = [Watched(live, f"thread-{number}", f"slow held {number}") for number in range(RUNS)]
        with ThreadPoolExecutor(RUNS) as pool:
            # The runs begin one after the other, so the database goes away at another moment of each.
            following = [pool.submit(run.follow, number * 0.3) for number, run in enumerate(watched)]
            wait_until(lambda: all(run.events for run in watched))
            wait_until(lambda: any(run.received("TOOL_CALL_RESULT") for run in watched))
            server.stop(mode)
            status, _ = live.client(live.token).fetch("GET", "/agent/threads/")
            # None can end before it has missed the database.
            (project / "go-on").touch()
            wait_until(lambda: live.log.read_text().count(WAITS) == RUNS, failure_message=live.log.read_text)
            assert not any(future.done() for future in following)
            server.start()
        for future in following:
            future.result()
        assert status == 503  # A request does not wait
        for run in watched:
            assert run.has_finished, run.events[-2:]
            prompt, *answer = read_thread(live, run.thread_id)
            assert prompt["content"] == run.said
            assert kept(answer) == run.script
        effects = (project / "effects").read_text().splitlines()
        assert sorted(effects) == sorted(f"{run.said}/{name}" for run in watched for name in ("a", "b", "long c"))
        code = "from agui.models import AuditRecord; print(*AuditRecord.objects.values_list('tool_call_id'), sep='\\n')"
        audited = [ast.literal_eval(line)[0] for line in live.manage("shell", "-v", "0", "-c", code).splitlines()]
        assert sorted(audited) == sorted(effects)
        check_records(live, watched)
