"""A Redis of our own on the loopback interface, to be stopped, emptied and started again."""

import shutil
import subprocess
from pathlib import Path

import pytest
from servers import end, free_port, wait_until


class RedisServer:
    """Keeps everything in memory: a restart forgets it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.port = directory, free_port()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        program = find_redis()
        if program is None:
            pytest.skip("Redis is not installed")
        address = ["--port", str(self.port), "--bind", "127.0.0.1"]
        with (self.directory / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [program, *address, "--save", "", "--appendonly", "no", "--dir", self.directory],
                stdout=log,
                stderr=log,
            )
        wait_until(lambda: self.ask("PING") == "PONG", failure_message=(self.directory / "redis.log").read_text)

    def stop(self) -> None:
        end(self.process)

    def __enter__(self) -> "RedisServer":
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def ask(self, *command: str) -> str:
        """What redis-cli prints."""
        done = subprocess.run(
            ["redis-cli", "-p", str(self.port), *command], capture_output=True, text=True, timeout=60, check=False
        )
        return done.stdout.strip()


def find_redis() -> str | None:
    return shutil.which("redis-server")
