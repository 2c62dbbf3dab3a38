"""Each generated project passes its own `make check`, unedited, and its static files can be collected."""

import getpass
import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import PROVIDERS
from servers import free_port, project_environment

pytestmark = pytest.mark.slow
PRODUCTION = {"DEBUG": "0", "SECRET_KEY": "x" * 25 + "abcdefghijklmnopqrstuvwxyz", "ALLOWED_HOSTS": "example.com"}


def run(project: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=project, env=project_environment(**settings), capture_output=True, text=True, timeout=900
    )


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The projects differ in two files: the type checker need not start anew with each."""
    return tmp_path_factory.mktemp("mypy")


# The projects differ in their requirements and in .env: what attacks the endpoint is tried with one of them.
LONG = "--ignore=agui/tests/test_hostile.py --ignore=agui/tests/test_wire.py"


@pytest.mark.parametrize("provider", PROVIDERS)
def test_project_passes_its_own_checks(bake, furnish, mypy_cache: Path, provider: str):
    project = bake(model_provider=provider, project_slug=f"checked_{provider}")
    furnish(project)
    options = {} if provider == "demo" else {"PYTEST_ADDOPTS": LONG}
    done = run(project, "make", "check", MYPY_CACHE_DIR=str(mypy_cache), **options)
    print(done.stdout[-8000:], done.stderr[-8000:])
    assert done.returncode == 0
    assert "System check identified no issues" in done.stdout
    assert "No changes detected" in done.stdout


def test_project_without_debug_needs_a_key(bake, furnish):
    project = bake(project_slug="keyless")
    furnish(project)
    done = run(project, ".venv/bin/python", "manage.py", "check", DEBUG="0")
    assert done.returncode == 1
    assert "SECRET_KEY" in done.stderr.splitlines()[-1]


def test_static_files_are_collected_and_hashed(bake, furnish, node_modules: Path | None):
    project = bake(project_slug="collected")
    furnish(project)
    done = run(project, ".venv/bin/python", "manage.py", "collectstatic", "--noinput", **PRODUCTION)
    assert done.returncode == 0, done.stderr
    paths = json.loads((project / "staticfiles/staticfiles.json").read_text())["paths"]
    assert "agui/agui-chat.js" in paths
    if node_modules is None:
        pytest.skip("npm is not on the PATH: the Markdown libraries were not collected")
    assert {"vendor/marked/marked.esm.js", "vendor/dompurify/purify.es.mjs"} <= set(paths)


def test_migrations_work_on_postgresql(bake, furnish, postgresql: str):
    project = bake(project_slug="on_postgresql")
    furnish(project)
    for arguments in (["migrate", "--verbosity", "0"], ["create_first_admin"], ["check", "--database", "default"]):
        done = run(project, ".venv/bin/python", "manage.py", *arguments, DATABASE_URL=postgresql)
        assert done.returncode == 0, done.stderr


@pytest.fixture
def postgresql() -> Iterator[str]:
    """A PostgreSQL server of its own; the URL of its database."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not programs:
        pytest.skip("PostgreSQL is not installed (Debian package postgresql)")
    # The server refuses to run as root: then it runs as the user that its package made.
    as_user = ["runuser", "-u", "postgres", "--"] if getpass.getuser() == "root" else []
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="postgresql-") as directory:
        if as_user:
            shutil.chown(directory, "postgres")

        def execute(program: str, *arguments: str) -> None:
            command = [*as_user, str(programs[-1] / program), "-D", f"{directory}/data", *arguments]
            subprocess.run(command, cwd=directory, check=True, stdout=subprocess.DEVNULL)

        execute("initdb", "-U", "postgres", "--auth=trust", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories='' -c fsync=off"
        execute("pg_ctl", "-w", "-l", f"{directory}/log", "-o", options, "start")
        try:
            yield f"postgres://postgres@127.0.0.1:{port}/postgres"
        finally:
            execute("pg_ctl", "-w", "-m", "immediate", "stop")
