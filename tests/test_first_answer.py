"""The way from nothing to the first streamed answer is measured; the peer, which has to be installed, is left out."""

import shutil
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from projects import execute

pytestmark = pytest.mark.nightly

OURS_ALONE = """
import sys
from pathlib import Path
import first_answer

steps = first_answer.ours(Path(sys.argv[1]), Path(sys.argv[2]))
print(len(steps), all(second > 0 for second in first_answer.measure(steps, [0, 1, 2, 3])))
"""


def test_the_four_steps_are_measured(template: Path, tmp_path: Path):
    if not shutil.which("uv"):
        pytest.skip("uv is not on the PATH: pip would take minutes")
    command = [sys.executable, "-B", "-c", OURS_ALONE, tmp_path, template]
    assert execute(ROOT / "benchmarks", *command, PYTHONPATH=".").stdout == "4 True\n"
