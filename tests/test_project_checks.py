"""Each generated project passes its own `make check`, unedited, and its static files can be collected."""

import os
import re
from pathlib import Path

import pytest
from conftest import PROVIDERS
from daily import at_night
from projects import make, program, replace
from test_engine import files, replace_example, run_engine_tests

pytestmark = pytest.mark.engine
OF_THE_MODEL = files("test_agent.py", "test_checks.py", "test_conf.py", "test_demo.py", "test_llm.py")


# The others differ in an address, a key and a requirement.
@pytest.mark.parametrize("provider", ["demo", *at_night(*PROVIDERS[1:])])
def test_project_passes_its_own_checks(bake, provider: str):
    """As its owner would run them: in an environment that `make` builds from the declared dependencies alone."""
    project = bake(model_provider=provider, project_slug=f"checked_{provider}")
    done = make(project, "check")
    # They are no mistakes: a provider without a key, the versions, and that one process serves the site.
    keyless = [] if provider == "demo" else ["agui.W001"]
    assert re.findall(r"\?: \((\w+\.[A-Z]\d+)\)", done.stderr) == [*keyless, "agui.I001", "agui_redis.I001"]
    assert not (project / ".venv").is_symlink()
    assert not list((project / ".venv").glob("lib/*/site-packages/redis")), "An extra is in the environment"
    said = ("All checks passed!", "already formatted", "Success: no issues found", " passed", "No changes detected")
    assert [part for part in said if part not in done.stdout] == []
    if provider != "demo":
        # The engine is the same in all of them, byte for byte: these tests look at the library of the model, and all
        # others can be imported without any extra.
        run_engine_tests(project, *OF_THE_MODEL)
        run_engine_tests(project, "--collect-only", "tests")


@pytest.mark.nightly
def test_contract_holds_without_the_example(bake_furnished):
    """Its owner replaces the tools, the model and their tests; the contract is about what is registered."""
    project = bake_furnished(project_slug="replaced")
    replace_example(project)
    program(project, "pytest", "-q")
    assert "[tell_time]" in program(project, "pytest", "-q", "--collect-only").stdout


# What an owner may break without noticing, and the test that tells.
MISTAKES = {
    "test_nobody_gets_in_without_signing_in": ("agent.py", "get_user=get_user)", "require_authenticated=False)"),
    "test_every_change_of_a_model_has_its_migration": ("models.py", "max_length=200", "max_length=300"),
    "test_every_page_finds_its_static_files": ("templates/assistant/chat.html", "page.css", "pages.css"),
    "test_the_settings_are_valid": ("../config/settings.py", '"agui.server.daphne_app.DaphneConfig",', ""),
}


@pytest.mark.nightly
def test_contract_tells_of_mistakes(bake_furnished):
    project = bake_furnished(project_slug="mistaken")
    for name, before, after in MISTAKES.values():
        replace(project / "assistant" / name, before, after, count=1)
    said = program(project, "pytest", "-q", "-rf", "assistant/tests/test_contract.py", status=1).stdout
    assert set(re.findall(r"^FAILED \S+::(\w+)", said, re.MULTILINE)) == set(MISTAKES)


def test_project_lacks_its_key_or_its_driver(bake_furnished):
    project = bake_furnished(project_slug="keyless")
    done = program(project, "python", "manage.py", "check", status=1, DEBUG="0")
    assert "SECRET_KEY" in done.stderr.splitlines()[-1]
    absent = "import runpy, sys; sys.modules |= {'psycopg': None, 'psycopg2': None}"
    code = f"{absent}; runpy.run_path('manage.py', {{}}, '__main__')"
    url = "postgres://ada:secret@127.0.0.1:1/shop"
    for command in ("check", "migrate", "runserver"):
        done = program(project, "python", "-c", code, command, status=1, DATABASE_URL=url)
        assert done.stderr == "DATABASE_URL names PostgreSQL. Its driver is missing: make setup EXTRAS=postgres\n"


@pytest.mark.nightly
def test_tests_of_a_new_application_are_run(bake_furnished):
    project = bake_furnished(project_slug="grown")
    program(project, "python", "manage.py", "startapp", "clinic", DEBUG="1")
    (project / "clinic/tests.py").unlink()
    (project / "clinic/tests").mkdir()
    (project / "clinic/tests/__init__.py").touch()
    (project / "clinic/tests/test_visits.py").write_text("def test_visit():\n    assert False\n")
    said = program(project, "pytest", "-q", "--collect-only").stdout
    assert "clinic/tests/test_visits.py::test_visit" in said
    assert "assistant/tests/test_contract.py::" in said


def test_make_runs_nothing_in_what_its_user_writes(bake, tmp_path: Path):
    """It is a page, a model or an address, whatever it looks like to make and the shell."""
    project = bake(project_slug="quoted")
    for made in (".installed", ".evals"):
        (project / ".venv").mkdir(exist_ok=True)
        (project / ".venv" / made).touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "python").write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    (tools / "python").chmod(0o755)
    text = (
        f'it\'s "here"; touch {tmp_path}/a `touch {tmp_path}/b` $(touch {tmp_path}/c) $(shell touch {tmp_path}/d) $HOME'
    )
    for target, *names in (("manual", "PAGE"), ("eval", "MODEL"), ("upgrade", "FROM", "CHECKOUT")):
        given = [f"{name}={text}" for name in names]
        assert make(project, target, f"BIN={tools}", *given).stdout.count(f"{text}|") == len(names)
        assert make(project, target, f"BIN={tools}", **dict.fromkeys(names, text)).stdout.count(f"{text}|") == len(
            names
        )
    assert sorted(os.listdir(tmp_path)) == ["quoted", "tools"]


def test_make_fix_formats_what_the_linter_can_not_repair(bake_furnished):
    project = bake_furnished(project_slug="fixed")
    path = project / "assistant/long.py"
    path.write_text(f"import os\nnumbers = [{', '.join(['1000'] * 30)}]\n")
    make(project, "fix")
    assert max(map(len, path.read_text().splitlines())) < 120
    path.write_text("print(undefined)\n")
    assert "F821" in make(project, "fix", status=2).stdout
