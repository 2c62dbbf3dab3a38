"""A database that does not answer. The engine's tests on PostgreSQL are in test_engine_postgresql.py."""

import shutil
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest
from daily import at_night
from postgresql import PostgreSQL
from servers import project_environment, serve
from test_dependency_sets import make

pytestmark = pytest.mark.engine

# What .env may say, and what no test of a project may use.
ELSEWHERE = {
    "AGENT_MODEL": "openai:none",
    "REDIS_URL": "redis://127.0.0.1:1/0",
    "RUN_EXECUTOR": "dbos",
    "MCP_CONFIG": "nowhere.json",
    "TELEMETRY": "1",
}


def run_in(project: Path, program: str, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    options = {"cwd": project, "env": project_environment(**settings), "capture_output": True, "text": True}
    return subprocess.run([project / program, *arguments], timeout=900, **options)


@pytest.mark.parametrize("options", at_night((), ("-n", "2")), ids=["one process", "two"])
def test_the_projects_own_tests_pass_on_postgresql(
    bake, furnish, postgresql_server: PostgreSQL, options: tuple[str, ...]
):
    """Whatever .env says. The test database is dropped in the end: nobody may be connected to it then."""
    project = bake()
    furnish(project)
    database = postgresql_server.create(f"own_{len(options)}")
    done = run_in(project, ".venv/bin/pytest", "-q", *options, **ELSEWHERE, DATABASE_URL=database)
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
        done = run_in(project, ".venv/bin/python", "manage.py", "migrate", "--check", **settings)
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
    with (project / "config/settings.py").open("a") as settings:
        settings.write(POOL)
    assert make(project, "setup", "EXTRAS=postgres").returncode == 0
    uv = ["uv", "pip", "install", "--quiet", "--python", project / ".venv/bin/python", "psycopg-pool"]
    subprocess.run(uv, check=True)
    name = f"pooled_{uuid4().hex}"  # If the test is run again, the first one may be there.
    with serve(project, DATABASE_URL=postgresql_server.create(name)) as live:
        clients = [live.client(live.token) for _ in range(12)]

        def add_task(number: int) -> list[dict]:
            return clients[number].run(f"add_task title=Task{number}", threadId=f"t{number}")

        with ThreadPoolExecutor(len(clients)) as threads:
            runs = list(threads.map(add_task, range(len(clients))))
        used = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        [connections] = postgresql_server.query(name, used)
    ends = [events[-1]["type"] for events in runs]
    assert set(ends) <= {"RUN_FINISHED"}
    assert int(connections) <= 3 + 1  # The sign of life has one of its own.
