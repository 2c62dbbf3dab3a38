"""Kill a command of Python before one of its changes to files, and run it again.

`python interrupting.py` reads what it is to run from its standard input, a line of JSON each, runs it in a process that
it forks, and prints how that ended: so the modules that most commands import are imported once.

The change of the number that is given is not made, but a file that would be opened for writing is left empty. Number 0
kills nothing, and prints the number of changes at the end. With FULL_DISK in the environment, the command lives on, and
from that change on it can write nothing more.
"""

import errno
import json
import os
import runpy
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

CHANGES = {"os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.chmod", "os.link", "os.symlink", "os.truncate"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main(number: int, module: str, *arguments: str) -> None:
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

    sys.argv[:] = [module, *arguments]
    sys.addaudithook(see)
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    finally:
        print(f"changes={count}", file=sys.stderr)


def next_command() -> list[str]:
    """In a forked process, what it is to run, in its directory and its environment; the others wait for it to end."""
    for line in sys.stdin:
        child = os.fork()
        if child:
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
            continue
        directory, log, settings, command = json.loads(line)
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        for stream in (1, 2):
            os.dup2(output, stream)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(directory)
        os.environ |= settings
        sys.path[:1] = [directory, *map(os.path.abspath, settings.get("PYTHONPATH", directory).split(os.pathsep))]
        return command
    sys.exit()


@contextmanager
def interrupter(directory: Path) -> Iterator[Callable[..., None]]:
    """Interrupt commands in copies of projects, and repeat them."""
    copy, log = directory / "copy", directory / "log"

    def run(number: int, command: list[str | Path], settings: dict[str, str], *statuses: int) -> int:
        """Run a module with arguments, killed before the change of this number; what it exits with."""
        order = [str(copy), str(log), settings, [number, *map(str, command)]]
        print(json.dumps(order), file=process.stdin, flush=True)
        status = int(process.stdout.readline())
        assert status in statuses, (number, log.read_text())
        return status

    def make_copy(project: Path) -> None:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(project, copy, symlinks=True)

    def interrupt_and_repeat(project: Path, command: list[str | Path], times: int, **settings: str) -> None:
        """Kill a command at seeded moments; run again, it must leave what it leaves if nothing kills it.

        With TWICE among the settings, the second run is killed, too.
        """
        make_copy(project)
        run(0, command, settings, 0)
        expected = tree(copy)
        numbers = range(1, int(log.read_text().rpartition("changes=")[2]) + 1)
        random = Random(54)  # noqa: S311
        for number in random.sample(numbers, min(times, len(numbers))):
            make_copy(project)
            # With a full disk, nothing may be left to write.
            statuses = (0, 1) if "FULL_DISK" in settings else (-signal.SIGKILL,)
            if run(number, command, settings, *statuses) == 0:
                continue
            if "TWICE" in settings:
                run(random.choice(numbers), command, settings, -signal.SIGKILL)
            run(0, command, settings, 0)
            assert tree(copy) == expected, number

    command = [sys.executable, "-B", __file__]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield interrupt_and_repeat


def tree(project: Path) -> dict[str, bytes]:
    """The files and their contents; folders, too."""
    contents = {}
    for path in sorted(project.rglob("*")):
        if ".git" not in path.parts and "__pycache__" not in path.parts:
            contents[str(path.relative_to(project))] = path.read_bytes() if path.is_file() else b""
    return contents


def import_packages() -> None:
    """Import all that the installer does, but the installer: a command brings its own."""
    sys.path.append(str(Path(__file__).parents[1]))
    import installer.__main__

    for name in [name for name in sys.modules if name.partition(".")[0] == installer.__name__]:
        del sys.modules[name]
    sys.path.pop()


if __name__ == "__main__":
    import_packages()
    main(*next_command())
