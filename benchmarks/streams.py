"""What streams cost, and how late their events are: `make bench`."""

import argparse
import asyncio
import itertools
import json
import re
import tempfile
import time
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from conversations import run_input
from harness import Contestant, Server, pin, print_table, ratio, serve

OURS = Contestant("template/daphne", "streams_settings", "streams_asgi:application")
CORE = Contestant("template without fast/daphne", "core_settings", OURS.application)
THEIRS = Contestant("django-ag-ui+store/daphne", "django_ag_ui_settings", "django_ag_ui_asgi:application")
CONTESTANTS = [
    Contestant("raw ASGI/daphne", "", "raw_asgi:application"),
    Contestant("raw ASGI/uvicorn", "", "raw_asgi:application", "uvicorn"),
    Contestant("AGUIAdapter/uvicorn", "", "starlette_asgi:application", "uvicorn"),
    Contestant("django-ag-ui/daphne", THEIRS.settings, THEIRS.application, path="/without-store/"),
    THEIRS,
    CORE,
    OURS,
    Contestant("template/uvicorn", OURS.settings, OURS.application, "uvicorn"),
]
# Beside those that the project has.
TOOLS = {"1 tool": "1", "40 tools": "40"}
STREAMS = 100
PACED = "stream 250 20"
# What others send meanwhile: one long text, and as many parts as fit.
HEAVY: list[Any] = ["x" * 9_900_000, [{"type": "text", "text": "a"}] * 300_000]
IMPORTED, HEALTHY, STARTED = "import, ms of CPU", "healthy after, ms", "healthy after, ms of CPU"
numbers = itertools.count()

Figures = dict[str, list[dict[str, float]]]
"""Of each contestant, by its name, round by round."""


@dataclass
class Stream(asyncio.Protocol):
    """One answer on its way: when each piece of it arrived."""

    request: bytes
    pieces: list[tuple[float, bytes]] = field(default_factory=list)

    def connection_made(self, transport: Any) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport = transport
        transport.write(self.request)
        self.started = time.monotonic()

    def data_received(self, data: bytes) -> None:
        self.pieces.append((time.monotonic(), data))

    def connection_lost(self, error: Exception | None) -> None:
        self.ended.set_result(None)

    def first(self) -> float:
        """How long the first event took, in seconds."""
        return next(at for at, data in self.pieces if b"data:" in data) - self.started

    def total(self) -> float:
        return self.pieces[-1][0] - self.started

    def lags(self) -> list[float]:
        """How long after it was due each paced delta arrived, in seconds."""
        return [at - float(due) for at, data in self.pieces for due in re.findall(rb"\d+\.\d{4}(?=;)", data)]

    def check(self) -> None:
        answer = b"".join(data for _, data in self.pieces)
        if not answer.startswith(b"HTTP/1.1 200") or b"RUN_FINISHED" not in answer:
            raise SystemExit(f"A run failed:\n{answer[:2000].decode(errors='replace')}")


def body(content: Any) -> bytes:
    number = next(numbers)
    message = {"id": f"question-{number}", "role": "user", "content": content}
    return run_input(f"thread-{number}", f"run-{number}", [message])


async def ask(server: Server, text: str) -> Stream:
    loop = asyncio.get_running_loop()
    _, stream = await loop.create_connection(lambda: Stream(server.request(body(text))), "127.0.0.1", server.port)
    await stream.ended
    stream.check()
    return stream


async def ask_all(server: Server, text: str, count: int, at_once: int = 1) -> list[Stream]:
    """Ask so many times, so many of them at once."""
    waiting = iter(range(count))

    async def one_after_the_other() -> list[Stream]:
        return [await ask(server, text) for _ in waiting]

    clients = await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))
    return list(itertools.chain.from_iterable(clients))


async def ask_beside(server: Server, text: str, count: int) -> list[Stream]:
    """Ask so many times at once, while another client sends requests of almost 10 MB, one after the other."""
    loop = asyncio.get_running_loop()
    asking = asyncio.ensure_future(ask_all(server, text, count, count))
    for content in itertools.cycle(HEAVY):
        request = server.request(body(content))
        _, heavy = await loop.create_connection(partial(Stream, request), "127.0.0.1", server.port)
        await asyncio.wait([asking, heavy.ended], return_when=asyncio.FIRST_COMPLETED)
        if asking.done():
            heavy.transport.abort()
            return asking.result()
    raise AssertionError


def memory(server: Server, name: str) -> float:
    """VmRSS or VmHWM of a server's process, in kB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return float(re.findall(rf"{name}:\s+(\d+)", status)[0])


def measure(server: Server, scenario: str, asking: Coroutine[Any, Any, list[Stream]]) -> dict[str, float]:
    before, started = server.cpu_seconds(), time.monotonic()
    streams = asyncio.run(asking)
    count = len(streams)
    took, cpu = time.monotonic() - started, server.cpu_seconds() - before
    figures = {
        "first event, ms": median(stream.first() for stream in streams) * 1000,
        "total, ms": median(stream.total() for stream in streams) * 1000,
        "CPU, ms": cpu / count * 1000,
        "a second": count / took,
    }
    if lags := [lag for stream in streams for lag in stream.lags()]:
        figures |= {"median lag, ms": median(lags) * 1000, "largest lag, ms": max(lags) * 1000}
    return {f"{scenario}: {name}": figure for name, figure in figures.items()}


def measure_paced(server: Server) -> dict[str, float]:
    idle = memory(server, "VmRSS")
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5")
    figures = measure(server, "S5", ask_all(server, PACED, STREAMS, STREAMS))
    return figures | {"S5: kB a stream": (memory(server, "VmHWM") - idle) / STREAMS}


def measure_all(server: Server, tools: str) -> dict[str, float]:
    """All scenarios for a server that has just started, with so many tools."""
    asyncio.run(ask_all(server, "tool 5", 32, 16))
    figures: dict[str, float] = {}
    if tools == "1 tool":
        figures |= measure_paced(server)
        figures |= measure(server, "S1", ask_all(server, "stream 1000 0", 3))
        figures |= measure(server, "S2", ask_all(server, "tool 50", 15))
        beside = measure(server, "S6", ask_beside(server, PACED, 20))
        figures |= {name: figure for name, figure in beside.items() if "lag" in name}
    figures |= measure(server, f"S3, {tools}", ask_all(server, "hello", 15))
    return figures | measure(server, f"S3, {tools}, 16 at once", ask_all(server, "hello", 96, 16))


def prepare(contestant: Contestant, directory: Path, database: str = "") -> tuple[str, str]:
    """A contestant's database, by default one of SQLite, and its user's token."""
    database = database or f"sqlite:///{directory}/{contestant.name.replace('/', '-')}.sqlite3"
    if not contestant.settings:
        return database, ""
    contestant.run(database, "manage.py", "migrate", "--verbosity", "0")
    return database, contestant.run(database, "-m", "fill", "ours", stdin="{}").split()[-1]


def compare(contestants: Sequence[Contestant], directory: Path, rounds: int) -> Iterator[Figures]:
    """Yield the figures of each contestant after each round: A B C A B C, with fresh servers each time."""
    prepared = {contestant: prepare(contestant, directory) for contestant in contestants}
    found: Figures = {contestant.name: [] for contestant in contestants}
    for _ in range(rounds):
        for contestant, (database, token) in prepared.items():
            figures = {IMPORTED: contestant.import_seconds(database) * 1000}
            for tools, count in TOOLS.items():
                started = time.monotonic()
                with serve(contestant, database, token, directory / "log", BENCHMARK_TOOLS=count) as server:
                    figures.setdefault(HEALTHY, (time.monotonic() - started) * 1000)
                    figures.setdefault(STARTED, server.cpu_seconds() * 1000)
                    figures |= measure_all(server, tools)
            found[contestant.name].append(figures)
        yield found


def report(found: Figures) -> None:
    names = list(found)
    theirs = found.get(THEIRS.name)
    rows: list[list[object]] = [["", *names, *([f"{OURS.name} : {THEIRS.name}"] if theirs else [])]]
    for figure in found[names[-1]][0]:
        row: list[object] = [figure]
        row += [median(one[figure] for one in rounds) if figure in rounds[0] else "" for rounds in found.values()]
        if theirs and OURS.name in found:
            row.append(ratio([one[figure] for one in found[OURS.name]], [one[figure] for one in theirs]))
        rows.append(row)
    print_table("Streams", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds: enough to see that it runs")
    parser.add_argument("--only", default="", help="names of contestants, or parts of them, with commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path, help="a file for all figures of all rounds")
    options = parser.parse_args()
    parts = options.only.split(",")
    contestants = [one for one in CONTESTANTS if any(part in one.name for part in parts)]
    pin(0, 1)
    with tempfile.TemporaryDirectory() as directory:
        for found in compare(contestants, Path(directory), 1 if options.quick else options.rounds):
            if options.json:
                options.json.write_text(json.dumps(found, indent=1) + "\n")
    report(found)


if __name__ == "__main__":
    main()
