"""The types of the engine hold, for itself and for those who use it."""

import re
import sys
import tomllib
from pathlib import Path

import pytest
from cache import CACHE
from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME
from projects import execute

pytestmark = pytest.mark.engine


def mypy(directory: Path, name: str, *arguments: str | Path) -> None:
    """Find nothing, with what it has kept since its last run of this name."""
    command = [sys.executable, "-B", "-m", "mypy", "--cache-dir", CACHE / name, *arguments]
    done = execute(directory, *command, DEBUG="1", PYTHONPATH=str(ROOT / TEMPLATE_NAME))
    assert done.stdout.startswith("Success: no issues found")


def test_types_of_the_engine_hold():
    """With the packages of all parts. A project's own checks follow the engine, and say nothing about it."""
    mypy(ROOT / TEMPLATE_NAME, "mypy", "--config-file", ENGINE.parent / "pyproject.toml", ENGINE)


def test_a_project_excepts_only_what_it_imports(bake):
    project = bake(parts="minimal", engine="package")
    overrides = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    [untyped] = [override["module"] for override in overrides if "ignore_missing_imports" in override]
    code = "".join(path.read_text() for path in project.rglob("*.py"))
    assert {name.removesuffix(".*") for name in untyped} <= set(re.findall(r"^(?:from|import) (\w+)", code, re.M))


def test_types_of_the_manuals_parts_hold(tmp_path: Path):
    blocks = re.findall(r"^```python\n# (\S+)\n(.*?)^```$", (MANUAL / "parts.md").read_text(), re.M | re.S)
    assert blocks
    for name, code in blocks:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    mypy(tmp_path, "mypy-strict", "--strict", "--explicit-package-bases", ".")
