"""Record the wall seconds and processor seconds of each test and each fixture; `make durations` prints them.

Each run appends to its own file in `.test-cache/durations/`, and the last runs are kept. The workers of pytest-xdist
append to the same file, so a worker that crashes loses only the sums of its fixtures. The ids of tests are relative to
pytest's root directory, which is the repository.

- A test's figures include its fixtures of scope "function", and no shared ones.
- A fixture's figures are its own setup and teardown, without those of the fixtures that it requests.
- Processor seconds are user and system time of the process that runs the test, of the child processes that it has
  waited for, and on Linux of all its living descendants. A shared server or browser counts for the test during which it
  works. The kernel counts living processes in steps of 10 ms. A process whose parent dies first, and a daemon that
  detaches from its parent, such as PostgreSQL under `pg_ctl`, aren't counted.
"""

import argparse
import json
import os
import resource
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from time import perf_counter, process_time

import pytest

DIRECTORY = ".test-cache/durations"
RUNS = 10
SORTS = ("wall", "processor")
MOST_TESTS = 30
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
# After reading /proc, wait this many times as long as that took: it costs tests a twentieth of their time at most.
PAUSE_FACTOR = 20
# The fixture's name and scope, and the file if only the tests of one file share it.
FixtureKey = tuple[str, str, str]


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        name = datetime.now().strftime("%Y-%m-%dT%H-%M-%S-%f")
        config.pluginmanager.register(Recorder(config.rootpath / DIRECTORY / f"{name}.jsonl"))
    elif "durations" in config.workerinput:
        config.pluginmanager.register(Recorder(Path(config.workerinput["durations"])))


def descendants(pid: int | str) -> Iterator[str]:
    """Yield the living descendants of a process; none where there is no /proc."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as children:
                for child in children.read().split():
                    yield child
                    yield from descendants(child)


def living_seconds() -> float:
    """Sum the processor seconds of living descendants, each with those of the children that it has waited for."""
    ticks = 0
    for pid in descendants(os.getpid()):
        with suppress(OSError), open(f"/proc/{pid}/stat", "rb") as stat:
            # utime, stime, cutime and cstime of proc(5); the name before them may contain spaces.
            ticks += sum(map(int, stat.read().rpartition(b")")[2].split()[11:15]))
    return ticks / TICKS_PER_SECOND


class Clocks:
    """The wall clock, and the processor seconds of this process and its descendants."""

    def __init__(self) -> None:
        self.waited_for = self.of_others = self.next_reading = 0.0

    def read(self) -> tuple[float, float]:
        wall = perf_counter()
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        waited_for = children.ru_utime + children.ru_stime
        # When a child ends, its seconds move from /proc to RUSAGE_CHILDREN, so both are read at the same time.
        if waited_for != self.waited_for or wall >= self.next_reading:
            self.waited_for = waited_for
            # Seconds disappear when a process outlives its parent: init inherits it.
            self.of_others = max(self.of_others, waited_for + living_seconds())
            self.next_reading = wall + PAUSE_FACTOR * (perf_counter() - wall)
        return wall, process_time() + self.of_others


class Recorder:
    """A pytest plugin that charges the time between two hooks to the test or fixture that ran between them."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.clocks = Clocks()
        self.started = self.charged_until = self.clocks.read()
        # [wall seconds, processor seconds] of the current test, and of each fixture.
        self.test = [0.0, 0.0]
        self.fixtures: dict[FixtureKey, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self.setups: Counter[FixtureKey] = Counter()
        # The last entry is charged; each entry interrupts the one before it.
        self.stack: list[tuple[list[float], ...]] = [()]

    def write(self, record: dict) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab", buffering=0) as file:  # One write, so workers don't mix lines.
            file.write(json.dumps(record).encode() + b"\n")

    def charge(self) -> None:
        now = self.clocks.read()
        for sums in self.stack[-1]:
            for index in (0, 1):
                sums[index] += now[index] - self.charged_until[index]
        self.charged_until = now

    def begin(self, *charged: list[float]) -> None:
        self.charge()
        self.stack.append(charged)

    def end(self) -> None:
        self.charge()
        self.stack.pop()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item):
        self.test = [0.0, 0.0]
        self.begin(self.test)
        try:
            return (yield)
        finally:
            self.end()
            self.write({"test": item.nodeid, "sum": rounded(self.test)})

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest):
        name = f"{fixturedef.baseid}::{fixturedef.argname}".removeprefix("::")
        file = request.node.nodeid.partition("::")[0] if fixturedef.scope in ("class", "module") else ""
        key = (name, fixturedef.scope, file)
        self.setups[key] += 1
        # The last finalizer that is added runs first, so this one and the one below enclose the fixture's own.
        fixturedef.addfinalizer(self.end)
        self.begin_fixture(key)
        try:
            return (yield)
        finally:
            self.end()
            fixturedef.addfinalizer(partial(self.begin_fixture, key))

    def begin_fixture(self, key: FixtureKey) -> None:
        charged = [self.fixtures[key]]
        if key[1] == "function":
            charged.append(self.test)
        self.begin(*charged)

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node) -> None:
        node.workerinput["durations"] = str(self.file)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session):
        try:
            return (yield)
        finally:
            for key, sums in self.fixtures.items():
                self.write({"fixture": key, "setups": self.setups[key], "sum": rounded(sums)})
            if not hasattr(session.config, "workerinput") and self.file.exists():
                # The main process waits for its workers, which gives it all their seconds.
                wall, processor = self.clocks.read()
                arguments = shlex.join(session.config.invocation_params.args)
                self.write({"run": arguments, "sum": rounded([wall - self.started[0], processor])})
                for old in sorted(self.file.parent.glob("*.jsonl"))[:-RUNS]:
                    old.unlink(missing_ok=True)


def rounded(sums: list[float]) -> list[float]:
    return [round(seconds, 4) for seconds in sums]


# --- make durations

# For each name: how often it ran, its wall seconds and its processor seconds.
Table = dict[str, list[float]]


def add_up(file: Path) -> dict[str, Table]:
    """Sum the records of a run by test function, by file, by fixture, and in total."""
    titles = ("test", "file: its tests, and the fixtures that only they share", "fixture: setup and teardown", "total")
    tests, files, fixtures, totals = tables = [defaultdict(lambda: [0, 0, 0]) for _ in titles]
    for record in map(json.loads, file.read_text().splitlines()):
        if "test" in record:
            times, path = 1, record["test"].partition("::")[0]
            rows = [tests[record["test"].partition("[")[0]], files[path], totals["tests"]]
        elif "fixture" in record:
            times, (name, scope, only_file) = record["setups"], record["fixture"]
            rows = [fixtures[f"{name} ({scope})"]]
            if scope != "function":
                rows.append(totals["fixtures that tests share"])
            if only_file:
                files[only_file][0] -= times
                rows.append(files[only_file])
        else:
            times, rows = 1, [totals[f"the run: pytest {record['run']}"]]
        for row in rows:
            row[:] = map(sum, zip(row, [times, *record["sum"]], strict=True))
    return dict(zip(titles, tables, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="make durations", description="Print what a run cost, in seconds.")
    parser.add_argument("file", nargs="?", type=Path, help=f"a run in {DIRECTORY}/ (default: the newest)")
    parser.add_argument("--sort", choices=SORTS, default="processor")
    options = parser.parse_args()
    file = options.file or max((Path(__file__).parents[1] / DIRECTORY).glob("*.jsonl"), default=None)
    if file is None:
        parser.error(f"{DIRECTORY}/ has no run: run `make test` first")
    print(f"{file.stem}, in seconds")
    column = 1 + SORTS.index(options.sort)
    for title, table in add_up(file).items():
        print(f"\n  times      wall processor  {title}")
        names = sorted(table, key=lambda name: table[name][column], reverse=True)
        for name in names[: MOST_TESTS if title == "test" else None]:
            times, *figures = table[name]
            if max(figures) >= 0.005:
                print(f"{times:7}{''.join(f'{figure:10.2f}' for figure in figures)}  {name}")


if __name__ == "__main__":
    main()
