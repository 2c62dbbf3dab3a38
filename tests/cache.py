"""What tests keep until it changes: environments, packages, databases."""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

CACHE = Path(__file__).resolve().parents[1] / ".test-cache"


def cached(name: str, contents: str, make: Callable[[Path], None]) -> Path:
    """A directory that is made once for these contents, by one process: the others wait for it."""
    directory = CACHE / f"{name}-{hashlib.sha256(contents.encode()).hexdigest()[:12]}"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / f".{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / ".installed").exists():
            shutil.rmtree(directory, ignore_errors=True)
            make(directory)
            (directory / ".installed").touch()
    return directory


def python_with(name: str, requirements: str) -> Path:
    """Python with these packages, in an environment of its own."""

    def install(venv: Path) -> None:
        subprocess.run(["uv", "venv", "--quiet", "--python", sys.executable, venv], check=True)
        command = ["uv", "pip", "install", "--quiet", "--python", venv / "bin/python", "-r", "-"]
        subprocess.run(command, input=requirements, text=True, check=True)

    return cached(name, f"{sys.version}\n{requirements}", install) / "bin/python"
