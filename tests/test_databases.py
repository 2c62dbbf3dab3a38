"""A database that does not answer. The engine's tests on PostgreSQL are in test_engine_postgresql.py."""

import shutil
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from daily import at_night
from postgresql import PostgreSQL
from projects import append, execute, make, program
from servers import serve

pytestmark = pytest.mark.engine

# What .env may say, and what no test of a project may use.
ELSEWHERE = {
    "AGENT_MODEL": "openai:none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "RUN_EXECUTOR": "dbos",
    "MCP_CONFIG": "nowhere.json",
    "TELEMETRY": "1",
}


@pytest.mark.parametrize("options", at_night((), ("-n", "2")), ids=["one process", "two"])
def test_the_projects_own_tests_pass_on_postgresql(
    bake_furnished, postgresql_server: PostgreSQL, options: tuple[str, ...]
):
    """Whatever .env says. The test database is dropped in the end: nobody may be connected to it then."""
    database = postgresql_server.create(f"own_{len(options)}")
    program(bake_furnished(), "pytest", "-q", *options, **ELSEWHERE, DATABASE_URL=database)
    left = postgresql_server.query("postgres", "SELECT datname FROM pg_database WHERE datname LIKE 'test_own%'")
    assert left == []


def test_a_database_that_says_nothing_is_not_waited_for(project: Path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings = {"DEBUG": "1", "DATABASE_URL": f"postgres://x@127.0.0.1:{silent.getsockname()[1]}/x"}
        done = program(project, "python", "manage.py", "migrate", "--check", status=None, **settings)
    assert "timeout expired" in done.stderr


POOL = """
DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": 1, "max_size": 3}
AGUI |= {"MAX_RUNS_PER_USER": 12}
"""


@pytest.mark.nightly
@pytest.mark.servers
def test_djangos_pool_of_connections_serves_more_runs_than_it_has(bake, postgresql_server: PostgreSQL):
    """Nothing keeps a connection while a model thinks, or the runs would wait for each other until they fail."""
    if not shutil.which("uv"):
        pytest.skip("uv is not on the PATH")
    project = bake(engine="package")
    append(project / "config/settings.py", POOL)
    make(project, "setup", "EXTRAS=postgres")
    execute(project, "uv", "pip", "install", "--quiet", "--python", project / ".venv/bin/python", "psycopg-pool")
    name = f"pooled_{uuid4().hex}"  # If the test is run again, the first one may be there.
    with serve(project, DATABASE_URL=postgresql_server.create(name)) as live:

        def add_task(number: int) -> str:
            client = live.client(live.token)
            return client.run(f"add_task title=Task{number}", threadId=f"t{number}")[-1]["type"]

        with ThreadPoolExecutor(12) as threads:
            assert set(threads.map(add_task, range(12))) == {"RUN_FINISHED"}
        used = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        [connections] = postgresql_server.query(name, used)
    assert int(connections) <= 3 + 1  # The sign of life has one of its own.
