"""The endpoint, spoken to by the official clients: the present one, and the one that shipping pages still use."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from breaking_proxy import BOTH, MUTATIONS, breaking_proxy, nothing
from conftest import CACHE, ROOT
from servers import LiveProject, serve

pytestmark = pytest.mark.slow

CLIENTS = ROOT / "tests/clients"


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Node suite with its packages, which are kept until package.json changes."""
    if not shutil.which("npm"):
        pytest.skip("npm is not on the PATH")
    package = CLIENTS / "package.json"
    cache = CACHE / f"clients-{hashlib.sha256(package.read_bytes()).hexdigest()[:12]}"
    if not (cache / "node_modules/.installed").exists():
        shutil.rmtree(cache, ignore_errors=True)
        cache.mkdir(parents=True)
        shutil.copy(package, cache)
        subprocess.run(["npm", "install", "--ignore-scripts", "--silent", "--no-package-lock"], cwd=cache, check=True)
        (cache / "node_modules/.installed").touch()
    directory = tmp_path_factory.mktemp("clients")
    for file in (package, *CLIENTS.glob("*.mjs")):
        shutil.copy(file, directory)
    (directory / "node_modules").symlink_to(cache / "node_modules")
    return directory


@pytest.fixture(scope="session")
def scripted_project(live_project: LiveProject) -> Iterator[LiveProject]:
    """The default project, served by a second process with the scripted agent."""
    shutil.copytree(CLIENTS / "project", live_project.path, dirs_exist_ok=True)
    with serve(live_project.path, DJANGO_SETTINGS_MODULE="scripted_settings") as live:
        yield live


@pytest.fixture(scope="session")
def other_token(scripted_project: LiveProject) -> str:
    """A token of somebody else."""
    code = "from users.models import User; User.objects.get_or_create(username='somebody_else')"
    scripted_project.manage("shell", "-v", "0", "-c", code)
    return scripted_project.manage("create_token", "somebody_else").splitlines()[-1]


@pytest.fixture
def run_suite(suite: Path, scripted_project: LiveProject, other_token: str):
    """Run the suite, or some of its scenarios, on one client."""

    def run(client: str, *arguments: str, url: str = scripted_project.url, seconds: int = 30):
        environment = os.environ | {
            "AG_UI_CLIENT": client,
            "AGUI_URL": url,
            "AGUI_TOKEN": scripted_project.token,
            "AGUI_OTHER_TOKEN": other_token,
            "AGUI_TIMEOUT_MS": str(seconds * 1000),
        }
        return subprocess.run(
            ["node", "--test", "--test-reporter=tap", *arguments],
            cwd=suite,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def pattern(scenario: str) -> str:
    return f"--test-name-pattern=^{re.escape(scenario)}$"


@pytest.mark.parametrize("client", BOTH)
def test_official_client_understands_everything(client: str, run_suite):
    result = run_suite(client)
    assert result.returncode == 0, result.stdout[-8000:]
    assert "# tests 0" not in result.stdout


# --- The suite has teeth


@pytest.mark.parametrize("client", BOTH)
def test_proxy_that_changes_nothing_is_not_noticed(client: str, run_suite, scripted_project: LiveProject):
    used = {mutation.scenario for mutation in MUTATIONS.values() if client in mutation.clients}
    files = {mutation.file for mutation in MUTATIONS.values()}
    with breaking_proxy(scripted_project.port, nothing) as proxy:
        result = run_suite(client, *map(pattern, sorted(used)), *sorted(files), url=proxy.url)
    assert result.returncode == 0, result.stdout[-8000:]
    assert f"# pass {len(used)}\n" in result.stdout
    assert proxy.errors == []


@pytest.mark.parametrize("name", MUTATIONS)
def test_broken_stream_is_noticed(name: str, run_suite, scripted_project: LiveProject):
    mutation = MUTATIONS[name]
    arguments = (pattern(mutation.scenario), mutation.file)
    with breaking_proxy(scripted_project.port, mutation.mutate) as proxy, ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(run_suite, client, *arguments, url=proxy.url, seconds=5) for client in mutation.clients]
        results = {client: run.result() for client, run in zip(mutation.clients, runs, strict=True)}
    failed = rf"not ok \d+ - {re.escape(mutation.scenario)}\n"
    for client, result in results.items():
        assert re.search(failed, result.stdout), f"Nobody has noticed on {client}:\n{result.stdout}{result.stderr}"
    assert proxy.errors == []
