"""The benchmarks still run against the project as it is; the peers, which have to be installed, are left out."""

import json
import shutil
import sys
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
FIRST_ANSWER = """
import sys
from pathlib import Path
import first_answer

steps = first_answer.ours(Path(sys.argv[1]), Path(sys.argv[2]))
print(len(steps), all(second > 0 for second in first_answer.measure(steps, [0, 1, 2, 3])))
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


def test_the_way_of_a_request_and_the_size_of_the_engine_are_measured(project: Path):
    way = execute(project, project / ".venv/bin/python", "-B", ROOT / "benchmarks/floor_plan.py").stdout
    assert [line.partition(":")[0] for line in way.splitlines() if "modules" in line] == ["hello", "a tool"]
    size = execute(ROOT, sys.executable, "-B", "benchmarks/size.py").stdout
    assert all(int(line.split()[0]) > 0 for line in size.splitlines())


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_a_turn_costs_no_more_instructions_than_in_the_last_release(project: Path):
    """To pydantic-ai's adapter alone, since instructions depend on Python's build and on the libraries, too."""
    released = json.loads((ROOT / "benchmarks/COUNTS.json").read_text())
    counted = json.loads(run(project, OURS_AND_BARE))
    bare, ours = counted
    for scenario, instructions in counted[ours].items():
        before = released[ours][scenario] / released[bare][scenario]
        assert instructions / counted[bare][scenario] <= 1.03 * before, (scenario, counted)


@pytest.mark.skipif(not shutil.which("uv"), reason="uv is not on the PATH: pip would take minutes")
def test_the_four_steps_to_a_first_answer_are_measured(template: Path, tmp_path: Path):
    command = [sys.executable, "-B", "-c", FIRST_ANSWER, tmp_path, template]
    assert execute(ROOT / "benchmarks", *command, PYTHONPATH=".").stdout == "4 True\n"
