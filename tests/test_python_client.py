"""AGUIModel on servers that are not the project's: pydantic-ai's own adapter, and Microsoft Agent Framework."""

import json
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from cache import python_with
from conftest import ROOT
from servers import free_port, project_environment, running

pytestmark = pytest.mark.clients

FILES = ROOT / "tests/python_client"
SCENARIOS = ["text", "streamed", "server", "client", "mixed", "mixed_reversed", "chain", "parallel"]
SCENARIOS += ["approved", "edited", "denied", "error", "state"]
# Tools of Microsoft's server don't see the state, and it tells of no usage.
PLAYED = {"pydantic_server": [*SCENARIOS, "state_both_ways", "usage"], "microsoft_server": SCENARIOS}


@pytest.fixture(scope="session")
def microsoft_server() -> Path:
    """Python with Microsoft's server, which asks for an older ag-ui-protocol than the project."""
    return python_with("microsoft-server", (FILES / "microsoft.txt").read_text())


@pytest.fixture(scope="session")
def pydantic_server(environment: Path) -> Path:
    return environment / "bin/python"


def serving(python: Path, log: Path, *arguments: str) -> AbstractContextManager[str]:
    """Run one of the servers."""
    port = free_port()
    return running([python, *arguments, str(port)], port, log, FILES)


@pytest.fixture(scope="session")
def verdicts(
    request: pytest.FixtureRequest,
    rendered: dict[str, Path],
    environment: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[tuple[str, str], str]:
    """How each scenario ended, by server and name: "ok" or a traceback."""
    found = {}
    for server, names in PLAYED.items():
        log = tmp_path_factory.mktemp(server) / "log"
        with serving(request.getfixturevalue(server), log, f"{server}.py") as url:
            played = subprocess.run(
                # Without compiled modules: other tests read this project.
                [environment / "bin/python", "-B", FILES / "scenarios.py", f"{url}/", *names],
                cwd=rendered["demo"],
                env=project_environment(PYTHONPATH=".", DEBUG="1", DJANGO_SETTINGS_MODULE="config.settings"),
                capture_output=True,
                text=True,
                timeout=400,
                check=False,
            )
        found |= {(server, name): verdict for name, verdict in map(json.loads, played.stdout.splitlines())}
        assert played.returncode == 0, played.stderr
    return found


@pytest.mark.nightly
@pytest.mark.parametrize(("server", "name"), [(server, name) for server, names in PLAYED.items() for name in names])
def test_another_server_is_understood(server: str, name: str, verdicts: dict[tuple[str, str], str]):
    assert verdicts[server, name] == "ok", verdicts[server, name]
