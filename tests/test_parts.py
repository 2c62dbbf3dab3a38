"""Parts come and go by a line of the settings and an extra, as parts.md says. Then a project passes its checks."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from conftest import ENGINE, ROOT
from daily import at_night
from packaging.requirements import Requirement
from projects import make, program
from servers import Client, serve

pytestmark = pytest.mark.engine
CONTRIB = ENGINE / "contrib"
PARTS = sorted(path.name for path in CONTRIB.iterdir() if (path / "apps.py").exists())
EXTRAS = set(tomllib.loads((ROOT / "engine/pyproject.toml").read_text())["project"]["optional-dependencies"]) & {*PARTS}
MINIMAL = ["admin", "bundle", "charts", "demo", "pacing", "redis"]
STANDARD = ["attachments", "dashboard", "documents", "evals", "export", "feedback", "formulas", "queue"]
STANDARD = sorted([*MINIMAL, *STANDARD, "spending", "titles"])
# Parts that another one can't do without.
NEEDED = {
    name: re.findall(r"agui\.contrib\.(\w+)", needs)
    for name in PARTS
    for needs in re.findall(r"^    needs = (.*)$", (CONTRIB / name / "apps.py").read_text(), re.MULTILINE)
}


def run(project: Path, *commands: str) -> None:
    for command in commands:
        program(project, *command.split())


def check(project: Path, *more: str) -> None:
    """What `make check` runs, but its installation, mypy and the project's own tests."""
    django = "python manage.py check --fail-level WARNING"
    run(project, "ruff check --no-cache", "ruff format --no-cache --check", django, *more)


def edit(path: Path, pattern: str, replacement: str) -> None:
    path.write_text(re.sub(pattern, replacement, path.read_text()))


def name_extras(project: Path, before: set[str], after: set[str]) -> None:
    old, new = (f"agui-django[{','.join(sorted(names))}]==" for names in (before, after))
    assert old in (project / "pyproject.toml").read_text()
    edit(project / "pyproject.toml", re.escape(old), new)


def line_of(part: str) -> str:
    return f'    "agui.contrib.{part}",\n'


def installed(project: Path) -> list[str]:
    return sorted(re.findall(r'^    "agui\.contrib\.(\w+)",$', (project / "config/settings.py").read_text(), re.M))


@pytest.mark.parametrize(("answer", "parts"), [("everything", PARTS), ("standard", STANDARD), ("minimal", MINIMAL)])
def test_answer_chooses_the_parts(bake, answer: str, parts: list[str]):
    project = bake(parts=answer)
    assert installed(project) == parts
    declared = tomllib.loads((project / "pyproject.toml").read_text())
    optional = declared["project"]["optional-dependencies"].values()
    lines = declared["project"]["dependencies"] + [line for one in optional for line in one]
    assert {name for line in lines for name in Requirement(line).extras} & EXTRAS == EXTRAS & set(parts)
    assert ("evals" in declared["dependency-groups"]) == (project / "assistant/evals").exists() == ("evals" in parts)
    gone = {f"(part {part}: " for part in PARTS if part not in parts}
    for name in (".env.example", "compose.yaml"):
        assert not [mark for mark in gone if mark in (project / name).read_text()]


# A project with everything passes `make check` in test_project_checks.py.
@pytest.mark.parametrize("answer", ["minimal", *at_night("standard")])
def test_project_passes_its_tests_with_the_parts_of_an_answer(bake_furnished, answer: str):
    check(bake_furnished(parts=answer), "pytest -q")


@pytest.mark.nightly
@pytest.mark.parametrize("answer", ["standard", "minimal"])
def test_types_hold(bake_furnished, answer: str):
    run(bake_furnished(parts=answer), "mypy .")


def test_without_the_hook_everything_is_there(run_cli):
    assert run_cli("--no-input", "--accept-hooks", "no").returncode == 0
    assert installed(run_cli.output / "my_assistant") == PARTS


@pytest.fixture(params=PARTS)
def without(request: pytest.FixtureRequest, bake, furnish) -> Path:
    """A project with everything but one part, and what needs it."""
    project = bake(parts="everything")
    gone = {request.param, *(name for name, needed in NEEDED.items() if request.param in needed)}
    for name in gone:
        edit(project / "config/settings.py", line_of(name), "")
    extras = {"admin", "attachments", "bundle", "office", "terminal"}
    name_extras(project, extras, extras - gone)
    furnish(project)
    return project


@pytest.fixture(params=PARTS)
def only(request: pytest.FixtureRequest, bake) -> Path:
    """A project with one part, and what that needs, in an environment that has nothing else."""
    if not shutil.which("uv"):
        pytest.skip("uv is not on the PATH")
    project = bake(parts="minimal", engine="package")
    for name in MINIMAL:
        edit(project / "config/settings.py", line_of(name), "")
    names = [request.param, *NEEDED.get(request.param, ())]
    name_extras(project, {"admin", "bundle"}, EXTRAS.intersection(names))
    for name in names:
        below = "agui.server.daphne_app.DaphneConfig" if name == "admin_chat" else "agui"
        edit(project / "config/settings.py", rf'    "{below}",.*\n', rf"\g<0>{line_of(name)}")
    make(project, "setup")
    return project


@pytest.mark.nightly
def test_part_can_be_removed(without: Path):
    check(without, "pytest -q", "mypy .")


@pytest.mark.parametrize(
    "without",
    ["attachments", "demo", *at_night(*(name for name in PARTS if name not in ("attachments", "demo")))],
    indirect=True,
)
def test_a_server_answers_without_a_part(without: Path):
    (without / "silent.py").write_text(
        "from pydantic_ai.models.test import TestModel\n\nmodel = TestModel(call_tools=[])\n"
    )
    model = "demo" if "demo" in installed(without) else "python:silent.model"
    with serve(without, AGENT_MODEL=model) as live:
        assert Client(live.port, live.token).run("hello")[-1]["type"] == "RUN_FINISHED"


@pytest.mark.nightly
def test_part_can_be_added(only: Path):
    check(only, "pytest -q", "mypy .")
