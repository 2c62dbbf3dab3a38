"""Commands that are killed at any of their changes to files: run again, they finish."""

import itertools
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import TEMPLATE_NAME
from daily import at_night
from interrupting import interrupt_and_repeat

TIMES = [pytest.param(4, id="some"), *at_night(200)]


@pytest.fixture
def newer(template: Path, tmp_path: Path) -> Path:
    """A template with another engine: a file is new, one has changed, one is gone."""
    directory = tmp_path / "newer"
    shutil.copytree(template, directory)
    engine = directory / "engine/agui"
    (engine / "__init__.py").write_text((engine / "__init__.py").read_text().replace('_ = "', '_ = "99.'))
    (engine / "manual/tools.md").write_text("# Tools\n")
    (engine / "manual/office.md").unlink(missing_ok=True)
    shutil.rmtree(engine / "contrib/voice")
    (engine / "contrib/office").mkdir()
    (engine / "contrib/office/__init__.py").write_text('"""New."""\n')
    pins = directory / TEMPLATE_NAME / "constraints.txt"
    pins.write_text(pins.read_text().replace("whitenoise==", "whitenoise==6.9.0\n# before: "))
    return directory


@pytest.fixture
def copies(tmp_path: Path) -> Callable[[Path], Callable[[], Path]]:
    """Copy a project as often as it is asked for."""
    numbers = itertools.count()

    def copies(project: Path) -> Callable[[], Path]:
        def copy() -> Path:
            for old in tmp_path.glob("copy*"):
                shutil.rmtree(old)
            return Path(shutil.copytree(project, tmp_path / f"copy{next(numbers)}", symlinks=True))

        return copy

    return copies


@pytest.mark.parametrize("times", TIMES)
def test_upgrade_of_the_package(bake, newer: Path, copies, times: int):
    project = bake(engine="package", parts="standard")
    [wheel] = (project / "vendor").iterdir()
    command = ["agui.distribution.upgrade", newer]
    interrupt_and_repeat(copies(project), command, times, PYTHONPATH=f"vendor/{wheel.name}")


@pytest.mark.parametrize("times", TIMES)
def test_upgrade_of_the_source(bake, newer: Path, copies, times: int):
    project = bake(engine="source", parts="standard")
    git = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.com"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "Mine"]):
        subprocess.run([*git, *arguments], cwd=project, check=True)
    interrupt_and_repeat(copies(project), ["agui.distribution.upgrade", newer], times)


@pytest.mark.parametrize("times", TIMES)
def test_eject(bake, copies, tmp_path: Path, times: int):
    project = bake(engine="package", parts="standard")
    [wheel] = (project / "vendor").iterdir()
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    interrupt_and_repeat(copies(project), ["agui.distribution.eject"], times, PYTHONPATH=str(tmp_path / "installed"))


def test_wheel_stays_inside_the_project(bake, newer: Path, tmp_path: Path):
    project = bake(engine="package", parts="standard")
    (project / "vendor").rename(tmp_path / "elsewhere")
    (project / "vendor").symlink_to(tmp_path / "elsewhere")
    before = os.listdir(tmp_path / "elsewhere")
    command = ["python", newer / "engine/agui/distribution/upgrade.py", newer]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert done.returncode == 1
    assert "vendor/ is a link" in done.stderr
    assert os.listdir(tmp_path / "elsewhere") == before
