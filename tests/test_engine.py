"""The engine's own tests, in a generated project with everything installed."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import ROOT
from daily import at_night
from servers import project_environment

pytestmark = pytest.mark.engine
ENGINE_TESTS = ROOT / "engine/tests"


def run_engine_tests(
    project: Path, *arguments: str | Path, prefix: Sequence[str] = (), processes: int = 0, **settings: str
) -> str:
    """What pytest prints of tests that pass; all of them, in one process or in several."""
    pytest_command = ["-m", "pytest", "-q", "-rsfE"]
    python_path = os.pathsep.join(map(str, (project, ENGINE_TESTS.parent, ROOT / "tests")))
    done = subprocess.run(
        [*prefix, project / ".venv/bin/python", *pytest_command, f"--numprocesses={processes}", *arguments],
        cwd=ENGINE_TESTS,
        env=project_environment(PYTHONPATH=python_path, **settings),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def test_engine_on_sqlite(bake, furnish):
    project = bake()
    furnish(project)
    # The longest of all tests: no processor waits for it at the end.
    told = run_engine_tests(project, "-m", "not nightly", processes=os.cpu_count() or 1)
    # Each extra is installed, so only a program that this machine lacks can be a reason.
    assert not os.environ.get("REQUIRE_ALL") or " skipped" not in told


@pytest.mark.nightly
def test_engine_on_sqlite_with_large_inputs(bake, furnish):
    project = bake()
    furnish(project)
    run_engine_tests(project, "-m", "nightly")


# What the part `fast` goes around: runs, streams, tokens, threads and rows.
AROUND_FAST = ["test_run.py", "test_stream_deltas.py", "test_tokens.py", "test_queries.py", "test_middleware.py"]


@pytest.mark.parametrize("chosen", [[*AROUND_FAST, "--first-values"], *at_night([])], ids=["some", "all"])
def test_engine_without_the_part_for_speed(bake, furnish, chosen: list[str]):
    """The core passes the same tests without a patch, and with what its libraries document."""
    project = bake(project_slug="unpatched")
    settings = project / "config/settings.py"
    line = '    "agui.contrib.fast",\n'
    assert line in settings.read_text()
    settings.write_text(settings.read_text().replace(line, ""))
    furnish(project)
    told = run_engine_tests(project, "-m", "not nightly", *chosen)
    assert "test_fast_" not in told


@pytest.mark.nightly
def test_engine_passes_its_tests_as_a_package(bake, furnish):
    project = bake(project_slug="packaged", engine="package")
    furnish(project)
    run_engine_tests(project, "-m", "not nightly", "--first-values")


# What is left of assistant/ when somebody replaces the example: one tool, and no model but that of conversations.
WITHOUT_EXAMPLE = {
    "models.py": (ROOT / "installer/assistant/models.py").read_text(),
    "migrations/0001_initial.py": (ROOT / "installer/assistant/migrations/0001_initial.py").read_text(),
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


def replace_example(project: Path) -> None:
    shutil.rmtree(project / "assistant/evals")
    for name in ("test_agent.py", "test_tools.py"):
        (project / "assistant/tests" / name).unlink()
    for name, code in WITHOUT_EXAMPLE.items():
        (project / "assistant" / name).write_text(code)


@pytest.mark.nightly
def test_engine_passes_its_tests_without_the_example(bake, furnish):
    project = bake(project_slug="replaced")
    furnish(project)
    replace_example(project)
    about_it = [path for path in ENGINE_TESTS.glob("test_*.py") if re.search(r"\bassistant[./]", path.read_text())]
    about_it += ENGINE_TESTS.glob("test_recipes*.py")
    run_engine_tests(project, *sorted(set(about_it)))
