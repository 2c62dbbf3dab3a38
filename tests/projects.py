"""What tests do in a project: run its commands and servers, edit its files, commit them, and look at all of them."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile

from servers import project_environment, wait_until_healthy

AUTHOR = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "core.excludesFile="]


def execute(
    directory: Path, *command: str | Path, status: int | None = 0, stdin: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command as the project's owner would. `status` is what it must end with; None is whatever it ends with."""
    done = subprocess.run(
        command,
        cwd=directory,
        env=project_environment(**settings),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert status in (None, done.returncode), f"{command}\n{done.stdout[-8000:]}\n{done.stderr[-8000:]}"
    return done


def program(
    project: Path, name: str, *arguments: str | Path, status: int | None = 0, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a program of the project's environment."""
    return execute(project, project / ".venv/bin" / name, *arguments, status=status, **settings)


def python(project: Path, code: str) -> str:
    """What code prints under the project's Python."""
    return program(project, "python", "-c", code).stdout.strip()


def make(project: Path, *arguments: str, status: int | None = 0, **settings: str) -> subprocess.CompletedProcess[str]:
    return execute(project, "make", *arguments, status=status, **settings)


@contextmanager
def serving(
    command: Sequence[str | Path], directory: Path, port: int, log: Path, environment: dict[str, str], stdin: str = ""
) -> Iterator[int]:
    """Run what serves at a port until the block ends. Then Ctrl-C ends it and all that it has begun."""
    with log.open("wb") as output, TemporaryFile() as answers:
        answers.write(stdin.encode())
        answers.seek(0)
        streams = {"stdin": answers, "stdout": output, "stderr": output}
        process = subprocess.Popen(command, cwd=directory, env=environment, start_new_session=True, **streams)
    try:
        wait_until_healthy(port, process, log, seconds=900)  # pip may have to install all of it.
        yield port
    finally:
        print(log.read_text()[-5000:])
        with suppress(ProcessLookupError):  # The server has ended by itself, which was told already
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def git(directory: Path, *arguments: str | Path, stdin: str = "") -> str:
    return execute(directory, "git", *AUTHOR, *arguments, stdin=stdin).stdout


def commit(directory: Path) -> None:
    """Commit all that is there, to a repository that is made if there is none."""
    git(directory, "init", "--quiet", "--initial-branch=main")
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "Test")


def replace(path: Path, before: str, after: str, count: int = -1) -> None:
    text = path.read_text()
    assert before in text, (path, before)
    path.write_text(text.replace(before, after, count))


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def tree(directory: Path) -> dict[str, bytes]:
    """The files of a directory with their contents."""
    paths = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}
