"""What tests do in a project: run its commands, edit its files, commit them, and look at all of them."""

import subprocess
from pathlib import Path

from servers import project_environment

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
