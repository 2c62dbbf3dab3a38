"""The workflows run what the Makefiles have, on all that is declared to be supported."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import PYTHONS, ROOT, TEMPLATE_NAME, pins
from projects import make

PROJECT = ROOT / TEMPLATE_NAME
BOTH = pytest.mark.parametrize("root", [ROOT, PROJECT], ids=["template", "project"])


def workflow(root: Path) -> dict[str, Any]:
    """YAML 1.1 reads the key `on` as true."""
    return yaml.safe_load((root / ".github/workflows/ci.yml").read_text())


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@BOTH
def test_workflow_runs_targets_and_scripts_that_exist(root: Path):
    makefile = (root / "Makefile").read_text()
    for command in [command for job in workflow(root)["jobs"].values() for command in commands(job)]:
        program, *words = command.split()
        if program == "make":
            assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE)
            for variable in re.findall(r"\b([A-Z]+)=", command):
                assert re.search(rf"^{variable} \?=", makefile + (PROJECT / "Makefile").read_text(), re.MULTILINE)
        elif program.startswith("."):
            assert (root / program).stat().st_mode & 0o111
        else:
            assert command == "python -m pip install uv"


@BOTH
def test_workflow_may_only_read_and_knows_no_secret(root: Path):
    text = (root / ".github/workflows/ci.yml").read_text()
    assert workflow(root)["permissions"] == {"contents": "read"}
    assert not re.search(r"secrets\.|pull_request_target|https?://|index|registry", text)
    assert {"push", "pull_request", "schedule"} <= set(workflow(root)[True])


def test_lint_passes():
    make(ROOT, "--old-file=.venv/.dev", "lint")


def test_each_supported_python_is_tested_with_the_newest_django_and_all_extras(rendered: dict[str, Path]):
    assert workflow(ROOT)["jobs"]["versions"]["strategy"]["matrix"]["python"] == PYTHONS
    project = tomllib.loads((rendered["demo"] / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == f">={PYTHONS[0]}"
    versions = {python: pins(PROJECT, python)["django"].rpartition(".")[0] for python in PYTHONS}
    assert versions == {"3.11": "5.2", "3.12": "6.1", "3.13": "6.1", "3.14": "6.1"}
    extras = list(project["optional-dependencies"])
    assert re.search(r"^EXTRAS \?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split() == extras
    # Each week a project is checked with the newest versions, and on PostgreSQL if its comment is followed.
    text = (PROJECT / ".github/workflows/ci.yml").read_text()
    job = yaml.safe_load(re.sub(r"(?m)^    # (?!On )", "    ", text))["jobs"]["check"]
    assert "github.event_name == 'schedule' && 'newest' || 'tested'" in commands(job)[0]
    password = job["services"]["postgres"]["env"]["POSTGRES_PASSWORD"]
    assert job["env"]["DATABASE_URL"].startswith(f"postgres://postgres:{password}@127.0.0.1:5432/")
    assert job["env"]["EXTRAS"] in extras


@BOTH
def test_makefile_lists_its_commands(root: Path):
    """`make` alone: each target that is no file says what it does."""
    text = (root / "Makefile").read_text()
    phony = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())
    assert set(re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE)) == phony
