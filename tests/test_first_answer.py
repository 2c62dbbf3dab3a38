"""The way from nothing to the first streamed answer is measured; the peer, which has to be installed, is left out."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT
from servers import project_environment

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
    done = subprocess.run(
        [sys.executable, "-B", "-c", OURS_ALONE, tmp_path, template],
        cwd=ROOT / "benchmarks",
        env=project_environment(PYTHONPATH="."),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert (done.returncode, done.stdout) == (0, "4 True\n"), done.stderr
