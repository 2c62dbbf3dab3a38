"""From nothing to the first streamed answer: what each step takes, here and with the nearest peer.

Here the steps are four commands. The peer is a library: its project is what startproject makes, with the edits below,
which its documentation leaves to the user; they are made at once here, so what they take a person is not counted.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from harness import HERE, print_table
from servers import Client, events, free_port, project_environment, run_input

ROOT = HERE.parent
STEPS = ["generate", "install", "migrate", "first answer"]
CHECKS = ["test", "check"]
PEER = ["django-ag-ui==0.70.0", "daphne>=4.2,<5"]
# What a user adds to startproject's settings and routes.
PEER_SETTINGS = """
INSTALLED_APPS = ["daphne", *INSTALLED_APPS]
ASGI_APPLICATION = "peer.asgi.application"
"""
PEER_URLS = """
from django.contrib.auth.models import User
from django_ag_ui import AGUIServer
from django_spec_agents import ToolRegistry
from pydantic_ai.models.test import TestModel


async def who(request):
    if request.headers.get("Authorization") == "Bearer demo":
        return await User.objects.aget(username="admin")


server = AGUIServer(ToolRegistry(), model=TestModel(), get_user=who, csrf_exempt=True)
urlpatterns += [path("agent/", server.urls)]
"""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, env=project_environment(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def first_answer(project: Path, python: Path, token: str) -> None:
    """Start the development server, and ask until the first words of an answer are there."""
    port = free_port()
    command = [python, "manage.py", "runserver", f"127.0.0.1:{port}", "--noreload"]
    with (project / "server.log").open("wb") as log:
        server = subprocess.Popen(command, cwd=project, env=project_environment(), stdout=log, stderr=log)
    try:
        while server.poll() is None:
            try:
                with Client(port, token).open("POST", "/agent/", run_input("hello")) as response:
                    if response.status != 200:
                        sys.exit(f"{response.status}: {response.read().decode()[:2000]}")
                    if any(event["type"] == "TEXT_MESSAGE_CONTENT" for event in events(response)):
                        return
                    sys.exit("The answer has no text.")
            except OSError:
                time.sleep(0.02)
        sys.exit((project / "server.log").read_text())
    finally:
        server.terminate()
        server.wait()


def ours(directory: Path, template: Path = ROOT / ".demo/template") -> list[Callable[[], object]]:
    project, python = directory / "my_assistant", directory / "my_assistant/.venv/bin/python"
    printed: list[str] = []

    def migrate() -> None:
        run(python, "manage.py", "migrate", "--verbosity", "0", cwd=project)
        printed.append(run(python, "manage.py", "create_first_admin", cwd=project))

    command = [sys.executable, "-m", "cookiecutter", template, "--no-input", "--default-config"]
    return [
        lambda: run(*command, "--output-dir", directory, cwd=ROOT),
        lambda: run("make", "--no-print-directory", "setup", cwd=project),
        migrate,
        lambda: first_answer(project, python, printed[0].split("API token:")[1].split()[0]),
    ]


def peers(directory: Path) -> list[Callable[[], object]]:
    python, project = directory / ".venv/bin/python", directory / "peer"

    def install() -> None:
        if shutil.which("uv"):
            run("uv", "venv", "--quiet", "--python", sys.executable, ".venv", cwd=directory)
            run("uv", "pip", "install", "--quiet", "--python", python, *PEER, cwd=directory)
        else:
            run(sys.executable, "-m", "venv", ".venv", cwd=directory)
            run(python, "-m", "pip", "install", "--quiet", *PEER, cwd=directory)

    def generate() -> None:
        run(python, "-m", "django", "startproject", "peer", cwd=directory)
        for name, text in (("settings", PEER_SETTINGS), ("urls", PEER_URLS)):
            with (project / f"peer/{name}.py").open("a") as stream:
                stream.write(text)

    def migrate() -> None:
        run(python, "manage.py", "migrate", "--verbosity", "0", cwd=project)
        user = ("--username", "admin", "--email", "admin@example.com")
        run(python, "manage.py", "createsuperuser", "--noinput", *user, cwd=project)

    return [
        generate,
        install,
        migrate,
        lambda: first_answer(project, python, "demo"),
    ]


def measure(steps: list[Callable[[], object]], order: list[int]) -> list[float]:
    seconds = [0.0] * len(steps)
    for number in order:
        started = time.perf_counter()
        steps[number]()
        seconds[number] = time.perf_counter() - started
    return seconds


def time_of(*command: str, cwd: Path) -> float:
    started = time.perf_counter()
    run(*command, cwd=cwd)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="accepted, as all of make bench: this is one run anyway")
    parser.parse_args()
    found = {}
    checks: dict[str, float] = {}
    # The peer's project needs Django before it can be generated.
    for name, steps, order in (("template", ours, [0, 1, 2, 3]), ("django-ag-ui", peers, [1, 0, 2, 3])):
        with tempfile.TemporaryDirectory() as directory:
            found[name] = measure(steps(Path(directory)), order)
            if name == "template":
                checks = {command: time_of("make", command, cwd=Path(directory) / "my_assistant") for command in CHECKS}
    lines = len((PEER_SETTINGS + PEER_URLS).split("\n")) - 2
    rows: list[list[object]] = [["seconds", *found]]
    rows += [[step, *(seconds[number] for seconds in found.values())] for number, step in enumerate(STEPS)]
    rows += [["together", *map(sum, found.values())], ["lines written by hand", 0, lines]]
    rows += [[f"then make {command}", seconds, "-"] for command, seconds in checks.items()]
    installer = "uv" if shutil.which("uv") else "pip"
    print_table(f"From nothing to the first streamed answer, with {installer}, {os.cpu_count()} cores", rows)


if __name__ == "__main__":
    main()
