"""A race is found, told, and does not stop the other tests (tests/flaky.py)."""

import json
import re
import sys
from pathlib import Path

from conftest import ROOT
from projects import execute

SUITE = """
from pathlib import Path
import pytest

def fail_once(name):
    tried = Path(name)
    if not tried.exists():
        tried.touch()
        raise AssertionError("The first time")

@pytest.mark.browser
def test_page():
    fail_once("page")

@pytest.mark.engine
def test_rows():
    fail_once("rows")
"""


def test_failed_test_of_a_browser_is_tried_again(tmp_path: Path):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    browser\n    engine\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["flaky"]\n')
    (tmp_path / "test_suite.py").write_text(SUITE)
    name, history = "test_suite.py::test_page", tmp_path / "history"
    history.write_text(f"{json.dumps({'flaky': [name]})}\n" * 10)
    plugins = ["-p", "xdist", "-p", "pytest_rerunfailures", "-p", "no:cacheprovider", "--numprocesses=1"]
    settings = {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FLAKY_HISTORY": "history"}
    said = execute(tmp_path, sys.executable, "-m", "pytest", *plugins, status=1, **settings).stdout
    assert "1 failed, 1 passed, 1 rerun" in said
    assert re.search(f"^flaky: {name}\n(>.*\n)*E +AssertionError: The first time\n", said, re.MULTILINE)
    assert f"flaky in 10 of the last 10 runs, a defect: {name}" in said
    assert [json.loads(line)["flaky"] for line in history.read_text().splitlines()] == [[name]] * 10
