"""Brings a newer engine into a project: `python -m agui.distribution.upgrade FROM [CHECKOUT]`.

FROM is a clone of the template, or the address of its repository; CHECKOUT a tag or a branch there.
Run it in the project's directory, and install and migrate afterwards (`make upgrade` does it all).

It imports the standard library only, so it also runs from the wheel in vendor/, when nothing is
installed. If it is interrupted, the same command finishes the upgrade.
"""

import os
import re
import runpy
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

WHEELS = "agui_django-*.whl"
# As cookiecutter has them.
HOSTS = {
    "gh": "https://github.com/{}.git",
    "gl": "https://gitlab.com/{}.git",
    "bb": "https://bitbucket.org/{}",
}
REPLACED = """\
All of agui/ was replaced, also your own changes. Files that differ from the last commit: {count}.
`git diff HEAD -- agui` shows how, and `git checkout -p -- agui` takes back what you choose."""
REQUIREMENT = re.compile(rb"(agui-django(?:\[[\w, -]*\])? *== *)[\w.+!-]+")
# This file is in agui/ from the first replaced file to the last.
UNFINISHED = ".upgrading"


def upgrade(project: Path, address: str, checkout: str = "") -> str:
    """Replace the engine's wheel, or its source, and the versions that go with it.

    Returns:
        the engine's new version
    Raises:
        SystemExit: there is no engine at the address, the project names no version of it, vendor/
            leads out of the project, or git does not have all changes of the source
    """
    required = (project / "pyproject.toml").read_bytes()
    if not REQUIREMENT.search(required):
        sys.exit("pyproject.toml does not require agui-django==VERSION.")
    with template_at(address, checkout) as template:
        engine = find_engine(template)
        if engine is None:
            sys.exit(f"{address} is no clone of the template: it has no engine/agui/.")
        pack = runpy.run_path(str(engine / "distribution/pack.py"))
        version: str = pack["read_version"]()
        with TemporaryDirectory() as directory:
            wheel = Path(directory, pack["build_wheel"](directory))
            if (project / "agui").exists():
                replace_source(project, files_in(wheel))
            else:
                add_wheel(project, wheel)
        take_pins(project / "constraints.txt", next(template.glob("*/constraints.txt")))
        required = REQUIREMENT.sub(rb"\g<1>" + version.encode(), required)
        write_whole(project / "pyproject.toml", required)
        remove_wheels(project / "vendor", but=wheel.name)
    return version


@contextmanager
def template_at(address: str, checkout: str) -> Iterator[Path]:
    """Give a directory with the template."""
    clone = Path(address).expanduser()
    if clone.is_dir() and not checkout:
        yield clone
        return
    host, _, name = address.partition(":")
    address = HOSTS[host].format(name) if host in HOSTS else address
    with TemporaryDirectory() as directory:
        command = ["git", "-c", "advice.detachedHead=false", "clone", "--quiet", "--depth=1"]
        command += [f"--branch={checkout}"] if checkout else []
        command += ["--", address, directory]
        if subprocess.run(command).returncode:  # noqa: S603 - no shell reads what its user wrote
            sys.exit(f"git can't clone {address}.")
        yield Path(directory)


def find_engine(template: Path) -> Path | None:
    """Find the package in a template. Until 0.1.0 it was in the folder of the project."""
    for package in (template / "engine/agui", *template.glob("*/agui")):
        if (package / "distribution/pack.py").exists():
            return package
    return None


def files_in(wheel: Path) -> dict[str, bytes]:
    """Read the files of the package, by their names in it."""
    files = {}
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.startswith("agui/"):
                files[name.removeprefix("agui/")] = archive.read(name)
    return files


def add_wheel(project: Path, wheel: Path) -> None:
    """Put the wheel into vendor/, beside the one that is there."""
    vendor = project / "vendor"
    if not vendor.resolve().is_relative_to(project.resolve()):
        sys.exit(f"vendor/ is a link to {vendor.resolve()}, which is not in the project.")
    write_whole(vendor / wheel.name, wheel.read_bytes())


def remove_wheels(vendor: Path, but: str = "") -> None:
    for wheel in vendor.glob(WHEELS):
        if wheel.name != but:
            wheel.unlink()
    if vendor.is_dir() and not any(vendor.iterdir()):
        vendor.rmdir()


def replace_source(project: Path, files: dict[str, bytes]) -> None:
    """Replace the files of agui/, unless that would lose what somebody has changed there."""
    target = project / "agui"
    if read_source(target) == files:
        return
    if not (target / UNFINISHED).exists() and uncommitted(project) != []:
        sys.exit("agui/ would be replaced: commit it to git first, so that nothing of it is lost.")
    (target / UNFINISHED).touch()
    for name, contents in files.items():
        write_whole(target / name, contents)
    for name in read_source(target).keys() - files.keys() - {UNFINISHED}:
        (target / name).unlink()
    for folder in sorted(target.rglob("*"), reverse=True):  # The inner ones first
        if folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
    (target / UNFINISHED).unlink()


def read_source(folder: Path) -> dict[str, bytes]:
    """Read the files of the engine's source, by their names in it."""
    files = {}
    for path in folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def uncommitted(project: Path) -> list[str] | None:
    """List the files in agui/ that differ from the last commit; None if git can't tell."""
    command = ["git", "-C", str(project), "status", "--porcelain", "--untracked-files=all"]
    status = subprocess.run([*command, "--", "agui"], capture_output=True, text=True)  # noqa: S603
    return None if status.returncode else status.stdout.splitlines()


def take_pins(path: Path, newer: Path) -> None:
    """Pin what the newer engine was tested with. Pins of other packages stay."""
    if not path.exists():
        return
    before = path.read_text("utf-8").splitlines()
    tested = newer.read_text("utf-8").splitlines()
    names = {line.split("==")[0] for line in tested}
    after = [*tested, *(line for line in before if line.split("==")[0] not in names)]
    if sorted(after) != sorted(before):
        write_whole(path, ("\n".join(after) + "\n").encode())


def write_whole(path: Path, contents: bytes) -> None:
    """Write a file completely, or not at all; not if it has these contents already."""
    if path.is_file() and path.read_bytes() == contents:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.new")
    unfinished.write_bytes(contents)
    if path.exists():
        shutil.copymode(path, unfinished)
    os.replace(unfinished, path)


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("Say from where: python -m agui.distribution.upgrade FROM [CHECKOUT]")
    print(f"The engine is now {upgrade(Path.cwd(), *sys.argv[1:])}.")
    if changed := uncommitted(Path.cwd()):
        print(REPLACED.format(count=len(changed)))
