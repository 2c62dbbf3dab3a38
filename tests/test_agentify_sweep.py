"""`manage.py agentify` over all models of eight third-party apps, and over a zoo of our own.

agentify_sweep/ has the settings with those apps, the zoo's models, and the calls that are tried in the project.
"""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, furnish_project, make_environment
from postgresql import PostgreSQL
from servers import project_environment

pytestmark = [pytest.mark.engine, pytest.mark.nightly]
SWEEP = ROOT / "tests/agentify_sweep"
# The names by which Django knows them, and how they are installed.
APPS = {
    "allauth": "django-allauth[mfa,socialaccount]==65.21.1",
    "cms": "django-cms==5.1.3",
    "django_celery_beat": "django-celery-beat==2.9.0",
    "django_q": "django-q2==1.11.1",
    "filer": "django-filer==3.6.0",
    "machina": "django-machina==1.3.1",
    "oscar": "django-oscar==4.2.1",
    "wagtail": "wagtail==8.0.1",
}
# What the models of these apps are built with.
UNTYPED = ["easy_thumbnails", "menus", "modelcluster", "modelsearch", "mptt", "taggit", "treebeard"]
LEAST_MODELS = 150
# Written tests that ask for a row of the user's own. Most want a page of wagtail, which needs a Locale that a migration
# makes; others a file that exists, one of several empty fields, or a view that the database hasn't.
MOST_SKIPPED = 180


def run(project: Path, *command: str | Path, **settings: str) -> str:
    done = subprocess.run(
        [project / ".venv/bin" / command[0], *command[1:]],
        cwd=project,
        env=project_environment(**settings),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said[-8000:]
    return said


def write_tools(project: Path, *packages: str, **settings: str) -> Counter[str]:
    """Agentify all models of packages. How many models each of them has."""
    (project / "assistant/tests/test_sweep.py").write_text((SWEEP / "sweep_calls.py").read_text())
    said = run(project, "python", "-W", "ignore", SWEEP / "generate.py", *packages, **settings)
    return Counter(re.findall(r"^MODEL (\w+)", said, re.MULTILINE))


def check(project: Path, **settings: str) -> int:
    """Lint the written code, run its tests and the calls of strangers, and ask the demo model.

    Returns how many of its tests were skipped, and prints why.
    """
    written = [*sorted(project.glob("assistant/tools_*.py")), *sorted(project.glob("assistant/tests/test_tools_*.py"))]
    run(project, "ruff", "check", "--no-cache", "--quiet", *written, "assistant/model_tools.py", "assistant/agent.py")
    run(project, "ruff", "format", "--no-cache", "--check", "--quiet", *written, "assistant/model_tools.py")
    run(project, "mypy", "assistant", **settings)
    tests = ["assistant/tests/test_sweep.py", *written[len(written) // 2 :]]
    # Other people's apps warn of what they do themselves.
    said = run(project, "pytest", "-q", "-rPs", "--nomigrations", "-W", "default", *tests, **settings)
    for line in re.findall(r"^(?:SKIPPED|NOT MADE|FOREIGN|DEMO|\d+ passed).*", said, re.MULTILINE):
        print(line)
    return sum(map(int, re.findall(r"^SKIPPED \[(\d+)\]", said, re.MULTILINE)))


def test_tools_of_eight_apps(bake, rendered: dict[str, Path]):
    project = bake(project_slug="sweep")
    furnish_project(project, make_environment(rendered, *APPS.values()))
    shutil.copy(SWEEP / "settings.py", project / "config/sweep.py")
    pyproject = project / "pyproject.toml"
    # As who installs these apps would tell mypy: they have no types.
    untyped = 'module = ["axes.*", ' + "".join(f'"{package}.*", ' for package in [*APPS, *UNTYPED])
    text = pyproject.read_text().replace('"config.settings"', '"config.sweep"')
    assert 'module = ["axes.*", ' in text
    pyproject.write_text(text.replace('module = ["axes.*", ', untyped, 1))
    settings = {"DJANGO_SETTINGS_MODULE": "config.sweep"}
    models = write_tools(project, *APPS, **settings)
    print(models)
    assert set(models) == set(APPS)
    assert models.total() >= LEAST_MODELS
    assert check(project, **settings) <= MOST_SKIPPED


def test_tools_of_a_zoo(bake, furnish, postgresql_server: PostgreSQL):
    project = bake(project_slug="zoo_keeping")
    furnish(project)
    for folder in (project / "zoo", project / "zoo/migrations"):
        folder.mkdir()
        (folder / "__init__.py").touch()
    shutil.copy(SWEEP / "models.py", project / "zoo")
    settings_file = project / "config/settings.py"
    settings_file.write_text(settings_file.read_text().replace('    "users",\n', '    "users",\n    "zoo",\n', 1))
    settings = {"DATABASE_URL": postgresql_server.create("zoo"), "DJANGO_SETTINGS_MODULE": "config.settings"}
    assert write_tools(project, "zoo", **settings)["zoo"] == 6
    check(project, **settings)
