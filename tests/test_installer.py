"""The installer brings the agent into projects that Django's own commands have made, and takes it back."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import guide
import pytest
from conftest import ENGINE, ROOT, with_engine
from daily import at_night, rows_at_night
from projects import append, commit, execute, git, program, replace
from servers import Client, events, free_port, manage, run_input, running, text_of

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


# --- Projects


@pytest.fixture(params=["package"])
def form(request: pytest.FixtureRequest) -> str:
    """How the engine comes."""
    return request.param


@pytest.fixture(scope="session")
def fresh_shop(environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """What `django-admin startproject` makes, with an environment beside it that has all packages."""

    @cache
    def fresh_shop(form: str) -> Path:
        directory = tmp_path_factory.mktemp("shop")
        packages = environment
        if form == "package":
            name, contents = source.wheel()
            (directory / "built/vendor").mkdir(parents=True)
            (directory / "built" / name).write_bytes(contents)
            packages = with_engine(environment, directory / "built")
        project = directory / "shop"
        project.mkdir()
        execute(directory, packages / "bin/django-admin", "startproject", "shop", project)
        (project / ".gitignore").write_text("/.venv\n__pycache__/\n*.sqlite3\n*.log\n")
        (project / ".venv").symlink_to(packages)
        return project

    return fresh_shop


@pytest.fixture
def shop(fresh_shop: Callable[[str], Path], tmp_path: Path, form: str) -> Path:
    return Path(shutil.copytree(fresh_shop(form), tmp_path / "shop", symlinks=True))


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
    (project / "pyproject.toml").write_text(PROJECT_TOML)
    return project


def windows(project: Path) -> Path:
    """The line ends of Windows, and requirements in a [project]."""
    (project / "pyproject.toml").write_text(PROJECT_TOML)
    for path in [project / "pyproject.toml", *project.glob("shop/*.py")]:
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return project


def installer(project: Path, *options: str, prefix: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-B", "-m", "installer", project, *options]
    return execute(ROOT, *command, status=None, VIRTUAL_ENV="")


def installed(project: Path, *options: str) -> str:
    done = installer(project, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refusal(project: Path, *options: str, prefix: Sequence[str] = ()) -> str:
    """What is said to who asks for what can't be done."""
    done = installer(project, *options, prefix=prefix)
    assert done.returncode == 1, done.stdout
    return done.stderr


def changed_lines(project: Path, *paths: str) -> int:
    counts = re.findall(r"(?m)^(\d+)\t(\d+)", git(project, "diff", "--numstat", "--", *paths))
    return sum(int(added) + int(deleted) for added, deleted in counts)


def is_sound(project: Path) -> bool:
    has_all = manage(project, "makemigrations", "--check", "--dry-run") == "No changes detected\n"
    return has_all and "no issues" in manage(project, "check")


def migrate(project: Path, *arguments: str) -> None:
    manage(project, "migrate", *arguments, "--verbosity", "0")


# --- Install, again, and take back


@pytest.mark.parametrize("form", ["package", *at_night("source")], indirect=True)
@pytest.mark.parametrize("layout", [plain, *at_night(split_settings, source_layout, windows)])
def test_an_agent_comes_and_goes(shop, form, layout):
    project = layout(shop)
    commit(project)
    code = project / "src" if layout is source_layout else project
    if code != project:
        (code / ".venv").symlink_to(project / ".venv")
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
    difference = git(project, "diff")
    assert "nothing to change" in installed(code)
    assert git(project, "diff") == difference
    if layout is windows:
        for name in git(project, "diff", "--name-only").split():
            text = (project / name).read_bytes()
            assert text.count(b"\n") == text.count(b"\r\n"), name

    installed(code, "--remove")
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
    assert "Ran 2 tests in" in program(shop, "python", "manage.py", "test").stderr


@pytest.mark.nightly
def test_what_a_person_has_to_do_is_told(shop):
    commit(shop)
    assert "git add --force" not in installed(shop)
    installed(shop, "--remove")
    (shop / ".gitignore").write_text("/.venv\n*.whl\n")
    assert re.search(r"git add --force vendor/agui_django-\S+\.whl\n", installed(shop))
    installed(shop, "--remove")
    (shop / "Dockerfile").write_text("COPY requirements.txt .\nRUN pip install -r requirements.txt\n")
    (shop / "requirements.in").write_text("django\n")
    notes = re.findall(r"(?m)^note +(.*)$", installed(shop, "--dry-run"))
    assert notes[0].startswith(f"If pip-compile makes another file of {shop}/requirements.in, ")
    assert notes[1] == (
        f"Let {shop}/Dockerfile copy vendor/ before it installs the requirements, to vendor as seen from "
        "requirements.in."
    )


@pytest.mark.nightly
def test_all_parts_come_and_go_in_a_project_without_base_dir(shop):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    replace(shop / "shop/settings.py", "BASE_DIR", "ROOT")
    append(shop / "shop/settings.py", "\nDEFAULT_AUTO_FIELD = 'django.db.models.AutoField'\n")
    commit(shop)
    installed(shop, "--parts", "everything")
    assert is_sound(shop)
    # The other lines are the packages that parts need, one a line.
    assert changed_lines(shop, ":!pyproject.toml") <= 15
    installed(shop, "--remove")
    assert git(shop, "status", "--short") == ""


def test_removing_keeps_what_was_changed_elsewhere_and_refuses_the_rest(shop):
    commit(shop)
    installed(shop)
    settings, tools = shop / "shop/settings.py", shop / "assistant/tools.py"
    append(settings, "\nSITE_ID = 1\n")
    append(tools, "\n# mine\n")
    assert "assistant was changed since the installation" in refusal(shop, "--remove")
    replace(tools, "\n# mine\n", "")
    replace(settings, "    'agui',\n", "    'agui', # the agent\n")
    assert "was changed where" in refusal(shop, "--remove")
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
    def allow_migrate(self, db, app_label, **hints):
        return (db == "chats") == app_label.startswith(("agui", "assistant"))
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
    migrate(shop)
    manage(shop, "shell", "-c", TRACES)
    commit(shop)
    assert refusal(shop, "--parts", "admin,attachments,dashboard,spending") == (
        "Nothing was changed. The database has tables of these parts: run `manage.py migrate agui_queue zero` and "
        "`manage.py migrate agui_feedback zero` first, or name the parts to keep them.\n"
    )
    said = refusal(shop, "--remove")
    assert said.startswith("Nothing was changed. The database has tables of the agent: run ")
    assert said.count("\n") == 1
    assert refusal(shop, "--remove", "--dry-run") == said
    assert git(shop, "status", "--short") == ""
    shutil.rmtree(shop / "assistant")  # The user may have replaced this folder. The settings import from it.
    assert refusal(shop, "--remove") == said
    git(shop, "checkout", "--", "assistant")
    for command in re.findall("`manage.py (.*?)`", said):
        manage(shop, *command.split(), "--verbosity", "0")
    shutil.rmtree(shop / "assistant")
    installed(shop, "--remove")
    assert "(1, {'auth.User': 1})" in manage(shop, "shell", "-c", DELETION)
    assert "no issues" in manage(shop, "check")


@pytest.mark.nightly
def test_tables_in_another_database_are_found(shop):
    (shop / "shop/routers.py").write_text(CHATS)
    append(shop / "shop/settings.py", ROUTER)
    installed(shop)
    installed(shop, "--remove", "--dry-run")
    assert not (shop / "chats.sqlite3").exists()
    migrate(shop)
    installed(shop, "--remove", "--dry-run")
    migrate(shop, "--database", "chats")
    commands = re.findall("`manage.py (.*?)`", refusal(shop, "--remove"))
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
        said = refusal(shop, "--remove")
        assert f"{own} needs the agent (" in said
        assert said.count("\n") == 1
    own.write_text('role = "assistant"  # import agui\nfrom .agui import x\n')
    route = 'path("assistant/", include("assistant.urls"))'
    replace(shop / "shop/urls.py", route, route.replace("assistant/", "help/"))
    assert "shop/urls.py was changed where" in refusal(shop, "--remove")
    replace(shop / "shop/urls.py", f"    {route.replace('assistant/', 'help/')},\n", "")
    base = shop / "requirements/base.txt"
    base.parent.mkdir()
    (shop / "requirements.txt").rename(base)
    assert refusal(shop, "--remove") == f"Nothing was changed. {base} requires agui-django: take that out first.\n"
    base.write_text("django\n# no agui-django any more\n")
    installed(shop, "--remove")
    assert "no issues" in manage(shop, "check")


# --- An older engine


def make_older(shop: Path, form: str) -> None:
    """Let what is there be of another version, in its file and in what the installer has recorded."""
    if form == "source":
        (shop / "agui/money.py").unlink()
        (shop / "agui/apps.py").write_text("# older\n")
        (shop / "agui/former").mkdir()
        (shop / "agui/former/rooms.py").touch()
        present = {
            path.relative_to(shop).as_posix(): path.read_bytes()
            for path in (shop / "agui").rglob("*")
            if path.is_file()
        }
        manifest = json.loads((shop / ".agui.json").read_text())
        replace(shop / ".agui.json", manifest["folders"]["agui"], source.digest(present))
        return
    version = source.version()
    [wheel] = (shop / "vendor").iterdir()
    wheel.rename(wheel.with_name(wheel.name.replace(version, "0.0.1")))
    for path in (shop / ".agui.json", shop / "pyproject.toml"):
        text = path.read_text()
        path.write_text(text.replace(f"=={version}", "==0.0.1").replace(f"-{version}-", "-0.0.1-"))


@pytest.mark.parametrize("form", ["package", *at_night("source")], indirect=True)
def test_an_older_engine_is_replaced_and_the_assistant_is_not(shop, form):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    commit(shop)
    installed(shop, "--engine", form)
    commit(shop)
    version = source.version()
    make_older(shop, form)
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


# --- Other parts


@pytest.mark.nightly
def test_parts_come_and_go_by_a_further_run(shop):
    (shop / "pyproject.toml").write_text(PROJECT_TOML)
    commit(shop)
    installed(shop)
    append(shop / "shop/settings.py", "\nSITE_ID = 1\n")
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
    replace(shop / "shop/settings.py", "\nSITE_ID = 1\n", "")
    assert git(shop, "diff", "--stat", f"{minimal}~") == ""


@pytest.mark.nightly
def test_the_users_list_of_parts_is_edited(shop):
    installed(shop, "--parts", "mcp")
    listing = shop / "assistant/parts.py"
    replace(listing, "]", '    "django.contrib.humanize",  # mine\n]')
    for parts, listed in [("export", ["export"]), ("minimal", ["admin", "charts", "pacing"])]:
        installed(shop, "--parts", parts)
        own = '    "agui.contrib.demo",\n    "django.contrib.humanize",  # mine\n'
        lines = "".join(f'    "agui.contrib.{part}",\n' for part in listed)
        assert listing.read_text().endswith(f"AGENT_PARTS = [\n{own}{lines}]\n")
    assert "was changed since the installation" in refusal(shop, "--remove")


# --- The agent answers


@contextmanager
def served(project: Path) -> Iterator[Client]:
    """The project's own `runserver`, and a visitor."""
    port = free_port()
    command = [project / ".venv/bin/python", "manage.py", "runserver", f"127.0.0.1:{port}", "--noreload"]
    with running(command, port, project / "server.log", project):
        yield Client(port)


def create_superuser(project: Path, *answers: str) -> None:
    answers = answers or ("--username", "ada", "--email", "ada@example.com")
    migrate(project)
    manage(project, "createsuperuser", "--noinput", *answers, DJANGO_SUPERUSER_PASSWORD=PASSWORD)


def sign_in(client: Client, name: str) -> None:
    """By the form to which the assistant's page sends its visitor."""
    with client.open("GET", "/assistant/") as response:
        address = response.headers["Location"]
    assert address == "/admin/login/?next=/assistant/"
    client.login(name, PASSWORD, address)


def ask(client: Client, text: str, **changes: object) -> list[dict]:
    headers = {"X-CSRFToken": client.cookies["csrftoken"]}
    with client.open("POST", "/assistant/agent/", run_input(text, **changes), headers) as response:
        assert response.status == 200, response.read()
        return list(events(response))


@pytest.mark.nightly
def test_an_agent_answers_under_the_projects_own_login(shop):
    project, name = split_settings(shop), "ada@example.com"
    installed(project, "--parts", "standard")
    create_superuser(project, "--email", name)
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


@pytest.mark.nightly
def test_a_further_agent_finds_its_place_in_an_installed_project(shop):
    """Also if the first engine of templates is not Django's, and finds all of them, as Jinja's may."""
    folders = "[BASE_DIR / 'assistant/templates', BASE_DIR / 'billing/templates']"
    engine = f"{{'BACKEND': 'django.template.backends.dummy.TemplateStrings', 'DIRS': {folders}}},"
    replace(shop / "shop/settings.py", "TEMPLATES = [\n", f"TEMPLATES = [\n    {engine}\n")
    replace(shop / "shop/settings.py", "                'django.template.context_processors.request',\n", "")
    installed(shop)
    said = manage(shop, "startagent", "billing")
    [app, route] = re.findall(r"(?m)^    (\S.*?),  ", said)
    replace(shop / "shop/settings.py", "    'assistant',\n", f"    'assistant',\n    {app},\n")
    replace(shop / "shop/urls.py", "    path('admin/'", f"    {route},\n    path('admin/'")
    create_superuser(shop)
    with served(shop) as client:
        sign_in(client, "ada")
        for name in ("assistant", "billing"):
            status, page = client.fetch("GET", f"/{name}/")
            assert status == 200
            assert f'endpoint="/{name}/agent/"' in page
            assert 'user-key="1"' in page


@pytest.mark.nightly
def test_without_staff_superusers_have_the_tools_and_without_superusers_nobody(shop):
    project = split_settings(shop)
    person, method = project / "accounts/models.py", "    def has_perm(self, *about):\n        return True\n"
    replace(person, "    is_staff = models.BooleanField(default=False)\n", "")
    replace(person, "is_staff=True, ", "")
    replace(person, "(AbstractBaseUser, PermissionsMixin)", "(AbstractBaseUser)")
    replace(project / "shop/settings/base.py", '    "django.contrib.admin",\n', "")
    (project / "shop/urls.py").write_text("urlpatterns = []\n")
    shutil.rmtree(project / "accounts/migrations")
    installed(project, "--parts", "agentify")

    def refused(*command: str) -> str:
        return program(project, "python", "manage.py", *command, status=1).stderr

    assert refused("agentify", "auth.Group") == (
        "CommandError: accounts.Person has no permissions (has_perm), and the tools ask for them.\n"
    )
    append(person, method)
    assert refused("agentify", "auth.Group") == (
        "CommandError: accounts.Person has neither is_staff nor is_superuser, so nobody could use tools for staff: say "
        "with --owner who owns a row.\n"
    )
    assert not (project / "assistant/tools_group.py").exists()
    replace(person, method, "")
    replace(person, "(AbstractBaseUser)", "(AbstractBaseUser, PermissionsMixin)")
    assert refused("startagent", "billing", "--staff") == (
        "CommandError: accounts.Person has no is_staff: leave out --staff, and decide in get_user (billing/auth.py) "
        "who may use the agent.\n"
    )
    assert not (project / "billing").exists()
    manage(project, "agentify", "auth.Group")
    manage(project, "makemigrations", "accounts")
    assert "skipped" not in program(project, "pytest", "-q", "--ds=shop.settings.local", "assistant/tests").stdout


# --- The guide


GUIDE = guide.sections(ROOT / "docs/existing-project.md")


@pytest.mark.nightly
def test_the_guide_leads_to_an_approved_change_and_back(template: Path, tmp_path: Path):
    """Word for word, except the answers to `createsuperuser` and the port."""
    clone, project = tmp_path / "clone", tmp_path / "shop"
    shutil.copytree(template, clone)

    def run(step: guide.Step, directory: Path) -> str:
        answered = "createsuperuser --noinput --username ada --email ada@example.com"
        block = step.code.replace("createsuperuser", answered).replace(".venv/bin/python manage.py runserver\n", "")
        return execute(directory, "bash", "-ec", block, DJANGO_SUPERUSER_PASSWORD=PASSWORD).stdout

    steps = GUIDE["From `startproject` to an approved change"].steps
    start, install, serve = (step for step in steps if step.language == "sh")
    run(start, clone)
    model = next(step.code for step in steps if step.language == "python")
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
    drop, remove = (step for step in GUIDE["Upgrade the engine, or remove it"].steps if step.language == "sh")
    run(drop, project)
    shutil.rmtree(project / "assistant")
    shutil.rmtree(project / ".agentify")
    run(remove, clone)
    assert not (project / "vendor").exists()
    assert "agui" not in (project / "shop/settings.py").read_text()


# --- Refusals leave nothing


SETTINGS = "shop/settings.py"
OLD_DJANGO = {
    "django/__init__.py": "VERSION = (4, 2)\n",
    "django/core/__init__.py": "",
    "django/core/management.py": "class ManagementUtility: pass\n",
}
OTHER_APP = {
    SETTINGS: ("INSTALLED_APPS = [", "INSTALLED_APPS = ['help.apps.Help', "),
    "help/apps.py": "from django.apps import AppConfig\nclass Help(AppConfig): name, label = 'help', 'assistant'\n",
}
OWN_PAGE = "    path('assistant/', admin.site.urls),\n    path('admin/'"
OTHER_SETTINGS = {
    "manage.py": ("shop.settings", "shop.main"),
    "shop/main.py": "from .settings import *\n\nINSTALLED_APPS = [name for name in INSTALLED_APPS if name != 'agui']\n",
}
WITHOUT_STATIC_FILES = {SETTINGS: ("    'django.contrib.staticfiles',\n", "")}
# As django-configurations asks of a manage.py.
OF_A_CLASS = "    os.environ.setdefault('DJANGO_CONFIGURATION', 'Dev')\n    os.environ"


def users_elsewhere(project: Path) -> None:
    text = "class People:\n    def db_for_write(self, model, **hints):\n"
    text += "        return 'people' if model._meta.app_label == 'auth' else None\n"
    (project / "shop/routers.py").write_text(text)
    append(project / SETTINGS, ROUTER.replace("chats", "people").replace("Chats", "People"))


def package_elsewhere(project: Path) -> None:
    installed(project)
    (project / "vendor").rename(project.parent / "elsewhere")
    (project / "vendor").symlink_to(project.parent / "elsewhere")


def changed_source(project: Path) -> None:
    installed(project, "--engine", "source")
    append(project / "agui/money.py", "# mine\n")


def part_in_use(project: Path) -> None:
    installed(project, "--parts", "agentify,mcp")
    manage(project, "agentify", "auth.Group")


def part_taken_back(project: Path) -> None:
    installed(project)
    append(project / SETTINGS, "\nINSTALLED_APPS = [name for name in INSTALLED_APPS if 'mcp' not in name]\n")


@pytest.mark.parametrize(
    ("change", "sentence", "options"),
    [
        (lambda project: (project / "manage.py").unlink(), "has no manage.py", []),
        ({SETTINGS: ("INSTALLED_APPS = [", "INSTALLED_APPS = ['nowhere', ")}, "No module named 'nowhere'", []),
        ({"assistant/views.py": ""}, "assistant exists already", []),
        ({"shop/urls.py": ("    path('admin/'", OWN_PAGE)}, "has a page at /assistant/ already", []),
        (OTHER_SETTINGS, "take 'agui' out of INSTALLED_APPS again", []),
        ({SETTINGS: ("USE_TZ = True", "USE_TZ = False")}, "Set USE_TZ = True. ", []),
        (lambda project: (project / "vendor").symlink_to("../elsewhere"), "vendor/ is a link to ", []),
        (package_elsewhere, "/elsewhere, which is not in the project.", ["--parts", "standard"]),
        *rows_at_night(
            (lambda project: (project / "assistant").symlink_to("../elsewhere"), "assistant/ is a link to ", []),
            (users_elsewhere, "over ['default', 'people']. Route conversations", []),
            ({SETTINGS: (APPS.strip()[:-1], f"{APPS.strip()[:-1]}    'daphne',\n")}, "(agui.E001)", []),
            (OLD_DJANGO, "runs on Django 4.2, and the agent needs 5.2 or 6.", []),
            (OTHER_APP, "an application 'assistant' of its own", []),
            (WITHOUT_STATIC_FILES, "needs 'django.contrib.staticfiles' in INSTALLED_APPS", []),
            ({"shop/asgi.py": "application = None\n"}, "does not import get_asgi_application", []),
            ({"manage.py": ("    os.environ", OF_A_CLASS)}, "settings are the class 'Dev' (django-configurations)", []),
            ({source.wheel()[0]: "mine"}, "exists already", []),
            (installed, "Remove the agent, and install it again", ["--engine", "source"]),
            (changed_source, "agui was changed since the installation: an upgrade would lose that.", []),
            (part_in_use, "assistant/tests/test_tools_group.py uses the part 'agentify': ", ["--parts", "mcp"]),
            (part_taken_back, "take 'agui.contrib.mcp' out of INSTALLED_APPS again", ["--parts", "mcp"]),
        ),
    ],
)
def test_a_project_that_does_not_fit_is_left_alone(shop, change, sentence, options):
    """A change is a function, or the files that it writes and what it replaces in some."""
    if callable(change):
        change(shop)
        change = {}
    for name, text in change.items():
        if isinstance(text, tuple):
            replace(shop / name, *text)
        else:
            (shop / name).parent.mkdir(parents=True, exist_ok=True)
            (shop / name).write_text(text)
    commit(shop)
    said = refusal(shop, *options)
    assert said.startswith("Nothing was changed. ")
    assert sentence in said
    assert said.count("\n") == 1
    assert git(shop, "status", "--short") == ""


@pytest.mark.nightly
def test_a_file_that_may_not_be_written_is_left_alone(shop):
    settings = shop / SETTINGS
    settings.chmod(0o444)
    commit(shop)
    # Without this, root may write all files.
    prefix = ["setpriv", "--bounding-set", "-dac_override"] if os.geteuid() == 0 else []
    said = refusal(shop, prefix=prefix)
    assert said == f"Nothing was changed. {settings} is read-only: make it writable first.\n"
    assert git(shop, "status", "--short") == ""


def test_a_path_may_have_any_characters(tmp_path):
    """Neither make nor the shell runs anything in it."""
    path = f'{tmp_path}/it\'s "here"; touch a `touch b` $(touch c) $(shell touch {tmp_path}/d) $HOME'
    told = ["--old-file=.venv/.install", "install", f"BIN={Path(sys.executable).parent}", f"INTO={path}"]
    assert f"There is no directory {path}." in execute(ROOT, "make", *told, status=2).stderr
    assert os.listdir(tmp_path) == []


def test_a_missing_python_is_named(shop):
    (shop / ".venv").unlink()
    assert "name it with --python" in refusal(shop)
    assert "There is no Python at" in refusal(shop, "--python", os.devnull)


# --- What is brought


@pytest.mark.nightly
def test_the_wheel_has_all_that_is_brought(template, tmp_path):
    execute(tmp_path, "uv", "build", "--quiet", "--wheel", "--out-dir", tmp_path, template)
    [wheel] = tmp_path.glob("*.whl")
    execute(tmp_path, sys.executable, "-m", "zipfile", "-e", wheel, tmp_path / "unpacked")
    code = "from installer import source; print(source.digest(source.files([], 'package')))"
    digests = {execute(place, sys.executable, "-B", "-c", code).stdout for place in (tmp_path / "unpacked", template)}
    assert len(digests) == 1


def test_comments_stay_behind_their_items():
    text = 'APPS = [\n    "a",  # first\n    "b",  # second\n    # "c",\n]\n'
    module = python_files.parse(text)
    assert name_lists.extend(module, "APPS", [], ['"d"']).code == text.replace("]", '    "d",\n]')
    assert name_lists.remove(module, "APPS", ["b"]).code == 'APPS = [\n    "a",  # first\n]\n'
    assert name_lists.remove(module, "APPS", ["a"]).code == text.replace('    "a",  # first\n', "")


def test_parts_are_named_with_commas():
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
