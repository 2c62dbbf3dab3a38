"""The element's modules that need no DOM, by Node's own test runner."""

import shutil
import subprocess
from pathlib import Path

import pytest


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
