"""A race is found, told, and does not stop the other tests (tests/flaky.py)."""

import json
import os
import subprocess
import sys
from pathlib import Path

import flaky
from conftest import ROOT

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
SETTINGS = "[pytest]\ntestpaths = .\nmarkers =\n    browser\n    engine\n"


def run_suite(
    directory: Path, tier: str, *, is_broken: bool = False, processes: int = 0
) -> subprocess.CompletedProcess[str]:
    (directory / "pytest.ini").write_text(SETTINGS)
    (directory / "conftest.py").write_text('pytest_plugins = ["flaky"]\n')
    (directory / "test_suite.py").write_text(SUITE.format(tier=tier, is_broken=is_broken))
    (directory / "tried").unlink(missing_ok=True)
    plugins = ["-p", "xdist", "-p", "pytest_rerunfailures", "-p", "no:cacheprovider"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, f"--numprocesses={processes}", "--dist=loadfile"],
        cwd=directory,
        env=os.environ
        | {
            "PYTHONPATH": str(ROOT / "tests"),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "FLAKY_HISTORY": ".test-cache/flaky.jsonl",
        },
        capture_output=True,
        text=True,
    )


def flaky_runs(directory: Path) -> list[list[str]]:
    return [json.loads(line)["flaky"] for line in (directory / ".test-cache/flaky.jsonl").read_text().splitlines()]


def test_a_test_that_passes_when_it_is_tried_again_is_named(tmp_path: Path):
    done = run_suite(tmp_path, "browser", processes=1)
    assert done.returncode == 0, done.stdout
    assert "flaky: test_suite.py::test_once\n" in done.stdout
    assert "E           AssertionError: The first time\n" in done.stdout
    assert flaky_runs(tmp_path) == [["test_suite.py::test_once"]]
    assert "a defect" not in done.stdout
    assert "flaky in 2 of the last 10 runs, a defect: test_suite.py::test_once" in run_suite(tmp_path, "browser").stdout


def test_a_test_that_fails_again_fails_the_run_and_is_not_called_flaky(tmp_path: Path):
    done = run_suite(tmp_path, "browser", is_broken=True)
    assert done.returncode == 1
    assert "test_never" in done.stdout
    assert flaky_runs(tmp_path) == [["test_suite.py::test_once"]]


def test_a_test_of_the_engine_is_tried_once(tmp_path: Path):
    assert run_suite(tmp_path, "engine").returncode == 1
    assert flaky_runs(tmp_path) == [[]]


def test_the_history_has_the_last_ten_runs(tmp_path: Path):
    history = tmp_path / ".test-cache/flaky.jsonl"
    assert [flaky.record([name], history) for name in "aba"] == [{}, {}, {"a": 2}]
    for _ in range(10):
        told = flaky.record([], history)
    assert (flaky_runs(tmp_path), told) == ([[]] * 10, {})
