"""The endpoint, spoken to by the official clients: the present one, and the one that shipping pages still use.

An independent validator judges what they have received.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from ag_ui_validate import Diagnostic, ValidatorOptions, create_validator
from breaking_proxy import BOTH, MUTATIONS, NOTHING, breaking_proxy
from conftest import ROOT, npm_install
from daily import at_night
from projects import execute
from servers import LiveProject, serve

pytestmark = pytest.mark.clients

CLIENTS = ROOT / "tests/clients"


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Node suite with its packages, which are kept until package.json changes."""
    package = CLIENTS / "package.json"
    packages = npm_install(package)
    directory = tmp_path_factory.mktemp("clients")
    for file in (package, *CLIENTS.glob("*.mjs")):
        shutil.copy(file, directory)
    (directory / "node_modules").symlink_to(packages)
    return directory


@pytest.fixture(scope="session")
def scripted_project(live_project: LiveProject) -> Iterator[LiveProject]:
    """The default project, served by a second process with the scripted agent."""
    shutil.copytree(CLIENTS / "project", live_project.path, dirs_exist_ok=True)
    with serve(live_project.path, DJANGO_SETTINGS_MODULE="scripted_settings") as live:
        yield live


@pytest.fixture(scope="session")
def other_token(scripted_project: LiveProject) -> str:
    return scripted_project.token_of("somebody_else")


@pytest.fixture(scope="session")
def run_suite(suite: Path, scripted_project: LiveProject, other_token: str):
    """Run the suite, or some of it, on one client."""

    def run(client: str, *arguments: str, url: str = scripted_project.url, **settings: str):
        environment = {
            "AG_UI_CLIENT": client,
            "AGUI_URL": url,
            "AGUI_TOKEN": scripted_project.token,
            "AGUI_OTHER_TOKEN": other_token,
        }
        return subprocess.run(
            ["node", "--test", "--test-reporter=tap", *arguments],
            cwd=suite,
            env=os.environ | environment | settings,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    return run


def flaws(events: list[dict[str, Any]]) -> list[Diagnostic]:
    """What an independent validator finds in a stream."""
    calls = {event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_START"}
    results = {event["toolCallId"] for event in events if event["type"] == "TOOL_CALL_RESULT"}
    # The validator forgets calls at the end of a run, but the result of an interrupted call comes in the next run.
    validator = create_validator(ValidatorOptions(severity_overrides={} if results <= calls else {"AGUI207": "off"}))
    found = [flaw for event in events for flaw in validator.feed(event)]
    return [flaw for flaw in [*found, *validator.finalize()] if flaw.severity != "info"]


@pytest.mark.parametrize("client", [BOTH[0], *at_night(*BOTH[1:])])
def test_official_client_understands_everything_and_no_stream_has_a_flaw(client: str, run_suite, tmp_path: Path):
    record = tmp_path / "record"
    result = run_suite(client, AGUI_RECORD=str(record))
    assert result.returncode == 0, result.stdout[-8000:]
    with record.open() as lines:
        streams = [json.loads(line)["events"] for line in lines]
    assert len(streams) > 100
    assert [(found, stream) for stream in streams if (found := flaws(stream))] == []
    # The validator finds an event that is missing.
    text = next(stream for stream in streams if "TEXT_MESSAGE_END" in str(stream))
    assert flaws([event for event in text if event["type"] != "TEXT_MESSAGE_END"])


def test_live_endpoint_is_valid(live_project: LiveProject):
    validator = Path(sys.executable).with_name("ag-ui-validate")
    options = ["--header", f"Authorization: Bearer {live_project.token}", "--max-warnings", "0", "--no-color"]
    execute(ROOT, validator, f"{live_project.url}/agent/", *options)


@pytest.mark.nightly
@pytest.mark.parametrize("client", BOTH)
def test_official_client_meets_an_expired_question(client: str, run_suite, scripted_project: LiveProject):
    settings = {**scripted_project.settings, "INTERRUPT_EXPIRES_SECONDS": "0.001"}
    with serve(scripted_project.path, **settings) as live:
        result = run_suite(client, "expiry.mjs", url=live.url)
    assert result.returncode == 0, result.stdout[-8000:]


# --- The suite has teeth

BROKEN = [(client, name) for name, mutation in MUTATIONS.items() for client in mutation.clients]


@pytest.fixture(scope="session")
def verdicts(run_suite, scripted_project: LiveProject) -> dict[tuple[str, str, str], str]:
    """How tests ended ("ok" or "not ok") through the proxy, by client, test and what broke the streams."""

    def play(client: str, file: str, test: str) -> dict[tuple[str, str, str], str]:
        names = [name for asked, name in BROKEN if (asked, MUTATIONS[name].test) == (client, test)]
        result = run_suite(
            client,
            f"--test-name-pattern=: {re.escape(test)}$",
            f"{file}.test.mjs",
            url=proxy.url,
            AGUI_WAYS=" ".join([NOTHING, *names]),
            AGUI_TIMEOUT_MS="10000",
        )
        found = re.findall(rf"^(ok|not ok) \d+ - (\w+): {re.escape(test)}$", result.stdout, re.MULTILINE)
        return {(client, test, way): verdict for verdict, way in found}

    played = {(client, MUTATIONS[name].file, MUTATIONS[name].test) for client, name in BROKEN}
    with breaking_proxy(scripted_project.port) as proxy, ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(play, *one) for one in sorted(played)]
        found = {key: verdict for run in runs for key, verdict in run.result().items()}
    assert proxy.errors == {}
    return found


@pytest.mark.nightly
@pytest.mark.parametrize(("client", "name"), BROKEN)
def test_broken_stream_is_noticed_and_the_proxy_is_not(client: str, name: str, verdicts):
    test = MUTATIONS[name].test
    assert (verdicts[client, test, NOTHING], verdicts[client, test, name]) == ("ok", "not ok")
