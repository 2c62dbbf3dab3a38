"""A PostgreSQL server of our own on the loopback interface: for the tests, and for the benchmarks."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from servers import free_port, wait_until


@dataclass
class PostgreSQL:
    """A running server, which lets everybody on this machine in."""

    tools: Path
    port: int
    control: list[str | Path]
    """pg_ctl, with what it needs to find this server."""
    arguments: list[str | Path]
    """What it is started with."""

    def start(self) -> None:
        self._run(*self.arguments, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Cut all connections, as a crash does; or "fast", as a restart does."""
        self._run("-m", mode, "stop")

    def _run(self, *words: str | Path) -> None:
        directory = self.control[-1]
        subprocess.run([*self.control, *words, "-w"], check=True, cwd=Path(directory).parent, stdout=subprocess.DEVNULL)

    def create(self, name: str) -> str:
        """Make a database: its DATABASE_URL."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]
        subprocess.run([self.tools / "createdb", *address, name], check=True)
        return f"postgres://postgres@127.0.0.1:{self.port}/{name}"

    def connections(self, name: str) -> int:
        """How many there are to one of its databases."""
        [count] = self.query("postgres", "SELECT count(*) FROM pg_stat_activity WHERE datname = :'name'", name=name)
        return int(count)

    def query(self, database: str, sql: str, **variables: str) -> list[str]:
        """The rows, as psql prints them."""
        address = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", "-d", database]
        named = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
        command = [self.tools / "psql", *address, "-Atq", *named]
        # A lock that is never released fails its test, and nothing waits for ever.
        env = os.environ | {"PGOPTIONS": "-c statement_timeout=120s"}
        done = subprocess.run(command, input=sql, check=True, capture_output=True, text=True, env=env)
        return done.stdout.splitlines()

    @contextmanager
    def paused(self, database: str, process: subprocess.Popen[Any]) -> Iterator[None]:
        """Let a process stand still, but in no transaction: its locks would stop everybody."""
        at_work = (
            "SELECT 1 FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'"
        )

        def stop() -> bool:
            process.send_signal(signal.SIGSTOP)
            if not self.query(database, at_work):
                return True
            process.send_signal(signal.SIGCONT)
            return False

        try:
            wait_until(stop)
            yield
        finally:
            process.send_signal(signal.SIGCONT)


def find_postgresql() -> Path | None:
    """The directory of the newest PostgreSQL's programs; Debian keeps them off the PATH."""
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    found = max(debian, key=lambda path: int(path.parts[-3]), default=None) or shutil.which("initdb")
    return Path(found).parent if found else None


def find_memory() -> Path | None:
    """A directory in memory with room for a small server: tests empty all tables a thousand times."""
    memory = Path("/dev/shm")  # noqa: S108
    return memory if memory.is_dir() and shutil.disk_usage(memory).free > 2**30 else None


@contextmanager
def postgresql(tools: Path, *options: str, parent: Path | None = None) -> Iterator[PostgreSQL]:
    """Serve until the block ends, with the data in a new directory; an option is "name=value"."""
    # Not below pytest's directory, which only its user may enter.
    directory = Path(tempfile.mkdtemp(prefix="postgresql-", dir=parent))
    data, port = directory / "data", free_port()
    # PostgreSQL refuses to run as root.
    prefix = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
    if prefix:
        shutil.chown(directory, "postgres")
    settings = ["listen_addresses=127.0.0.1", f"unix_socket_directories={directory}", *options]
    arguments = " ".join([f"-p {port}", *(f"-c {setting}" for setting in settings)])
    run = {"check": True, "cwd": directory, "stdout": subprocess.DEVNULL}
    subprocess.run([*prefix, tools / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], **run)
    control = [*prefix, tools / "pg_ctl", "-D", data]
    server = PostgreSQL(tools, port, control, ["-o", arguments, "-l", directory / "log"])
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(directory)
