"""What all benchmarks share: servers, a client that costs little, interleaved rounds, and the table."""

import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from servers import free_port, project_environment, wait_until_healthy  # noqa: E402

# `make bench` generates a project and runs the benchmarks with its interpreter.
PROJECT = Path(sys.prefix).parent
CORES = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
SETTINGS = {
    "DEBUG": "0",
    "SECRET_KEY": "only-for-a-benchmark-on-the-loopback-interface",
    "ALLOWED_HOSTS": "127.0.0.1",
    "SECURE_SSL_REDIRECT": "0",
    "AGENT_MODEL": "python:scripted.model",
    "PYTHONPATH": str(HERE / "peers"),
}
# How each server is told to be quiet, and its port.
SERVERS = {
    "daphne": ("-v", "0", "-b", "127.0.0.1", "-p"),
    "uvicorn": ("--no-access-log", "--log-level", "warning", "--host", "127.0.0.1", "--port"),
}


@dataclass(frozen=True)
class Contestant:
    """An implementation of the same endpoint, and how to serve it."""

    name: str
    settings: str
    application: str
    server: str = "daphne"
    path: str = "/agent/"

    def environment(self, database: str) -> dict[str, str]:
        own = {"DJANGO_SETTINGS_MODULE": self.settings, "DATABASE_URL": database}
        return project_environment(**SETTINGS, **own)

    def run(self, database: str, *arguments: str, stdin: str = "") -> str:
        """Run Python with the contestant's settings; its standard output."""
        command, environment = [sys.executable, *arguments], self.environment(database)
        done = subprocess.run(command, cwd=PROJECT, env=environment, input=stdin, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{self.name}: {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def import_seconds(self, database: str) -> float:
        """How much CPU it takes to import the application, beyond Python itself."""
        module = self.application.partition(":")[0]
        code = f"import time; started = time.process_time(); import {module}; print(time.process_time() - started)"
        return float(self.run(database, "-c", code).split()[-1])


class Cost(NamedTuple):
    """What a block of turns took for each of them, in milliseconds."""

    total: float
    cpu: float


@dataclass
class Server:
    """A contestant's process."""

    process: subprocess.Popen[bytes] = field(repr=False)
    port: int
    token: str
    path: str

    def request(self, body: bytes) -> bytes:
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {self.token}\r\n"
            "Content-Type: application/json\r\nAccept: text/event-stream\r\nConnection: close\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body

    def post(self, body: bytes) -> float:
        """Ask the agent: the seconds until the end of its answer."""
        pieces = []
        started = time.perf_counter()
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as connection:
            connection.sendall(self.request(body))
            while piece := connection.recv(65536):
                pieces.append(piece)
        elapsed = time.perf_counter() - started
        answer = b"".join(pieces)
        if not answer.startswith(b"HTTP/1.1 200") or b"RUN_FINISHED" not in answer:
            sys.exit(f"A run failed:\n{answer[:2000].decode(errors='replace')}")
        return elapsed

    def cpu_seconds(self) -> float:
        """The processor time used so far, all threads included; NaN if the system has no /proc."""
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return float("nan")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def cost(self, bodies: Sequence[bytes]) -> Cost:
        before = self.cpu_seconds()
        times = [self.post(body) for body in bodies]
        return Cost(median(times) * 1000, (self.cpu_seconds() - before) / len(bodies) * 1000)


@contextmanager
def serve(contestant: Contestant, database: str, token: str, log: Path, **settings: str) -> Iterator[Server]:
    """Serve a contestant until the block ends."""
    port = free_port()
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", contestant.server, *SERVERS[contestant.server], str(port), contestant.application],
            cwd=PROJECT,
            env=contestant.environment(database) | settings,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
        )
    try:
        pin(process.pid, 0)
        wait_until_healthy(port, process, log)
        yield Server(process, port, token, contestant.path)
    finally:
        process.terminate()
        process.wait()


def pin(process_id: int, position: int) -> None:
    """Keep a process on one core: servers on the first, the client on the second, if there are two."""
    if len(CORES) > 1:
        os.sched_setaffinity(process_id, {CORES[position]})


def interleave(
    servers: dict[Contestant, Server], bodies: Callable[[Contestant], list[bytes]], rounds: int
) -> dict[Contestant, list[Cost]]:
    """Measure A B A B ...: what else the machine does then hits all of them. The first round warms up."""
    costs: dict[Contestant, list[Cost]] = {contestant: [] for contestant in servers}
    for number in range(rounds + 1):
        for contestant, server in servers.items():
            cost = server.cost(bodies(contestant))
            if number:
                costs[contestant].append(cost)
    return costs


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> str:
    """The ratios of the same rounds: median (lowest-highest)."""
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    return f"{median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def introduce() -> None:
    """Say when, where and with what a run measures."""
    packages = ("django", "daphne", "uvicorn", "pydantic-ai-slim", "django-ag-ui")
    versions = [f"{name} {metadata.version(name)}" for name in packages]
    print(f"# What `make bench` printed on {date.today()}\n")
    print(f"{len(CORES) or os.cpu_count()} cores, Python {platform.python_version()}, {', '.join(versions)}.")
    print("Ratios are of the same round: the median, and in brackets the lowest and the highest.")


def print_table(title: str, rows: Sequence[Sequence[object]]) -> None:
    """Print rows, the first being the header, as Markdown in columns as wide as they need."""
    texts = [[f"{cell:,.1f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    widths = [max(3, *map(len, column)) for column in zip(*texts, strict=True)]
    texts.insert(1, ["-" * (width - 1) + ":" for width in widths])
    print(f"\n## {title}")
    for row in texts:
        print("|", " | ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)), "|")
    sys.stdout.flush()
