"""The official conformance suite of MCP against a live server: what a revision requires of a server passes."""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, npm_install
from servers import LiveProject, project_environment, serve

pytestmark = pytest.mark.servers

# The number of scenarios that count, so that none gets lost.
SCORED = {"2026-07-28": 37, "2025-11-25": 30}
# Only servers whose lists change while clients listen have these.
NOT_OURS = {
    "sep-2575-server-sends-subscription-ack",
    "sep-2575-server-tags-subscription-id",
    "sep-2575-server-honors-notification-filter",
    "sep-2575-server-sends-prompts-list-changed-on-subscription",
    "sep-2575-server-sends-tools-list-changed-on-subscription",
}
# The scenarios of the extension for tasks do not count for a revision.
TASKS = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
]
# A tool that fails has a result, whatever it raises; and a tool asks one question at a time.
NOT_OURS_OF_TASKS = {"sep-2663-tasks-get-status-failed", "tasks-mrtr-partial-fulfillment"}


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command of the suite, with a Node that is new enough: the package `node` fetches it."""
    packages = npm_install(ROOT / "tests/mcp/package.json", "--ignore-scripts=false")
    return [str(packages / "node/bin/node"), str(packages / "@modelcontextprotocol/conformance/dist/index.js")]


@pytest.fixture(scope="module")
def live(live_project: LiveProject) -> Iterator[LiveProject]:
    shutil.copytree(ROOT / "tests/mcp/project", live_project.path, dirs_exist_ok=True)
    with serve(live_project.path, DJANGO_SETTINGS_MODULE="conformance_settings") as live:
        yield live


def play(suite: list[str], live: LiveProject, directory: Path, *options: str) -> str:
    command = [*suite, "server", "--url", f"http://localhost:{live.port}/mcp", "-o", str(directory), *options]
    done = subprocess.run(command, env=project_environment(), capture_output=True, text=True, timeout=600)
    return done.stdout[-2000:]


def wrong_with(name: str, directory: Path, not_ours: set[str]) -> list[str]:
    """What a scenario has found."""
    [result] = directory.glob(f"server-{name}-20*")
    wrong, passed = [], 0
    for check in json.loads((result / "checks.json").read_text()):
        passed += check["status"] == "SUCCESS" and check["id"] != "wire-schema-valid"
        if check["status"] not in ("SUCCESS", "INFO") and check["id"] not in not_ours:
            wrong.append(f"{check['status']} {check['id']}: {check.get('errorMessage')}")
    return wrong if wrong or passed else ["nothing was checked"]


@pytest.mark.parametrize("revision", SCORED)
def test_all_that_counts_of_a_revision_passes(suite: list[str], live: LiveProject, tmp_path: Path, revision: str):
    command = [*suite, "list", "--requirements", revision]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    section = listed.stdout.partition("Server scenarios")[2].partition("\n\n")[0]
    names = re.findall(r"^  - (\S+)$", section, re.MULTILINE)
    assert len(names) == SCORED[revision]
    printed = play(suite, live, tmp_path, "--requirements", revision)
    failures = {name: wrong for name in names if (wrong := wrong_with(name, tmp_path, NOT_OURS))}
    assert not failures, f"{json.dumps(failures, indent=1)}\n{printed}"


@pytest.mark.parametrize("name", TASKS)
def test_long_calls_are_tasks(suite: list[str], live: LiveProject, tmp_path: Path, name: str):
    printed = play(suite, live, tmp_path, "--scenario", name)
    assert wrong_with(name, tmp_path, NOT_OURS_OF_TASKS) == [], printed
