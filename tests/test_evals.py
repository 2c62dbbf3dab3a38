"""`make eval` of a generated project: its own installation, the table, and the threshold."""

import subprocess
import tomllib
from pathlib import Path

import pytest
from conftest import closure, extras_of, requirements
from packaging.requirements import Requirement
from servers import project_environment


def make_eval(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", "eval", *options]
    return subprocess.run(command, cwd=project, env=project_environment(), capture_output=True, text=True, timeout=1800)


@pytest.mark.nightly
@pytest.mark.engine
def test_make_eval_prints_a_table_and_fails_under_the_threshold(bake, furnish):
    project = bake(project_slug="evaluated", parts="standard")
    furnish(project)
    (project / ".venv/.evals").unlink(missing_ok=True)  # make must install them.
    done = make_eval(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Evaluation Summary" in done.stdout
    assert done.stdout.splitlines()[-1] == "6 of 6 cases passed."
    assert (project / ".venv/.evals").exists()

    cases = project / "assistant/evals/tasks.yaml"
    cases.write_text(cases.read_text().replace("Says: Pay the rent", "Says: Pay the milkman"))
    done = make_eval(project)
    assert done.returncode != 0
    assert "5 of 6 cases passed. At least 100% have to." in done.stderr
    assert make_eval(project, "MIN=0.8").returncode == 0
    assert not (project / "db.sqlite3").exists()


def test_the_installation_gains_nothing_by_the_evals(rendered):
    project = rendered["demo"]
    assert not any("evals" in line for line in requirements(project, "dev", *extras_of(project)))


@pytest.mark.engine
@pytest.mark.parametrize("parts", ["minimal", "standard", "everything"])
def test_what_the_evals_need_is_there_or_installed_with_them(rendered, bake, environment: Path, parts: str):
    """They are installed without what they ask for, and `evaluate` imports all of it."""
    project = bake(parts=parts)
    evals = tomllib.loads((rendered["demo"] / "pyproject.toml").read_text())["dependency-groups"]["evals"]
    there = requirements(project, "dev")
    named = {Requirement(line).name for line in evals}
    assert closure(environment, evals) - closure(environment, there) - named == set()
