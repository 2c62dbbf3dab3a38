"""The benchmarks still run against the project as it is; the peers, which `make bench` installs, are left out."""

import json
import shutil
from pathlib import Path

import pytest
from conftest import ROOT
from projects import execute

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
OURS_AND_BARE = """
import json
import count

print(json.dumps(count.count_all([count.BARE, count.OURS], turns=50)))
"""


def run(project: Path, code: str) -> str:
    return execute(ROOT / "benchmarks", project / ".venv/bin/python", "-B", "-c", code).stdout


def test_a_turn_is_measured(project: Path):
    tables = [table.splitlines() for table in run(project, OURS_ALONE).strip().split("\n\n")]
    assert [title for title, *_ in tables] == [
        f"## One turn's SQL on SQLite, {of}" for of in ("statements", "bytes written")
    ]
    for _, header, _, *rows in tables:
        assert [row.split()[1] for row in (header, *rows)] == ["messages", "10", "1000"]


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_a_turn_costs_no_more_instructions_than_in_the_last_release(project: Path):
    """To pydantic-ai's adapter alone, since instructions depend on Python's build and on the libraries, too."""
    released = json.loads((ROOT / "benchmarks/COUNTS.json").read_text())
    counted = json.loads(run(project, OURS_AND_BARE))
    bare, ours = counted
    for scenario, instructions in counted[ours].items():
        before = released[ours][scenario] / released[bare][scenario]
        assert instructions / counted[bare][scenario] <= 1.03 * before, (scenario, counted)
