"""Commands that are killed at any of their changes to files: run again, they finish."""

import os
import shutil
import sys
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import ROOT, TEMPLATE_NAME
from daily import at_night, rows_at_night
from interrupting import interrupter, tree
from projects import commit, execute, replace
from test_installer import form, fresh_shop, installed, shop

from installer.errors import Unfinished
from installer.journal import roll_back

__all__ = ["form", "fresh_shop", "shop"]  # fixtures

TIMES = [pytest.param(1, id="once"), *at_night(200)]
# How the engine comes, and how often the installer is killed
FORM_AND_TIMES = pytest.mark.parametrize(
    ("form", "times"), [("package", 1), *rows_at_night(("package", 200), ("source", 200))], indirect=["form"]
)


@pytest.fixture
def newer(template: Path, tmp_path: Path) -> Path:
    """A template with another engine: a file is new, one has changed, one is gone."""
    directory = tmp_path / "newer"
    shutil.copytree(template, directory)
    engine = directory / "engine/agui"
    replace(engine / "__init__.py", '_ = "', '_ = "99.')
    (engine / "manual/tools.md").write_text("# Tools\n")
    (engine / "manual/later.md").unlink(missing_ok=True)
    shutil.rmtree(engine / "contrib/voice")
    (engine / "contrib/later").mkdir()
    (engine / "contrib/later/__init__.py").write_text('"""New."""\n')
    replace(directory / TEMPLATE_NAME / "constraints.txt", "whitenoise==", "whitenoise==6.9.0\n# before: ")
    return directory


@pytest.fixture(scope="module")
def interrupt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., None]]:
    """Interrupt a command in copies of a project, and repeat it."""
    with interrupter(tmp_path_factory.mktemp("interrupted")) as interrupt:
        yield interrupt


@pytest.fixture
def packaged(bake) -> tuple[Path, Path]:
    """A project with the package, and its wheel."""
    project = bake(engine="package", parts="standard")
    [wheel] = (project / "vendor").iterdir()
    return project, wheel


@pytest.mark.parametrize("times", TIMES)
def test_upgrade_of_the_package(packaged, newer: Path, interrupt, times: int):
    project, wheel = packaged
    interrupt(project, ["agui.distribution.upgrade", newer], times, PYTHONPATH=f"vendor/{wheel.name}")


@pytest.mark.parametrize("times", TIMES)
def test_upgrade_of_the_source(bake, newer: Path, interrupt, times: int):
    project = bake(engine="source", parts="standard")
    commit(project)
    interrupt(project, ["agui.distribution.upgrade", newer], times)


@pytest.mark.parametrize("times", TIMES)
def test_eject(packaged, interrupt, tmp_path: Path, times: int):
    project, wheel = packaged
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    interrupt(project, ["agui.distribution.eject"], times, PYTHONPATH=str(tmp_path / "installed"))


def test_wheel_stays_inside_the_project(packaged, newer: Path, tmp_path: Path):
    project, wheel = packaged
    (project / "vendor").rename(tmp_path / "elsewhere")
    (project / "vendor").symlink_to(tmp_path / "elsewhere")
    done = execute(project, "python", newer / "engine/agui/distribution/upgrade.py", newer, status=1)
    assert "vendor/ is a link" in done.stderr
    assert os.listdir(tmp_path / "elsewhere") == [wheel.name]


@FORM_AND_TIMES
def test_installation(shop, form: str, interrupt, times: int):
    interrupt(shop, ["installer", ".", "--engine", form], times, PYTHONPATH=str(ROOT))


@pytest.mark.nightly
@FORM_AND_TIMES
def test_renewal(shop, form: str, newer: Path, interrupt, times: int):
    """Of the engine, and of the parts."""
    installed(shop, "--engine", form)
    interrupt(shop, ["installer", ".", "--parts", "standard"], times, PYTHONPATH=str(newer))


@FORM_AND_TIMES
def test_removal(shop, form: str, interrupt, times: int):
    installed(shop, "--engine", form)
    interrupt(shop, ["installer", ".", "--remove"], times, PYTHONPATH=str(ROOT), TWICE="1")


@pytest.mark.nightly
def test_renewal_on_a_full_disk(shop, newer: Path, interrupt):
    installed(shop)
    interrupt(shop, ["installer", ".", "--parts", "standard"], 200, PYTHONPATH=str(newer), FULL_DISK="1")


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
    execute(ROOT, sys.executable, "-c", WRITING, tmp_path)
    (tmp_path / name).write_text("mine")
    present = tree(tmp_path)
    with pytest.raises(Unfinished, match=f"{name} was changed since then: move it elsewhere"):
        roll_back(tmp_path)
    assert tree(tmp_path) == present
    (tmp_path / name).rename(tmp_path / "mine")
    assert roll_back(tmp_path)
    assert tree(tmp_path) == {"edited": b"before", "gone": b"before", "mine": b"mine"}
