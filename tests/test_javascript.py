"""The element's modules that need no DOM, by Node's own test runner, and the types of all modules, by TypeScript."""

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, npm_install


def test_modules_without_a_dom(rendered: dict[str, Path]):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on the PATH")
    result = subprocess.run(
        [node, "--test", "agui/tests/js"],
        cwd=rendered["demo"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]
    assert "# tests 0" not in result.stdout


def test_types_hold():
    modules = npm_install(ROOT / "tests/types/package.json")
    if modules is None:
        pytest.skip("npm is not on the PATH")
    result = subprocess.run(
        [modules / ".bin/tsc", "--project", ROOT / "tests/types"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-3000:]
