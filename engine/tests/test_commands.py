"""What the commands of `manage.py` import: an agent takes longer to import than Django, and few commands need one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from daily import at_night, rows_at_night
from django.conf import settings

LOOK = """
import sys
from django.core.management import execute_from_command_line
try:
    execute_from_command_line(["manage.py", *sys.argv[1:]])
except SystemExit as end:
    assert not end.code, end.code
finally:
    print("IMPORTED", *sorted({name.partition(".")[0] for name in sys.modules}))
"""
AGENT = {"pydantic_ai", "ag_ui", "httpx", "httpx2", "genai_prices", "jsonschema", "mcp", "fastmcp", "dbos"}
HEAVY = {*AGENT, "rest_framework", "twisted", "autobahn", "cryptography", "markdown_it"}


# Settings that name code: each of these imports an agent.
NAMES_CODE = """
from config.settings import *
AGUI |= {
    "AGENT_FACTORY": "names_code.make_agent",
    "AUDIT_LOGGER": "agui.LoggingAuditLogger",
    "CONVERSATION_STORE": "agui.contrib.session_store.store.DjangoSessionConversationStore",
    "VOICE": {"BACKEND": "agui.contrib.voice.views.OpenAITranscriber"},
}

def make_agent(registry, config):
    from pydantic_ai import Agent
    return Agent("test")
"""


def run(tmp_path: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own, with an empty database."""
    there = {
        "DEBUG": "1",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "PYTHONPATH": f"{tmp_path}{os.pathsep}{settings.BASE_DIR}",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "DJANGO_SUPERUSER_PASSWORD": "long enough 1234",
    }
    return subprocess.run(
        [sys.executable, *command],
        cwd=settings.BASE_DIR,
        env=os.environ | there | environment,
        capture_output=True,
        text=True,
    )


def manage(tmp_path: Path, *arguments: str, settings_module: str = "config.settings") -> set[str]:
    """Run a command, and name the packages that it has imported."""
    process = run(tmp_path, "-c", LOOK, *arguments, DJANGO_SETTINGS_MODULE=settings_module)
    assert process.returncode == 0, process.stdout + process.stderr
    return {*process.stdout.rpartition("IMPORTED")[2].split()}


COMMANDS = [
    *("help", "showmigrations", "makemigrations --check --dry-run", "shell -c pass"),
    "createsuperuser --noinput --username ada --email ada@example.com",
    *("create_token ada", "revoke_token --user ada"),
]


@pytest.mark.parametrize("commands", [["check"], *at_night(COMMANDS)])
def test_commands_import_no_agent_without_need(tmp_path, commands):
    for command in ("migrate --verbosity 0", *commands):
        imported = manage(tmp_path, *command.split())
        assert "django" in imported
        assert imported & HEAVY == set(), command


COLLECTS = "import gc; print(gc.isenabled())"
COLLECTS_AS_BEFORE = "import gc; before = gc.get_threshold(); import config.asgi; print(before == gc.get_threshold())"


@pytest.mark.nightly
@pytest.mark.parametrize("command", [["manage.py", "shell", "-c", COLLECTS], ["-c", COLLECTS_AS_BEFORE]])
def test_garbage_is_collected_in_commands_and_in_a_server_that_has_started(tmp_path, command):
    assert run(tmp_path, *command).stdout.splitlines()[-1] == "True"


ALONE = """
def test_that_builds_an_agent():
    from agui.contract import agents
    from pydantic_ai import models
    assert [view.agent for view in agents().values()]
    assert models.ALLOW_MODEL_REQUESTS is False
    models.ALLOW_MODEL_REQUESTS = True

def test_after_it():
    from pydantic_ai import models
    assert models.ALLOW_MODEL_REQUESTS is False

def test_the_environment(settings):
    from agui import conf
    from agui.runs.live import live
    assert settings.AGENT_MODEL == "demo"
    assert not live.logs.is_shared
    assert conf.get().read_environment is False
"""


@pytest.mark.nightly
def test_no_test_of_a_project_asks_a_real_model_or_depends_on_the_environment(tmp_path):
    (tmp_path / "conftest.py").write_text((settings.BASE_DIR / "conftest.py").read_text())
    (tmp_path / "test_alone.py").write_text(ALONE)
    options = ["-q", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={tmp_path}"]
    hostile = {"AGENT_MODEL": "test", "REDIS_URL": "redis://127.0.0.1:1/0"}
    done = run(tmp_path, "-m", "pytest", *options, "--ds=config.settings", str(tmp_path), **hostile)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_code_that_settings_name_is_imported_with_the_agent(tmp_path):
    (tmp_path / "names_code.py").write_text(NAMES_CODE)
    assert manage(tmp_path, "showmigrations", settings_module="names_code") & HEAVY == set()
    assert "pydantic_ai" in manage(tmp_path, "check", "--deploy", settings_module="names_code")


@pytest.mark.parametrize(
    ("mistake", "deploy", "message"),
    [
        ('AGUI |= {"AUDIT_LOGGER": "agui.Nothing"}', True, "AGUI['AUDIT_LOGGER'] = 'agui.Nothing'"),
        *rows_at_night(('ROOT_URLCONF = "wrong_urls"', True, "wrong_agent")),
        ('AGUI |= {"CONVERSATION_MODEL": "agui.ApiToken"}', False, "is no subclass of AbstractConversation"),
        *rows_at_night(('AGUI |= {"CONVERSATION_MODEL": "assistant.No"}', False, "doesn't have a 'No' model")),
    ],
)
def test_check_tells_of_a_mistake(tmp_path, mistake, deploy, message):
    routes = "from agui import get_urls; urlpatterns = get_urls('wrong_agent.view')"
    (tmp_path / "wrong_urls.py").write_text(routes)
    (tmp_path / "wrong.py").write_text(f"from config.settings import *\n{mistake}\n")
    if deploy:  # Only an agent shows it
        manage(tmp_path, "showmigrations", settings_module="wrong")
    options = ["--deploy"] if deploy else []
    process = run(tmp_path, "-c", LOOK, "check", *options, DJANGO_SETTINGS_MODULE="wrong")
    assert process.returncode == 1
    assert message in (process.stderr if deploy else process.stderr.splitlines()[-1])


def test_names_of_the_engine_are_known_before_they_are_imported():
    code = "import sys, agui; assert {*agui.__all__} <= {*dir(agui)}; assert 'pydantic_ai' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=True)
