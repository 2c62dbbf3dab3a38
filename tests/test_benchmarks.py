"""The benchmarks still run against the project as it is; the peers, which `make bench` installs, are left out."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, furnish_project
from servers import project_environment

pytestmark = pytest.mark.nightly

OURS_ALONE = """
import tempfile
from pathlib import Path
import conversations

del conversations.STORES[conversations.THEIRS], conversations.STORES[conversations.ALL_POSTED]
conversations.TURNS = {10: 1, 1000: 1}
with tempfile.TemporaryDirectory() as directory:
    conversations.count_statements(Path(directory))
"""


def test_a_turn_is_measured(rendered, environment: Path, tmp_path: Path):
    project = tmp_path / "project"
    shutil.copytree(rendered["demo"], project)
    furnish_project(project, environment)
    done = subprocess.run(
        [project / ".venv/bin/python", "-B", "-c", OURS_ALONE],
        cwd=ROOT / "benchmarks",
        env=project_environment(),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    tables = [table.splitlines() for table in done.stdout.strip().split("\n\n")]
    assert [title for title, *_ in tables] == [
        f"## One turn's SQL on SQLite, {of}" for of in ("statements", "bytes written")
    ]
    for _, header, _, *rows in tables:
        assert [row.split()[1] for row in (header, *rows)] == ["messages", "10", "1000"]
