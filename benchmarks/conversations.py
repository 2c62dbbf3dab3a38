"""What one turn costs, by the length of the conversation: `make bench`."""

import argparse
import itertools
import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median

from harness import Contestant, Cost, interleave, introduce, pin, print_table, ratio, serve
from peers.fill import history
from postgresql import find_postgresql, postgresql

OURS = Contestant("this template", "config.settings", "config.asgi:application")
# Many clients post all that they know, whether it is asked for or not.
ALL_POSTED = replace(OURS, name="all posted")
THEIRS = Contestant("django-ag-ui", "django_ag_ui_settings", "django_ag_ui_asgi:application")
STORES = {OURS: "ours", ALL_POSTED: "ours", THEIRS: "theirs"}

# How many turns make a block, by the number of messages: long enough for the clock of /proc.
TURNS = {10: 20, 100: 20, 1000: 10, 5000: 5}
COUNTED = 2
numbers = itertools.count()


class Client:
    """A client of conversations of one length, which posts what its endpoint asks for."""

    def __init__(self, contestant: Contestant, length: int, turns: int) -> None:
        # So few turns a thread that it stays about as long as it is.
        each = max(1, length // 20)
        self.threads = {f"{length}-{number}": length for number in range(-(-turns // each))}
        self._posts_history = contestant is not OURS
        self._bodies = self._turns(each)

    def next_bodies(self, count: int) -> list[bytes]:
        return list(itertools.islice(self._bodies, count))

    def _turns(self, each: int) -> Iterator[bytes]:
        for thread_id, length in self.threads.items():
            known = history(thread_id, length) if self._posts_history else []
            for _ in range(each):
                number = next(numbers)
                question = {"id": f"question-{number}", "role": "user", "content": f"What is the answer to {number}?"}
                answer = {"id": f"answer-{number}", "role": "assistant", "content": "The answer is forty-two."}
                yield run_input(thread_id, f"run-{number}", [*known, question])
                if self._posts_history:
                    known += [question, answer]


def run_input(thread_id: str, run_id: str, messages: list[dict[str, str]]) -> bytes:
    rest = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return json.dumps({"threadId": thread_id, "runId": run_id, "messages": messages} | rest).encode()


def prepare(contestant: Contestant, database: str, clients: Iterable[Client]) -> str:
    """Fill a contestant's database with the clients' threads: their user's token."""
    threads = {thread: length for client in clients for thread, length in client.threads.items()}
    contestant.run(database, "manage.py", "migrate", "--verbosity", "0")
    return contestant.run(database, "-m", "fill", STORES[contestant], stdin=json.dumps(threads)).split()[-1]


def compare(create: Callable[[str], str], directory: Path, rounds: int) -> dict[int, dict[Contestant, list[Cost]]]:
    """Measure all of them on databases that `create` makes, at each length."""
    with ExitStack() as stack:
        clients, servers = {}, {}
        for number, contestant in enumerate(STORES):
            own = {length: Client(contestant, length, turns * (rounds + 1)) for length, turns in TURNS.items()}
            database = create(f"contestant_{number}")
            token = prepare(contestant, database, own.values())
            clients[contestant] = own
            servers[contestant] = stack.enter_context(serve(contestant, database, token, directory / "server.log"))
        return {
            length: interleave(servers, lambda one, n=length, t=turns: clients[one][n].next_bodies(t), rounds)
            for length, turns in TURNS.items()
        }


def report(kind: str, costs: dict[int, dict[Contestant, list[Cost]]]) -> None:
    for part, unit in (("total", "ms"), ("cpu", "ms of CPU")):
        header = [*(one.name for one in STORES), "ratio", "ratio, all posted"]
        rows: list[list[object]] = [["messages", *header]]
        for length, of in costs.items():
            figures = {one: [getattr(cost, part) for cost in of[one]] for one in STORES}
            ratios = [ratio(figures[one], figures[THEIRS]) for one in (OURS, ALL_POSTED)]
            rows.append([length, *map(median, figures.values()), *ratios])
        print_table(f"One turn on {kind}, {unit}", rows)


def count_statements(directory: Path) -> None:
    """Print how many SQL statements a turn needs, and how much it writes."""
    counted: dict[tuple[int, Contestant], tuple[float, float]] = {}
    for number, (contestant, store) in enumerate(STORES.items()):
        database, log = f"sqlite:///{directory}/counted-{number}.sqlite3", directory / "statements"
        clients = {length: Client(contestant, length, COUNTED + 1) for length in TURNS}
        token = prepare(contestant, database, clients.values())
        settings = {"DJANGO_SETTINGS_MODULE": f"counted_{store}", "SQL_LOG": str(log)}
        with serve(contestant, database, token, directory / "server.log", **settings) as server:
            for length, client in clients.items():
                server.cost(client.next_bodies(1))
                log.write_text("")
                server.cost(client.next_bodies(COUNTED))
                sizes = [int(line) for line in log.read_text().split()]
                counted[length, contestant] = len(sizes) / COUNTED, sum(sizes) / COUNTED
    for part, title in enumerate(("statements", "bytes written")):
        rows: list[list[object]] = [["messages", *(one.name for one in STORES)]]
        rows += [[length, *(round(counted[length, one][part]) for one in STORES)] for length in TURNS]
        print_table(f"One turn's SQL on SQLite, {title}", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: enough to see that it runs")
    rounds = 2 if parser.parse_args().quick else 9
    pin(0, 1)
    introduce()
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        report("SQLite", compare(lambda name: f"sqlite:///{directory}/{name}.sqlite3", directory, rounds))
        if tools := find_postgresql():
            server = stack.enter_context(postgresql(tools))
            report("PostgreSQL", compare(server.create, directory, rounds))
        else:
            print("\nPostgreSQL is left out: its programs (initdb, pg_ctl) were not found.")
        count_statements(directory)


if __name__ == "__main__":
    main()
