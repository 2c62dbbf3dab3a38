"""The steps of the Dockerfile without Docker, in a directory of their own, and what they make behind nginx.

With PostgreSQL and Redis, two processes, and the environment that compose.yaml gives them.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import pins
from nginx import find_nginx, nginx
from postgresql import PostgreSQL
from projects import execute, serving
from redis_server import RedisServer
from servers import Client, credential, events, free_port, project_environment

pytestmark = [pytest.mark.servers, pytest.mark.nightly]
OF_THE_SYSTEM = ("pip install", "useradd")  # uv is there, and the user is the one who runs the tests
ANSWERS = {"SECRET_KEY": "of-this-test-" * 5, "POSTGRES_PASSWORD": "secret"}


@dataclass
class Image:
    """What `docker build` makes of a project, with its directories below `root`."""

    root: Path
    settings: dict[str, str] = field(default_factory=dict)
    commands: dict[str, list[str]] = field(default_factory=dict)

    def build(self, project: Path) -> None:
        (self.root / "app").mkdir(parents=True)
        text = re.sub(r"\\\n\s*", " ", (project / "Dockerfile").read_text())
        for line in text.splitlines():
            instruction, _, rest = line.partition(" ")
            if instruction == "RUN" and not rest.startswith(OF_THE_SYSTEM):
                self.run("sh", "-ec", rest)
            elif instruction == "COPY" and rest.startswith("--from=requirements"):
                shutil.copytree(self.place(rest.split()[1]), self.root / "app", dirs_exist_ok=True)
            elif instruction == "COPY" and not rest.startswith("--from"):
                *names, _ = rest.split()
                self.copy(project, names)
            elif instruction == "ENV":
                self.settings |= dict(one.split("=", 1) for one in self.place(rest).split())
            elif instruction in ("CMD", "HEALTHCHECK"):
                self.commands[instruction] = json.loads(rest[rest.index("[") :])

    def place(self, text: str) -> str:
        return re.sub(r"(?<![\w.])/(?=(app|venv|wanted)\b)", f"{self.root}/", text)

    def copy(self, project: Path, names: list[str]) -> None:
        left_out = [line.removeprefix("**/") for line in (project / ".dockerignore").read_text().split()]
        for name in names:
            if name == ".":
                ignore = shutil.ignore_patterns(*left_out)
                shutil.copytree(project, self.root / "app", ignore=ignore, dirs_exist_ok=True)
            else:
                shutil.copy(project / name, self.root / "app")

    def environment(self) -> dict[str, str]:
        path = self.settings.get("PATH", "$PATH").replace("$PATH", os.environ["PATH"])
        return project_environment(**self.settings | {"PATH": path, "UV_PYTHON": sys.executable})

    def run(self, *command: str) -> str:
        return execute(self.root / "app", *map(self.place, command), **self.environment()).stdout

    def at(self, port: int, command: str) -> list[str]:
        """A command of the image, for a process that is no container."""
        return [
            part.replace("8000", str(port)).replace("0.0.0.0", "127.0.0.1")  # noqa: S104
            for part in self.commands[command]
        ]

    @contextmanager
    def serve(self, log: Path) -> Iterator[int]:
        port = free_port()
        with serving(self.at(port, "CMD"), self.root / "app", port, log, self.environment()):
            yield port


class Visitor(Client):
    """Behind whatever terminates TLS."""

    def open(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None):
        https = {"X-Forwarded-Proto": "https", "Referer": f"https://127.0.0.1:{self.port}/"}
        return super().open(method, path, body, https | (headers or {}))


@dataclass
class Site:
    image: Image
    ports: list[int]
    port: int
    username: str
    password: str
    token: str


def compose_environment(compose: dict[str, Any]) -> dict[str, str]:
    """What compose.yaml gives to the application, with what .env would say."""

    def answer(found: re.Match[str]) -> str:
        name, default = found.groups()
        return ANSWERS.get(name, default if found[0].count(":-") else "")

    given = compose["x-web"]["environment"]
    return {name: re.sub(r"\$\{(\w+)(?::[-?]([^}]*))?\}", answer, value) for name, value in given.items()}


@pytest.fixture(scope="module")
def site(render, tmp_path_factory, postgresql_server: PostgreSQL) -> Iterator[Site]:
    if not (shutil.which("uv") and shutil.which("redis-server") and find_nginx()):
        pytest.skip("uv, redis-server or nginx is not installed")
    project = render(tmp_path_factory.mktemp("source"))
    for path in [project, *project.rglob("*")]:
        path.chmod(path.stat().st_mode & 0o700)  # As with umask 077
    compose = yaml.safe_load((project / "compose.yaml").read_text())
    image = Image(tmp_path_factory.mktemp("image") / "root")
    image.build(project)
    redis = RedisServer(tmp_path_factory.mktemp("redis"))
    redis.start()
    with ExitStack() as running:
        running.callback(redis.stop)
        real = {"DATABASE_URL": postgresql_server.create("image"), "REDIS_URL": redis.url}
        image.settings |= compose_environment(compose) | real
        image.run(*compose["services"]["migrate"]["command"])
        said = image.run("python", "manage.py", "create_first_admin")
        processes = range(compose["services"]["web"]["deploy"]["replicas"])
        ports = [running.enter_context(image.serve(image.root / f"{number}.log")) for number in processes]
        port = running.enter_context(nginx(project / "nginx.conf", ports, tmp_path_factory.mktemp("nginx")))
        yield Site(image, ports, port, *(credential(said, label) for label in ("Username", "Password", "API token")))


def test_proxy_finds_the_processes_and_leaves_their_connections_in_time(rendered):
    """Else it knows those that were there when it began: after a deploy none, and never the third of three."""
    project = rendered["demo"]
    services = yaml.safe_load((project / "compose.yaml").read_text())["services"]
    assert tuple(map(int, re.findall(r"\d+", services["proxy"]["image"]))) >= (1, 28)  # 1.27.3 is the first that can
    configuration = (project / "nginx.conf").read_text()
    assert "\nresolver 127.0.0.11 " in configuration  # Docker's name server
    assert re.search(r"server web:8000 resolve ", configuration)
    [seconds] = re.findall(r"keepalive_timeout (\d+)s;", configuration)
    assert int(seconds) < 60  # Twisted's own, which daphne leaves as it is
    # No log of a container fills the disk.
    assert {service["logging"]["driver"] for service in services.values()} == {"local"}


def test_image_has_what_it_needs_and_no_more(site: Site):
    root = site.image.root
    assert not (root / "app/.env").exists()
    assert not {"pytest", "mypy", "ruff"} & {path.name for path in (root / "venv/bin").iterdir()}
    pinned = {f"{name}=={version}" for name, version in pins(root / "app").items()}
    installed = site.image.run("uv", "pip", "freeze", "--python", "/venv").split()
    assert installed
    assert [one for one in installed if one not in pinned and not one.startswith("agui-django==")] == []


def test_everybody_may_read_the_application(site: Site):
    """It runs as a user who owns none of it."""
    app = site.image.root / "app"
    needed = {path: 0o005 if path.is_dir() else 0o004 for path in [app, *app.rglob("*")]}
    assert [path for path, bits in needed.items() if path.stat().st_mode & bits != bits] == []


def test_health_check_of_the_image_tells_life_from_death(site: Site):
    site.image.run(*site.image.at(site.ports[0], "HEALTHCHECK"))
    with pytest.raises(AssertionError, match="refused"):
        site.image.run(*site.image.at(free_port(), "HEALTHCHECK"))


def test_plain_http_is_sent_to_https(site: Site):
    with Client(site.port).open("GET", "/accounts/login/") as response:
        assert response.status == 301
        assert response.headers["Location"].startswith("https://")


def test_sign_in_and_a_page_with_hashed_files_of_its_own(site: Site):
    visitor = Visitor(site.port)
    visitor.login(site.username, site.password)
    with visitor.open("GET", "/") as response:
        page = response.read().decode()
        assert response.headers["Strict-Transport-Security"]
    files = set(re.findall(r'"(/static/[^"]+)"', page))
    assert any(name.endswith(".js") for name in files)
    for name in files:
        assert re.search(r"\.[0-9a-f]{12}\.\w+$", name), name
        with visitor.open("GET", name) as response:
            assert response.status == 200, name
            assert "immutable" in response.headers["Cache-Control"]


def test_turn_is_followed_by_the_other_process(site: Site):
    first, second = (Visitor(port, site.token) for port in site.ports)
    stream = first.run("list_tasks", threadId="shared")
    assert stream[-1]["type"] == "RUN_FINISHED"
    with second.open("GET", "/agent/threads/shared/events/", headers={"Last-Event-ID": "0"}) as response:
        assert response.status == 200
        assert list(events(response)) == stream
