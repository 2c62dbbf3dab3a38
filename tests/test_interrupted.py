"""Commands that are killed at any of their changes to files: run again, they finish."""

import itertools
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME
from daily import at_night, rows_at_night
from interrupting import interrupt_and_repeat, tree
from test_installer import form, installed, shop

from installer.errors import Unfinished
from installer.journal import roll_back

__all__ = ["form", "shop"]  # fixtures

TIMES = [pytest.param(4, id="some"), *at_night(200)]
# How the engine comes, and how often the installer is killed
FORM_AND_TIMES = pytest.mark.parametrize(
    ("form", "times"), [("package", 3), *rows_at_night(("package", 200), ("source", 200))], indirect=["form"]
)


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


@FORM_AND_TIMES
def test_installation(shop, form: str, copies, times: int):
    interrupt_and_repeat(copies(shop), ["installer", ".", "--engine", form], times, PYTHONPATH=str(ROOT))


@FORM_AND_TIMES
def test_renewal(shop, form: str, newer: Path, copies, times: int):
    """Of the engine, and of the parts."""
    installed(shop, "--engine", form)
    interrupt_and_repeat(copies(shop), ["installer", ".", "--parts", "standard"], times, PYTHONPATH=str(newer))


@FORM_AND_TIMES
def test_removal(shop, form: str, copies, times: int):
    installed(shop, "--engine", form)
    interrupt_and_repeat(copies(shop), ["installer", ".", "--remove"], times, PYTHONPATH=str(ROOT), TWICE="1")


@pytest.mark.parametrize("times", [1, *at_night(200)])
def test_renewal_on_a_full_disk(shop, newer: Path, copies, times: int):
    installed(shop)
    command = ["installer", ".", "--parts", "standard"]
    interrupt_and_repeat(copies(shop), command, times, PYTHONPATH=str(newer), FULL_DISK="1")


WRITING = """import os, sys
from pathlib import Path
from installer.journal import all_or_none
code = Path(sys.argv[1])
with all_or_none(code, {code / "edited": b"after", code / "new/file": b"new", code / "gone": None}):
    os._exit(0)
"""


@pytest.mark.parametrize("name", ["edited", "new/file", "gone"])
def test_what_a_user_has_written_since_an_interruption_stays(tmp_path: Path, name: str):
    (tmp_path / "edited").write_text("before")
    (tmp_path / "gone").write_text("before")
    subprocess.run([sys.executable, "-c", WRITING, tmp_path], cwd=ROOT, check=True)
    (tmp_path / name).write_text("mine")
    present = tree(tmp_path)
    with pytest.raises(Unfinished, match=f"{name} was changed since then: move it elsewhere"):
        roll_back(tmp_path)
    assert tree(tmp_path) == present
    (tmp_path / name).rename(tmp_path / "mine")
    assert roll_back(tmp_path)
    assert tree(tmp_path) == {"edited": b"before", "gone": b"before", "mine": b"mine"}
