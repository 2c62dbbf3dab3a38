"""The generated project on a real PostgreSQL: its own tests pass there, too."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of our own on the loopback interface: its DATABASE_URL."""
    tools = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not tools:
        pytest.skip("PostgreSQL is not installed")
    bin_directory = tools[-1].parent
    # Not below pytest's directory, which only its user may enter.
    directory = Path(tempfile.mkdtemp(prefix="postgresql-"))
    data = directory / "data"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # PostgreSQL refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(directory, "postgres")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={directory} -c fsync=off"
    run = {"check": True, "cwd": directory, "stdout": subprocess.DEVNULL}
    subprocess.run([*prefix, bin_directory / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], **run)
    control = [*prefix, bin_directory / "pg_ctl", "-D", data, "-w"]
    subprocess.run([*control, "-o", options, "-l", directory / "log", "start"], **run)
    yield f"postgres://postgres@127.0.0.1:{port}/postgres"
    subprocess.run([*control, "-m", "immediate", "stop"], **run)
    shutil.rmtree(directory)


def test_the_projects_own_tests_pass_on_postgresql(rendered, environment: Path, postgresql: str, tmp_path: Path):
    project = tmp_path / "project"
    shutil.copytree(rendered["demo"], project)
    result = subprocess.run(
        [environment / "bin/python", "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
        cwd=project,
        env={**os.environ, "DEBUG": "1", "DATABASE_URL": postgresql},
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
