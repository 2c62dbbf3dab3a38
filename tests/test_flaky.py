"""A race is found, told, and does not stop the other tests (tests/flaky.py)."""

import json
import sys
from pathlib import Path

import flaky
import pytest
from conftest import ROOT
from projects import execute

SUITE = """
from pathlib import Path
import pytest

@pytest.mark.{tier}
def test_once():
    tried = Path("tried")
    if not tried.exists():
        tried.touch()
        raise AssertionError("The first time")

@pytest.mark.{tier}
def test_never():
    assert not {is_broken}
"""


@pytest.mark.parametrize(
    ("tier", "is_broken", "status", "flaky"),
    [
        ("browser", False, 0, ["test_suite.py::test_once"]),
        ("browser", True, 1, ["test_suite.py::test_once"]),
        ("engine", False, 1, []),
    ],
)
def test_failed_test_of_a_browser_is_tried_again(
    tmp_path: Path, tier: str, is_broken: bool, status: int, flaky: list[str]
):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    browser\n    engine\n")
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["flaky"]\n')
    (tmp_path / "test_suite.py").write_text(SUITE.format(tier=tier, is_broken=is_broken))
    (tmp_path / "history").write_text(json.dumps({"flaky": flaky}) + "\n")
    plugins = ["-p", "xdist", "-p", "pytest_rerunfailures", "-p", "no:cacheprovider", "--numprocesses=1"]
    settings = {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FLAKY_HISTORY": "history"}
    said = execute(tmp_path, sys.executable, "-m", "pytest", *plugins, status=status, **settings).stdout
    for name in flaky:
        assert f"flaky: {name}\n" in said
        assert "E           AssertionError: The first time\n" in said
        assert f"flaky in 2 of the last 10 runs, a defect: {name}" in said
    assert json.loads((tmp_path / "history").read_text().splitlines()[-1])["flaky"] == flaky


def test_the_history_has_the_last_ten_runs(tmp_path: Path):
    history = tmp_path / ".test-cache/flaky.jsonl"
    assert [flaky.record([name], history) for name in "aba"] == [{}, {}, {"a": 2}]
    assert [flaky.record([], history) for _ in range(10)][-1] == {}
    assert len(history.read_text().splitlines()) == 10
