"""Time is charged to the test or fixture that spends it, in one process or in workers (tests/durations.py)."""

import os
import re
import subprocess
import sys
from pathlib import Path

import durations
import pytest
from conftest import ROOT

OPTIONS = ["-p", "xdist", "-p", "no:cacheprovider"]
RUN = f"the run: pytest {' '.join(OPTIONS)} --numprocesses=0"
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
import os
import pytest
from conftest import spend

@pytest.fixture(scope="session")
def server():
    spend(100)
    yield
    spend(200)

@pytest.fixture(scope="module")
def page(request):
    spend(10)
    request.getfixturevalue("server")
    yield
    spend(20)

@pytest.fixture
def user(page):
    spend(1)
    yield
    spend(2)

@pytest.mark.parametrize("number", range(2))
def test_chat(user, number):
    spend(5)

def test_late(request):
    spend(7)
    request.getfixturevalue("user")
    {last_step}
"""
# A child works for 0.4 seconds. They count when it has ended, while it lives, and after its parent has died.
CHILDREN = """
import subprocess, sys, time
import durations

clocks = durations.Clocks()
WORK = "import time\\nwhile time.process_time() < 0.4: pass\\nprint(flush=True)\\ninput()"
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}

def check(children, next_reading):
    clocks.next_reading = next_reading
    seconds = clocks.read()[1] - time.process_time()
    assert 0.4 * children - 0.1 < seconds < 0.4 * children + 0.3, (children, seconds)

never, now = float("inf"), 0
subprocess.run([sys.executable, "-c", WORK], input=b"end", stdout=subprocess.PIPE)
check(children=1, next_reading=never)
with subprocess.Popen([sys.executable, "-c", WORK], **pipes) as child:
    child.stdout.readline()
    check(children=2, next_reading=now)
check(children=2, next_reading=never)
with subprocess.Popen(["sh", "-c", '"$@"; true', "sh", sys.executable, "-c", WORK], **pipes) as parent:
    parent.stdout.readline()
    check(children=3, next_reading=now)
    parent.kill()
check(children=3, next_reading=now)
"""


def run_suite(directory: Path, *, processes: int = 0, last_step: str = "pass") -> subprocess.CompletedProcess[str]:
    (directory / "pytest.ini").write_text("[pytest]\n")
    (directory / "conftest.py").write_text(CONFTEST)
    (directory / "test_suite.py").write_text(SUITE.format(last_step=last_step))
    return run_python("-m", "pytest", *OPTIONS, f"--numprocesses={processes}", directory=directory)


def run_python(*arguments: str | Path, directory: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-B", *arguments]
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)


def runs(directory: Path) -> list[Path]:
    return sorted((directory / durations.DIRECTORY).iterdir())


def printed_rows(directory: Path) -> dict[str, list[float]]:
    """The figures that the command prints for each name."""
    done = run_python(ROOT / "tests/durations.py", runs(directory)[-1], directory=directory)
    rows = re.findall(r"^((?: +[\d.]+)+)  (\S.*)$", done.stdout, re.MULTILINE)
    return {name: [float(figure) for figure in figures.split()] for figures, name in rows}


@pytest.mark.parametrize("processes", [0, 1])
def test_time_is_charged_to_what_spends_it(processes: int, tmp_path: Path):
    done = run_suite(tmp_path, processes=processes)
    assert done.returncode == 0, done.stdout
    rows = printed_rows(tmp_path)
    # How often, then wall and processor seconds: of a test three pairs, for setup, call and teardown.
    # The main process doesn't see the time that a worker has made up.
    run = {} if processes else {RUN: [1, 356, 3560]}
    assert rows == run | {
        "test_suite.py::test_chat": [2, 2, 20, 10, 100, 4, 40],
        "test_suite.py::test_late": [1, 0, 0, 8, 80, 2, 20],
        "test_suite.py": [3, 56, 560],
        "test_suite.py::server (session)": [1, 300, 3000],
        "test_suite.py::page (module)": [1, 30, 300],
        "test_suite.py::user (function)": [3, 9, 90],
        "tests": [3, 26, 260],
        "fixtures that tests share": [2, 330, 3300],
    }


def test_tests_before_a_crash_are_recorded(tmp_path: Path):
    done = run_suite(tmp_path, processes=1, last_step="os._exit(1)")
    assert "crashed" in done.stdout
    rows = printed_rows(tmp_path)
    assert rows["test_suite.py::test_chat"][0] == 2
    assert "test_suite.py::test_late" not in rows


def test_the_last_runs_are_kept(tmp_path: Path):
    directory = tmp_path / durations.DIRECTORY
    directory.mkdir(parents=True)
    for number in range(durations.RUNS):
        (directory / f"2000-01-0{number}.jsonl").touch()
    run_suite(tmp_path)
    kept = [path.name for path in runs(tmp_path)]
    assert (len(kept), kept[0]) == (durations.RUNS, "2000-01-01.jsonl")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="This machine has no /proc.")
def test_children_count_while_they_live_and_once(tmp_path: Path):
    done = run_python("-c", CHILDREN, directory=tmp_path)
    assert done.returncode == 0, done.stderr
