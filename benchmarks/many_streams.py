"""Very many streams at once: whether any is dropped, and what they hold while they last and afterwards.

    python benchmarks/many_streams.py --streams 500 --seconds 60

Every stream sends a delta a second. Needs PostgreSQL, whose connections are counted, and /proc.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

from harness import Contestant, Server, pin, print_table, serve
from postgresql import PostgreSQL, find_memory, find_postgresql, postgresql
from streams import OURS, ask, prepare

PAUSE_MS = 1000


def held(server: Server, database: PostgreSQL) -> list[object]:
    """What the server's process has now: MB of memory, threads, connections to the database."""
    lines = Path(f"/proc/{server.process.pid}/status").read_text().splitlines()
    status = dict(line.split(":", 1) for line in lines if ":" in line)
    return [int(status["VmRSS"].split()[0]) / 1000, int(status["Threads"]), database.connections("streams")]


async def wave(server: Server, database: PostgreSQL, streams: int, seconds: int) -> tuple[list[list[object]], float]:
    """So many streams for so long: what is held meanwhile, and the largest lag of an event in milliseconds."""
    text = f"stream {seconds * 1000 // PAUSE_MS} {PAUSE_MS}"
    reading = asyncio.gather(*(ask(server, text) for _ in range(streams)))
    rows, started = [], time.monotonic()
    while not reading.done():
        await asyncio.wait([reading], timeout=max(2, seconds / 5))
        if not reading.done():
            sample = await asyncio.to_thread(held, server, database)
            rows.append([f"{time.monotonic() - started:.0f} s", *sample])
    return rows, max(lag for stream in await reading for lag in stream.lags()) * 1000


def measure(contestant: Contestant, database: PostgreSQL, options: argparse.Namespace, directory: Path) -> None:
    url = f"postgres://postgres@127.0.0.1:{database.port}/streams"
    token = prepare(contestant, directory, url)[1]
    with serve(contestant, url, token, directory / "log") as server:
        rows: list[list[object]] = [["", "MB", "threads", "connections"], ["idle", *held(server, database)]]
        for number in range(1, options.waves + 1):
            meanwhile, lag = asyncio.run(wave(server, database, options.streams, options.seconds))
            rows += meanwhile
            # Threads that keep a connection look after it when they are used, a minute at the latest.
            rows.append([f"after wave {number}", *held(server, database)])
            print(f"Wave {number}: {options.streams} streams ended well; largest lag {lag:.0f} ms")
    print_table(contestant.name, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--waves", type=int, default=2)
    options = parser.parse_args()
    tools = find_postgresql()
    if tools is None:
        sys.exit("PostgreSQL is not installed.")
    pin(0, 1)
    with tempfile.TemporaryDirectory() as directory, postgresql(tools, "fsync=off", parent=find_memory()) as database:
        database.create("streams")
        measure(OURS, database, options, Path(directory))


if __name__ == "__main__":
    main()
