"""Brings a newer engine into a project: `python -m agui.distribution.upgrade FROM [CHECKOUT]`.

FROM is a clone of the template, or the address of its repository; CHECKOUT a tag or a branch there.
Run it in the project's directory, and install and migrate afterwards (`make upgrade` does it all).
"""

import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from agui.distribution.eject import remove_wheels

# As cookiecutter has them.
HOSTS = {
    "gh": "https://github.com/{}.git",
    "gl": "https://gitlab.com/{}.git",
    "bb": "https://bitbucket.org/{}",
}
REPLACED = """\
All of agui/ was replaced, also your own changes. Files that differ from the last commit: {count}.
`git diff HEAD -- agui` shows how, and `git checkout -p -- agui` takes back what you choose."""
REQUIREMENT = re.compile(r"(agui-django(?:\[[\w, -]*\])? *== *)[\w.+!-]+")


def upgrade(project: Path, address: str, checkout: str = "") -> str:
    """Replace the engine's wheel, or its source, and the versions that go with it.

    Returns:
        the engine's new version
    Raises:
        SystemExit: there is no engine at the address, the project names no version of it, or the
            source in the project has changes that git does not have
    """
    if not REQUIREMENT.search((project / "pyproject.toml").read_text("utf-8")):
        sys.exit("pyproject.toml does not require agui-django==VERSION.")
    with template_at(address, checkout) as template:
        engine = next(template.glob("*/agui/pyproject.toml"), None)
        if engine is None:
            sys.exit(f"{address} is no clone of the template: it has no */agui/pyproject.toml.")
        pack = runpy.run_path(str(engine.with_name("distribution") / "pack.py"))
        version: str = pack["read_version"]()
        if (project / "agui").exists():
            replace_source(project, engine.parent)
        else:
            (project / "vendor").mkdir(exist_ok=True)
            name = pack["build_wheel"](str(project / "vendor"))
            remove_wheels(project / "vendor", but=name)
        replace_lines(project / "pyproject.toml", REQUIREMENT, rf"\g<1>{version}")
        take_pins(project / "constraints.txt", engine.parent.with_name("constraints.txt"))
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


def replace_source(project: Path, engine: Path) -> None:
    """Replace agui/, unless that would lose what somebody has changed there."""
    if uncommitted(project) != []:
        sys.exit("agui/ would be replaced: commit it to git first, so that nothing of it is lost.")
    shutil.rmtree(project / "agui")
    shutil.copytree(engine, project / "agui", ignore=shutil.ignore_patterns("__pycache__"))


def uncommitted(project: Path) -> list[str] | None:
    """List the files in agui/ that differ from the last commit; None if git can't tell."""
    command = ["git", "-C", str(project), "status", "--porcelain", "--untracked-files=all"]
    status = subprocess.run([*command, "--", "agui"], capture_output=True, text=True)  # noqa: S603
    return None if status.returncode else status.stdout.splitlines()


def replace_lines(path: Path, pattern: re.Pattern[str], replacement: str) -> None:
    before = path.read_bytes()
    after = pattern.sub(replacement, before.decode()).encode()
    if after != before:
        path.write_bytes(after)


def take_pins(path: Path, newer: Path) -> None:
    """Pin what the newer engine was tested with. Pins of other packages stay."""
    if not path.exists():
        return
    before = path.read_text("utf-8").splitlines()
    tested = newer.read_text("utf-8").splitlines()
    names = {line.split("==")[0] for line in tested}
    after = [*tested, *(line for line in before if line.split("==")[0] not in names)]
    if sorted(after) != sorted(before):
        path.write_text("\n".join(after) + "\n", "utf-8", newline="\n")


if __name__ == "__main__":
    if not 2 <= len(sys.argv) <= 3:
        sys.exit("Say from where: python -m agui.distribution.upgrade FROM [CHECKOUT]")
    print(f"The engine is now {upgrade(Path.cwd(), *sys.argv[1:])}.")
    if changed := uncommitted(Path.cwd()):
        print(REPLACED.format(count=len(changed)))
