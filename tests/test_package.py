"""The engine as a package: the wheel that a project gets, and what a project is with it."""

import json
import os
import re
import shutil
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import guide
import pytest
from conftest import ENGINE, MANUAL, ROOT, TEMPLATE_NAME, extras_of, requirements
from daily import at_night
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from projects import append, commit, execute, git, make, program, python, replace
from servers import manage

pytestmark = pytest.mark.servers
VERSION, NEXT = json.loads((ROOT / "cookiecutter.json").read_text())["_version"], "99.1.0"
WHEEL = f"agui_django-{VERSION}-py3-none-any.whl"


def wheel_of(project: Path) -> Path:
    [wheel] = (project / "vendor").iterdir()
    return wheel


def metadata_of(wheel: Path) -> Metadata:
    """What installers read: this refuses what is against the standard."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return Metadata.from_email(archive.read(name))


@pytest.fixture(scope="module")
def original(render, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project as the default answers make it, with an environment of its own."""
    project: Path = render(tmp_path_factory.mktemp("packaged"))
    make(project, "setup")
    return project


@pytest.fixture
def packaged(original: Path, tmp_path: Path) -> Path:
    """A copy of it, in git, that a test may change."""
    project = tmp_path / "my assistant"
    shutil.copytree(original, project, ignore=shutil.ignore_patterns(".venv"))
    shutil.copytree(original / ".venv", project / ".venv", symlinks=True, copy_function=os.link)
    commit(project)
    return project


def test_the_wheel_has_all_files_of_the_engine(bake):
    wheel = wheel_of(bake(engine="package"))
    tracked = git(ENGINE, "ls-files", "--cached", "--others", "--exclude-standard", ".").splitlines()
    with zipfile.ZipFile(wheel) as archive:
        there = {name.removeprefix("agui/") for name in archive.namelist() if name.startswith("agui/")}
    assert there == {name for name in tracked if (ENGINE / name).exists()} | {"pyproject.toml"}


def test_a_build_front_end_makes_the_same_wheel_without_network(bake, tmp_path: Path):
    """By way of an archive of the source, as `python -m build` does."""
    project = bake(engine="source")
    wheel = wheel_of(bake(tmp_path / "other", engine="package")).read_bytes()
    for number, source in enumerate((project / "agui", ENGINE.parent)):
        built = tmp_path / str(number)
        execute(project, "uv", "build", "--quiet", "--offline", "--out-dir", built, source)
        assert [path.read_bytes() for path in built.glob("*.whl")] == [wheel]
        assert len([*built.glob("*.tar.gz")]) == 1


def test_the_engine_is_installed_from_its_folder_without_network(template: Path, tmp_path: Path):
    """As by `pip install -e engine`, which imports what is edited."""
    engine = shutil.copytree(template / "engine", tmp_path / "engine")
    execute(tmp_path, "uv", "venv", "--quiet", "--offline", "--python", sys.executable, ".venv")
    install = ["uv", "pip", "install", "--quiet", "--offline", "--no-deps"]
    execute(tmp_path, *install, "--editable", engine, VIRTUAL_ENV=".venv")
    told = python(tmp_path, "import agui; print(agui.__file__, agui.__version__)")
    assert told == f"{engine}/agui/__init__.py {VERSION}"


def test_installers_read_what_the_engine_declares(bake):
    told = metadata_of(wheel_of(bake(engine="package")))
    project = tomllib.loads((ROOT / "engine/pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert (told.name, str(told.version)) == (project["name"], VERSION)
    assert told.provides_extra == [canonicalize_name(extra) for extra in extras]
    declared = [Requirement(line) for line in project["dependencies"]]
    for extra, lines in extras.items():
        for line in lines:
            joint = " and" if Requirement(line).marker else ";"
            declared.append(Requirement(f'{line}{joint} extra == "{canonicalize_name(extra)}"'))
    assert told.requires_dist == declared


def specifiers_of(pyproject: Path) -> dict[str, SpecifierSet]:
    project = tomllib.loads(pyproject.read_text())["project"]
    lines = chain(project["dependencies"], *project["optional-dependencies"].values())
    return {one.name: one.specifier for one in map(Requirement, lines) if one.specifier}


def test_what_project_and_engine_both_need_has_the_same_versions(rendered: dict[str, Path]):
    own, engines = specifiers_of(rendered["demo"] / "pyproject.toml"), specifiers_of(ENGINE.parent / "pyproject.toml")
    both = own.keys() & engines.keys()
    assert both >= {"django", "daphne", "pydantic-ai-slim", "psycopg"}
    assert {name: own[name] for name in both} == {name: engines[name] for name in both}


def test_both_forms_ask_for_the_same(bake, tmp_path: Path):
    """A project with the source names what the package would bring."""
    source, package = (bake(tmp_path / form, engine=form) for form in ("source", "package"))
    extras = extras_of(source)
    assert extras == extras_of(package)
    lines = [line for line in requirements(package, *extras) if not line.startswith("--")]
    chosen = {extra for line in lines if line.startswith("agui-django") for extra in Requirement(line).extras} | {""}
    own = {str(Requirement(line)) for line in lines if not line.startswith("agui-django")}
    for requirement in metadata_of(wheel_of(package)).requires_dist:
        marker, requirement.marker = requirement.marker, None
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in chosen):
            own.add(str(requirement))
    asked = [Requirement(line) for line in requirements(source, *extras)]
    for requirement in asked:
        requirement.marker = None
    assert {str(requirement) for requirement in asked} == own


def test_the_engine_is_ejected_and_can_be_changed(packaged: Path):
    wheel = packaged / "vendor" / WHEEL
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist() if name.startswith("agui/")}
    done = make(packaged, "eject")
    assert done.stdout.endswith("Restart `make run`.\n")
    assert {name: (packaged / name).read_bytes() for name in files} == files
    assert not wheel.exists()
    installed = "import importlib.metadata as m; print([d.name for d in m.distributions() if d.name == 'agui-django'])"
    assert python(packaged, installed) == "[]"
    append(packaged / "agui/money.py", "\nMINE = True\n")
    make(packaged, "setup")
    assert python(packaged, "from agui.money import MINE; print(MINE)") == "True"
    assert tomllib.loads((packaged / "pyproject.toml").read_text())["tool"]["uv"]["sources"]["agui-django"]
    make(packaged, "eject", status=2)


@pytest.mark.nightly
@pytest.mark.parametrize("parts", ["minimal", "standard"])
def test_an_ejected_project_passes_its_own_checks(bake, parts: str):
    """Without the packages of parts that it lacks, although their source is there now."""
    project = bake(parts=parts, engine="package")
    make(project, "eject")
    make(project, "check")
    assert not list((project / ".venv").glob("lib/*/site-packages/rich"))


@pytest.mark.nightly
def test_an_ejected_engine_is_a_package_again(packaged: Path, template: Path):
    """As upgrading.md says."""
    section = guide.sections(MANUAL / "upgrading.md")["Eject the engine, and go back"]
    ejecting, returning = (step.code for step in section.steps if step.language == "sh")
    make(packaged, *ejecting.splitlines()[0].split()[1:])
    append(packaged / "agui/money.py", "\nMINE = True\n")
    make(packaged, "setup")
    execute(packaged, "sh", "-ec", returning)
    where = "from agui import money; print(money.MINE, '.venv' in money.__file__)"
    assert python(packaged, where) == "True True"
    make(packaged, "upgrade", f"FROM={template}")
    assert python(packaged, where.replace("money.MINE", "hasattr(money, 'MINE')")) == "False True"


# What a release may bring: a version, a migration, and another version of a library.
MIGRATION = """from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("agui", "{before}")]
    operations = [migrations.RunSQL("UPDATE assistant_conversation SET title = 'Upgraded'", migrations.RunSQL.noop)]
"""


@pytest.fixture
def newer(template: Path, tmp_path: Path) -> Path:
    """A clone of the template of the next version."""
    directory = tmp_path / "newer"
    shutil.copytree(template, directory)
    engine = directory / "engine/agui"
    replace(engine / "__init__.py", f'__version__ = "{VERSION}"', f'__version__ = "{NEXT}"')
    migrations = sorted((engine / "migrations").glob("0*.py"))
    (engine / "migrations/0099_next.py").write_text(MIGRATION.format(before=migrations[-1].stem))
    replace(directory / TEMPLATE_NAME / "constraints.txt", "whitenoise==", "whitenoise==6.9.0\n# before: ")
    return directory


REQUIRED = "agui-django[admin,attachments,bundle]"
OWN = ["assistant/tools.py", "config/settings.py", "config/urls.py", "users/models.py", "Makefile"]
MAKE_A_THREAD = """
from django.contrib.auth import get_user_model
from assistant.models import Conversation
user = get_user_model().objects.first()
Conversation.objects.create(thread_id="t1", scope=str(user.pk), title="Mine")
"""
TITLES = "from assistant.models import Conversation; print([*Conversation.objects.values_list('title', flat=True)])"


@pytest.fixture(params=["package", *at_night("source")])
def in_use(packaged: Path, request: pytest.FixtureRequest) -> Path:
    """A project with edits in the files of its owner, and rows."""
    if request.param == "source":
        make(packaged, "eject")
    for name in OWN:
        append(packaged / name, "\n# mine\n")
    append(packaged / "constraints.txt", "mine==1.0\n")
    replace(packaged / "pyproject.toml", f"{REQUIRED}==", "agui-django[admin, attachments, bundle] == ")
    commit(packaged)
    manage(packaged, "migrate", "--verbosity", "0")
    manage(packaged, "create_first_admin")
    manage(packaged, "shell", "-c", MAKE_A_THREAD)
    return packaged


def test_an_upgrade_changes_a_file_and_a_line(in_use: Path, newer: Path):
    ejected = (in_use / "agui").exists()
    make(in_use, "upgrade", f"FROM={newer}")
    assert "Upgraded" in manage(in_use, "shell", "-c", TITLES)
    assert python(in_use, "import agui; print(agui.__version__)") == NEXT
    git(in_use, "add", "-A")
    changed = git(in_use, "diff", "--cached", "--name-only", "--no-renames", "--", ".", ":!agui").splitlines()
    wheels = [] if ejected else [f"vendor/{WHEEL}", f"vendor/{WHEEL.replace(VERSION, NEXT)}"]
    assert changed == sorted(["constraints.txt", "pyproject.toml", *wheels])
    [line] = re.findall(r"^\+[^+].*", git(in_use, "diff", "--cached", "--unified=0", "pyproject.toml"), re.MULTILINE)
    assert f'"agui-django[admin, attachments, bundle] == {NEXT}"' in line
    assert "mine==1.0" in (in_use / "constraints.txt").read_text()


def test_an_upgrade_tells_that_changes_of_the_engine_were_replaced(bake_furnished, template: Path):
    project = bake_furnished(engine="source")
    append(project / "agui/money.py", "\nMINE = True\n")
    (project / "agui/mine.py").touch()
    commit(project)

    def upgrade() -> str:
        return program(project, "python", "-m", "agui.distribution.upgrade", template).stdout

    told = upgrade()
    assert "Files that differ from the last commit: 2.\n" in told
    differences, back = re.findall("`git (.*?)`", told)
    assert "-MINE = True" in git(project, *differences.split())
    git(project, *back.split(), stdin="a\n" * 9)
    assert git(project, "status", "--porcelain") == ""
    upgrade()
    commit(project)
    assert upgrade() == f"The engine is now {VERSION}.\n"


@pytest.mark.parametrize("in_use", ["source"], indirect=True)
@pytest.mark.nightly
def test_an_upgrade_loses_no_change_of_the_engine(in_use: Path, newer: Path):
    append(in_use / "agui/money.py", "\nMINE = True\n")
    assert "commit it to git first" in make(in_use, "upgrade", f"FROM={newer}", status=2).stderr
    assert git(in_use, "status", "--porcelain") == " M agui/money.py\n"


def test_an_upgrade_from_what_is_no_template_changes_nothing(packaged: Path, tmp_path: Path):
    for source, told in ((tmp_path, "is no clone of the template"), (tmp_path / "gone", "git can't clone")):
        assert told in make(packaged, "upgrade", f"FROM={source}", status=2).stderr
    assert "Say from where" in make(packaged, "upgrade", status=2).stderr
    assert git(packaged, "status", "--porcelain") == ""
    replace(packaged / "pyproject.toml", f"{REQUIRED}=={VERSION}", REQUIRED)
    commit(packaged)
    said = make(packaged, "upgrade", f"FROM={ROOT}", status=2).stderr
    assert "does not require agui-django==VERSION" in said
    assert git(packaged, "status", "--porcelain") == ""


@pytest.mark.nightly
def test_an_upgrade_from_an_address(packaged: Path, clone: Path):
    """Of a repository, as it was at a tag or a branch."""
    make(packaged, "upgrade", f"FROM=file://{clone}", "CHECKOUT=main")
    assert git(packaged, "status", "--porcelain") == ""
