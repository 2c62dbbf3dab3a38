"""Parts come and go: each is removed from a project with everything, and added to one that has none, as docs/parts.md
says. Whatever is there then passes the project's own checks."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME, closure, requirements
from daily import at_night
from servers import project_environment
from test_guides import anchors

pytestmark = pytest.mark.engine
CONTRIB = ROOT / TEMPLATE_NAME / "agui/contrib"
PARTS = sorted(path.name for path in CONTRIB.iterdir() if (path / "apps.py").exists())
STANDARD = ["admin", "attachments", "dashboard", "evals", "export", "fast", "feedback", "spending"]
# Parts that another one can't do without.
NEEDED = {"dashboard": ["admin"], "terminal": ["client"]}


def run(project: Path, *commands: str) -> None:
    for command in commands:
        program, *arguments = command.split()
        done = subprocess.run(
            [project / ".venv/bin" / program, *arguments],
            cwd=project,
            env=project_environment(),
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


def check(project: Path, *more: str) -> None:
    """What `make check` runs, but its installation, mypy and the project's own tests."""
    django = "python manage.py check --fail-level WARNING"
    run(project, "ruff check --no-cache", "ruff format --no-cache --check", django, *more)


def line_of(part: str) -> str:
    return f'    "agui.contrib.{part}",\n'


def installed(project: Path) -> list[str]:
    return sorted(re.findall(r'"agui\.contrib\.(\w+)"', (project / "config/settings.py").read_text()))


@pytest.mark.parametrize(("answer", "parts"), [("everything", PARTS), ("standard", STANDARD), ("minimal", ["admin"])])
def test_answer_chooses_the_parts(bake, answer: str, parts: list[str]):
    project = bake(parts=answer)
    there = sorted(path.name for path in (project / "agui/contrib").iterdir() if path.is_dir())
    assert installed(project) == there == parts


# A project with everything passes `make check` in test_project_checks.py.
@pytest.mark.parametrize("answer", ["minimal", *at_night("standard")])
def test_project_passes_its_tests_with_the_parts_of_an_answer(bake, furnish, answer: str):
    project = bake(parts=answer)
    furnish(project)
    check(project, "pytest -q")


# `make check` looks at the types of a project with everything, in test_project_checks.py.
@pytest.mark.nightly
@pytest.mark.parametrize("answer", ["standard", "minimal"])
def test_types_hold(bake, furnish, answer: str):
    project = bake(parts=answer)
    furnish(project)
    run(project, "mypy .")


@pytest.mark.parametrize("answer", ["standard", "minimal"])
def test_what_is_left_names_no_page_that_is_gone(bake, answer: str):
    project = bake(parts=answer)
    pages = [project / "README.md", project / "AGENTS.md", *(project / "docs").rglob("*.md")]
    for page in pages:
        for link, anchor in re.findall(r"\]\(([\w./-]*\.(?:md|yaml)|)(?:#([\w-]+))?\)", page.read_text()):
            target = page.parent / link if link else page
            assert target.exists(), f"{page.relative_to(project)}: {link}"
            assert not anchor or anchor in anchors(target), f"{page.relative_to(project)}: {link}#{anchor}"


@pytest.mark.parametrize("answer", ["standard", "minimal"])
def test_coding_assistants_are_told_of_no_part_that_is_absent(bake, answer: str):
    told = (bake(parts=answer) / "AGENTS.md").read_text()
    assert "manage.py chat" not in told
    assert ("evals" in told) == (answer == "standard")


def named_parts(page: Path) -> set[str]:
    """Name the parts that have a section of a page."""
    return set(re.findall(r"^##+ .*\n\n\*Part `(\w+)`\.\*$", page.read_text(), re.MULTILINE))


@pytest.mark.parametrize(("answer", "parts"), [("everything", PARTS), ("standard", STANDARD), ("minimal", ["admin"])])
def test_manual_has_the_sections_of_the_chosen_parts(bake, answer: str, parts: list[str]):
    project = bake(parts=answer)
    for page in (project / "docs").glob("*.md"):
        assert named_parts(page) == named_parts(ROOT / TEMPLATE_NAME / "docs" / page.name) & set(parts)
        assert not page.read_text().endswith("\n\n")
    keys = re.findall(r"^\| `(\w+)` \| section \|", (project / "docs/settings.md").read_text(), re.MULTILINE)
    assert not {key.lower() for key in keys} & (set(PARTS) - set(parts))
    gone = {f"(part {part}: " for part in PARTS if part not in parts}
    for name in (".env.example", "compose.yaml"):
        assert not [mark for mark in gone if mark in (project / name).read_text()]


@pytest.mark.parametrize("answer", ["minimal", "standard", "everything"])
def test_the_manual_says_what_an_answer_costs(bake, environment: Path, answer: str):
    """Rounded: to a thousand lines, and to the packages of Linux."""
    project = bake(parts=answer)
    lines = {"own": 0, ".py": 0, ".js": 0}
    for path in project.rglob("*"):
        if path.suffix in (".py", ".js") and "migrations" not in path.parts:
            kind = path.suffix if path.is_relative_to(project / "agui") else "own"
            lines[kind] += len(path.read_text().splitlines()) if kind != "own" or path.suffix == ".py" else 0
    needed = closure(environment, requirements(project))
    [row] = re.findall(rf"^\| `{answer}` \| (.*) \|$", (project / "docs/architecture.md").read_text(), re.MULTILINE)
    told = [int(cell.replace(",", "")) for cell in row.split(" | ")]
    counted = [lines["own"], lines[".py"], lines[".js"], len(needed)]
    assert told == pytest.approx(counted, rel=0.1), counted


def test_without_the_hook_everything_is_there(run_cli):
    assert run_cli("--no-input", "--accept-hooks", "no").returncode == 0
    assert installed(run_cli.output / "my_assistant") == PARTS


@pytest.fixture(params=PARTS)
def without(request: pytest.FixtureRequest, bake, furnish) -> Path:
    """A project with everything but one part, and what needs it."""
    project = bake(parts="everything")
    settings = project / "config/settings.py"
    for name in [request.param, *(name for name, needed in NEEDED.items() if request.param in needed)]:
        settings.write_text(settings.read_text().replace(line_of(name), ""))
        shutil.rmtree(project / "agui/contrib" / name)
    furnish(project)
    return project


@pytest.fixture(params=PARTS)
def only(request: pytest.FixtureRequest, bake, furnish) -> Path:
    """A project with one part, and what that needs."""
    project = bake(parts="minimal")
    settings = project / "config/settings.py"
    settings.write_text(settings.read_text().replace(line_of("admin"), ""))
    shutil.rmtree(project / "agui/contrib/admin")
    for name in [request.param, *NEEDED.get(request.param, ())]:
        shutil.copytree(CONTRIB / name, project / "agui/contrib" / name)
        below = "agui.server.daphne_app.DaphneConfig" if name == "admin_chat" else "agui"
        settings.write_text(re.sub(rf'    "{below}",.*\n', rf"\g<0>{line_of(name)}", settings.read_text()))
    furnish(project)
    return project


@pytest.mark.nightly
def test_part_can_be_removed(without: Path):
    check(without)


@pytest.mark.nightly
def test_project_passes_its_tests_without_a_part(without: Path):
    run(without, "pytest -q")


@pytest.mark.nightly
def test_part_can_be_added(only: Path):
    check(only, "pytest -q")


@pytest.mark.nightly
def test_types_hold_without_a_part(without: Path):
    run(without, "mypy .")


@pytest.mark.nightly
def test_types_hold_with_one_part(only: Path):
    run(only, "mypy .")
