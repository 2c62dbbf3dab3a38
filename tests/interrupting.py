"""Run a command of Python and kill it before one of its changes to files: `python interrupting.py NUMBER MODULE ...`

The change of that number is not made, but a file that would be opened for writing is left empty. Number 0 kills
nothing, and prints the number of changes at the end. With FULL_DISK in the environment, the command lives on, and from
that change on it can write nothing more.
"""

import errno
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main(number: int, module: str) -> None:
    count = 0

    def see(event: str, arguments: tuple) -> None:
        nonlocal count
        opens = event == "open" and bool((arguments[2] or 0) & WRITING)
        if not opens and event not in CHANGES:
            return
        count += 1
        if "FULL_DISK" in os.environ:
            if 0 < number <= count and (opens or event == "os.mkdir"):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        elif count == number:
            if opens and isinstance(arguments[0], str | bytes):
                os.close(os.open(arguments[0], os.O_CREAT | os.O_TRUNC | os.O_WRONLY))
            os.kill(os.getpid(), signal.SIGKILL)

    sys.argv[:] = [module, *sys.argv[3:]]
    sys.path[0] = os.getcwd()
    sys.addaudithook(see)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        print(f"changes={count}", file=sys.stderr)


def run(number: int, command: list[str | Path], cwd: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a module with arguments, killed before the change of this number."""
    return subprocess.run(
        [sys.executable, "-B", __file__, str(number), *command],
        cwd=cwd, env={**os.environ, **settings}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def interrupt_and_repeat(make: Callable[[], Path], command: list[str | Path], times: int, **settings: str) -> None:
    """Kill a command at seeded moments; run again, it must leave what it leaves if nothing kills it.

    With TWICE among the settings, the second run is killed, too.
    """
    project = make()
    whole = run(0, command, project, **settings)
    assert whole.returncode == 0, whole.stderr
    expected = tree(project)
    total = int(whole.stderr.rpartition("changes=")[2])
    numbers = range(1, total + 1)
    random = Random(54)  # noqa: S311
    for number in random.sample(numbers, min(times, total)):
        project = make()
        interrupted = run(number, command, project, **settings)
        if "FULL_DISK" in settings and interrupted.returncode == 0:
            continue  # Nothing was left to write.
        assert interrupted.returncode == (1 if "FULL_DISK" in settings else -signal.SIGKILL), interrupted.stderr
        if "TWICE" in settings:
            second = run(random.choice(numbers), command, project, **settings)
            assert second.returncode == -signal.SIGKILL, second.stderr
        again = run(0, command, project, **settings)
        assert again.returncode == 0, (number, again.stderr)
        assert tree(project) == expected, number


def tree(project: Path) -> dict[str, bytes]:
    """The files and their contents; folders, too."""
    contents = {}
    for path in sorted(project.rglob("*")):
        if ".git" not in path.parts and "__pycache__" not in path.parts:
            contents[str(path.relative_to(project))] = path.read_bytes() if path.is_file() else b""
    return contents


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
