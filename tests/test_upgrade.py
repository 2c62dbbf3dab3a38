"""A project follows its template: what agui/manual/upgrading.md says, command by command."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import guide
import pytest
from conftest import MANUAL, TEMPLATE_NAME
from projects import append, commit, execute, git, make, replace, tree

SECTIONS = guide.sections(MANUAL / "upgrading.md")
YOURS = {
    "assistant/tools.py": "# my own tools\n",
    "assistant/weather.py": "SUNNY = True\n",
    "config/settings.py": "\nMINE = True\n",
    "users/models.py": "\n# mine\n",
    "README.md": "\nMine.\n",
    ".env": "MINE=1\n",
    "assistant/migrations/0002_mine.py": "# mine\n",
    "shop/models.py": "# mine\n",
    "db.sqlite3": "mine",
    "media/mine.txt": "mine",
}


@pytest.fixture(scope="module")
def releases(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's repository with two versions: v2 changes the engine, the tooling, and what is the user's."""
    directory = tmp_path_factory.mktemp("releases") / "template"
    shutil.copytree(clone, directory)
    git(directory, "tag", "v1")
    project, engine = directory / TEMPLATE_NAME, directory / "engine/agui"
    yours = ("assistant/tools.py", "config/settings.py", "users/models.py", "README.md", ".env.example")
    for path in (engine / "conf.py", engine / "manual/tools.md", *(project / name for name in yours)):
        append(path, "\n\n# of v2\n")
    for name in ("cookiecutter.json", "engine/agui/__init__.py"):
        told = re.sub(r'(_version(__ =|":)) "[\d.]+"', r'\1 "99.0"', (directory / name).read_text())
        (directory / name).write_text(told)
    (engine / "added.py").write_text('"""New in v2."""\n')
    (engine / "manual/several-agents.md").unlink()
    (engine / "manual/operate.md").rename(engine / "manual/budgets.md")
    replace(project / "pyproject.toml", '"whitenoise>=6.9,<7"', '"whitenoise>=6.8,<7"')
    commit(directory)
    git(directory, "tag", "v2")
    return directory


@pytest.fixture
def shell(releases: Path, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run commands of the docs, with an address and a version in them, and without anybody's configuration."""
    home = tmp_path / "somebody"
    home.mkdir()
    identity = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def shell(lines: list[str], cwd: Path, version: str = "v1", status: int | None = 0, **more: str):
        script = "\n".join(lines).replace("ADDRESS", f"file://{releases}").replace("VERSION", version)
        return execute(cwd, "sh", "-ec", script, status=status, HOME=str(home), PATH=path, **identity, **more)

    return shell


UPDATE = ["cruft update --checkout VERSION --skip-apply-ask"]


@pytest.fixture(params=["source"])
def created(run_cli, releases: Path, shell, request: pytest.FixtureRequest) -> Path:
    """A project of the first version, which is linked to its template as the docs say."""
    answers = ["--no-input", f"engine={request.param}", "-c", "v1"]
    assert run_cli(*answers, source=f"git+file://{releases}").returncode == 0
    project = run_cli.output / "my_assistant"
    commit(project)
    engine = {"package": "1", "source": "2"}[request.param]
    shell(SECTIONS["The rest of the template"].commands, project, stdin="\n" * 5 + f"{engine}\n\n")
    return project


def edit(project: Path) -> None:
    """What a user does to a project, and commits."""
    for name, text in YOURS.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        append(project / name, text)
    for name in ("Dockerfile", "agui/manual/tools.md", "assistant/skills.py"):
        (project / name).unlink()
    extras = "[project.optional-dependencies]\n"
    replace(project / "pyproject.toml", extras, f'{extras}mine = ["six"]\n')
    commit(project)


def without_git(project: Path) -> dict[str, bytes]:
    return {name: content for name, content in tree(project).items() if not name.startswith(".git/")}


def conflicts(project: Path) -> list[str]:
    marks = re.compile(rb"^(<<<<<<<|>>>>>>>) ", re.MULTILINE)
    contents = without_git(project).items()
    return [name for name, content in contents if name.endswith((".rej", ".orig")) or marks.search(content)]


@pytest.mark.nightly
def test_update_brings_the_engine_and_leaves_what_is_the_users(created: Path, releases: Path, shell, run_cli):
    edit(created)
    before = without_git(created)
    assert UPDATE[0] in (MANUAL / "upgrading.md").read_text()
    shell(UPDATE, created, "v2")
    answers = ["--no-input", "engine=source", "-c", "v2", "-o", str(run_cli.output / "v2")]
    assert run_cli(*answers, source=f"git+file://{releases}").returncode == 0
    after, newest = without_git(created), tree(run_cli.output / "v2/my_assistant")
    assert conflicts(created) == []
    owned = re.compile(r"(assistant|config|users|locale|shop|media)/|README\.md|\.env$|db\.sqlite3")
    assert {n: c for n, c in after.items() if owned.match(n)} == {n: c for n, c in before.items() if owned.match(n)}
    changed = {n for n in newest if not owned.match(n) and after.get(n) != newest[n]}
    assert changed == {"Dockerfile", "agui/manual/tools.md", "pyproject.toml"}
    assert not {"Dockerfile", "agui/manual/tools.md"} & set(after)
    gone = {n for n in after if not owned.match(n)} - set(newest)
    assert gone == {".cruft.json"}
    project = tomllib.loads(after["pyproject.toml"].decode())["project"]
    assert project["optional-dependencies"]["mine"] == ["six"]
    assert "whitenoise>=6.8,<7" in project["dependencies"]
    # And again: nothing is left to do.
    commit(created)
    shell(UPDATE, created, "v2")
    assert git(created, "diff", "HEAD") == ""


@pytest.mark.nightly
def test_updated_project_passes_its_checks(created: Path, shell, furnish):
    shell(UPDATE, created, "v2")
    furnish(created)
    make(created, "check")


@pytest.mark.nightly
@pytest.mark.parametrize("created", ["package"], indirect=True)
def test_the_rest_follows_an_upgrade_of_the_package(created: Path, shell, tmp_path: Path):
    (created / "Dockerfile").unlink()
    append(created / "assistant/tools.py", "# mine\n")
    commit(created)
    database = {"DATABASE_URL": f"sqlite:///{tmp_path}/upgraded.sqlite3"}
    shell(SECTIONS["A newer engine"].commands[:1], created, "v2", **database)
    commit(created)
    shell(UPDATE, created, "v2", **database)
    assert conflicts(created) == []
    assert [path.name for path in (created / "vendor").iterdir()] == ["agui_django-99.0-py3-none-any.whl"]
    assert "agui-django[admin,attachments,bundle]==99.0" in (created / "pyproject.toml").read_text()
    assert "whitenoise>=6.8,<7" in (created / "pyproject.toml").read_text()
    assert (created / "assistant/tools.py").read_text().endswith("# mine\n")


@pytest.mark.nightly
def test_same_lines_changed_on_both_sides_are_told(created: Path, shell):
    append(created / "agui/conf.py", "\n# patched\n")
    commit(created)
    shell(UPDATE, created, "v2", status=None)
    assert conflicts(created) == ["agui/conf.py"]
    assert "UU agui/conf.py" in git(created, "status", "--short")
    assert (created / "agui/added.py").exists()
