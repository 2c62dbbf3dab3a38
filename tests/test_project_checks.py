"""Each generated project passes its own `make check`, unedited, and its static files can be collected."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import PROVIDERS
from postgresql import PostgreSQL
from servers import project_environment

pytestmark = pytest.mark.slow
PRODUCTION = {"DEBUG": "0", "SECRET_KEY": "x" * 25 + "abcdefghijklmnopqrstuvwxyz", "ALLOWED_HOSTS": "example.com"}


def run(project: Path, *command: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=project, env=project_environment(**settings), capture_output=True, text=True, timeout=3600
    )


# The projects differ in their requirements and in .env, and the engine is the same, byte for byte. One project runs
# all its tests, and the others run those that look at the model.
OF_THE_MODEL = {"test_agent.py", "test_checks.py", "test_conf.py", "test_demo.py", "test_providers.py"}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_project_passes_its_own_checks(bake, provider: str):
    """As its owner would run them: in an environment that `make` builds from the declared dependencies alone."""
    project = bake(model_provider=provider, project_slug=f"checked_{provider}")
    others = {path.name for path in (project / "agui/tests").glob("test_*.py")} - OF_THE_MODEL
    ignored = " ".join(f"--ignore=agui/tests/{name}" for name in sorted(others))
    options = {} if provider == "demo" else {"PYTEST_ADDOPTS": ignored}
    done = run(project, "make", "check", **options)
    print(done.stdout[-8000:], done.stderr[-8000:])
    assert done.returncode == 0
    # One, which is no mistake: that one process serves the site.
    assert "agui.I001" in done.stderr
    assert "System check identified 1 issue (0 silenced)" in done.stderr
    assert not (project / ".venv").is_symlink()
    assert not list((project / ".venv").glob("lib/*/site-packages/redis")), "An extra is in the environment"
    said = ("All checks passed!", "already formatted", "Success: no issues found", " passed", "No changes detected")
    assert [part for part in said if part not in done.stdout] == []


# What is left of assistant/ when somebody replaces the example: one tool, and no model of its own.
WITHOUT_EXAMPLE = {
    "models.py": "",
    "admin.py": "",
    "skills.py": "from agui import SkillRegistry\n\nskills = SkillRegistry()\n",
    "tools.py": """from agui import ToolRegistry, tool

registry = ToolRegistry()


@tool(registry)
def tell_time() -> str:
    \"\"\"Tell the time.\"\"\"
    return "Noon."
""",
    "agent.py": """from agui import AgentConfig, DjangoAGUIView
from assistant.auth import get_user
from assistant.skills import skills
from assistant.tools import registry

config = AgentConfig(instructions="You tell the time.")
view = DjangoAGUIView(registry, config, skills=skills, get_user=get_user)
""",
}


def test_engine_passes_its_tests_without_the_example(bake, furnish):
    project = bake(project_slug="replaced")
    furnish(project)
    for name in ("tests", "evals", "migrations"):
        shutil.rmtree(project / "assistant" / name)
    for name, code in WITHOUT_EXAMPLE.items():
        (project / "assistant" / name).write_text(code)
    about_it = [path for path in (project / "agui/tests").glob("test_*.py") if "assistant" in path.read_text()]
    about_it += (project / "agui/tests").glob("test_recipes*.py")
    done = run(project, ".venv/bin/pytest", "-q", *sorted({str(path) for path in about_it}))
    assert done.returncode == 0, done.stdout[-5000:]


def test_project_without_its_manual_passes_its_tests(bake, furnish):
    """Files that a user has deleted stay deleted, and cost no test: all are collected, those of pages run."""
    project = bake(project_slug="unread")
    furnish(project)
    shutil.rmtree(project / "docs")
    (project / "README.md").unlink()
    done = run(project, ".venv/bin/pytest", "-q", "-k", "docs or recipes or documentation")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " skipped" in done.stdout


def test_project_without_debug_needs_a_key(bake, furnish):
    project = bake(project_slug="keyless")
    furnish(project)
    done = run(project, ".venv/bin/python", "manage.py", "check", DEBUG="0")
    assert done.returncode == 1
    assert "SECRET_KEY" in done.stderr.splitlines()[-1]


def test_static_files_are_collected_and_hashed(bake, furnish):
    project = bake(project_slug="collected")
    furnish(project)
    done = run(project, ".venv/bin/python", "manage.py", "collectstatic", "--noinput", **PRODUCTION)
    assert done.returncode == 0, done.stderr
    paths = json.loads((project / "staticfiles/staticfiles.json").read_text())["paths"]
    assert "agui/agui-chat.js" in paths


def test_migrations_work_on_postgresql(bake, furnish, postgresql_server: PostgreSQL):
    project = bake(project_slug="on_postgresql")
    furnish(project)
    url = postgresql_server.create("migrations")
    for arguments in (["migrate", "--verbosity", "0"], ["create_first_admin"], ["check", "--database", "default"]):
        done = run(project, ".venv/bin/python", "manage.py", *arguments, DATABASE_URL=url)
        assert done.returncode == 0, done.stderr


def test_tests_of_a_new_application_are_run(bake, furnish):
    project = bake(project_slug="grown")
    furnish(project)
    manage = [".venv/bin/python", "manage.py", "startapp", "clinic"]
    assert run(project, *manage, DEBUG="1").returncode == 0
    (project / "clinic/tests.py").unlink()
    (project / "clinic/tests").mkdir()
    (project / "clinic/tests/__init__.py").touch()
    (project / "clinic/tests/test_visits.py").write_text("def test_visit():\n    assert False\n")
    done = run(project, ".venv/bin/pytest", "-q", "--collect-only")
    assert "clinic/tests/test_visits.py::test_visit" in done.stdout
    assert "agui/tests/test_run.py::" in done.stdout


def test_make_fix_formats_what_the_linter_can_not_repair(bake, furnish):
    project = bake(project_slug="fixed")
    furnish(project)
    path = project / "assistant/long.py"
    path.write_text(f"import os\nnumbers = [{', '.join(['1000'] * 30)}]\n")
    done = run(project, "make", "fix")
    assert done.returncode == 0, done.stdout
    assert max(map(len, path.read_text().splitlines())) < 120
    path.write_text("print(undefined)\n")
    done = run(project, "make", "fix")
    assert done.returncode
    assert "F821" in done.stdout
