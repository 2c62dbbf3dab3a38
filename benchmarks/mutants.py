"""Measure what the tests would miss: seeded changes of the code, each against the tests that cover it.

    python benchmarks/mutants.py cover                                      which test runs which lines
    python benchmarks/mutants.py run --seed 1 --to before.jsonl             200 mutants, each until a test fails
    python benchmarks/mutants.py run --again before.jsonl --to after.jsonl  the same ones, in another checkout
    python benchmarks/mutants.py table before.jsonl after.jsonl

Run it with the Python of `.venv`, in a clone of its own: it changes files, and restores them. A mutant is one change to
one statement inside a function, such as a comparison that is turned around or a call that is left out. Each mutant of
the engine faces the engine's tests that run its lines, those that run the fewest lines first. What runs in Node, in
browsers or in programs of its own faces the test files that OUTSIDE names. A mutant that no test finds may change
nothing that can be seen, so compare the tables of two checkouts and not a table with zero.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from time import monotonic

import coverage
import pytest
from mutations import javascript_changes, python_changes

ROOT = Path(__file__).resolve().parents[1]
COVERED = ROOT / ".test-cache/coverage"
FAILED = COVERED / "failed"
MOST_TESTS = 400
# Tests of one process that take longer hang, and tests in browsers and programs may take longer.
SECONDS = 300
SECONDS_OUTSIDE = 900

# How many mutants are taken from which files; "the rest" are all others of the engine.
GROUPS = {
    "runs and questions": (60, ["agui/runs/*", "agui/turns/*", "agui/runlog/*", "agui/tools/questions.py",
                                "agui/protocol/interrupts.py", "agui/protocol/answer*.py", "agui/contrib/queue/*",
                                "agui/contrib/mcp/asking.py", "agui/contrib/mcp/forms.py", "agui/contrib/mcp/task*.py",
                                "agui/contrib/mcp/decided.py"]),
    "trust": (60, ["agui/http/auth.py", "agui/http/tokens.py", "agui/http/admission.py", "agui/http/throttle.py",
                   "agui/http/bodies.py", "agui/tools/approval.py", "agui/tools/audit.py", "agui/tools/redaction.py",
                   "agui/tools/secret_*.py", "agui/tools/call.py", "agui/stores/scoped.py", "agui/addresses.py",
                   "agui/contrib/oauth/*", "agui/contrib/mcp/gate.py", "agui/contrib/mcp/caller.py",
                   "agui/contrib/mcp/app_gate.py", "agui/contrib/mcp/approvals.py", "agui/contrib/mcp/pins.py",
                   "agui/contrib/mcp/sealing.py", "agui/contrib/mcp/accounts/*",
                   "agui/contrib/notifications/webhook.py"]),
    "the page": (30, ["agui/**/static/**/*.js"]),
    "installer, upgrade and hooks": (20, ["../installer/*.py", "agui/distribution/*.py", "../hooks/*.py"]),
    "the rest": (30, ["agui/**/*.py"]),
}  # fmt: skip
# Files without a test of their own: made for people, not for the product.
PASSED_OVER = re.compile(r"/(migrations|manual|contract_tests|locale)/|contract_tests\.py$|/app/")
OUTSIDE = {
    "agui/distribution/": ["tests/test_package.py", "tests/test_upgrade.py", "tests/test_interrupted.py"],
    "../installer/": ["tests/test_installer_layouts.py", "tests/test_installer_requirements.py",
                      "tests/test_installer.py", "tests/test_interrupted.py"],
    "../hooks/": ["tests/test_generation.py", "tests/test_parts.py", "tests/test_package.py"],
}  # fmt: skip
ELEMENT = ["tests/test_javascript.py"]


@dataclass(frozen=True)
class Mutant:
    """Lines of a file, and what takes their place; `nth` counts the places in the file where they stand."""

    group: str
    path: str
    line: int
    nth: int
    before: str
    after: str

    def start(self, text: str) -> int:
        """Return the index of the lines in the file's text, or -1 if they are gone."""
        start = -1
        for _ in range(self.nth + 1):
            start = text.find(self.before, start + 1)
            if start < 0:
                break
        return start


# Choice


def choose(seed: int) -> Iterator[Mutant]:
    taken: set[Path] = set()
    for group, (size, patterns) in GROUPS.items():
        found = {path.resolve() for pattern in patterns for path in (ROOT / "engine").glob(pattern)}
        paths = [
            path
            for path in sorted(found - taken)
            if path.suffix in {".py", ".js"} and not PASSED_OVER.search(str(path))
        ]
        taken.update(paths)
        chances = [chance for path in paths for chance in changes_of(group, path)]
        lines = sorted({(mutant.path, mutant.line) for mutant in chances})
        choice = random.Random(f"{seed} {group}")
        for path, line in sorted(choice.sample(lines, size)):
            yield choice.choice([mutant for mutant in chances if (mutant.path, mutant.line) == (path, line)])


def changes_of(group: str, path: Path) -> Iterator[Mutant]:
    text = path.read_text()
    relative = str(path.relative_to(ROOT))
    covered = tests_by_line(relative) if path.suffix == ".py" and not outside(relative) else None
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line))
    for first, last, before, after in javascript_changes(text) if path.suffix == ".js" else python_changes(text):
        if before == after or (covered is not None and not any(map(covered.get, range(first, last + 1)))):
            continue
        yield Mutant(group, relative, first, text[: offsets[first - 1]].count(before), before, after)


def outside(path: str) -> list[str]:
    """Return the test files for what doesn't run in the process of the engine's tests."""
    if path.endswith(".js"):
        return ELEMENT + browser_files(path)
    return next((files for start, files in OUTSIDE.items() if os.path.normpath(f"engine/{start}") in path), [])


def browser_files(path: str) -> list[str]:
    """Return four files that name the module or its part, and the one that passes through most of the page."""
    files = sorted((ROOT / "tests").glob("test_browser_*.py"))
    words = {Path(path).stem, *re.findall(r"agui_(\w+)", path)}
    of_the_part = [file for file in files if any(word in file.stem for word in words)]
    named = [file for file in files if words & set(re.findall(r"[\w-]+", file.read_text()))]
    chosen = [*(of_the_part + named)[:4], ROOT / "tests/test_browser.py"]
    return list(dict.fromkeys(str(file.relative_to(ROOT)) for file in chosen))


# Coverage


def pytest_configure(config: pytest.Config) -> None:
    """`cover` loads this module as a plugin of pytest, which keeps the lines that each test runs."""
    if "AGUI_COVERED" in os.environ and (hasattr(config, "workerinput") or not config.getoption("numprocesses", None)):
        config.pluginmanager.register(Recorder())


class Recorder:
    def __init__(self) -> None:
        data = COVERED / ".coverage"
        source = [str(ROOT / "engine/agui")]
        self.coverage = coverage.Coverage(data_file=data, data_suffix=True, source=source, config_file=False)
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.coverage.switch_context(item.nodeid)
        result = yield
        self.coverage.switch_context("")
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            with FAILED.open("a") as file:
                file.write(f"{report.nodeid}\n")

    def pytest_sessionfinish(self) -> None:
        self.coverage.stop()
        self.coverage.save()


def cover() -> None:
    COVERED.mkdir(parents=True, exist_ok=True)
    for old in COVERED.iterdir():
        old.unlink()
    FAILED.touch()
    environment = os.environ | {"AGUI_COVERED": "1", "PYTHONPATH": str(Path(__file__).parent)}
    subprocess.run(test_command("-p", "mutants", "-n", "2", "engine/tests"), cwd=ROOT, env=environment, check=False)
    whole = coverage.Coverage(data_file=COVERED / ".coverage", config_file=False)
    whole.combine([str(COVERED)])
    whole.save()


@cache
def coverage_data() -> coverage.CoverageData:
    data = coverage.CoverageData(str(COVERED / ".coverage"))
    data.read()
    return data


@cache
def tests_by_line(path: str) -> dict[int, list[str]]:
    contexts = coverage_data().contexts_by_lineno(str(ROOT / path))
    failed = {"", *FAILED.read_text().splitlines()}
    return {line: [test for test in tests if test not in failed] for line, tests in contexts.items()}


@cache
def lines_by_test() -> Counter[str]:
    """How many lines each test runs: those that run few say more about each of them."""
    counts: Counter[str] = Counter()
    for path in coverage_data().measured_files():
        for tests in coverage_data().contexts_by_lineno(path).values():
            counts.update(tests)
    return counts


def tests_for(mutant: Mutant) -> list[str]:
    if files := outside(mutant.path):
        return [file for file in files if (ROOT / file).exists()]
    covered = tests_by_line(mutant.path)
    text = (ROOT / mutant.path).read_text()
    first = text[: mutant.start(text)].count("\n") + 1
    numbers = range(first, first + mutant.before.count("\n"))
    tests = {test for number in numbers for test in covered.get(number, [])}
    return sorted(tests, key=lambda test: (lines_by_test()[test], test))[:MOST_TESTS]


# Runs


def test_command(*arguments: str) -> list[str]:
    options = ["-q", "--no-header", "--no-migrations", "-m", "not nightly"]
    return [sys.executable, "-B", "-m", "pytest", *options, *arguments]


def outcome(mutant: Mutant, found_by: str) -> dict:
    path = ROOT / mutant.path
    original = path.read_text() if path.exists() else ""
    start = mutant.start(original)
    if start < 0:
        return {"outcome": "gone"}
    tests = tests_for(mutant)
    likely = [found_by] if (ROOT / found_by.partition("::")[0]).is_file() else []
    seconds = SECONDS_OUTSIDE if outside(mutant.path) else SECONDS
    failed = ""
    started = monotonic()
    path.write_text(original[:start] + mutant.after + original[start + len(mutant.before) :])
    try:
        for some in filter(None, (likely, tests[:40], tests[40:])):
            failed = failed or first_failure(some, seconds)
    finally:
        path.write_text(original)
    row = {"outcome": "found" if failed else "missed", "tests": len(tests), "seconds": round(monotonic() - started)}
    return row | {"by": failed}


def first_failure(tests: Sequence[str], seconds: int) -> str:
    """Return the first test that fails, or "" if none does or one is no longer there."""
    listed = ROOT / ".test-cache/mutants-tests"
    listed.write_text("\n".join(tests) + "\n")
    try:
        done = subprocess.run(
            test_command("-x", "-n", "0", f"@{listed}"), cwd=ROOT, timeout=seconds, text=True, capture_output=True
        )
    except subprocess.TimeoutExpired:
        return f"none has ended after {seconds} s"
    printed = done.stdout + done.stderr
    if not done.returncode or "(no match in any of" in printed:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", printed, re.MULTILINE)
    return failed[1] if failed else printed.strip()[-200:] or "pytest could not start"


def run(mutants: Sequence[Mutant], to: Path, found_by: Mapping[Mutant, str] = {}) -> None:
    done = {json.dumps(row["mutant"]) for row in rows_of(to)} if to.exists() else set()
    for mutant in mutants:
        if json.dumps(asdict(mutant)) in done:
            continue
        row = {"mutant": asdict(mutant)} | outcome(mutant, found_by.get(mutant, ""))
        with to.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row["outcome"], row.get("seconds"), mutant.path, mutant.line, row.get("by", ""), flush=True)


def rows_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def print_table(paths: Sequence[Path]) -> None:
    results = [{json.dumps(row["mutant"]): row for row in rows_of(path)} for path in paths]
    print("| mutants of |", *(f"{path.stem}: found | missed | gone |" for path in paths))
    print("|---|" + "---|" * 3 * len(paths))
    for group in GROUPS:
        cells = []
        for rows in results:
            counts = Counter(row["outcome"] for row in rows.values() if row["mutant"]["group"] == group)
            cells += [counts[outcome] for outcome in ("found", "missed", "gone")]
        print(f"| {group} |", " | ".join(map(str, cells)), "|")
    for key, row in results[0].items():
        if row["outcome"] == "found" and any(rows.get(key, row)["outcome"] == "missed" for rows in results[1:]):
            print(f"\nFound before and missed now: {row['mutant']['path']}:{row['mutant']['line']}, by {row['by']}")
            print(f"-{row['mutant']['before'].rstrip()}\n+{row['mutant']['after'].rstrip()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("cover")
    running = commands.add_parser("run")
    running.add_argument("--seed", type=int, default=1)
    running.add_argument("--again", type=Path, help="take the mutants that this run found")
    running.add_argument("--to", type=Path, required=True)
    commands.add_parser("table").add_argument("results", type=Path, nargs="+")
    options = parser.parse_args()
    if options.command == "cover":
        cover()
    elif options.command == "table":
        print_table(options.results)
    elif options.again:
        rows = [row for row in rows_of(options.again) if row["outcome"] == "found"]
        found_by = {Mutant(**row["mutant"]): row["by"] for row in rows}
        run(list(found_by), options.to, found_by)
    else:
        run(list(choose(options.seed)), options.to)


if __name__ == "__main__":
    main()
