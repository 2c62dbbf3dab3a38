"""How the costs of a site grow: at a tenth of the size, and at the whole, on SQLite and PostgreSQL.

The whole size is 10,000 threads of one user with 100,000 messages, a thread of 5,000 messages, and a million runs.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack

from conversations import OURS
from harness import introduce, print_table
from postgresql import find_postgresql, postgresql

TENTH, WHOLE = 0.1, 1.0


def measure(database: str, share: float) -> dict[str, float]:
    OURS.run(database, "manage.py", "migrate", "--verbosity", "0")
    figures: dict[str, float] = json.loads(OURS.run(database, "-m", "grown", str(share)).splitlines()[-1])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=float, default=WHOLE, help="of the whole size; a tenth of it is measured, too")
    share = parser.parse_args().share
    introduce()
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        databases: dict[str, Callable[[str], str]] = {"SQLite": lambda name: f"sqlite:///{directory}/{name}.sqlite3"}
        if tools := find_postgresql():
            databases["PostgreSQL"] = stack.enter_context(postgresql(tools)).create
        for kind, database in databases.items():
            OURS.run(database("static"), "manage.py", "collectstatic", "--no-input", "--verbosity", "0")
            small = measure(database("tenth"), share * TENTH)
            large = measure(database("whole"), share)
            rows: list[list[object]] = [[f"{kind}, ms", "a tenth", "the whole", "ratio"]]
            rows += [[name, small[name], large[name], f"{large[name] / small[name]:.2f}"] for name in large]
            print_table(kind, rows)


if __name__ == "__main__":
    main()
