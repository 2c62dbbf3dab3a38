"""The types of the engine hold, for itself and for those who use it."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from cache import CACHE
from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME

pytestmark = pytest.mark.engine


def mypy(directory: Path, name: str, *arguments: str | Path) -> str:
    """What it says, by what it has kept since its last run of this name."""
    environment = {**os.environ, "DEBUG": "1", "PYTHONPATH": str(ROOT / TEMPLATE_NAME)}
    command = [sys.executable, "-B", "-m", "mypy", "--cache-dir", CACHE / name, *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def test_types_of_the_engine_hold():
    """With the packages of all parts. A project's own checks follow the engine, and say nothing about it."""
    said = mypy(ROOT / TEMPLATE_NAME, "mypy", "--config-file", ENGINE.parent / "pyproject.toml", ENGINE)
    assert said.startswith("Success: no issues found"), said


def test_a_project_excepts_only_what_it_imports(bake):
    project = bake(parts="minimal", engine="package")
    overrides = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    [untyped] = [override["module"] for override in overrides if "ignore_missing_imports" in override]
    code = "".join(path.read_text() for path in project.rglob("*.py"))
    assert {name.removesuffix(".*") for name in untyped} <= set(re.findall(r"^(?:from|import) (\w+)", code, re.M))


def part_with_all_methods() -> str:
    """A stranger's part that overrides all that the class has, with the types that parts.py names."""
    tree = ast.parse((ENGINE / "parts.py").read_text())
    [part] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Part"]
    part.name, part.bases = "StrangersConfig", [ast.Name("Part")]
    for method in part.body:
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
            method.body = [ast.Raise(ast.Name("NotImplementedError"))]
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom | ast.If)]
    return ast.unparse(ast.Module([*imports, *ast.parse("from agui.parts import Part").body, part], []))


def test_types_of_strangers_parts_hold(tmp_path: Path):
    """Those of the manual, and one that has all methods of the class."""
    blocks = dict(re.findall(r"^```python\n# (\S+)\n(.*?)^```$", (MANUAL / "parts.md").read_text(), re.M | re.S))
    assert blocks
    for name, code in {**blocks, "stranger/apps.py": part_with_all_methods()}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(code)
    said = mypy(tmp_path, "mypy-strict", "--strict", "--explicit-package-bases", ".")
    assert said.startswith("Success: no issues found"), said
