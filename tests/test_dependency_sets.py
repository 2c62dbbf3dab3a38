"""What `make setup` installs, and that a project passes its checks with it: pinned, newest, lowest; by uv and by pip.

All of the engine's tests run with the pinned versions (test_engine.py), and every night with the newest and the lowest.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import PYTHONS, extras_of, pins, requirements
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from projects import execute, make, python
from test_engine import files, run_engine_tests
from test_readme import plain_path  # noqa: F401

pytestmark = pytest.mark.engine
SOME = files("test_agent.py", "test_checks.py", "test_conf.py", "test_evals.py", "test_wire.py")


needs_uv = pytest.mark.skipif(not shutil.which("uv"), reason="uv is not on the PATH")


def installed(project: Path) -> dict[str, str]:
    """Names and versions of all packages in the project's environment, except those that came with it."""
    said = python(project, "import importlib.metadata as m; [print(d.name, d.version) for d in m.distributions()]")
    found = dict(line.split() for line in said.lower().replace("_", "-").splitlines())
    return {name: version for name, version in found.items() if name not in ("pip", "setuptools")}


def declared(project: Path) -> list[str]:
    return requirements(project, "dev")


@pytest.mark.nightly
@needs_uv
@pytest.mark.parametrize("versions", ["newest", "lowest"])
def test_project_without_extras_passes_its_checks(bake, versions: str):
    """As most people have it: what belongs to an extra is missing."""
    project = bake(project_slug=versions)
    make(project, "check", f"VERSIONS={versions}")
    run_engine_tests(project, *SOME)
    found = installed(project)
    assert "redis" not in found
    if versions == "lowest":
        for requirement in declared(project):
            name, floor = re.match(r"([\w-]+)(?:\[.*?\])?>=([\d.]+)", requirement).groups()
            assert (found[name.lower()] + ".0.0").startswith(floor + "."), requirement


@pytest.mark.nightly
@needs_uv
@pytest.mark.parametrize("engine", ["package", "source"])
def test_pip_and_uv_install_the_same(bake, plain_path: str, engine: str):  # noqa: F811
    by_uv, by_pip = (bake(project_slug=name, engine=engine) for name in ("by_uv", "by_pip"))
    make(by_uv, "setup")
    make(by_pip, "setup", PATH=plain_path)
    assert installed(by_uv) == installed(by_pip)
    pinned = pins(by_uv)
    assert [name for name, version in installed(by_uv).items() if pinned.get(name, version) != version] == []
    # And what pip can't do is said, with nothing changed.
    done = make(by_pip, "setup", "VERSIONS=lowest", status=2, PATH=plain_path)
    assert "VERSIONS=lowest needs uv" in done.stderr
    assert make(by_pip, "setup", PATH=plain_path).stdout.count("Installing") == 0


@pytest.mark.nightly
@needs_uv
def test_a_second_environment_is_made_without_a_network(bake, plain_path: str, tmp_path: Path):  # noqa: F811
    project = bake(engine="package")
    make(project, "setup")
    by_uv = installed(project)
    execute(project, sys.executable, "-m", "pip", "download", "-q", "-d", tmp_path, "-r", ".venv/requirements.txt",
            "-c", "constraints.txt")  # fmt: skip
    for settings in ({"UV_OFFLINE": "1"}, {"PATH": plain_path, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path)}):
        shutil.rmtree(project / ".venv")
        make(project, "setup", **settings)
        assert installed(project) == by_uv


@pytest.mark.nightly
@needs_uv
@pytest.mark.parametrize("python", PYTHONS)
def test_pins_fit_each_python(rendered, python: str):
    """Each package that a project may need has the pinned version, and a wheel of it, for this Python."""
    project = rendered["demo"]
    latest = f"{python}.99"  # without its first releases, which some packages no longer support
    asked = {line for other in rendered.values() for line in requirements(other, *extras_of(other), "dev")}
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:"]
    command += ["--python-version", latest, "-c", "constraints.txt", "-"]
    said = execute(project, *command, stdin="\n".join(asked)).stdout
    pinned = pins(project, python)
    chosen = {requirement.name: requirement for requirement in map(Requirement, said.splitlines())}
    assert chosen["django"].specifier == SpecifierSet(f"=={pinned['django']}")
    assert set(chosen) - set(pinned) == set()


@pytest.mark.nightly
def test_going_back_to_the_pins_installs_them_again(bake_furnished):
    """Else `make check` after `make check VERSIONS=newest` would say nothing about the pins."""
    project = bake_furnished(project_slug="back")
    plan = make(project, "--dry-run", "setup", "VERSIONS=newest").stdout
    assert "--upgrade" in plan
    assert "rm -f .venv/.installed" in plan
    assert "--upgrade" not in make(project, "--dry-run", "setup").stdout
    make(project, "setup", "VERSIONS=oldest", status=2)


@pytest.mark.nightly
@needs_uv
@pytest.mark.parametrize("engine", ["package", "source"])
def test_uv_adds_a_requirement(bake, engine: str):
    """`uv add`, `uv sync` and `uv run` look for versions of all groups and extras at once."""
    project = bake(project_slug="by_uv_alone", model_provider="openai", engine=engine)
    execute(project, "uv", "add", "--quiet", "--no-sync", "six")
    locked = {of["name"]: of.get("version") for of in tomllib.loads((project / "uv.lock").read_text())["package"]}
    assert {"six", "pydantic-evals", "by-uv-alone"} <= set(locked)
    assert any(line.startswith("six>=") for line in declared(project))


def test_extras_are_installed_into_an_environment_that_is_there(bake_furnished):
    project = bake_furnished(project_slug="extended")
    assert "Installing" in make(project, "setup", "EXTRAS=postgres,redis").stdout
    asked = (project / ".venv/requirements.txt").read_text()
    assert "psycopg[binary]" in asked
    assert "redis>=" in asked
    assert "Installing" not in make(project, "setup").stdout
    said = make(project, "setup", "EXTRAS=postgresql redis", status=2).stderr
    assert "There is no extra or group postgresql, only postgres, redis" in said


def without_make(project: Path) -> tuple[str, list[str]]:
    """What README says for Windows, and its commands."""
    said, block = (project / "README.md").read_text().split("Without make, ")[1].split("```")[:2]
    return said, block.splitlines()[1:]


def test_the_commands_without_make_name_what_windows_has(rendered):
    said, commands = without_make(rendered["demo"])
    replaced = re.findall(r"`(\S+)`\s+for\s+`(\S+)`", said)
    assert replaced == [("\\".join([".venv", "Scripts", ""]), ".venv/bin/"), ("copy", "cp")]
    for command in commands:
        for theirs, ours in replaced:
            command = command.replace(ours, theirs)
        program, *words = command.split()
        assert program in ("python", "copy", r".venv\Scripts\python", r".venv\Scripts\pip")
        # A path of cmd.exe may have "/", but not where a program is named.
        assert not [word for word in words if word.startswith(("/", "~", "$", "./"))]


@pytest.mark.nightly
def test_pip_installs_the_dependencies_without_make(bake, tmp_path: Path):
    """As README says for people without make."""
    project = bake(project_slug="without_make", engine="package")
    commands = without_make(project)[1][:3]
    assert "pip install" in commands[-1]
    execute(project, "sh", "-ec", "\n".join(commands))
    found = installed(project)
    names = [re.match(r"[\w-]+", line)[0].lower() for line in declared(project)]
    runtime = tomllib.loads((project / "pyproject.toml").read_text())["project"]["dependencies"]
    assert {re.match(r"[\w-]+", line)[0] for line in runtime} <= set(found)
    assert "pytest" in names
    assert "pytest" not in found
    assert "agui-django" in found
