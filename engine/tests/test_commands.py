"""What the commands of `manage.py` import: an agent takes longer to import than Django, and few commands need one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
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
HEAVY = {*AGENT, "twisted", "autobahn", "cryptography", "markdown_it"}


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


def run(tmp_path: Path, *arguments: str, settings_module: str = "config.settings") -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, which also writes the packages that it has imported."""
    environment = os.environ | {
        "DEBUG": "1",
        "DJANGO_SETTINGS_MODULE": settings_module,
        "PYTHONPATH": str(tmp_path),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "DJANGO_SUPERUSER_PASSWORD": "long enough 1234",
    }
    return subprocess.run(
        [sys.executable, "-c", LOOK, *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def manage(tmp_path: Path, *arguments: str, settings_module: str = "config.settings") -> set[str]:
    """Run a command, and name the packages that it has imported."""
    process = run(tmp_path, *arguments, settings_module=settings_module)
    assert process.returncode == 0, process.stdout + process.stderr
    return {*process.stdout.rpartition("IMPORTED")[2].split()}


def test_commands_that_everybody_uses_import_no_agent(tmp_path):
    for arguments in (["migrate", "--verbosity", "0"], ["check"]):
        imported = manage(tmp_path, *arguments)
        assert "django" in imported
        assert imported & HEAVY == set(), arguments


@pytest.mark.nightly
def test_no_other_command_imports_an_agent_without_need(tmp_path):
    makes_a_user = ["createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.com"]
    manage(tmp_path, "migrate", "--verbosity", "0")
    for arguments in (
        ["help"],
        ["migrate", "--check"],
        ["showmigrations"],
        ["makemigrations", "--check", "--dry-run"],
        makes_a_user,
        ["create_token", "ada"],
        ["revoke_token", "--user", "ada"],
        ["shell", "-c", "pass"],
    ):
        imported = manage(tmp_path, *arguments)
        assert "django" in imported
        assert imported & HEAVY == set(), arguments


@pytest.mark.nightly
def test_check_of_a_deployment_looks_at_the_agent(tmp_path):
    assert {"assistant", "pydantic_ai"} <= manage(tmp_path, "check", "--deploy")


COLLECTS = "import gc; print(gc.isenabled())"
COLLECTS_AS_BEFORE = "import gc; before = gc.get_threshold(); import config.asgi; print(before == gc.get_threshold())"


@pytest.mark.nightly
@pytest.mark.parametrize("arguments", [["manage.py", "shell", "-c", COLLECTS], ["-c", COLLECTS_AS_BEFORE]])
def test_garbage_is_collected_in_commands_and_in_a_server_that_has_started(tmp_path, arguments):
    environment = os.environ | {"DEBUG": "1", "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}"}
    command = [sys.executable, *arguments]
    shown = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "True"


ALONE = """
def test_that_builds_an_agent():
    from agui.contract import agents
    from pydantic_ai import models
    assert [view.agent for view in agents().values()]
    assert models.ALLOW_MODEL_REQUESTS is False

def test_after_somebody_has_changed_it():
    from pydantic_ai import models
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
    conftest = (settings.BASE_DIR / "conftest.py").read_text()
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_alone.py").write_text(ALONE)
    environment = os.environ | {
        "DEBUG": "1",
        "PYTHONPATH": str(settings.BASE_DIR),
        "AGENT_MODEL": "test",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }
    options = ["-q", "-p", "no:cacheprovider", "-c", str(settings.BASE_DIR / "pyproject.toml")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, f"--rootdir={tmp_path}", "--ds=config.settings", str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
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
        pytest.param('ROOT_URLCONF = "wrong_urls"', True, "wrong_agent", marks=pytest.mark.nightly),
        ('AGUI |= {"CONVERSATION_MODEL": "assistant.Task"}', False, "is no subclass of AbstractConversation"),
        pytest.param(
            'AGUI |= {"CONVERSATION_MODEL": "assistant.Nothing"}',
            False,
            "doesn't have a 'Nothing' model",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_check_tells_of_a_mistake(tmp_path, mistake, deploy, message):
    routes = "from agui import get_urls; urlpatterns = get_urls('wrong_agent.view')"
    (tmp_path / "wrong_urls.py").write_text(routes)
    (tmp_path / "wrong.py").write_text(f"from config.settings import *\n{mistake}\n")
    if deploy:  # Only an agent shows it
        manage(tmp_path, "showmigrations", settings_module="wrong")
    process = run(tmp_path, "check", *(["--deploy"] if deploy else []), settings_module="wrong")
    assert process.returncode == 1
    assert message in (process.stderr if deploy else process.stderr.splitlines()[-1])


def test_names_of_the_engine_are_known_before_they_are_imported():
    code = "import sys, agui; assert {*agui.__all__} <= {*dir(agui)}; assert 'pydantic_ai' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=True)
