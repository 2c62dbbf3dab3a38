"""The workflows run what the Makefiles have, on all that is declared to be supported."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ROOT, TEMPLATE_NAME

PROJECT = ROOT / TEMPLATE_NAME
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]


def workflow(root: Path) -> dict[str, Any]:
    """YAML 1.1 reads the key `on` as true."""
    return yaml.safe_load((root / ".github/workflows/ci.yml").read_text())


def commands(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


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


@pytest.mark.parametrize("root", [ROOT, PROJECT], ids=["template", "project"])
def test_workflow_may_only_read_and_knows_no_secret(root: Path):
    text = (root / ".github/workflows/ci.yml").read_text()
    assert workflow(root)["permissions"] == {"contents": "read"}
    assert "secrets." not in text
    assert "pull_request_target" not in text
    assert not re.search(r"https?://|index|registry", text)


def test_projects_workflow_is_make_check_on_everything():
    jobs = workflow(PROJECT)["jobs"]
    assert list(jobs) == ["check"]
    matrix = jobs["check"]["strategy"]["matrix"]
    assert matrix == {"python": PYTHONS, "database": ["sqlite", "postgres"], "versions": ["tested", "newest"]}
    assert commands(jobs["check"]) == ["make check PYTHON=python EXTRAS=postgres VERSIONS=${{ matrix.versions }}"]
    database = jobs["check"]["env"]["DATABASE_URL"]
    service = jobs["check"]["services"]["postgres"]
    assert f"postgres://postgres:{service['env']['POSTGRES_PASSWORD']}@127.0.0.1:5432/" in database
    assert "sqlite:///" in database


def test_pins_are_of_the_oldest_django_and_the_newest_is_allowed():
    """So that `tested` and `newest` are Django 5.2 and the newest."""
    data = tomllib.loads(re.sub(r"\{\{.*?\}\}", "", (PROJECT / "pyproject.toml").read_text()))
    assert data["project"]["requires-python"] == f">={PYTHONS[0]}"
    assert "django>=5.2,<6.2" in data["project"]["dependencies"]
    assert re.search(r"^django==5\.2\.", (PROJECT / "constraints.txt").read_text(), re.MULTILINE)


def test_templates_workflow_tests_each_push_and_what_is_released_each_week():
    parsed = workflow(ROOT)
    triggers = parsed[True]
    assert {"push", "pull_request", "schedule"} <= set(triggers)
    assert len(triggers["schedule"]) == 1
    test, versions = parsed["jobs"]["test"], parsed["jobs"]["versions"]
    assert ".ci/run" in commands(test)
    assert "schedule" in versions["if"]
    assert versions["strategy"]["matrix"] == {"python": PYTHONS, "versions": ["newest", "lowest"]}
    (check,) = [command for command in commands(versions) if command.startswith("make")]
    assert check.startswith("make check PYTHON=python ")
    extras = re.search(r'EXTRAS="(.*?)"', check)[1].split()
    data = tomllib.loads(re.sub(r"\{\{.*?\}\}", "", (PROJECT / "pyproject.toml").read_text()))
    assert extras == list(data["project"]["optional-dependencies"])


def test_makefiles_list_their_commands():
    """`make` alone: each target that is no file says what it does."""
    for root in (ROOT, PROJECT):
        text = (root / "Makefile").read_text()
        phony = set(re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)[1].split())
        assert set(re.findall(r"^([a-z]+):.*## ", text, re.MULTILINE)) == phony
