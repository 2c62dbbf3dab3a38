"""A database that does not answer. The engine's tests on PostgreSQL are in test_engine_postgresql.py."""

import socket
import subprocess

import pytest
from daily import at_night
from postgresql import PostgreSQL
from servers import project_environment

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
    bake, furnish, postgresql_server: PostgreSQL, options: tuple[str, ...]
):
    """Whatever .env says. The test database is dropped in the end: nobody may be connected to it then."""
    project = bake()
    furnish(project)
    database = postgresql_server.create(f"own_{len(options)}")
    done = subprocess.run(
        [project / ".venv/bin/pytest", "-q", *options],
        cwd=project,
        env=project_environment(**ELSEWHERE, DATABASE_URL=database),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    left = postgresql_server.query("postgres", "SELECT datname FROM pg_database WHERE datname LIKE 'test_own%'")
    assert left == []


def test_a_database_that_says_nothing_is_not_waited_for(bake, furnish):
    project = bake()
    furnish(project)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        settings = {"DEBUG": "1", "DATABASE_URL": f"postgres://x@127.0.0.1:{silent.getsockname()[1]}/x"}
        done = subprocess.run(
            [project / ".venv/bin/python", "manage.py", "migrate", "--check"],
            cwd=project,
            env=project_environment(**settings),
            capture_output=True,
            text=True,
            timeout=900,
        )
    assert "timeout expired" in done.stderr
