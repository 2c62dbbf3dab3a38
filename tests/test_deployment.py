"""agui/manual/deployment.md, word for word except addresses: what serves the site, on what, and with whose data."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import guide
import pytest
from conftest import MANUAL
from postgresql import PostgreSQL
from projects import execute, serving
from servers import Client, LiveProject, credential, free_port, is_listening, manage, serve, text_of, wait_until
from test_readme import shell

pytestmark = pytest.mark.servers
PAGE = MANUAL / "deployment.md"
SECTIONS = guide.sections(PAGE)
HTTPS = {"X-Forwarded-Proto": "https"}


def table(section: str, head: str) -> dict[str, str]:
    """The first two columns of the table that begins with this head."""
    rows = SECTIONS[section].text.split(f"\n| {head} |")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {key.strip("`"): value for key, value, *_ in cells}


def code(section: str, language: str) -> list[str]:
    return [step.code for step in SECTIONS[section].steps if step.language == language]


@pytest.mark.nightly
@pytest.mark.parametrize("by", ["daphne", "uvicorn"])
def test_the_steps_without_docker_serve_the_site(
    bake_furnished, postgresql_server: PostgreSQL, tmp_path: Path, by: str
):
    project, log = bake_furnished(project_slug="deployed"), tmp_path / "log"
    [steps, by_uvicorn] = code("Without Docker", "sh")
    [unit] = code("Without Docker", "ini")
    assert f"\nExecStart=/srv/assistant/{steps.splitlines()[-1]}\n" in unit
    if by == "uvicorn":
        steps = steps.replace(steps.splitlines()[-1], by_uvicorn.strip())
    steps, count = re.subn(r"(?m)^DATABASE_URL=.*$", f"DATABASE_URL={postgresql_server.create(by)}", steps)
    assert count == 1
    steps = re.sub(r"(?m)^REDIS_URL=.*\n", "", steps).replace(" 8000 ", " $PORT ")
    steps = steps.replace("agent.example.com", "agent.example.com,127.0.0.1")
    with shell([steps], project, log) as port:
        printed = log.read_text()
        assert "CRITICAL" not in printed
        assert "Installing" in printed  # The extras, which nothing before has asked for
        client = Client(port)
        assert client.fetch("GET", "/accounts/login/")[0] == 301  # To https
        status, page = client.fetch("GET", "/accounts/login/", headers=HTTPS)
        assert status == 200
        [style, *_] = re.findall(r'href="(/static/[^"]*\.css)"', page)
        assert re.search(r"\.[0-9a-f]{12}\.css$", style)
        with client.open("GET", style, headers=HTTPS) as response:
            assert response.status == 200
            assert "immutable" in response.headers["Cache-Control"]
        stream = Client(port, credential(printed, "API token")).run("hello", headers=HTTPS)
        assert stream[-1]["type"] == "RUN_FINISHED"


@pytest.mark.nightly
def test_a_platform_builds_releases_and_serves_the_site(bake, postgresql_server: PostgreSQL, tmp_path: Path):
    """In an environment that has what the page's tables name, and nothing else."""
    project, venv, port = bake(project_slug="on_a_platform", engine="package"), tmp_path / "venv", free_port()
    execute(project, "uv", "venv", "--quiet", "--python", sys.executable, venv)
    values = {"SECRET_KEY": "only-for-this-test-" * 3, "ALLOWED_HOSTS": "127.0.0.1", "BEHIND_PROXY": "1"}
    values["DATABASE_URL"] = postgresql_server.create("on_a_platform")
    told = set(re.findall(r"[A-Z_]{5,}", " ".join(table("On a platform", "variable"))))
    assert told == {*values, "REDIS_URL", "AGENT_MODEL"}
    environment = {"PATH": f"{venv / 'bin'}:{os.environ['PATH']}", "HOME": str(tmp_path), "PORT": str(port), **values}

    requirements, procfile, build = SECTIONS["On a platform"].steps
    guide.edit(project, requirements)
    guide.edit(project, procfile)
    release, web = (line.partition(": ")[2] for line in (project / "Procfile").read_text().splitlines())
    install, collect = build.code.splitlines()
    [wanted] = re.fullmatch(r"pip install (.*)", install).groups()
    execute(project, "uv", "pip", "install", "--quiet", "--python", venv, *wanted.split())
    for command in (collect, release):
        given = [f"{name}={value}" for name, value in environment.items()]
        execute(project, "env", "--ignore-environment", *given, "sh", "-ec", command)
    assert not (project / "db.sqlite3").exists()
    answers = table("On a platform", "the platform asks for")
    path = re.findall(r"`(/\w+)`", answers["health check path"])[0]
    command = ["sh", "-c", f"exec {web.replace('-b 0.0.0.0', '-b 127.0.0.1')}"]
    with serving(command, project, port, project / "server.log", environment):
        assert json.loads(Client(port).fetch("GET", path)[1])["status"] == "ok"
        page = Client(port).fetch("GET", "/accounts/login/", headers=HTTPS)[1]
        [style, *_] = re.findall(r'href="(/static/[^"]*\.css)"', page)
        assert Client(port).fetch("GET", style, headers=HTTPS)[0] == 200


def thread_of(live: LiveProject, thread: str) -> dict[str, Any]:
    """A thread without its time, which dumpdata cuts to milliseconds."""
    row = json.loads(live.client(live.token).fetch("GET", f"/agent/threads/{thread}/")[1])
    return {key: value for key, value in row.items() if key != "updated_at"}


@pytest.mark.nightly
def test_users_and_conversations_move_to_postgresql(project: Path, postgresql_server: PostgreSQL):
    before, after = SECTIONS["Move from SQLite to PostgreSQL"].steps
    thread = str(uuid.uuid4())
    with serve(project) as live:
        live.client(live.token).run('add_task title="Buy milk"', threadId=thread)
        live.client(live.token).run("delete_finished_tasks", threadId=thread)
        kept = thread_of(live, thread)
        assert kept["pending"]
    [setup, dump] = before.code.splitlines()
    assert setup.startswith("make setup ")  # The environment has it
    guide.run(project, dump)
    with (project / ".env").open("a") as file:
        file.write(f"\nDATABASE_URL={postgresql_server.create('moved')}\n")
    for command in after.code.splitlines():
        guide.run(project, command)
    (project / "db.sqlite3").unlink()
    assert not (project / "data.json").exists()
    with serve(project) as live:
        client = live.client()
        assert thread_of(live, thread) == kept
        client.login(live.username, live.password)
        assert "Buy milk" in text_of(live.client(live.token).run("list_tasks"))
        answer = [{"interruptId": kept["pending"][0]["id"], "status": "resolved", "payload": {"approved": True}}]
        ended = live.client(live.token).run("", threadId=thread, messages=[], resume=answer)
        assert ended[-1]["type"] == "RUN_FINISHED"


@pytest.mark.nightly
def test_what_is_backed_up_at_night_can_be_restored(bake_furnished, postgresql_server: PostgreSQL, tmp_path: Path):
    project, backup = bake_furnished(project_slug="backed_up"), tmp_path / "backup"
    backup.mkdir()
    postgres = {"PGHOST": "127.0.0.1", "PGPORT": str(postgresql_server.port), "PGUSER": "postgres"}
    settings = {"DATABASE_URL": postgresql_server.create("assistant"), "DEBUG": "1", **postgres}
    settings["PATH"] = f"{postgresql_server.tools}:{os.environ['PATH']}"

    def run(commands: str) -> None:
        commands = commands.replace("/backup/", f"{backup}/").replace("/srv/assistant", str(project))
        execute(project, "sh", "-ec", commands, **settings)

    def users() -> list[str]:
        return postgresql_server.query("assistant", "SELECT username FROM users_user")

    manage(project, "migrate", "--verbosity", "0", **settings)
    manage(project, "create_first_admin", **settings)
    file = project / "media/attachments/one"
    file.parent.mkdir(parents=True)
    file.write_text("Hello")
    [nightly] = code("Every night", "cron")
    for line in nightly.splitlines():
        run(line.split("  ", 1)[1].replace("\\%", "%"))
    manage(project, "shell", "-c", "from users.models import User; User.objects.all().delete()", **settings)
    file.unlink()
    assert users() == []
    [day] = [path.stem.partition("-")[2] for path in backup.glob("*.dump")]
    [restore] = [block for block in code("Every night", "sh") if "pg_restore" in block]
    run(restore.replace("day=3", f"day={day}"))
    assert users() == ["admin"]
    assert file.read_text() == "Hello"


@contextmanager
def object_storage(packages: Path) -> Iterator[str]:
    """What speaks S3, with one bucket; its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    environment, quiet = os.environ | {"PYTHONPATH": str(packages)}, subprocess.DEVNULL
    process = subprocess.Popen(command, env=environment, stdout=quiet, stderr=quiet)
    try:
        wait_until(lambda: is_listening(port))
        urllib.request.urlopen(urllib.request.Request(f"{url}/uploads", method="PUT"), timeout=60)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=60)


def objects(url: str) -> int:
    with urllib.request.urlopen(f"{url}/uploads?list-type=2", timeout=60) as answer:
        return answer.read().count(b"<Key>")


@pytest.mark.nightly
def test_uploads_are_kept_in_an_object_storage(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    section = SECTIONS["Static and uploaded files"]
    [wanted] = re.findall(r'`"(django-storages.*?)",`', section.text)
    packages = tmp_path / "packages"
    execute(project, "uv", "pip", "install", "--quiet", "--target", packages, wanted, "moto[s3,server]")
    for name in ("django", "asgiref", "sqlparse"):  # The project has its own of these
        for folder in [*packages.glob(name), *packages.glob(f"{name}-*.dist-info")]:
            shutil.rmtree(folder)
    section.follow(project)
    names = re.findall(r"`((?:S3|AWS)_[A-Z0-9_]+)`", section.text)
    with object_storage(packages) as url:
        values = dict(zip(names, ["uploads", "key", "secret", "eu-central-1", url], strict=True))
        with serve(project, PYTHONPATH=str(packages), **values) as live:
            client = live.client(live.token)
            body = '--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nHello\r\n--b--\r\n'
            kind = {"Content-Type": "multipart/form-data; boundary=b"}
            status, answer = client.fetch("POST", "/agent/attachments/", body, kind)
            assert status == 201, answer
            path = f"/agent/attachments/{json.loads(answer)['id']}/"
            assert client.fetch("GET", path) == (200, "Hello")
            assert objects(url) == 1
            assert not (project / "media").exists()
            assert client.fetch("DELETE", path)[0] == 204
            assert objects(url) == 0
