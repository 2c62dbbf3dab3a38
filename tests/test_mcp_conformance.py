"""The official conformance suite of MCP against a live server: what a revision requires of a server passes."""

import json
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
TASKS = (
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
)
NOT_OURS_OF_TASKS = {
    # A tool that fails has a result, whatever it raises.
    "sep-2663-tasks-get-status-failed",
    # A tool asks one question at a time.
    "tasks-mrtr-partial-fulfillment",
}


@pytest.fixture(scope="module")
def suite() -> list[str]:
    """The command of the suite, with a Node that is new enough: the package `node` fetches it."""
    packages = npm_install(ROOT / "tests/mcp/package.json", "--ignore-scripts=false")
    if packages is None:
        pytest.skip("npm is not on the PATH")
    return [str(packages / "node/bin/node"), str(packages / "@modelcontextprotocol/conformance/dist/index.js")]


@pytest.fixture(scope="module")
def live(live_project: LiveProject) -> Iterator[LiveProject]:
    shutil.copytree(ROOT / "tests/mcp/project", live_project.path, dirs_exist_ok=True)
    with serve(live_project.path, DJANGO_SETTINGS_MODULE="conformance_settings") as live:
        yield live


def scored(suite: list[str], revision: str) -> list[str]:
    listed = subprocess.run(
        [*suite, "list", "--requirements", revision], capture_output=True, text=True, check=True, timeout=120
    )
    section = listed.stdout.partition("Server scenarios")[2].partition("\n\n")[0]
    return [line.strip().removeprefix("- ") for line in section.splitlines() if line.startswith("  - ")]


@pytest.mark.parametrize("path", ["mcp", "agent/mcp/"])
@pytest.mark.parametrize("revision", SCORED)
def test_all_that_counts_of_a_revision_passes(
    suite: list[str], live: LiveProject, tmp_path: Path, revision: str, path: str
):
    names = scored(suite, revision)
    assert len(names) == SCORED[revision]
    if path != "mcp":
        # The project's own route has none of the fixtures that only the suite knows.
        names = ["tools-list", "tools-call-simple-text", "tools-call-with-progress", "resources-templates-read"]
    failures = {}
    url = f"http://localhost:{live.port}/{path}"
    command = [*suite, "server", "--url", url, "--requirements", revision, "-o", str(tmp_path)]
    done = subprocess.run(command, env=project_environment(), capture_output=True, text=True, timeout=600)
    for name in names:
        [result] = tmp_path.glob(f"server-{name}-20*")
        checks = json.loads((result / "checks.json").read_text())
        passed = [check for check in checks if check["status"] == "SUCCESS" and check["id"] != "wire-schema-valid"]
        others = [
            f"{check['status']} {check['id']}: {check.get('errorMessage')}"
            for check in checks
            if check["status"] not in ("SUCCESS", "INFO") and check["id"] not in NOT_OURS
        ]
        if others or not passed:
            failures[name] = others or "nothing was checked"
    assert not failures, f"{json.dumps(failures, indent=1)}\n{done.stdout[-2000:]}"


@pytest.mark.parametrize("name", TASKS)
def test_long_calls_are_tasks(suite: list[str], live: LiveProject, tmp_path: Path, name: str):
    url = f"http://localhost:{live.port}/mcp"
    command = [*suite, "server", "--url", url, "--scenario", name, "-o", str(tmp_path)]
    done = subprocess.run(command, env=project_environment(), capture_output=True, text=True, timeout=300)
    [result] = tmp_path.glob(f"server-{name}-20*")
    checks = json.loads((result / "checks.json").read_text())
    wrong = [
        f"{check['status']} {check['id']}: {check.get('errorMessage')}"
        for check in checks
        if check["status"] not in ("SUCCESS", "INFO") and check["id"] not in NOT_OURS_OF_TASKS
    ]
    assert not wrong, done.stdout[-2000:]
    assert any(check["status"] == "SUCCESS" for check in checks)


@pytest.mark.nightly
def test_the_inspector_gets_the_result_of_a_long_call(live: LiveProject):
    """It has the official library of clients for tasks."""
    packages = npm_install(ROOT / "tests/mcp/inspector/package.json", "--ignore-scripts=false")
    if packages is None:
        pytest.skip("npm is not on the PATH")
    program = packages / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    url = f"http://localhost:{live.port}/mcp"
    command = [packages / "node/bin/node", program, "--cli", url, "--protocol-era", "modern", "--method", "tools/call"]
    command += ["--tool-name", "slow_compute", "--tool-args-json", '{"seconds": 1.5, "label": "inspected"}']
    done = subprocess.run(command, env=project_environment(), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["content"] == [{"type": "text", "text": "computed inspected"}]
    look = "from agui.contrib.mcp.models import ClientTask; print(ClientTask.objects.latest('created_at'))"
    assert live.manage("shell", "-c", look).splitlines()[-1] == "slow_compute done"
