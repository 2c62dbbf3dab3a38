"""Every way of using the template gives a project the engine of the copy that was used.

The template's history has a tag for each version, and the version of the engine in a project shows where it came from.
Each way runs with the oldest cookiecutter and cruft that the documentation allows, and with the newest.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from cache import cached
from conftest import MANUAL, ROOT
from projects import commit, execute, git, tree
from servers import project_environment

pytestmark = pytest.mark.nightly
VERSIONS = ["oldest", "newest"]
OLD, NEW = "98.0", "99.0"
ODD_NAME = """it's a "path" \\n {{ x }} {% y é 日本"""
BAKE_EACH = """
import sys
from cookiecutter.main import cookiecutter
for number, template in enumerate(sys.argv[1:]):
    cookiecutter(template, no_input=True, output_dir=f"output/{number}")
"""


@cache
def programs(version: str) -> Path:
    """Install the oldest or the newest cookiecutter and cruft, and return the directory of their commands."""
    wanted, options = "cookiecutter\ncruft", []
    if version == "oldest":
        wanted = f"cookiecutter=={promised(ROOT / 'README.md', 'cookiecutter')}.*\n"
        wanted += f"cruft=={promised(MANUAL / 'upgrading.md', 'cruft')}.*"
        options = ["--resolution", "lowest-direct"]
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--python", sys.executable, *options, "-"]
    pins = execute(ROOT, *command, stdin=wanted).stdout

    def install(venv: Path) -> None:
        execute(ROOT, "uv", "venv", "--quiet", "--python", sys.executable, venv)
        pip = ["uv", "pip", "install", "--quiet", "--no-deps", "--python", venv / "bin/python", "-r", "-"]
        execute(ROOT, *pip, stdin=pins)

    return cached("programs", sys.version + pins, install) / "bin"


def promised(page: Path, program: str) -> str:
    """Read the oldest version of a program that a page allows."""
    return re.search(rf"\[{program}\]\(\S+\)[^.]*?([\d.]+)\s+or\s+newer", page.read_text())[1]


@pytest.fixture(scope="module")
def history(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template's repository, with a tag for each of the versions."""
    template = tmp_path_factory.mktemp("history") / "template"
    shutil.copytree(clone, template)
    for version in (OLD, NEW):
        for path in (template / "cookiecutter.json", template / "engine/agui/__init__.py"):
            path.write_text(re.sub(r'(_version(?:__ =|":)) "[\d.]+"', rf'\1 "{version}"', path.read_text()))
        commit(template)
        git(template, "tag", version)
    return template


class Machine:
    """A home directory with clones of the template, and the commands of one environment."""

    def __init__(self, directory: Path, history: Path, commands: Path) -> None:
        self.directory, self.history = directory, history
        config = directory / "config.yaml"
        config.write_text(
            f"cookiecutters_dir: {directory / 'templates'}\nreplay_dir: {directory / 'replay'}\n"
            f"abbreviations:\n  gh: file://{directory}/{{0}}.git\n"
        )
        names = {f"GIT_{who}_{what}": "t@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        home = {"HOME": str(directory), "COOKIECUTTER_CONFIG": str(config), "LANG": "C.UTF-8"}
        self.environment = project_environment(PATH=path, **home, **names)

    def run(self, *command: object, cwd: Path | None = None, fails: bool = False) -> str:
        """Run a command, and return what it printed."""
        done = execute(cwd or self.directory, *map(str, command), status=None, **self.environment)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def clone(self, name: str = "clone", version: str = NEW) -> Path:
        self.run("git", "clone", "--quiet", "-c", "advice.detachedHead=false", "-b", version, self.history, name)
        return self.directory / name

    def bake(self, template: object, *options: object, cwd: Path | None = None, output: str = "output") -> Path:
        options = options or ("--no-input",)
        self.run("cookiecutter", template, *options, "--output-dir", self.directory / output, cwd=cwd)
        return self.directory / output / "my_assistant"

    def bake_again(self, *replay: object) -> Path:
        """Generate a project with the answers that were given to the older version."""
        self.bake(self.clone("a/clone", OLD))
        project = self.bake(".", *replay, cwd=self.clone("b/clone"), output="again")
        assert f"made from version {NEW} of" in (project / "README.md").read_text()
        return project

    def create(self, version: str = NEW) -> Path:
        """Create a project with cruft, let cruft update its wheel, too, and commit it."""
        self.run("cruft", "create", self.history, "--no-input", "--output-dir", "output", "--checkout", version)
        project = self.directory / "output/my_assistant"
        settings = project / "pyproject.toml"
        settings.write_text(settings.read_text().replace('"vendor", ', ""))
        commit(project)
        return project

    def update(self) -> Path:
        project = self.create(OLD)
        self.run("cruft", "update", "--skip-apply-ask", "--checkout", NEW, cwd=project)
        assert list(project.rglob("*.rej")) == []
        return project


def zip_file(machine: Machine) -> Path:
    archive = machine.directory / "template.zip"
    machine.run("git", "archive", "--prefix=template/", f"--output={archive}", NEW, cwd=machine.history)
    return machine.bake(archive)


def abbreviation(machine: Machine) -> Path:
    machine.run("git", "clone", "--quiet", "--bare", machine.history, "org/template.git")
    return machine.bake("gh:org/template")


def no_hooks(machine: Machine) -> Path:
    project = machine.bake(machine.clone(), "--no-input", "--accept-hooks", "no")
    assert "generate the project again, and accept them" in machine.run("make", "run", cwd=project, fails=True)
    return project


def two_clones(machine: Machine) -> Path:
    machine.run("python", "-c", BAKE_EACH, machine.clone("a/clone", OLD), machine.clone("b/clone"))
    assert engine_of(machine.directory / "output/0/my_assistant") == OLD
    return machine.directory / "output/1/my_assistant"


def cruft(machine: Machine) -> Path:
    project = machine.create()
    assert "agui_django" not in machine.run("cruft", "diff", cwd=project)
    machine.run("cruft", "check", cwd=project)
    return project


# Each returns the project that it has made.
WAYS: dict[str, Callable[[Machine], Path]] = {
    "dot": lambda m: m.bake(".", cwd=m.clone()),
    "relative": lambda m: m.bake(m.clone("a/clone").relative_to(m.directory)),
    "odd": lambda m: m.bake(m.clone(ODD_NAME)),
    "odd-source": lambda m: m.bake(m.clone(ODD_NAME), "--no-input", "engine=source"),
    "git": lambda m: m.bake(f"git+file://{m.history}"),
    "gh": abbreviation,
    "zip": zip_file,
    "checkout": lambda m: m.bake(f"git+file://{m.history}", "--no-input", "--checkout", OLD),
    "replay": lambda m: m.bake_again("--replay"),
    "replay-file": lambda m: m.bake_again("--replay-file", m.directory / "replay/clone.json"),
    "no-hooks": no_hooks,
    "two-clones": two_clones,
    "cruft-create": cruft,
    "cruft-create-checkout": lambda m: m.create(OLD),
    "cruft-update": Machine.update,
}
OTHER_ENGINES = {"checkout": OLD, "cruft-create-checkout": OLD, "no-hooks": None}


def engine_of(project: Path) -> str | None:
    """Read the version of the engine in a project, which must be the version that the project requires."""
    assert [*project.rglob("agui_template.*")] == []
    if (project / "agui").exists():
        assert not (project / "vendor").exists()
        version = re.search('(?m)^__version__ = "(.*)"', (project / "agui/__init__.py").read_text())[1]
    elif (project / "vendor").exists():
        [wheel] = (project / "vendor").iterdir()
        version = wheel.name.split("-")[1]
    else:
        return None
    assert re.search(r'"agui-django\[.*\]==(.*?)"', (project / "pyproject.toml").read_text())[1] == version
    return version


@pytest.mark.parametrize(("way", "version"), [pytest.param(w, v, id=f"{w}-{v}") for v in VERSIONS for w in WAYS])
def test_project_has_the_engine_of_its_template(way: str, version: str, history: Path, tmp_path: Path):
    project = WAYS[way](Machine(tmp_path, history, programs(version)))
    assert engine_of(project) == OTHER_ENGINES.get(way, NEW)


def test_the_oldest_cookiecutter_makes_the_same_project(history: Path, tmp_path: Path):
    projects = []
    for version in VERSIONS:
        (tmp_path / version).mkdir()
        machine = Machine(tmp_path / version, history, programs(version))
        projects.append(tree(machine.bake(machine.history)))
    assert projects[0] == projects[1]
