"""The READMEs' commands, word for word, on what a fresh clone holds."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import guide
import pytest
from projects import git, make, serving
from servers import Client, credential, free_port, project_environment

pytestmark = pytest.mark.servers


def quick_start(directory: Path, title: str = "Quick start") -> list[str]:
    """The commands of the first block under a heading of the README."""
    return guide.sections(directory / "README.md")[title].steps[0].code.splitlines()


@contextmanager
def shell(commands: list[str], cwd: Path, log: Path, stdin: str = "", **settings: str) -> Iterator[int]:
    """Run commands whose last one serves, until it does; the port."""
    port, script = free_port(), "\n".join(commands)
    environment = project_environment(PORT=str(port), **settings)
    with serving(["sh", "-ec", script], cwd, port, log, environment, stdin):
        yield port


def ask(port: int, printed: str) -> None:
    """What a person does next: sign in with the printed password, and use the printed token."""
    Client(port).login(credential(printed, "Username"), credential(printed, "Password"))
    stream = Client(port, credential(printed, "API token")).run("hello")
    assert stream[-1]["type"] == "RUN_FINISHED"


@pytest.fixture
def plain_path(tmp_path: Path) -> str:
    """The PATH without uv, npm, node and docker: what a fresh machine with Python, make and git has."""
    missing = {"uv", "uvx", "npm", "npx", "node", "nodejs", "docker"}
    directories = []
    for number, directory in enumerate(map(Path, os.environ["PATH"].split(os.pathsep))):
        if not directory.is_dir() or not any((directory / name).exists() for name in missing):
            directories.append(str(directory))
            continue
        shadow = tmp_path / f"path{number}"
        shadow.mkdir()
        directories.append(str(shadow))
        for program in directory.iterdir():
            if program.name in missing:
                continue
            if program.name.startswith("python"):  # A link would move its home
                (shadow / program.name).write_text(f'#!/bin/sh\nexec {program} "$@"\n')
                (shadow / program.name).chmod(0o755)
            else:
                (shadow / program.name).symlink_to(program)
    return os.pathsep.join(directories)


@pytest.mark.nightly
def test_projects_quick_start_with_pip(bake, tmp_path: Path, plain_path: str):
    project = bake(project_slug="started", engine="package")
    log = tmp_path / "log"
    with shell(quick_start(project), project, log, PATH=plain_path) as port:
        said = log.read_text()
        assert "Skipping agui-django" not in said
        ask(port, said)
    # The second start installs nothing and tells no secret again.
    with shell(quick_start(project), project, log, PATH=plain_path) as port:
        again = log.read_text()
        assert "Installing" not in again
        assert "Password" not in again


@pytest.fixture
def fresh(clone: Path, tmp_path: Path) -> Path:
    git(tmp_path, "clone", "--quiet", clone, "fresh")
    return tmp_path / "fresh"


def test_templates_quick_start(fresh: Path, tmp_path: Path):
    """`make demo` of a fresh clone, with uv if it is there."""
    log = tmp_path / "log"
    with shell(quick_start(fresh), fresh, log) as port:
        ask(port, log.read_text())


@pytest.mark.nightly
def test_templates_own_project(fresh: Path, tmp_path: Path):
    """The second block of the README, with its questions answered by Enter."""
    commands = quick_start(fresh, "Your own project")
    assert commands[-1] == "make run"
    log, home = tmp_path / "log", tmp_path / "home"
    home.mkdir()
    with shell(commands, fresh, log, stdin="\n" * 6, HOME=str(home)) as port:
        ask(port, log.read_text())
    assert (tmp_path / "my_assistant/.env").exists()


def test_a_port_that_is_taken_is_named_with_its_cure(bake_furnished):
    project = bake_furnished(project_slug="crowded")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = make(project, "run", f"PORT={port}", status=2).stderr
    assert f"Port {port} can't be used" in said
    assert "PORT=8001" in said
