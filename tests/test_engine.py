"""The engine's tests as a package of a generated project, without the example, and without the part `fast`."""

import os
import re
import shutil
import subprocess
import sys
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
    """What pytest prints of tests that pass: files of `tests/`, or all with "tests"."""
    # Beside these tests there is another engine, so a link leads to them.
    beside = project.with_name(f"{project.name}-tests")
    beside.mkdir(exist_ok=True)
    if not (beside / "tests").exists():
        (beside / "tests").symlink_to(ENGINE_TESTS)
    settings["PYTHONPATH"] = os.pathsep.join(map(str, (project, beside, ROOT / "tests")))
    options = ["-o", "pythonpath=", f"--numprocesses={processes}", *arguments]
    return _run([*prefix, project / ".venv/bin/python"], beside, options, settings)


def run_engine_tests_here(*arguments: str | Path, processes: int = 0, **settings: str) -> str:
    """The same with the engine of this run, in a process with other settings: nothing is copied or compiled again."""
    if bytecode := os.environ.get("PYTHONPYCACHEPREFIX"):
        settings["PYTHONPYCACHEPREFIX"] = bytecode
    return _run([sys.executable], ENGINE_TESTS.parent, [f"--numprocesses={processes}", *arguments], settings)


def _run(
    python: Sequence[str | Path], directory: Path, arguments: Sequence[str | Path], settings: dict[str, str]
) -> str:
    done = subprocess.run(
        [*python, "-m", "pytest", "-q", "-rsfE", "-c", ROOT / "pyproject.toml", *arguments],
        cwd=directory,
        env=project_environment(**settings),
        capture_output=True,
        text=True,
        timeout=3600,
    )
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def files(*names: str) -> list[str]:
    return [f"tests/{name}" for name in names]


# What the part `fast` goes around: runs, streams, tokens, threads and rows.
AROUND_FAST = files(
    "test_runs.py",
    "test_stream_deltas.py",
    "test_tokens.py",
    "test_queries.py",
    "test_middleware.py",
    "test_transcripts.py",
)
# Of the transcripts, those of runs and of what resumes them.
AROUND_FAST += ["--first-values", "-k", "not test_transcripts or test_runs_ or test_approvals_"]
# What looks for files of the engine.
OF_A_PACKAGE = files("test_bundle.py", "test_manual.py")


@pytest.mark.parametrize("chosen", [AROUND_FAST, *at_night(["tests"])], ids=["some", "all"])
def test_engine_without_the_part_for_speed(chosen: list[str]):
    """The core passes the same tests without a patch, and with what its libraries document."""
    told = run_engine_tests_here("-m", "not nightly", *chosen, TEST_WITHOUT="agui.contrib.fast")
    assert "test_fast_" not in told


@pytest.mark.parametrize("chosen", [OF_A_PACKAGE, *at_night(["tests"])], ids=["some", "all"])
def test_engine_passes_its_tests_as_a_package(bake, furnish, chosen: list[str]):
    project = bake(project_slug="packaged", engine="package")
    furnish(project)
    run_engine_tests(project, "-m", "not nightly", "--first-values", *chosen)


@pytest.mark.nightly
def test_engine_has_the_same_tests_alone():
    """`cd engine && pytest` finds what `make test` does."""
    alone, among_others = collected(ENGINE_TESTS.parent), collected(ROOT, "tests/test_engine.py", "engine/tests")
    assert len(alone) > 1000
    assert alone == {name for name in among_others if name.startswith("engine/")}


def collected(directory: Path, *paths: str) -> set[str]:
    command = [sys.executable, "-B", "-m", "pytest", "--collect-only", "--quiet", *paths]
    done = subprocess.run(command, cwd=directory, env=project_environment(), capture_output=True, text=True, check=True)
    return {line for line in done.stdout.splitlines() if "::" in line}


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
    run_engine_tests(project, *files(*sorted({path.name for path in about_it})))
