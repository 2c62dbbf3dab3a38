"""A new project on Python 3.13 and the Django that it gets there, in a root directory of a newer Debian.

These tests are for machines with an older Python: on others, all tests run with the newest.
"""

import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from cache import cached
from conftest import ROOT, furnish_project, pins
from debian_root import PACKAGES, SUITE, DebianRoot, why_not
from pages import answers, expect, finished, say, sign_in, stored_texts
from servers import LiveProject, serve
from test_engine import run_engine_tests

pytestmark = [pytest.mark.engine, pytest.mark.nightly]
PYTHON = "3.13"


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> DebianRoot:
    if reason := why_not():
        pytest.skip(reason)
    path = cached("debian", f"{SUITE} {PACKAGES}", lambda path: DebianRoot(path).make())
    return DebianRoot(path, [ROOT, tmp_path_factory.getbasetemp()])


@pytest.fixture(scope="session")
def newest_environment(debian: DebianRoot, rendered: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make setup` installs there, with pip, for a project with all extras and providers."""
    project = tmp_path_factory.mktemp("newest") / "project"
    shutil.copytree(rendered["demo"], project)
    declared = project / "pyproject.toml"
    declared.write_text(declared.read_text().replace("[ag-ui]", "[ag-ui,anthropic,google,openai]"))
    extras = " ".join(tomllib.loads(declared.read_text())["project"]["optional-dependencies"])

    def install(venv: Path) -> None:
        debian.run("python3", "-m", "venv", venv, cwd=project)
        (project / ".venv").symlink_to(venv)
        debian.run("make", "setup", ".venv/.evals", f"EXTRAS={extras}", cwd=project)

    contents = [str(debian.path), declared.read_text(), (project / "constraints.txt").read_text()]
    return cached("venv-newest", "\n".join(contents), install)


@pytest.mark.parametrize("parts", ["minimal", "standard", "everything"])
def test_project_passes_its_checks(bake, debian: DebianRoot, newest_environment: Path, parts: str):
    project = bake(parts=parts)
    furnish_project(project, newest_environment)
    output = debian.run("make", "check", cwd=project)
    assert f"Python {PYTHON}." in output
    assert f"django: version: {pins(project, PYTHON)['django']}," in output
    assert re.search(r"\d+ passed", output)


def test_engine(bake, debian: DebianRoot, newest_environment: Path):
    project = bake()
    furnish_project(project, newest_environment)
    run_engine_tests(project, "tests", prefix=debian.prefix, processes=os.cpu_count() or 1)


@pytest.mark.browser
def test_chat_answers_and_asks_in_chromium(bake, debian: DebianRoot, newest_environment: Path, new_page):
    project = bake()
    furnish_project(project, newest_environment)
    with serve(project, LiveProject, prefix=debian.prefix) as live:
        page = sign_in(new_page(live.url), live)
        policy = page.reload().headers["content-security-policy"]  # by Django's own middleware
        assert "default-src 'none'" in policy
        say(page, "list tasks")
        finished(page)
        assert answers(page)
        say(page, "delete finished tasks")
        page.get_by_role("button", name="Approve").click()
        finished(page)
        expect(page.locator(".tool").last).to_have_attribute("data-status", "success")
        assert len(stored_texts(page, "tool")) == 2
