"""`manage.py agentify` over all models of other people's apps, and over a zoo of our own.

agentify_sweep/ has the settings with those apps, the zoo's models, the calls that are tried in the project, and a list
of the fields that hold secrets, made by people who have read those apps.
"""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT, furnish_project, make_environment
from postgresql import PostgreSQL
from projects import replace
from test_agentify import add_app, run

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
    "django_celery_results": "django-celery-results==2.6.0",
    "django_otp": "django-otp==1.7.5",
    "guardian": "django-guardian==3.5.2",
    "invitations": "django-invitations==2.1.0",
    "knox": "django-rest-knox==5.1.0",
    "oauth2_provider": "django-oauth-toolkit==3.4.1",
    "push_notifications": "django-push-notifications==3.3.0",
    "rest_framework.authtoken": "djangorestframework",
    "rest_framework_api_key": "djangorestframework-api-key==3.1.0",
    "rest_framework_simplejwt": "djangorestframework-simplejwt==5.5.1",
    "reversion": "django-reversion==6.4.0",
    "simple_history": "django-simple-history==3.13.0",
    "social_django": "social-auth-app-django==8.0.0",
    "waffle": "django-waffle==5.0.0",
}
# Apps that a project has anyway.
OWN = ["axes", "django.contrib", "users"]
# simple_history has models in other apps only.
WITHOUT_MODELS = {"simple_history"}
# What the models of these apps are built with.
UNTYPED = ["easy_thumbnails", "menus", "modelcluster", "modelsearch", "mptt", "taggit", "treebeard"]
LEAST_MODELS = 210
REFUSED = {
    "authtoken.Token",
    "authtoken.TokenProxy",
    "knox.AuthToken",
    "rest_framework_api_key.APIKey",
    "sessions.Session",
}
# Written tests that ask for a row of the user's own. Most want a page of wagtail, which needs a Locale that a migration
# makes; others a file that exists, one of several empty fields, or a view that the database hasn't.
MOST_SKIPPED = 180


def write_tools(project: Path, *packages: str, **settings: str) -> tuple[Counter[str], set[str]]:
    """Agentify all models of packages. How many models each of them has, and which were refused."""
    (project / "assistant/tests/test_sweep.py").write_text((SWEEP / "sweep_calls.py").read_text())
    said = run(project, "python", "-W", "ignore", SWEEP / "generate.py", *packages, **settings)
    models = Counter(re.findall(r"^MODEL (\S+)", said, re.MULTILINE))
    return models, set(re.findall(r"^REFUSED (\S+) can't have tools: ", said, re.MULTILINE))


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
    for line in re.findall(r"^(?:SKIPPED|NOT MADE|FOREIGN|CHOICES|DEMO|\d+ passed).*", said, re.MULTILINE):
        print(line)
    return sum(map(int, re.findall(r"^SKIPPED \[(\d+)\]", said, re.MULTILINE)))


def test_tools_of_other_apps(bake, rendered: dict[str, Path]):
    project = bake(project_slug="sweep")
    furnish_project(project, make_environment(rendered, *APPS.values()))
    shutil.copy(SWEEP / "settings.py", project / "config/sweep.py")
    shutil.copy(SWEEP / "secrets.json", project)
    # As who installs these apps would tell mypy: they have no types.
    untyped = ["environ", "axes.*", *(f"{package}.*" for package in [*APPS, *UNTYPED])]
    replace(project / "pyproject.toml", '"config.settings"', '"config.sweep"')
    replace(project / "pyproject.toml", 'module = ["environ"]', f"module = {json.dumps(untyped)}", count=1)
    settings = {"DJANGO_SETTINGS_MODULE": "config.sweep"}
    models, refused = write_tools(project, *APPS, *OWN, **settings)
    print(models)
    assert set(models) == {*APPS, *OWN} - WITHOUT_MODELS
    assert models.total() >= LEAST_MODELS
    assert refused == REFUSED
    assert check(project, **settings) <= MOST_SKIPPED


def test_tools_of_a_zoo(bake_furnished, postgresql_server: PostgreSQL):
    project = bake_furnished(project_slug="zoo_keeping")
    add_app(project, "zoo", (SWEEP / "models.py").read_text())
    settings = {"DATABASE_URL": postgresql_server.create("zoo"), "DJANGO_SETTINGS_MODULE": "config.settings"}
    models, refused = write_tools(project, "zoo", **settings)
    assert (models["zoo"], refused) == (6, set())
    check(project, **settings)
