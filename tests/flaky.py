"""Run a failed test of real processes or browsers once more, and report a test that passes only then as flaky.

A run prints the names at its end, and how each failed. `make test` keeps those of its last ten runs in
`.test-cache/flaky.jsonl`, a line for each run: it sets FLAKY_HISTORY. A name that stands in two of ten runs is a
defect.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

import pytest

TIERS = ("browser", "servers", "clients")
RUNS = 10
MOST_LINES = 20


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(item.get_closest_marker(tier) for tier in TIERS):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        return  # The main process has the reports of all workers.
    reports = {kind: terminalreporter.getreports(kind) for kind in ("failed", "error", "rerun")}
    names = {kind: {report.nodeid for report in found} for kind, found in reports.items()}
    flaky = sorted(names["rerun"] - names["failed"] - names["error"])
    for name in flaky:
        terminalreporter.write_line(f"flaky: {name}", yellow=True)
        for report in reports["rerun"]:
            if report.nodeid == name:
                # The lines that failed, and why.
                text = report.longreprtext.splitlines()
                lines = [line for line in text if line.startswith((">", "E"))] or text
                terminalreporter.write_line("\n".join(lines[:MOST_LINES]))
    if history := os.environ.get("FLAKY_HISTORY"):
        for name, count in record(flaky, Path(history)).items():
            terminalreporter.write_line(f"flaky in {count} of the last {RUNS} runs, a defect: {name}", red=True)


def record(flaky: list[str], history: Path) -> dict[str, int]:
    """Add a run to the history. Return the tests that were flaky in more than one run of it, with how many."""
    lines = history.read_text().splitlines() if history.exists() else []
    run = {"ended": time.strftime("%Y-%m-%d %H:%M:%S"), "flaky": flaky}
    lines = [*lines, json.dumps(run)][-RUNS:]
    history.parent.mkdir(parents=True, exist_ok=True)
    history.write_text("\n".join(lines) + "\n")
    counts = Counter(name for line in lines for name in json.loads(line)["flaky"])
    return {name: count for name, count in counts.items() if count > 1}
