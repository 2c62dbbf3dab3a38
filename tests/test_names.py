"""Odd answers either give a whole project or one readable line, and then nothing is left behind."""

import html
import re
import shutil
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import environ
import pytest
import yaml
from conftest import TEMPLATE_NAME, extras_of, requirements
from cookiecutter.exceptions import CookiecutterException
from daily import at_night, by_day
from projects import program

GOOD_NAMES = {
    "My Assistant": "my_assistant",
    "Ünïcödé Ässistant 🤖": "unicode_assistant",
    "日本語": "ri_ben_yu",
    "🤖": "assistant",
    "O'Brien's agent": "o_brien_s_agent",
    "R&D; 100% #1 [draft]: ~x | y": "r_d_100_1_draft_x_y",
    "123 go": "123_go",
    "  blanks around  ": "blanks_around",
    "class": "class",
    "👩‍💻 Ada": "ada",  # a joiner is part of an emoji, and of Persian words
    "--dashes %s %(x)s": "dashes_s_x_s",
    "x" * 100: "x" * 63,
    "{{ 7*7 }}": "49",  # cookiecutter itself evaluates answers that are given with --no-input
}
BAD_NAMES = {
    "": "empty",
    "   ": "empty",
    "x" * 130: "130 characters",
    'the "agent"': 'contains "',
    "back\\slash": "contains \\",
    "<b>&": "contains <",
    "a {b}": "contains {",
    "$HOME": "contains $",
    "`id`": "contains `",
    "two\nlines": "line breaks",
    "line\u2028separator": "line breaks",
    "nul\x01": "control characters",
    "\u202egnp.exe": "control characters",
    "no utf-8 \udcff": "control characters",
    "\u200b\u200d": "empty",
    "django": "name of a package",
    "Con": "reserved on Windows",
}
DESCRIPTIONS = ["It's 100% René's: a & b, [x]; #1 🤖", "日本語のアシスタント", "x" * 200]
BAD_DESCRIPTIONS = {
    "": "empty",
    'a "quote"': 'contains "',
    "two\nlines": "line breaks",
    "x" * 201: "201",
    "end\\": "\\",
}
# Nothing is written there: that is the point.
ABSOLUTE = "/a-project-that-nobody-makes/path"
BAD_SLUGS = [
    "bad-slug", "Upper", "é", "", " ", "a/b/c", "../escape", ABSOLUTE, "a\\b", "con", "nul", "com1", "_private", "end_",
    "two__two", "x" * 64, ".", "..", "~", "-rf", "a b", "a;b", "$HOME", "a\nb", "{{ 7*7 }}!",
]  # fmt: skip
# Indirect dependencies, too: uv would take the project for them.
NEEDED = ["django", "pydantic_ai_slim", "openai", "anthropic", "pydantic"]
REFUSED = [
    *(("project_name", name, words) for name, words in BAD_NAMES.items()),
    *(("project_slug", slug, "") for slug in BAD_SLUGS),
    *(("project_slug", slug, "is the name of a package that the project needs: choose another.") for slug in NEEDED),
    *(("description", description, words) for description, words in BAD_DESCRIPTIONS.items()),
]

# Also: that all of the site can be imported with each warning as an error.
LOGIN_PAGE = """
import django
django.setup()
from django.core.management import call_command
from django.test import Client
import config.asgi
call_command("check")
call_command("migrate", verbosity=0)
print(Client(headers={"Host": "localhost"}).get("/accounts/login/").content.decode())
"""


def entries(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


@pytest.fixture(scope="module")
def small_template(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with hardly any of the engine, in which answers change nothing."""
    directory: Path = tmp_path_factory.mktemp("small") / "template"
    for name in ("cookiecutter.json", "agui_template.py", "engine/pyproject.toml", "engine/agui/__init__.py"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(template / name, directory / name)
    for name in ("hooks", TEMPLATE_NAME, "engine/agui/distribution"):
        shutil.copytree(template / name, directory / name)
    return directory


@pytest.fixture
def answer(small_template: Path, render: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Answer questions of the template: the project that this makes."""
    (tmp_path / "output").mkdir()
    return lambda **answers: render(tmp_path / "output", small_template, **answers)


@pytest.fixture
def refusal(answer: Callable[..., Path], tmp_path: Path, capfd, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What is said to answers that make no project, and leave nothing but cookiecutter's own rendered hooks."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def refusal(**answers: str) -> str:
        with pytest.raises(CookiecutterException):
            answer(**answers)
        assert [entry for entry in entries(tmp_path) if not entry.endswith(".py")] == ["output"]
        return capfd.readouterr().err.partition("\n")[0]

    return refusal


@pytest.mark.parametrize(("name", "slug"), GOOD_NAMES.items())
def test_name_gives_a_project(answer, monkeypatch: pytest.MonkeyPatch, name: str, slug: str):
    project = answer(project_name=name)
    assert project.name == slug
    shown = "49" if "7*7" in name else name.strip()
    assert (project / "README.md").read_text().startswith(f"# {shown}\n")
    assert tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"] == slug
    assert yaml.safe_load((project / "compose.yaml").read_text())["name"] == slug
    monkeypatch.setattr(environ.Env, "ENVIRON", {})
    environ.Env.read_env(project / ".env")
    assert environ.Env()("SITE_NAME") == shown


@pytest.mark.parametrize("description", DESCRIPTIONS)
def test_description_gives_a_project(answer, description: str):
    data = tomllib.loads((answer(description=description) / "pyproject.toml").read_text())
    assert data["project"]["description"] == description


@pytest.mark.parametrize("slug", by_day(["agui", "none", "import", "x" * 63, "code", "0", "class", "config", "users"]))
def test_slug_may_be_any_word(answer, slug: str):
    """It names a directory and no package: keywords and other modules' names are as good as any."""
    assert answer(project_slug=slug).name == slug


@pytest.mark.parametrize("case", by_day(REFUSED), ids=repr)
def test_answer_is_refused_and_leaves_nothing(refusal, case: tuple[str, str, str]):
    question, given, words = case
    line = refusal(**{question: given})
    assert line.startswith(question.partition("_")[0])
    assert words in line
    assert not Path(ABSOLUTE).parent.exists()


def test_every_package_that_the_project_needs_is_pinned(rendered):
    """The pins are what post_gen_project.py compares the slug with."""
    project = rendered["demo"]
    lines = requirements(project, "dev", *extras_of(project))
    needed = {re.split(r"[^\w-]", line)[0] for line in lines}
    pins = {line.split("==")[0] for line in (project / "constraints.txt").read_text().splitlines()}
    assert needed - pins == set()


def test_cookiecutter_that_does_not_fill_in_private_variables_is_refused(refusal):
    """As 1.7 does, which Debian has had: the hook then finds the question in place of the answer."""
    line = refusal(__answered_slug="{{ '{{ cookiecutter.project_slug }}' }}")
    assert line.startswith("cookiecutter is too old: version 2.3 or newer")


def test_slug_is_refused_in_an_existing_directory_with_force(run_cli):
    """`-f` with an empty slug would render into the output directory itself."""
    mine = run_cli.output / "assistant" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("keep")
    done = run_cli("--no-input", "-f", "project_slug=")
    assert done.returncode != 0
    assert "project_slug ''" in done.stderr.splitlines()[0]
    assert entries(run_cli.output) == ["assistant", "assistant/mine.txt"]


def test_slug_cannot_leave_the_output_directory_without_hooks(run_cli, tmp_path: Path):
    done = run_cli("--no-input", "--accept-hooks", "no", "project_slug=../escape")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in run_cli.output.iterdir()] == ["escape"]
    assert not (tmp_path / "escape").exists()


def login_page(project: Path) -> str:
    return program(project, "python", "-W", "error", "-c", LOGIN_PAGE, DJANGO_SETTINGS_MODULE="config.settings").stdout


@pytest.mark.servers
@pytest.mark.parametrize(
    "name", ["R&D; 100% #1 [draft]: ~x | y", *at_night("O'Brien's agent", "日本語 🤖", "class", "agui", "x" * 100)]
)
def test_project_with_an_odd_name_works(bake_furnished, name: str):
    assert html.escape(name) in login_page(bake_furnished(project_name=name, description=name))


@pytest.mark.servers
def test_project_works_wherever_it_lies(bake_furnished, tmp_path: Path):
    """In a directory whose name means something in an address: the database is in the project all the same."""
    project = bake_furnished(output=tmp_path / "C# 100%41? ünï")
    assert "My Assistant" in login_page(project)
    assert (project / "db.sqlite3").is_file()
