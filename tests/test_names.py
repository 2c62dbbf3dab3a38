"""Odd answers either give a whole project or one readable line, and then nothing is left behind."""

import html
import os
import re
import subprocess
import tempfile
import tomllib
from pathlib import Path

import environ
import pytest
import yaml
from conftest import extras_of, requirements
from daily import at_night, by_day
from servers import project_environment

GOOD_NAMES = {
    "My Assistant": "my_assistant",
    "my-app": "my_app",
    "Ünïcödé Ässistant 🤖": "unicode_assistant",
    "日本語": "ri_ben_yu",
    "🤖": "assistant",
    "O'Brien's agent": "o_brien_s_agent",
    "R&D; 100% #1 [draft]: ~x | y": "r_d_100_1_draft_x_y",
    "123 go": "123_go",
    "  blanks around  ": "blanks_around",
    "test": "test",
    "code": "code",
    "email": "email",
    "class": "class",
    "None": "none",
    "👩‍💻 Ada": "ada",  # a joiner is part of an emoji, and of Persian words
    "'quoted'": "quoted",
    "--dashes %s %(x)s": "dashes_s_x_s",
    "agui": "agui",
    "x" * 100: "x" * 63,
    "Something superduper long - the great amazing project": "something_superduper_long_the_great_amazing_project",
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
    "tab\there": "control characters",
    "nul\x01": "control characters",
    "\u202egnp.exe": "control characters",
    "line\u2028separator": "line breaks",
    "\u2066isolated": "control characters",
    "no utf-8 \udcff": "control characters",
    "\u200b\u200d": "empty",
    "django": "name of a package",
    "Con": "reserved on Windows",
}
# Nothing is written there: that is the point.
# The name of a test, so the same for all processes of one run.
ABSOLUTE = str(
    Path(tempfile.gettempdir()) / f"absolute-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}" / "path"
)
BAD_SLUGS = [
    "bad-slug", "Upper", "é", "", " ", "a/b/c", "../escape", ABSOLUTE, "a\\b", "con", "nul", "com1",
    "django", "_private", "end_", "two__two", "x" * 64, ".", "..", "~", "-rf", "a b", "a;b", "$HOME", "a\nb",
    "{{ 7*7 }}!",
]  # fmt: skip

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


def refusal(done) -> str:
    """The one line that the hook wrote, before cookiecutter's own traceback."""
    assert done.returncode != 0, done.stdout
    return done.stderr.splitlines()[0]


def login_page(project: Path) -> str:
    done = subprocess.run(
        [".venv/bin/python", "-W", "error", "-c", LOGIN_PAGE],
        cwd=project,
        env=project_environment(DJANGO_SETTINGS_MODULE="config.settings"),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("name", "slug"), GOOD_NAMES.items())
def test_name_gives_a_project(bake, monkeypatch: pytest.MonkeyPatch, name: str, slug: str):
    project = bake(project_name=name)
    assert project.name == slug
    shown = "49" if "7*7" in name else name.strip()
    assert (project / "README.md").read_text().startswith(f"# {shown}\n")
    assert tomllib.loads((project / "pyproject.toml").read_text())["project"]["name"] == slug
    assert yaml.safe_load((project / "compose.yaml").read_text())["name"] == slug
    monkeypatch.setattr(environ.Env, "ENVIRON", {})
    environ.Env.read_env(project / ".env")
    assert environ.Env()("SITE_NAME") == shown


@pytest.mark.parametrize("description", ["It's 100% René's: a & b, [x]; #1 🤖", "日本語のアシスタント", "x" * 200])
def test_description_gives_a_project(bake, description: str):
    data = tomllib.loads((bake(description=description) / "pyproject.toml").read_text())
    assert data["project"]["description"] == description


@pytest.mark.parametrize("name", by_day(BAD_NAMES))
def test_name_is_refused(run_cli, name: str):
    line = refusal(run_cli("--no-input", f"project_name={name}"))
    assert line.startswith("project_"), line
    assert BAD_NAMES[name] in line
    assert entries(run_cli.output) == []


@pytest.mark.parametrize("description", by_day(["", 'a "quote"', "{% if %}", "two\nlines", "x" * 201, "end\\"]))
def test_description_is_refused(run_cli, description: str):
    done = run_cli("--no-input", f"description={description}")
    if "{%" in description:  # given answers are Jinja to cookiecutter, which refuses this one itself
        assert done.returncode != 0
    else:
        assert refusal(done).startswith("description ")
    assert entries(run_cli.output) == []


@pytest.mark.parametrize("slug", by_day(BAD_SLUGS, 4))
def test_slug_is_refused_and_leaves_nothing(run_cli, tmp_path: Path, slug: str):
    output = run_cli.output
    before = set(entries(tmp_path)) | {"home", "output"}
    line = refusal(run_cli("--no-input", f"project_slug={slug}"))
    assert line.startswith("project_slug "), line
    assert entries(output) == []
    new = {entry for entry in set(entries(tmp_path)) - before if not entry.startswith("home/")}
    assert all(entry.endswith(".py") for entry in new), "only cookiecutter's own rendered hooks"
    assert not Path(ABSOLUTE).parent.exists()


def test_every_package_that_the_project_needs_is_pinned(rendered):
    """The pins are what post_gen_project.py compares the slug with."""
    project = rendered["demo"]
    lines = requirements(project, "dev", *extras_of(project))
    needed = {re.split(r"[^\w-]", line)[0] for line in lines}
    pins = {line.split("==")[0] for line in (rendered["demo"] / "constraints.txt").read_text().splitlines()}
    assert needed - pins == set()


@pytest.mark.parametrize("slug", by_day(["django", "pydantic_ai_slim", "openai", "anthropic", "pydantic"]))
def test_name_of_a_needed_package_is_refused(run_cli, slug: str):
    """This includes indirect dependencies: uv would take the project for them."""
    line = refusal(run_cli("--no-input", f"project_slug={slug}"))
    assert line == f"project_slug '{slug}' is the name of a package that the project needs: choose another."
    assert entries(run_cli.output) == []


def test_cookiecutter_that_does_not_fill_in_private_variables_is_refused(run_cli):
    """As 1.7 does, which Debian has had: the hook then finds the question in place of the answer."""
    unfilled = "{{ '{{ cookiecutter.project_slug }}' }}"
    line = refusal(run_cli("--no-input", f"__answered_slug={unfilled}"))
    assert line.startswith("cookiecutter is too old: version 2.3 or newer")
    assert entries(run_cli.output) == []


def test_slug_is_refused_in_an_existing_directory_with_force(run_cli):
    """`-f` with an empty slug would render into the output directory itself."""
    mine = run_cli.output / "assistant" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("keep")
    assert "project_slug ''" in refusal(run_cli("--no-input", "-f", "project_slug="))
    assert entries(run_cli.output) == ["assistant", "assistant/mine.txt"]


def test_slug_cannot_leave_the_output_directory_without_hooks(run_cli, tmp_path: Path):
    done = run_cli("--no-input", "--accept-hooks", "no", "project_slug=../escape")
    assert done.returncode == 0, done.stderr
    assert [path.name for path in run_cli.output.iterdir()] == ["escape"]
    assert not (tmp_path / "escape").exists()


@pytest.mark.parametrize("slug", by_day(["agui", "none", "import", "x" * 63, "code", "0", "class", "config", "users"]))
def test_slug_may_be_any_word(bake, slug: str):
    """It names a directory and no package: keywords and other modules' names are as good as any."""
    assert bake(project_slug=slug).name == slug


@pytest.mark.servers
@pytest.mark.parametrize(
    "name", ["R&D; 100% #1 [draft]: ~x | y", *at_night("O'Brien's agent", "日本語 🤖", "class", "agui", "x" * 100)]
)
def test_project_with_an_odd_name_works(bake, furnish, name: str):
    project = bake(project_name=name, description=name)
    furnish(project)
    assert html.escape(name) in login_page(project)


@pytest.mark.servers
def test_project_works_wherever_it_lies(bake, furnish, tmp_path: Path):
    """In a directory whose name means something in an address: the database is in the project all the same."""
    project = bake(tmp_path / "C# 100%41? ünï")
    furnish(project)
    assert "My Assistant" in login_page(project)
    assert (project / "db.sqlite3").is_file()
