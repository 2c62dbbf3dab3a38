"""The generated project on a real PostgreSQL, and on a real Redis if there is one: its own tests pass there, too."""

import os
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from postgresql import PostgreSQL
from redis_server import RedisServer, find_redis
from servers import project_environment

pytestmark = pytest.mark.slow

# Much of what these send never reaches a database, and emptying PostgreSQL's tables after each test takes long.
LEFT_OUT = (
    *("data_docs", "demo", "evals", "hostile", "isolation", "layout", "mcp_endpoint", "mcp_servers", "recipes"),
    *("recipes_capabilities", "recipes_mcp", "recipes_messages", "recipes_models", "recipes_tools", "telemetry"),
    *("tool_schema", "tools", "wire"),
)
ELSEWHERE = [f"--ignore=agui/tests/test_{name}.py" for name in LEFT_OUT]


def test_the_projects_own_tests_pass_on_postgresql(
    rendered, environment: Path, postgresql_server: PostgreSQL, tmp_path: Path, request: pytest.FixtureRequest
):
    project = tmp_path / "project"
    shutil.copytree(rendered["demo"], project)
    settings = {"DEBUG": "1", "DATABASE_URL": postgresql_server.create("tests")}
    redis = RedisServer(tmp_path)
    if find_redis():
        redis.start()
        request.addfinalizer(redis.stop)
        settings["TEST_REDIS_URL"] = redis.url
    result = subprocess.run(
        [environment / "bin/python", "-B", "-m", "pytest", "-q", "-n", "auto", "-p", "no:cacheprovider", *ELSEWHERE],
        cwd=project,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]


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
            timeout=120,
        )
    assert "timeout expired" in done.stderr
