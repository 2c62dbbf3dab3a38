"""A database that does not answer. The engine's tests on PostgreSQL are in test_engine.py."""

import socket
import subprocess

import pytest
from servers import project_environment

pytestmark = pytest.mark.servers


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
