"""What the commands of `manage.py` import: an agent takes longer to import than Django, and few commands need one."""

import os
import subprocess
import sys
from pathlib import Path

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
HEAVY = {"pydantic_ai", "ag_ui", "httpx", "httpx2", "genai_prices", "mcp", "fastmcp", "dbos"}


def manage(tmp_path: Path, *arguments: str) -> tuple[str, set[str]]:
    """Run a command in a process of its own; what it writes, and the packages that it has imported."""
    environment = os.environ | {
        "DEBUG": "1",
        "DATABASE_URL": f"sqlite:///{tmp_path / 'db.sqlite3'}",
        "DJANGO_SUPERUSER_PASSWORD": "long enough 1234",
    }
    process = subprocess.run(  # noqa: S603
        [sys.executable, "-c", LOOK, *arguments],
        cwd=settings.BASE_DIR,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    written, _, imported = process.stdout.rpartition("IMPORTED")
    assert process.returncode == 0, process.stdout + process.stderr
    return written + process.stderr, {*imported.split()}


def test_commands_without_an_agent_import_none(tmp_path):
    makes_a_user = ["createsuperuser", "--noinput", "--username", "ada", "--email", "ada@example.com"]
    for arguments in (
        ["help"],
        ["migrate", "--verbosity", "0"],
        ["migrate", "--check"],
        ["showmigrations"],
        ["makemigrations", "--check", "--dry-run"],
        makes_a_user,
        ["create_token", "ada"],
        ["revoke_token", "--user", "ada"],
        ["shell", "-c", "pass"],
    ):
        _, imported = manage(tmp_path, *arguments)
        assert "django" in imported
        assert imported & HEAVY == set(), arguments


def test_check_looks_at_the_agent(tmp_path):
    _, imported = manage(tmp_path, "check")
    assert {"assistant", "pydantic_ai"} <= imported


def test_names_of_the_engine_are_known_before_they_are_imported():
    code = "import sys, agui; assert {*agui.__all__} <= {*dir(agui)}; assert 'pydantic_ai' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=settings.BASE_DIR, check=True)  # noqa: S603
