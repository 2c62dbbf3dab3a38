"""Time is charged to the test or fixture that spends it (tests/durations.py)."""

import re
import sys
from pathlib import Path

import durations
from conftest import ROOT
from projects import execute

# Time passes only when a test or a fixture says so.
CONFTEST = """
import durations
pytest_plugins = ["durations"]
spent = [0, 0]
durations.Clocks.read = lambda clocks: tuple(spent)

def spend(seconds):
    spent[0] += seconds
    spent[1] += 10 * seconds
"""
SUITE = """
import pytest
from conftest import spend

@pytest.fixture(scope="session")
def server():
    spend(100)
    yield
    spend(200)

@pytest.fixture
def user(request):
    spend(1)
    request.getfixturevalue("server")
    yield
    spend(2)

@pytest.mark.parametrize("number", range(2))
def test_chat(user, number):
    spend(5)

def test_last():
    spend(7)
"""


def test_time_is_charged_to_what_spends_it(tmp_path: Path):
    directory = tmp_path / durations.DIRECTORY
    directory.mkdir(parents=True)
    for number in range(durations.RUNS):
        (directory / f"2000-01-0{number}.jsonl").touch()
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_suite.py").write_text(SUITE)
    settings = {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    options = ["-p", "no:cacheprovider"]
    execute(tmp_path, sys.executable, "-B", "-m", "pytest", *options, **settings)
    kept = sorted(directory.iterdir())
    assert (len(kept), kept[0].name) == (durations.RUNS, "2000-01-01.jsonl")

    printed = execute(tmp_path, sys.executable, "-B", ROOT / "tests/durations.py", kept[-1], **settings).stdout
    rows = {
        name: [float(figure) for figure in figures.split()]
        for figures, name in re.findall(r"^((?: +[\d.]+)+)  (\S.*)$", printed, re.MULTILINE)
    }
    # How often, then wall and processor seconds.
    assert rows == {
        f"the run: pytest {' '.join(options)}": [1, 323, 3230],
        "test_suite.py::test_chat": [2, 16, 160],
        "test_suite.py::test_last": [1, 7, 70],
        "test_suite.py": [3, 23, 230],
        "test_suite.py::server (session)": [1, 300, 3000],
        "test_suite.py::user (function)": [2, 6, 60],
        "tests": [3, 23, 230],
        "fixtures that tests share": [1, 300, 3000],
    }
