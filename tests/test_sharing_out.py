"""`make test` gives all tests of a file to one process, so that they share its servers."""

import os
import re
import sys
from pathlib import Path

from conftest import ROOT
from projects import execute

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
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "--numprocesses=2", *options.split()]
    said = execute(tmp_path, *command, "-v", "-c", os.devnull, ".", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1").stdout
    ran = set(re.findall(r"\[(gw\d)\] .*PASSED \S*(test_\w)\.py", said))
    assert sorted(file for _, file in ran) == ["test_a", "test_b", "test_c", "test_d"]
    assert {worker for worker, _ in ran} == {"gw0", "gw1"}
