"""The guides of the generated project: their links lead somewhere, their names exist, their commands serve the site."""

import os
import re
import sys
from pathlib import Path

import pytest
import snapshot
from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME
from postgresql import PostgreSQL
from projects import execute
from servers import Client, copy_migrated, credential, manage
from test_readme import shell

PROJECT = ROOT / TEMPLATE_NAME
REPOSITORY = sorted(
    [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "engine/README.md", *(ROOT / "docs").rglob("*.md")]
)
PAGES = sorted([PROJECT / "README.md", PROJECT / "AGENTS.md", *MANUAL.rglob("*.md")])


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (MANUAL / f"{page}.md").read_text(), re.M | re.S)


def anchors(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^\w-]", "", title.lower().replace(" ", "-")) for title in titles}


@pytest.mark.parametrize("page", [*PAGES, *REPOSITORY], ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    prose = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)", prose):
        found = page.parent / target if target else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), f"{target}#{anchor}"


def test_the_contents_lead_to_every_page():
    linked = set(re.findall(r"\]\((?:\./)?([\w./-]+)\)", (MANUAL / "contents.md").read_text()))
    pages = {path.name for path in MANUAL.glob("*.md")} - {"contents.md"}
    assert linked == pages | {"openapi.yaml", "recipes/README.md"}


def test_every_page_is_listed_with_its_path():
    command = [sys.executable, "-m", "agui.manual"]
    there = {}
    for line in execute(ENGINE.parent, *command).stdout.splitlines():
        title, path = re.split(r" {2,}", line)
        there[Path(path)] = title
    assert set(there) == {*MANUAL.rglob("*.md")}
    assert there[MANUAL / "tools.md"] == "Give the agent tools"
    printed = execute(ENGINE.parent, *command, "recipes/observe").stdout
    assert printed == (MANUAL / "recipes/observe.md").read_text() + "\n"
    said = execute(ENGINE.parent, *command, "tolls", status=1).stderr
    assert "There is no page 'tolls', only agent, " in said


FILE = r"[\w./-]*\w\.(py|[mc]?js|d\.ts|md|ini|ya?ml|conf|json|css|toml|txt|html|mk)"
PATH = re.compile(rf"{FILE}|[\w./-]+/|agui(\.[a-z]\w*)+")
# Files and folders that other programs, the installer, `agentify` and a user's project make.
MADE = {".agentify/", ".agui.json", ".cruft.json", ".site/html/", ".test-cache/durations/", "base_site.html", "media/"}
MADE.add("vendor/")


NAMING = [ROOT / "docs/decisions.md", ROOT / "docs/contributing.md", PROJECT / "AGENTS.md", MANUAL / "architecture.md"]


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_files_and_modules_in_backticks_exist(page: Path):
    there = {f"/{path}" for file in map(Path, snapshot.files()) for path in (file, *file.parents)}
    text = page.read_text()
    named = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    named = {name for name in named if PATH.fullmatch(name)} | set(re.findall(r"\btests/test_\w+\.py\b", text))
    missing = []
    for name in named - MADE:
        path = name.replace(".", "/") if re.fullmatch(r"agui(\.[a-z]\w*)+", name) else name.rstrip("/")
        if not any(other.endswith((f"/{path}", f"/{path}.py")) for other in there):
            missing.append(name)
    assert missing == []


@pytest.mark.servers
def test_the_command_for_coding_assistants_answers(bake_furnished):
    project = bake_furnished(project_slug="asked")
    [command] = re.findall(r"`(\.venv/bin/python manage\.py chat .*?)`", (project / "AGENTS.md").read_text())
    copy_migrated(project)
    said = execute(project, "sh", "-c", command).stdout
    assert '"RUN_FINISHED"' in said.splitlines()[-1].replace(" ", "")


@pytest.mark.nightly
@pytest.mark.servers
def test_what_is_backed_up_at_night_can_be_restored(bake_furnished, postgresql_server: PostgreSQL, tmp_path: Path):
    """As on the page, except the addresses."""
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
    [nightly] = blocks("deployment", "cron")
    for line in nightly.splitlines():
        run(line.split("  ", 1)[1].replace("\\%", "%"))
    manage(project, "shell", "-c", "from users.models import User; User.objects.all().delete()", **settings)
    file.unlink()
    assert users() == []
    [day] = [path.stem.partition("-")[2] for path in backup.glob("*.dump")]
    [restore] = [block for block in blocks("deployment", "sh") if "pg_restore" in block]
    run(restore.replace("day=3", f"day={day}"))
    assert users() == ["admin"]
    assert file.read_text() == "Hello"


@pytest.mark.nightly
@pytest.mark.servers
def test_the_steps_without_docker_serve_the_site(bake_furnished, postgresql_server: PostgreSQL, tmp_path: Path):
    """As they are on the page, except the addresses."""
    project, log = bake_furnished(project_slug="deployed"), tmp_path / "log"
    [steps, *_] = blocks("deployment", "sh")
    steps, count = re.subn(r"(?m)^DATABASE_URL=.*$", f"DATABASE_URL={postgresql_server.create('deployed')}", steps)
    assert count == 1
    steps = re.sub(r"(?m)^REDIS_URL=.*\n", "", steps).replace("-p 8000", "-p $PORT")
    steps = steps.replace("agent.example.com", "agent.example.com,127.0.0.1")
    with shell([steps], project, log) as port:
        printed = log.read_text()
        assert "CRITICAL" not in printed
        assert "Installing" in printed  # The extras, which nothing before has asked for
        client = Client(port)
        assert client.fetch("GET", "/accounts/login/")[0] == 301  # To https
        as_proxy = {"X-Forwarded-Proto": "https"}
        status, page = client.fetch("GET", "/accounts/login/", headers=as_proxy)
        assert status == 200
        [style, *_] = re.findall(r'href="(/static/[^"]*\.css)"', page)
        assert re.search(r"\.[0-9a-f]{12}\.css$", style)
        with client.open("GET", style, headers=as_proxy) as response:
            assert response.status == 200
            assert "immutable" in response.headers["Cache-Control"]
        stream = Client(port, credential(printed, "API token")).run("hello", headers=as_proxy)
        assert stream[-1]["type"] == "RUN_FINISHED"
