"""`make test` gives all tests of a file to one process, so that they share its servers."""

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(8))
def test_where(number):
    pass
"""


def test_the_tests_of_a_file_run_in_one_process(tmp_path: Path):
    [options] = re.findall(r"--numprocesses \$\(PROCESSES\) (.*) -m ", (ROOT / "Makefile").read_text())
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(SUITE)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "xdist",
            "--numprocesses=2",
            *options.split(),
            "-v",
            "-c",
            os.devnull,
            ".",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    workers: dict[str, set[str]] = {}
    for worker, name in re.findall(r"\[(gw\d)\] .*PASSED \S*(test_\w)\.py", done.stdout):
        workers.setdefault(name, set()).add(worker)
    assert len(workers) == 4
    assert {len(found) for found in workers.values()} == {1}
    assert set.union(*workers.values()) == {"gw0", "gw1"}
