"""`manage.py agentify` over a zoo of models with keys and relations of all kinds.

agentify_sweep/ has the zoo's models, and the calls that are tried in the project.
"""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT
from postgresql import PostgreSQL
from servers import project_environment

pytestmark = [pytest.mark.engine, pytest.mark.nightly]
SWEEP = ROOT / "tests/agentify_sweep"


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


def check(project: Path, **settings: str) -> None:
    """Lint the written code, run its tests and the calls of strangers, and ask the demo model."""
    written = [*sorted(project.glob("assistant/tools_*.py")), *sorted(project.glob("assistant/tests/test_tools_*.py"))]
    run(project, "ruff", "check", "--no-cache", "--quiet", *written, "assistant/model_tools.py", "assistant/agent.py")
    run(project, "ruff", "format", "--no-cache", "--check", "--quiet", *written, "assistant/model_tools.py")
    run(project, "mypy", "assistant", **settings)
    tests = ["assistant/tests/test_sweep.py", *written[len(written) // 2 :]]
    said = run(project, "pytest", "-q", "-rP", "--nomigrations", *tests, **settings)
    for line in re.findall(r"^(?:NOT MADE|FOREIGN|DEMO|\d+ passed).*", said, re.MULTILINE):
        print(line)


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
