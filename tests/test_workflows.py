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


def workflow(root: Path) -> dict[str, Any]:
    """YAML 1.1 reads the key `on` as true."""
    return yaml.safe_load((root / ".github/workflows/ci.yml").read_text())


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.fixture
def requirements(rendered: dict[str, Path]) -> dict[str, Any]:
    return tomllib.loads((rendered["demo"] / "pyproject.toml").read_text())


def targets(root: Path) -> set[str]:
    return set(re.findall(r"^([a-z]+):", (root / "Makefile").read_text(), re.MULTILINE))


@pytest.mark.parametrize("root", [ROOT, PROJECT], ids=["template", "project"])
def test_workflow_runs_targets_and_scripts_that_exist(root: Path):
    for job in workflow(root)["jobs"].values():
        for command in commands(job):
            program, *words = command.split()
            if program == "make":
                assert words[0] in targets(root)
                makefile = (root / "Makefile").read_text() + (PROJECT / "Makefile").read_text()
                for variable in re.findall(r"\b([A-Z]+)=", command):
                    assert re.search(rf"^{variable} \?=", makefile, re.MULTILINE), variable
            elif program.startswith("."):
                assert (root / program).stat().st_mode & 0o111
            else:
                assert command == "python -m pip install uv"


def test_lint_passes():
    make(ROOT, "--old-file=.venv/.dev", "lint")


@pytest.mark.parametrize("root", [ROOT, PROJECT], ids=["template", "project"])
def test_workflow_may_only_read_and_knows_no_secret(root: Path):
    text = (root / ".github/workflows/ci.yml").read_text()
    assert workflow(root)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert not re.search(r"https?://|index|registry", text)


def test_projects_workflow_is_one_check_and_once_a_week_the_newest_versions(requirements: dict[str, Any]):
    parsed = workflow(PROJECT)
    assert {"push", "pull_request", "schedule"} <= set(parsed[True])
    assert list(parsed["jobs"]) == ["check"]
    assert "matrix" not in str(parsed)
    [check] = commands(parsed["jobs"]["check"])
    assert check.startswith("make check PYTHON=python VERSIONS=")
    assert "github.event_name == 'schedule' && 'newest' || 'tested'" in check
    # It runs on PostgreSQL, as its comment says.
    text = (PROJECT / ".github/workflows/ci.yml").read_text()
    job = yaml.safe_load(re.sub(r"(?m)^    # (?!On )", "    ", text))["jobs"]["check"]
    password = job["services"]["postgres"]["env"]["POSTGRES_PASSWORD"]
    assert job["env"]["DATABASE_URL"].startswith(f"postgres://postgres:{password}@127.0.0.1:5432/")
    assert job["env"]["EXTRAS"] in requirements["project"]["optional-dependencies"]


def test_each_python_gets_the_newest_django_and_the_engine_is_tested_with_all_extras(requirements: dict[str, Any]):
    project = requirements["project"]
    assert project["requires-python"] == f">={PYTHONS[0]}"
    assert "django>=5.2,<6.2" in project["dependencies"]
    versions = {python: pins(PROJECT, python)["django"].rpartition(".")[0] for python in PYTHONS}
    assert versions == {"3.11": "5.2", "3.12": "6.1", "3.13": "6.1", "3.14": "6.1"}
    extras = re.search(r"^EXTRAS \?= (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[1].split()
    assert extras == list(project["optional-dependencies"])


def test_templates_workflow_tests_pushes_on_two_pythons_and_each_night_all_versions_on_each():
    parsed = workflow(ROOT)
    assert {"push", "pull_request", "schedule"} <= set(parsed[True])
    test, nightly, versions = (parsed["jobs"][name] for name in ("test", "nightly", "versions"))
    assert test["strategy"]["matrix"] == {"python": [PYTHONS[0], "3.13"]}
    assert commands(test)[-1] == ".ci/run"
    [kept] = [step["with"]["path"] for step in test["steps"] if "actions/cache" in step.get("uses", "")]
    assert test["env"] == nightly["env"] == {"PYTHON": "python"}
    assert kept in (ROOT / "docs/contributing.md").read_text()
    assert commands(nightly)[-1] == ".ci/run nightly"
    for job in (nightly, versions):
        assert "github.event_name == 'schedule'" in job["if"]
    assert versions["strategy"]["matrix"] == {"python": PYTHONS, "versions": ["tested", "newest", "lowest"]}
    assert commands(versions)[-1] == "make engine PYTHON=python VERSIONS=${{ matrix.versions }}"


def test_makefiles_list_their_commands():
    """`make` alone: each target that is no file says what it does."""
    for root in (ROOT, PROJECT):
        text = (root / "Makefile").read_text()
        phony = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())
        assert set(re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE)) == phony
