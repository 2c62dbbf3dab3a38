"""The installer brings the agent into projects that Django's own commands have made, and takes it back."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest
from conftest import ENGINE, ROOT, with_engine
from daily import at_night, rows_at_night
from servers import (
    Client,
    events,
    free_port,
    is_listening,
    manage,
    project_environment,
    run_input,
    text_of,
    wait_until,
)

sys.path.append(str(ROOT))
from installer import name_lists, python_files, source

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("without_twisted")]

PASSWORD = "lovelace-1815"
APPS = """[
    'django.contrib.admin',
    'django.contrib.auth',
    'django.contrib.contenttypes',
    'django.contrib.sessions',
    'django.contrib.messages',
    'django.contrib.staticfiles',
]
"""
COMPOSITE = """
DJANGO_APPS = (
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",  # a comment
)
LOCAL_APPS = (
    # our own
    "accounts",  # the users
    # "blog",
)
INSTALLED_APPS = DJANGO_APPS + LOCAL_APPS
AUTH_USER_MODEL = "accounts.Person"
"""
PERSON = """from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models


class People(BaseUserManager):
    def create_superuser(self, email, password):
        person = self.model(email=email, is_staff=True, is_superuser=True)
        person.set_password(password)
        person.save()
        return person


class Person(AbstractBaseUser, PermissionsMixin):
    email = models.EmailField(unique=True)
    is_staff = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    objects = People()
    USERNAME_FIELD = "email"
"""
OWN_TESTS = """from django.contrib.auth import get_user_model
from django.test import TestCase, TransactionTestCase

from agui.testing import Chat, say


class Own(TestCase):
    def test_threads(self):
        self.client.force_login(get_user_model().objects.create_user("ada"))
        self.assertEqual(self.client.get("/assistant/agent/threads/").json()["threads"], [])


class Runs(TransactionTestCase):
    async def test_a_run(self):
        ada = await get_user_model().objects.acreate_user("ada")
        answer = await Chat(ada, say("Hello."), url="/assistant/agent/").send("Hi")
        self.assertEqual(answer.text, "Hello.")
"""
PROJECT_TOML = """[project]
name = "shop"
version = "1"
dependencies = [
    "django>=5.2", # the framework
    "jsonschema>=4.23",
]
"""
POETRY_TOML = """[tool.poetry]
name = "shop"

[tool.poetry.dependencies]
python = "^3.11"
django = ">=5.2" # the framework

[tool.poetry.group.dev.dependencies]
ruff = "*"
"""


# --- Projects


@pytest.fixture(params=["package"])
def form(request: pytest.FixtureRequest) -> str:
    """How the engine comes."""
    return request.param


@pytest.fixture
def shop(environment: Path, tmp_path: Path, form: str) -> Path:
    """What `django-admin startproject` makes, with an environment beside it that has all packages."""
    project = tmp_path / "shop"
    if form == "package":
        name, contents = source.wheel()
        (tmp_path / "built/vendor").mkdir(parents=True)
        (tmp_path / "built" / name).write_bytes(contents)
        environment = with_engine(environment, tmp_path / "built")
    project.mkdir()
    command = [environment / "bin/django-admin", "startproject", "shop", project]
    subprocess.run(command, env=project_environment(), check=True)
    (project / ".gitignore").write_text("/.venv\n__pycache__/\n*.sqlite3\n*.log\n")
    (project / ".venv").symlink_to(environment)
    return project


def plain(project: Path) -> Path:
    return project


def split_settings(project: Path) -> Path:
    """Settings in a package, the applications as a sum of tuples, users without a name, no asgi.py."""
    folder = project / "shop/settings"
    folder.mkdir()
    text = (project / "shop/settings.py").read_text()
    assert f"INSTALLED_APPS = {APPS}" in text
    (folder / "base.py").write_text(text.replace(f"INSTALLED_APPS = {APPS}", COMPOSITE))
    (folder / "local.py").write_text('from .base import *\n\nINSTALLED_APPS += ("django.contrib.humanize",)\n')
    (folder / "__init__.py").touch()
    (project / "shop/settings.py").unlink()
    (project / "shop/asgi.py").unlink()
    replace(project / "manage.py", "shop.settings", "shop.settings.local")
    (project / "accounts").mkdir()
    (project / "accounts/__init__.py").touch()
    (project / "accounts/models.py").write_text(PERSON)
    (project / "requirements").mkdir()
    (project / "requirements/base.txt").write_text("django>=5.2  # the framework\n-r ../other.txt")
    manage(project, "makemigrations", "accounts")
    return project


def source_layout(project: Path) -> Path:
    """Everything but pyproject.toml in src/; the applications are computed, and the routes a sum."""
    (project / "src").mkdir()
    for name in ("manage.py", "shop"):
        (project / name).rename(project / "src" / name)
    replace(project / "src/shop/settings.py", f"INSTALLED_APPS = {APPS}", f"INSTALLED_APPS = list({APPS.strip()})\n")
    replace(project / "src/shop/urls.py", "urlpatterns = [", "urlpatterns = list()\nurlpatterns += [")
    (project / "pyproject.toml").write_text(POETRY_TOML)
    return project


def windows(project: Path) -> Path:
    """The line ends of Windows, and requirements in a [project]."""
    (project / "pyproject.toml").write_text(PROJECT_TOML)
    for path in [project / "pyproject.toml", *project.glob("shop/*.py")]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return project


def packages(project: Path) -> Path:
    """Settings and routes in packages, no WSGI_APPLICATION, and a file of requirements for production only."""
    for name in ("settings", "urls"):
        text = (project / f"shop/{name}.py").read_text()
        (project / f"shop/{name}.py").unlink()
        (project / f"shop/{name}").mkdir()
        (project / f"shop/{name}/base.py").write_text(text)
    (project / "shop/settings/__init__.py").touch()
    (project / "shop/settings/www.py").write_text("from .base import *\n\ndel WSGI_APPLICATION\n")
    (project / "shop/urls/__init__.py").write_text("from .base import urlpatterns  # of the main site\n")
    (project / "shop/asgi.py").unlink()
    replace(project / "manage.py", "shop.settings", "shop.settings.www")
    (project / "requirements").mkdir()
    (project / "requirements/production.txt").write_text("django>=5.2\n")
    (project / "requirements/dev.txt").write_text("-r production.txt\nruff\n")
    return project


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def commit(project: Path) -> None:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "Test"]):
        subprocess.run(["git", *command], cwd=project, check=True)


def git(project: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True, text=True)
    return done.stdout


def installer(project: Path, *options: str, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-B", "-m", "installer", project, *options]
    return subprocess.run(
        command, cwd=ROOT, env=project_environment(VIRTUAL_ENV=""), capture_output=True, text=True, timeout=900
    )


def installed(project: Path, *options: str) -> str:
    done = installer(project, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def changed_lines(project: Path, *paths: str) -> int:
    counts = re.findall(r"(?m)^(\d+)\t(\d+)", git(project, "diff", "--numstat", "--", *paths))
    return sum(int(added) + int(deleted) for added, deleted in counts)


# --- Install, again, and take back


BOTH_FORMS = pytest.mark.parametrize("form", ["package", *at_night("source")], indirect=True)


@BOTH_FORMS
@pytest.mark.parametrize("layout", [plain, *at_night(split_settings, source_layout, windows, packages)])
def test_an_agent_comes_and_goes(shop, form, layout):
    project = layout(shop)
    commit(project)
    code = project / "src" if layout is source_layout else project
    if code != project:
        (code / ".venv").symlink_to(project / ".venv")
        git(project, "check-ignore", "-q", ".venv")
        replace(project / ".gitignore", "/.venv", ".venv")
        commit(project)
    before = manage(code, "check")

    options = ["--engine", form]
    plan = installed(project, *options, "--dry-run")
    assert git(project, "status", "--short") == ""
    assert plan in installed(project, *options)

    assert manage(code, "check") == before
    assert manage(code, "makemigrations", "--check", "--dry-run") == "No changes detected\n"
    assert changed_lines(project) <= 25
    texts = git(project, "status", "--short"), git(project, "diff")
    assert "nothing to change" in installed(project)
    assert (git(project, "status", "--short"), git(project, "diff")) == texts
    if layout is packages:
        assert {"shop/asgi.py", "requirements/production.txt"} <= set(re.findall(r"(?m)^.. (\S+)$", texts[0]))
        assert "requirements.txt" not in os.listdir(project)
    if layout is windows:
        for name in git(project, "diff", "--name-only").split():
            text = (project / name).read_bytes()
            assert text.count(b"\n") == text.count(b"\r\n"), name

    installed(project, "--remove")
    assert git(project, "status", "--short") == ""


@pytest.mark.parametrize("has_admin", [True, *at_night(False)])
def test_the_projects_own_tests_pass_as_before(shop, has_admin):
    """Django's test command imports every package that it finds."""
    if not has_admin:
        replace(shop / "shop/settings.py", "    'django.contrib.admin',\n", "")
        replace(shop / "shop/urls.py", "    path('admin/', admin.site.urls),\n", "")
        replace(shop / "shop/urls.py", "from django.contrib import admin\n", "")
    (shop / "shop/tests.py").write_text(OWN_TESTS)
    installed(shop)
    command = [shop / ".venv/bin/python", "manage.py", "test"]
    done = subprocess.run(command, cwd=shop, env=project_environment(), capture_output=True, text=True, timeout=900)
    assert (done.returncode, "Ran 2 tests in" in done.stderr) == (0, True), done.stderr


@pytest.mark.nightly
def test_what_a_person_has_to_do_is_noted(shop):
    (shop / "Dockerfile").write_text("COPY requirements.txt .\nRUN pip install -r requirements.txt\n")
    (shop / "requirements.in").write_text("django\n")
    notes = re.findall(r"(?m)^note +(.*)$", installed(shop, "--dry-run"))
    assert notes[0].startswith(f"If pip-compile makes another file of {shop}/requirements.in, ")
    assert notes[1] == (
        f"Let {shop}/Dockerfile copy vendor/ before it installs the requirements, to vendor as seen from "
        "requirements.in."
    )


@pytest.mark.nightly
def test_files_that_git_ignores_are_named(shop):
    commit(shop)
    assert "git add --force" not in installed(shop)
    installed(shop, "--remove")
    (shop / ".gitignore").write_text("/.venv\n*.whl\n")
    assert re.search(r"git add --force vendor/agui_django-\S+\.whl\n", installed(shop))


@pytest.mark.nightly
def test_tools_are_written_in_a_project_without_base_dir(shop):
    settings = shop / "shop/settings.py"
    settings.write_text(settings.read_text().replace("BASE_DIR", "ROOT"))
    installed(shop, "--parts", "everything")
    said = manage(shop, "agentify", "auth.Group")
    assert "assistant/tools_group.py: written." in said
    assert "Add this to" not in said
    program = "from assistant.agent import registry; print(*registry)"
    assert "list_groups" in manage(shop, "shell", "-c", program)
    manage(shop, "migrate", "--verbosity", "0")
    manage(shop, "check")


@pytest.mark.nightly
def test_all_parts_come_and_go(shop):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    settings = shop / "shop/settings.py"
    settings.write_text(settings.read_text() + "\nDEFAULT_AUTO_FIELD = 'django.db.models.AutoField'\n")
    commit(shop)
    installed(shop, "--parts", "everything")
    assert "no issues" in manage(shop, "check")
    assert manage(shop, "makemigrations", "--check", "--dry-run") == "No changes detected\n"
    # The other lines are the packages that parts need, one a line.
    assert changed_lines(shop, ":!pyproject.toml") <= 15
    installed(shop, "--remove")
    assert git(shop, "status", "--short") == ""


def test_removing_keeps_what_was_changed_elsewhere_and_refuses_the_rest(shop):
    commit(shop)
    installed(shop)
    settings = shop / "shop/settings.py"
    settings.write_text(settings.read_text() + "\nSITE_ID = 1\n")
    tools = shop / "assistant/tools.py"
    own = tools.read_text()
    tools.write_text(own + "\n# mine\n")
    refused = installer(shop, "--remove")
    assert refused.returncode == 1
    assert "assistant was changed since the installation" in refused.stderr
    tools.write_text(own)
    replace(settings, "    'agui',\n", "    'agui', # the agent\n")
    assert "was changed where" in installer(shop, "--remove").stderr
    assert (shop / "vendor").exists()
    replace(settings, "    'agui', # the agent\n", "    'agui',\n")
    installed(shop, "--remove")
    assert git(shop, "status", "--short") == " M shop/settings.py\n"
    assert git(shop, "diff", "--numstat") == "2\t0\tshop/settings.py\n"


ROUTER = """
DATABASES["chats"] = {"ENGINE": "django.db.backends.sqlite3", "NAME": BASE_DIR / "chats.sqlite3"}
DATABASE_ROUTERS = ["shop.routers.Chats"]
"""
CHATS = """class Chats:
    labels = ("admin", "agui", "assistant", "auth", "contenttypes", "sessions")

    def db_for_read(self, model, **hints):
        return "chats" if model._meta.app_label.startswith(self.labels) else None

    db_for_write = db_for_read

    def allow_migrate(self, db, app_label, **hints):
        return (db == "chats") == app_label.startswith(self.labels)
"""
TRACES = """from django.contrib.auth import get_user_model
from assistant.models import Conversation as Thread
from agui.http.tokens import create_token
ada = get_user_model().objects.create_user("ada")
create_token(ada)
Thread.objects.create(thread_id="t", scope="user:1", owner=ada)
"""
DELETION = "from django.contrib.auth import get_user_model; print(get_user_model().objects.get().delete())"


@pytest.mark.nightly
def test_nothing_is_removed_while_tables_are_left(shop):
    """As long as they are, no user with a row in them can be deleted without the engine."""
    installed(shop, "--parts", "standard")
    manage(shop, "migrate", "--verbosity", "0")
    manage(shop, "shell", "-c", TRACES)
    commit(shop)
    for options in (["--remove"], ["--remove", "--dry-run"]):
        refused = installer(shop, *options)
        assert refused.returncode == 1
        assert refused.stderr.startswith("Nothing was changed. The database has tables of the agent: run ")
        assert refused.stderr.count("\n") == 1
    assert git(shop, "status", "--short") == ""
    shutil.rmtree(shop / "assistant")  # The user may have replaced this folder. The settings import from it.
    assert installer(shop, "--remove").stderr == refused.stderr
    git(shop, "checkout", "--", "assistant")
    for command in re.findall("`manage.py (.*?)`", refused.stderr):
        manage(shop, *command.split(), "--verbosity", "0")
    shutil.rmtree(shop / "assistant")
    installed(shop, "--remove")
    assert "(1, {'auth.User': 1})" in manage(shop, "shell", "-c", DELETION)
    assert "no issues" in manage(shop, "check")


@pytest.mark.nightly
def test_tables_in_another_database_are_found(shop):
    (shop / "shop/routers.py").write_text(CHATS)
    settings = shop / "shop/settings.py"
    settings.write_text(settings.read_text() + ROUTER)
    installed(shop)
    installed(shop, "--remove", "--dry-run")
    assert not (shop / "chats.sqlite3").exists()
    manage(shop, "migrate", "--verbosity", "0")
    installed(shop, "--remove", "--dry-run")
    manage(shop, "migrate", "--database", "chats", "--verbosity", "0")
    commands = re.findall("`manage.py (.*?)`", installer(shop, "--remove").stderr)
    assert commands == ["migrate agui zero --database chats", "migrate assistant zero --database chats"]
    for command in commands:
        manage(shop, *command.split(), "--verbosity", "0")
    installed(shop, "--remove")


@pytest.mark.nightly
def test_nothing_is_removed_that_other_code_needs(shop):
    installed(shop)
    own = shop / "shop/jobs.py"
    for line in (
        "from agui.testing import Chat",
        "    import agui",
        "from assistant.tools import who_am_i",
        'pytest_plugins = ["agui.testing.plugin"]',
        "dependencies = [('agui', '0001_initial')]",
        "dependencies = [('assistant', '0001_initial')]",
        "field = models.ForeignKey('assistant.Conversation', models.CASCADE)",
    ):
        own.write_text(f"if True:\n{line}\n")
        refused = installer(shop, "--remove")
        assert refused.returncode == 1
        assert f"{own} needs the agent (" in refused.stderr
        assert refused.stderr.count("\n") == 1
    own.write_text('role = "assistant"  # import agui\nfrom .agui import x\n')
    urls = shop / "shop/urls.py"
    route = 'path("assistant/", include("assistant.urls"))'
    replace(urls, route, route.replace("assistant/", "help/"))
    assert "shop/urls.py was changed where" in installer(shop, "--remove").stderr
    replace(urls, f"    {route.replace('assistant/', 'help/')},\n", "")
    installed(shop, "--remove")
    assert "no issues" in manage(shop, "check")


def make_older(shop: Path) -> None:
    """Record the engine as it is now, as if it had been the one of its time."""
    manifest = shop / ".agui.json"
    present = {
        path.relative_to(shop).as_posix(): path.read_bytes() for path in (shop / "agui").rglob("*") if path.is_file()
    }
    digest = re.search(r'"agui": "(\w+)"', manifest.read_text())
    assert digest
    replace(manifest, digest[1], source.digest(present))


def make_older_package(shop: Path, code: str = "") -> None:
    """Let the package that is there be of another version."""
    version = source.version()
    [wheel] = (shop / code / "vendor").iterdir()
    wheel.rename(wheel.with_name(wheel.name.replace(version, "0.0.1")))
    for path in (shop / code / ".agui.json", shop / "pyproject.toml"):
        text = path.read_text()
        path.write_text(text.replace(f"=={version}", "==0.0.1").replace(f"-{version}-", "-0.0.1-"))


def test_an_older_package_is_replaced_and_the_assistant_is_not(shop):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    commit(shop)
    installed(shop)
    commit(shop)
    version = source.version()
    make_older_package(shop)
    (shop / "assistant/tools.py").write_text("# mine\n")
    plan = installed(shop, "--dry-run")
    assert f"replace     the engine by version {version}\n" in plan
    told = installed(shop)
    assert plan in told
    assert f"The agent is of version {version}" in told
    assert git(shop, "status", "--short") == " M assistant/tools.py\n"
    assert "nothing to change" in installed(shop)
    git(shop, "checkout", "-q", "--", "assistant")
    installed(shop, "--remove")
    assert git(shop, "diff", "--stat", "HEAD~") == ""


@pytest.mark.nightly
def test_a_package_of_the_same_version_is_installed_by_force(shop):
    """pip takes it for installed, whatever its bytes are."""
    assert "--force-reinstall" not in installed(shop)
    commit(shop)
    wheel = shop / source.wheel()[0]
    wheel.write_bytes(wheel.read_bytes() + b"\0")
    assert f" --force-reinstall --no-deps {wheel}\n" in installed(shop)
    assert git(shop, "status", "--short") == ""
    assert "nothing to change" in installed(shop)
    assert re.search(r"pip uninstall (.* )?agui-django\n", installed(shop, "--remove"))


IN_SOURCE = pytest.mark.parametrize("form", ["source"], indirect=True)


@pytest.mark.nightly
def test_an_upgrade_that_fails_leaves_the_older_package(shop):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    installed(shop)
    make_older_package(shop)
    commit(shop)
    # Larger files can't be written, as on a disk that is full.
    failed = installer(shop, prefix=["bash", "-c", 'ulimit -f 16; exec "$@"', "bash"])
    assert failed.returncode == 1
    assert "File too large" in failed.stderr
    assert git(shop, "status", "--short", "--ignored") == "!! .venv\n"
    assert "The agent is of version" in installed(shop)


@pytest.mark.nightly
def test_nothing_is_removed_that_the_project_requires(shop):
    installed(shop)
    (shop / "requirements").mkdir()
    (shop / "requirements.txt").rename(shop / "requirements/base.txt")
    refused = installer(shop, "--remove")
    assert refused.stderr == (
        f"Nothing was changed. {shop}/requirements/base.txt requires agui-django: take that out first.\n"
    )
    (shop / "requirements/base.txt").write_text("django\n# no agui-django any more\n")
    installed(shop, "--remove")


@pytest.mark.nightly
def test_a_file_of_the_users_own_is_not_replaced(shop):
    wheel = shop / source.wheel()[0]
    wheel.parent.mkdir()
    wheel.write_bytes(b"mine")
    commit(shop)
    assert "exists already" in installer(shop).stderr
    assert git(shop, "status", "--short") == ""


@pytest.mark.nightly
def test_any_path_of_a_project_leads_to_the_same_installation(shop):
    project = source_layout(shop)
    (project / "src/.venv").symlink_to(project / ".venv")
    replace(project / ".gitignore", "/.venv", ".venv")
    commit(project)
    installed(project)
    make_older_package(project, "src/")
    assert "The agent is of version" in installed(project / "src")
    assert "0.0.1" not in (project / "pyproject.toml").read_text()
    installed(project / "src", "--remove")
    assert git(project, "status", "--short") == ""


@pytest.mark.nightly
@IN_SOURCE
def test_an_older_engine_is_replaced_and_the_assistant_is_not(shop):
    installed(shop, "--engine", "source")
    module, old = shop / "agui/money.py", shop / "agui/former/rooms.py"
    current = module.read_bytes()
    module.unlink()
    old.parent.mkdir()
    old.touch()
    refused = installer(shop)
    assert "was changed since the installation" in refused.stderr
    make_older(shop)
    (shop / "assistant/tools.py").write_text("# mine\n")
    assert "The agent is of version" in installed(shop)
    assert module.read_bytes() == current
    assert not old.parent.exists()
    assert (shop / "assistant/tools.py").read_text() == "# mine\n"
    assert "nothing to change" in installed(shop)


@pytest.mark.nightly
@IN_SOURCE
def test_an_upgrade_that_fails_leaves_the_older_engine(shop):
    installed(shop, "--engine", "source")
    (shop / "agui/money.py").unlink()
    (shop / "agui/apps.py").write_text("# older\n")
    make_older(shop)
    commit(shop)
    # Larger files can't be written, as on a disk that is full.
    failed = installer(shop, prefix=["bash", "-c", 'ulimit -f 16; exec "$@"', "bash"])
    assert failed.returncode == 1
    assert "File too large" in failed.stderr
    assert git(shop, "status", "--short", "--ignored", "--", "agui", ".agui*") == ""
    assert "The agent is of version" in installed(shop)


@pytest.mark.nightly
def test_the_form_of_an_installation_stays(shop):
    installed(shop)
    refused = installer(shop, "--engine", "source")
    assert "Remove the agent, and install it again" in refused.stderr


# --- Other parts


@pytest.mark.nightly
def test_parts_come_and_go_by_a_further_run(shop):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    commit(shop)
    installed(shop)
    settings = shop / "shop/settings.py"
    settings.write_text(settings.read_text() + "\nSITE_ID = 1\n")
    commit(shop)
    minimal = git(shop, "rev-parse", "HEAD").strip()

    plan = installed(shop, "--parts", "standard,admin_chat", "--dry-run")
    assert "add part    dashboard: The admin's page of figures." in plan
    assert git(shop, "status", "--short") == ""
    assert plan in installed(shop, "--parts", "standard,admin_chat")
    assert "no issues" in manage(shop, "check")
    assert "nothing to change" in installed(shop)
    assert "nothing to change" in installed(shop, "--parts", "standard,admin_chat")
    assert f'"agui-django[admin,attachments,bundle,redis]=={source.version()}"' in (shop / "pyproject.toml").read_text()
    assert git(shop, "diff", "--numstat", "--", "pyproject.toml") == "1\t1\tpyproject.toml\n"

    told = installed(shop, "--parts", "standard,mcp")
    assert "remove part admin_chat: " in told
    assert f" --find-links {shop}/vendor 'agui-django[admin,attachments,bundle,mcp,redis]" in told
    assert "no issues" in manage(shop, "check")

    installed(shop, "--parts", "minimal")
    assert "no issues" in manage(shop, "check")
    assert git(shop, "diff", "--stat", minimal, "--", "shop", "pyproject.toml") == ""
    installed(shop, "--remove")
    replace(settings, "\nSITE_ID = 1\n", "")
    assert git(shop, "diff", "--stat", f"{minimal}~") == ""


@pytest.mark.nightly
def test_a_part_with_tables_stays_until_they_are_dropped(shop):
    installed(shop, "--parts", "standard")
    manage(shop, "migrate", "--verbosity", "0")
    before = (shop / ".agui.json").read_text()
    refused = installer(shop, "--parts", "admin,attachments,dashboard,spending")
    assert refused.stderr == (
        "Nothing was changed. The database has tables of these parts: run `manage.py migrate agui_queue zero` and "
        "`manage.py migrate agui_feedback zero` first, or name the parts to keep them.\n"
    )
    assert (shop / ".agui.json").read_text() == before
    for part in ("agui_queue", "agui_feedback"):
        manage(shop, "migrate", part, "zero", "--verbosity", "0")
    installed(shop, "--parts", "admin,attachments,dashboard,spending")
    assert "no issues" in manage(shop, "check")


@pytest.mark.nightly
def test_a_part_that_is_used_stays(shop):
    installed(shop, "--parts", "agentify,mcp")
    manage(shop, "agentify", "auth.Group")
    refused = installer(shop, "--parts", "mcp")
    assert refused.stderr.startswith("Nothing was changed. ")
    assert "assistant/tests/test_tools_group.py uses the part 'agentify': " in refused.stderr


@pytest.mark.nightly
def test_the_users_list_of_parts_is_edited(shop):
    installed(shop, "--parts", "mcp")
    listing = shop / "assistant/parts.py"
    replace(listing, "]", '    "django.contrib.humanize",  # mine\n]')
    installed(shop, "--parts", "export")
    assert listing.read_text().endswith(
        'AGENT_PARTS = [\n    "agui.contrib.demo",\n    "django.contrib.humanize",  # mine\n'
        '    "agui.contrib.export",\n]\n'
    )
    installed(shop, "--parts", "minimal")
    assert listing.read_text().endswith(
        'AGENT_PARTS = [\n    "agui.contrib.demo",\n    "django.contrib.humanize",  # mine\n'
        '    "agui.contrib.admin",\n    "agui.contrib.charts",\n    "agui.contrib.pacing",\n]\n'
    )
    assert "was changed since the installation" in installer(shop, "--remove").stderr


@pytest.mark.nightly
def test_parts_that_do_not_fit_change_nothing(shop):
    settings = shop / "shop/settings.py"
    installed(shop)
    settings.write_text(
        settings.read_text() + "\nINSTALLED_APPS = [name for name in INSTALLED_APPS if 'mcp' not in name]\n"
    )
    commit(shop)
    refused = installer(shop, "--parts", "mcp")
    assert "take 'agui.contrib.mcp' out of INSTALLED_APPS again" in refused.stderr
    assert git(shop, "status", "--short") == ""


# --- The agent answers


@contextmanager
def served(project: Path) -> Iterator[Client]:
    """The project's own `runserver`, and a visitor."""
    port, log = free_port(), project / "server.log"
    command = [project / ".venv/bin/python", "manage.py", "runserver", f"127.0.0.1:{port}", "--noreload"]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=project, env=project_environment(), stdout=stream, stderr=stream, stdin=subprocess.DEVNULL
        )
    try:

        def is_up() -> bool:
            assert process.poll() is None, log.read_text()
            return is_listening(port)

        wait_until(is_up, failure_message=log.read_text)
        yield Client(port)
    finally:
        process.terminate()
        process.wait(timeout=60)


def sign_in(client: Client, name: str) -> None:
    """By the form to which the assistant's page sends its visitor."""
    with client.open("GET", "/assistant/") as response:
        address = response.headers["Location"]
    client.fetch("GET", address)
    form = {"username": name, "password": PASSWORD, "csrfmiddlewaretoken": client.cookies["csrftoken"]}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    with client.open("POST", address, urlencode(form), headers) as response:
        assert (response.status, response.headers["Location"]) == (302, "/assistant/")


def ask(client: Client, text: str, **changes: object) -> list[dict]:
    headers = {"X-CSRFToken": client.cookies["csrftoken"]}
    with client.open("POST", "/assistant/agent/", run_input(text, **changes), headers) as response:
        assert response.status == 200, response.read()
        return list(events(response))


def tokens_of(client: Client) -> int:
    """What the tool tells of the user's tokens."""
    [result] = [event for event in ask(client, "who_am_i") if event["type"] == "TOOL_CALL_RESULT"]
    return json.loads(result["content"])["api_tokens"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("layout", "name", "creation"),
    [
        (plain, "ada", ["--username", "ada", "--email", "ada@example.com"]),
        (split_settings, "ada@example.com", ["--email", "ada@example.com"]),
    ],
)
def test_an_agent_answers_under_the_projects_own_login(shop, layout, name, creation):
    project = layout(shop)
    installed(project, "--parts", "standard")
    manage(project, "migrate", "--verbosity", "0")
    manage(project, "createsuperuser", "--noinput", *creation, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    manage(project, "create_token", name)
    with served(project) as client:
        assert client.fetch("POST", "/assistant/agent/", run_input("Hello"))[0] == 401
        sign_in(client, name)
        status, page = client.fetch("GET", "/assistant/")
        assert status == 200
        assert 'endpoint="/assistant/agent/"' in page
        assert 'data-login-url="/admin/login/"' in page
        for address in re.findall(r'(?:src|href)="(/static/[^"]*)"', page):
            assert client.fetch("GET", address)[0] == 200

        answer = ask(client, "who_am_i")
        assert answer[-1]["type"] == "RUN_FINISHED"
        assert name in text_of(answer)

        thread = "revoke"
        asked = ask(client, "revoke_my_tokens", threadId=thread)
        [interrupt] = asked[-1]["outcome"]["interrupts"]
        assert tokens_of(client) == 1
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        done = ask(client, "", threadId=thread, messages=[], resume=resume)
        assert done[-1]["type"] == "RUN_FINISHED"
        assert tokens_of(client) == 0


def other_engine_first(project: Path) -> None:
    """An engine that is not of Django's templates, and finds all of them, as Jinja's may."""
    folders = "[BASE_DIR / 'assistant/templates', BASE_DIR / 'billing/templates']"
    engine = f"{{'BACKEND': 'django.template.backends.dummy.TemplateStrings', 'DIRS': {folders}}},"
    replace(project / "shop/settings.py", "TEMPLATES = [\n", f"TEMPLATES = [\n    {engine}\n")


@pytest.mark.nightly
@pytest.mark.parametrize("prepare", [plain, other_engine_first])
def test_a_further_agent_finds_its_place_in_an_installed_project(shop, prepare):
    prepare(shop)
    replace(shop / "shop/settings.py", "                'django.template.context_processors.request',\n", "")
    installed(shop)
    said = manage(shop, "startagent", "billing")
    [app, route] = re.findall(r"(?m)^    (\S.*?),  ", said)
    replace(shop / "shop/settings.py", "    'assistant',\n", f"    'assistant',\n    {app},\n")
    replace(shop / "shop/urls.py", "    path('admin/'", f"    {route},\n    path('admin/'")
    manage(shop, "migrate", "--verbosity", "0")
    creation = ["--noinput", "--username", "ada", "--email", "ada@example.com"]
    manage(shop, "createsuperuser", *creation, DJANGO_SUPERUSER_PASSWORD=PASSWORD)
    with served(shop) as client:
        sign_in(client, "ada")
        for name in ("assistant", "billing"):
            status, page = client.fetch("GET", f"/{name}/")
            assert status == 200
            assert f'endpoint="/{name}/agent/"' in page
            assert 'user-key="1"' in page


def users_of(project: Path, text: str, *changes: tuple[str, str]) -> None:
    """Give a project its own user model, with an agent for it."""
    project = split_settings(project)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (project / "accounts/models.py").write_text(text)
    replace(project / "shop/settings/base.py", '    "django.contrib.admin",\n', "")
    (project / "shop/urls.py").write_text("urlpatterns = []\n")
    shutil.rmtree(project / "accounts/migrations")
    installed(project, "--parts", "agentify")
    manage(project, "makemigrations", "accounts")


def refused(project: Path, *command: str) -> str:
    done = subprocess.run(
        [project / ".venv/bin/python", "manage.py", *command],
        cwd=project,
        env=project_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    return done.stderr


NOBODY_IS_STAFF = ("    is_staff = models.BooleanField(default=False)\n", ""), ("is_staff=True, ", "")


@pytest.mark.nightly
def test_superusers_are_the_staff_if_nobody_else_is(shop):
    users_of(shop, PERSON, *NOBODY_IS_STAFF)
    assert refused(shop, "startagent", "billing", "--staff") == (
        "CommandError: accounts.Person has no is_staff: leave out --staff, and decide in get_user (billing/auth.py) "
        "who may use the agent.\n"
    )
    assert not (shop / "billing").exists()
    manage(shop, "startagent", "billing")
    manage(shop, "agentify", "auth.Group")
    command = [shop / ".venv/bin/pytest", "-q", "--ds=shop.settings.local", "assistant/tests"]
    done = subprocess.run(command, cwd=shop, env=project_environment(), capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout


@pytest.mark.nightly
def test_tools_for_staff_are_refused_if_nobody_can_be_staff(shop):
    users_of(shop, PERSON, *NOBODY_IS_STAFF, (", PermissionsMixin", ""), (", is_superuser=True", ""))
    said = refused(shop, "agentify", "auth.Group")
    assert said == "CommandError: accounts.Person has no permissions (has_perm), and the tools ask for them.\n"
    own = "    def has_perm(self, permission, row=None):\n        return True\n"
    (shop / "accounts/models.py").write_text((shop / "accounts/models.py").read_text() + own)
    assert refused(shop, "agentify", "auth.Group") == (
        "CommandError: accounts.Person has neither is_staff nor is_superuser, so nobody could use tools for staff: say "
        "with --owner who owns a row.\n"
    )
    assert not (shop / "assistant/tools_group.py").exists()


# --- The guide


def commands(title: str) -> list[str]:
    """The blocks of commands in a section of the guide."""
    guide = (ROOT / "docs/existing-project.md").read_text()
    section = re.search(rf"^## {title}\n(.*?)^## ", guide, re.M | re.S)[1]
    return re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)


@pytest.mark.nightly
def test_the_guide_leads_to_an_approved_change_and_back(template: Path, tmp_path: Path):
    """Word for word, except the answers to `createsuperuser` and the port."""
    clone, project = tmp_path / "clone", tmp_path / "shop"
    shutil.copytree(template, clone)
    environment = project_environment(DJANGO_SUPERUSER_PASSWORD=PASSWORD)

    def run(block: str, directory: Path) -> str:
        for old, new in {
            "createsuperuser": "createsuperuser --noinput --username ada --email ada@example.com",
            ".venv/bin/python manage.py runserver\n": "",
        }.items():
            block = block.replace(old, new)
        command = ["bash", "-e", "-c", block]
        done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, f"{block}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
        return done.stdout

    start, install, serve = commands("From `startproject` to an approved change")
    run(start, clone)
    model, *_ = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs/existing-project.md").read_text(), re.M | re.S)
    (project / "orders/models.py").write_text(model)
    replace(project / "shop/settings.py", "INSTALLED_APPS = [", 'INSTALLED_APPS = [\n    "orders",')
    told = run(install, clone)
    assert "new file   vendor/agui_django-" in told
    assert "manage.py migrate" in told
    run(serve, clone)
    orders = "from orders.models import Order; print(Order.objects.values_list('customer__username', 'product'))"
    with served(project) as client:
        sign_in(client, "ada")
        assert "ada" in text_of(ask(client, "who am I"))
        for request, is_approved in (('create an order with product "lamp"', True), ("delete order 1", False)):
            before = manage(project, "shell", "-c", orders)
            asked = ask(client, request, threadId=request)
            [interrupt] = asked[-1]["outcome"]["interrupts"]
            assert manage(project, "shell", "-c", orders) == before
            answer = {"status": "resolved", "payload": {"approved": is_approved}}
            ask(client, "", threadId=request, messages=[], resume=[{"interruptId": interrupt["id"], **answer}])
            assert "<QuerySet [('ada', 'lamp')]>" in manage(project, "shell", "-c", orders)
    drop, remove = commands("Upgrade the engine, or remove it")
    run(drop, project)
    shutil.rmtree(project / "assistant")
    shutil.rmtree(project / ".agentify")
    run(remove, clone)
    assert not (project / "vendor").exists()
    assert "agui" not in (project / "shop/settings.py").read_text()


# --- Refusals leave nothing


def old_django(project: Path) -> None:
    (project / "django").mkdir()
    (project / "django/__init__.py").write_text("VERSION = (4, 2)\n")
    (project / "django/core").mkdir()
    (project / "django/core/__init__.py").touch()
    (project / "django/core/management.py").write_text("class ManagementUtility: pass\n")


def broken_settings(project: Path) -> None:
    replace(project / "shop/settings.py", "INSTALLED_APPS = [", 'INSTALLED_APPS = [\n    "nowhere",')


def own_assistant(project: Path) -> None:
    (project / "assistant").mkdir()
    (project / "assistant/views.py").touch()


def own_label(project: Path) -> None:
    (project / "help").mkdir()
    (project / "help/apps.py").write_text(
        "from django.apps import AppConfig\n\n\nclass Help(AppConfig):\n    name, label = 'help', 'assistant'\n"
    )
    replace(project / "shop/settings.py", "INSTALLED_APPS = [", "INSTALLED_APPS = [\n    'help.apps.Help',")


def own_page(project: Path) -> None:
    replace(
        project / "shop/urls.py", "    path('admin/'", "    path('assistant/', admin.site.urls),\n    path('admin/'"
    )


def no_sessions(project: Path) -> None:
    replace(project / "shop/settings.py", "    'django.contrib.staticfiles',\n", "")


def other_asgi(project: Path) -> None:
    (project / "shop/asgi.py").write_text("application = None\n")


def class_settings(project: Path) -> None:
    """As django-configurations asks of a manage.py."""
    line = "    os.environ"
    replace(project / "manage.py", line, f"{line}.setdefault('DJANGO_CONFIGURATION', 'Dev')\n{line}")


def taken_back(project: Path) -> None:
    settings = project / "shop/settings.py"
    (project / "shop/main.py").write_text(
        "from .settings import *\n\nINSTALLED_APPS = [name for name in INSTALLED_APPS if name != 'agui']\n"
    )
    replace(project / "manage.py", "shop.settings", "shop.main")
    assert settings.exists()


def linked_package(project: Path) -> None:
    (project / "vendor").symlink_to("../elsewhere")


def linked_assistant(project: Path) -> None:
    (project / "assistant").symlink_to("../elsewhere")


def no_manage(project: Path) -> None:
    (project / "manage.py").unlink()


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (no_manage, "has no manage.py"),
        (broken_settings, "No module named 'nowhere'"),
        (own_assistant, "assistant exists already"),
        (own_page, "has a page at /assistant/ already"),
        (taken_back, "take 'agui' out of INSTALLED_APPS again"),
        (linked_package, "vendor/ is a link to "),
        *rows_at_night(
            (linked_assistant, "assistant/ is a link to "),
            (old_django, "runs on Django 4.2, and the agent needs 5.2 or 6."),
            (own_label, "an application 'assistant' of its own"),
            (no_sessions, "needs 'django.contrib.staticfiles' in INSTALLED_APPS"),
            (other_asgi, "does not import get_asgi_application"),
            (class_settings, "settings are the class 'Dev' (django-configurations)"),
        ),
    ],
)
def test_a_project_that_does_not_fit_is_left_alone(shop, spoil, sentence):
    spoil(shop)
    commit(shop)
    done = installer(shop)
    assert done.returncode == 1
    assert done.stderr.startswith("Nothing was changed. ")
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert git(shop, "status", "--short") == ""
    assert not (shop / "vendor").exists()


def test_a_package_is_not_renewed_outside_of_the_project(shop, tmp_path):
    installed(shop)
    (shop / "vendor").rename(tmp_path / "elsewhere")
    (shop / "vendor").symlink_to(tmp_path / "elsewhere")
    refused = installer(shop, "--parts", "standard")
    assert refused.stderr == (
        f"Nothing was changed. vendor/ is a link to {tmp_path}/elsewhere, which is not in the project.\n"
    )


@pytest.mark.nightly
def test_a_file_that_may_not_be_written_is_left_alone(shop):
    settings = shop / "shop/settings.py"
    settings.chmod(0o444)
    commit(shop)
    # Without this, root may write all files.
    prefix = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    refused = installer(shop, prefix=prefix)
    assert refused.stderr == f"Nothing was changed. {settings} is read-only: make it writable first.\n"
    assert git(shop, "status", "--short") == ""


def test_a_path_may_have_any_characters(tmp_path):
    """Neither make nor the shell runs anything in it."""
    path = f'{tmp_path}/it\'s "here"; touch a `touch b` $(touch c) $(shell touch {tmp_path}/d) $HOME'
    command = ["make", "--old-file=.venv/.install", "install", f"BIN={Path(sys.executable).parent}", f"INTO={path}"]
    done = subprocess.run(command, cwd=ROOT, env=project_environment(), capture_output=True, text=True)
    assert f"There is no directory {path}." in done.stderr
    assert os.listdir(tmp_path) == []


def test_a_missing_python_is_named(shop):
    (shop / ".venv").unlink()
    assert "name it with --python" in installer(shop).stderr
    assert "There is no Python at" in installer(shop, "--python", os.devnull).stderr


# --- What is brought


@pytest.mark.nightly
def test_the_wheel_has_all_that_is_brought(template, tmp_path):
    subprocess.run(["uv", "build", "--quiet", "--wheel", "--out-dir", tmp_path, template], check=True)
    [wheel] = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, tmp_path / "unpacked"], check=True)
    program = "from installer import source; print(source.digest(source.files([], 'package')))"
    digests = set()
    for place in (tmp_path / "unpacked", template):
        done = subprocess.run([sys.executable, "-B", "-c", program], cwd=place, capture_output=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_comments_stay_behind_their_items():
    text = 'APPS = [\n    "a",  # first\n    "b",  # second\n    # "c",\n]\n'
    module = python_files.parse(text)
    assert name_lists.extend(module, "APPS", [], ['"d"']).code == text.replace("]", '    "d",\n]')
    assert name_lists.remove(module, "APPS", ["b"]).code == 'APPS = [\n    "a",  # first\n]\n'
    assert name_lists.remove(module, "APPS", ["a"]).code == text.replace('    "a",  # first\n', "")


def test_parts_are_named_with_commas():
    assert source.named("minimal") == ["admin", "charts", "demo", "pacing"]
    assert source.named("agentify") == ["agentify", "demo"]
    assert source.named("standard,agentify") == sorted([*source.PARTS["standard"], "agentify"])
    with pytest.raises(ArgumentTypeError, match="'sauna' is not one of minimal, "):
        source.named("standard,sauna")


def test_each_package_is_required_once_with_all_its_extras():
    lines = source.requirements(source.PARTS["everything"], "source")
    names = [re.split(r"[\[>]", line)[0] for line in lines]
    assert len(names) == len(set(names))
    assert "pydantic-ai-slim[ag-ui,mcp]>=2.68,<3" in lines


def test_the_parts_are_those_of_the_template():
    parts = sorted(path.name for path in (ENGINE / "contrib").iterdir() if path.is_dir())
    assert source.PARTS["everything"] == [name for name in parts if name != "__pycache__"]
    hook = (ROOT / "hooks/post_gen_project.py").read_text()
    sets = re.findall(r"^(?:MINIMAL|STANDARD = MINIMAL \|) =? ?(\{.*?\})", hook, re.M | re.S)
    minimal, more = map(ast.literal_eval, sets)
    assert set(source.PARTS["standard"]) == minimal | more
