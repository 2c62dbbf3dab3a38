"""What a turn costs in instructions, counted by callgrind: `make bench ARGS=--count`.

One process, no server and no sockets, so other work on the machine hardly changes the figures. Python hashes strings in
the same way each time. Threads count, waiting does not.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from harness import PROJECT, Contestant, print_table
from streams import CORE, OURS, THEIRS

BARE = Contestant("bare AGUIAdapter", "", "starlette_asgi:application")
MINIMAL = Contestant("minimal template/daphne", "minimal_settings", OURS.application)
CONTESTANTS = [BARE, THEIRS, MINIMAL, CORE, OURS]
SCENARIOS = {"short answer": "hello", "tool and 50 deltas": "tool 50"}
# Before turns are counted: imports, caches, connections, and what a server does in the background at its start.
WARM_SECONDS = 15


@dataclass
class Counted:
    """A contestant's process under callgrind."""

    process: subprocess.Popen[str]
    directory: Path

    def turn(self, count: int, text: str) -> None:
        questions, answers = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        questions.write(f"{count} {text}\n")
        questions.flush()
        if answers.readline().strip() != "done":
            sys.exit((self.directory / "log").read_text()[-3000:])

    def control(self, *options: str) -> None:
        subprocess.run(["callgrind_control", *options, str(self.process.pid)], check=True, capture_output=True)

    def instructions(self, count: int, text: str) -> float:
        """Millions of instructions a turn."""
        self.turn(1, text)  # Until then the process is starting.
        warm_at = time.monotonic() + WARM_SECONDS
        while time.monotonic() < warm_at:
            self.turn(1, text)
        self.control("--instr=on")
        self.control("--zero")
        self.turn(count, text)
        known = set(self.directory.glob("callgrind.out.*"))
        self.control("--dump")
        self.control("--instr=off")
        [dump] = set(self.directory.glob("callgrind.out.*")) - known
        totals = re.findall(r"^(?:totals|summary): (\d+)", dump.read_text(), re.MULTILINE)
        return int(totals[-1]) / count / 1e6


def count(contestant: Contestant, directory: Path, turns: int) -> dict[str, float]:
    """Millions of instructions a turn, by the name of the scenario."""
    database = f"sqlite:///{directory}/db.sqlite3"
    token = ""
    if contestant.settings:
        contestant.run(database, "manage.py", "migrate", "--verbosity", "0")
        token = contestant.run(database, "-m", "fill", "ours", stdin="{}").split()[-1]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(
            [
                *("valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"),
                f"--callgrind-out-file={directory}/callgrind.out.%p",
                *(sys.executable, "-m", "turns", contestant.application, contestant.path, token or "-"),
            ],
            cwd=PROJECT,
            env=contestant.environment(database) | {"PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        counted = Counted(process, directory)
        return {scenario: counted.instructions(turns, text) for scenario, text in SCENARIOS.items()}
    finally:
        process.kill()
        process.wait()


def count_all(contestants: Sequence[Contestant], turns: int) -> dict[str, dict[str, float]]:
    """What `count` finds, by the name of the contestant."""
    found = {}
    for contestant in contestants:
        with tempfile.TemporaryDirectory() as directory:
            found[contestant.name] = count(contestant, Path(directory), turns)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=20, help="how many turns are counted [20]")
    parser.add_argument("--json", type=Path, help="a file for the figures: COUNTS.json with each release")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("Install valgrind: it counts the instructions.")
    found = count_all(CONTESTANTS, arguments.turns)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    rows: list[list[object]] = [["million instructions a turn", *found, "ours to the peer's"]]
    for scenario in SCENARIOS:
        figures = [of[scenario] for of in found.values()]
        rows.append([scenario, *figures, f"{found[OURS.name][scenario] / found[THEIRS.name][scenario]:.2f}"])
    print_table("Instructions", rows)


if __name__ == "__main__":
    main()
