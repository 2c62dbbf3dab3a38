"""The command: python -m installer PATH [--parts NAMES] [--python PATH] [--dry-run] [--remove]."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from installer import installation, project, requirement_places, source
from installer.changes import (
    MANIFEST,
    folder_contents,
    ignored_by_git,
    manifest_bytes,
    replace_folder,
)
from installer.errors import Refusal
from installer.parts import PartsChange
from installer.plan import plan
from installer.removal import Removal

DONE = """
The agent is in the project. What comes next, in {code}:

{install}    {python} manage.py migrate
    {python} manage.py runserver

Then sign in and open /assistant/. AGENT_MODEL in the environment names a model; until then the
offline demo answers.
"""

CHANGED = """
The project has other parts now. What comes next, in {code}:

{install}    {python} manage.py migrate
"""

REMOVED = """
The agent is removed from the project. Drop its tables from the project's other databases, such as
that of production, before this change arrives there: run `manage.py migrate assistant zero` in the
present code. As long as a table is there without the code, no user with a row in it can be deleted.
"""

IGNORED = """
Your .gitignore leaves out files that the agent needs. Add them by force:

    git add --force {names}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="installer", description="Bring an AI agent into a Django project."
    )
    parser.add_argument("path", type=Path, help="the project's directory")
    parser.add_argument(
        "--parts",
        type=source.named,
        help="all parts that it is to have: minimal, standard, everything, or names",
    )
    parser.add_argument("--python", type=Path, help="the project's own Python")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done")
    parser.add_argument("--remove", action="store_true", help="remove the agent again")
    options = parser.parse_args()
    try:
        print(run(options))
    except Refusal as refusal:
        sys.exit(f"Nothing was changed. {refusal}")


def run(options: argparse.Namespace) -> str:
    """Do what the options say; what to print. Raises Refusal."""
    root = options.path.resolve()
    if not root.is_dir():
        raise Refusal(f"There is no directory {root}.")
    code = project.find_manage(root).parent
    manifest_file = code / MANIFEST
    if options.remove:
        return take_back(root, code, options)
    if manifest_file.exists():
        manifest = json.loads(manifest_file.read_text())
        if options.parts in (None, manifest["parts"]):
            return upgrade(code, manifest, options.dry_run)
        return change_parts(root, options, manifest)
    return install(root, options)


def install(root: Path, options: argparse.Namespace) -> str:
    found = project.read(root, options.python)
    parts = options.parts or source.PARTS["minimal"]
    changes = plan(found, parts)
    if options.dry_run:
        return changes.describe()
    print(changes.describe())
    changes.new[found.code / MANIFEST] = changes.manifest(found.code, parts)
    changes.apply()
    try:
        verify(found, parts)
    except BaseException:
        changes.restore()
        raise
    install = install_lines(found, parts)
    done = DONE.format(code=found.code, python=found.python, install=install)
    return done + ignored(found.root, list(changes.new))


def change_parts(root: Path, options: argparse.Namespace, manifest: dict[str, Any]) -> str:
    has_fewer = not set(manifest["parts"]) <= set(options.parts)
    found = project.read_installed(root, options.python, "tables" if has_fewer else "settings")
    change = PartsChange(found, manifest, options.parts)
    if options.dry_run:
        return change.describe()
    print(change.describe())
    change.apply()
    try:
        verify(found, change.parts, change.removed)
    except BaseException:
        change.restore()
        raise
    install = install_lines(found, change.parts) if change.needs_packages else ""
    done = CHANGED.format(code=found.code, python=found.python, install=install)
    return done + ignored(found.root, change.new_files())


def ignored(root: Path, paths: list[Path]) -> str:
    """What to say of new files that git ignores."""
    names = ignored_by_git(root, paths)
    return IGNORED.format(names=" ".join(names)) if names else ""


def verify(found: project.Project, parts: list[str], removed: Sequence[str] = ()) -> None:
    """Read the settings again. Raises Refusal if they are not what was written."""
    facts = project.probe(found.manage, found.python, "settings")
    names = facts["installed_apps"]
    for name in ("agui", "assistant", *(f"agui.contrib.{part}" for part in parts)):
        if names.count(name) != 1:
            what = (
                "take {!r} out of INSTALLED_APPS again" if name not in names else "list {!r} twice"
            )
            raise Refusal(f"The settings {what.format(name)}.")
    for part in removed:
        if f"agui.contrib.{part}" in names:
            raise Refusal(
                f"The settings list 'agui.contrib.{part}' where the installer did not write it."
            )
    if not facts["asgi_application"]:
        raise Refusal("The settings take ASGI_APPLICATION away again.")


def install_lines(found: project.Project, parts: list[str]) -> str:
    """How the project installs what was added."""
    place = requirement_places.find(found.directories)
    lines = installation.commands(found, place, source.requirements(parts))
    return "".join(f"    {line}\n" for line in lines)


def upgrade(code: Path, manifest: dict[str, Any], is_dry_run: bool) -> str:
    """Bring the engine of an installation to this version, and leave its assistant/ and edits."""
    engine = source.engine(manifest["parts"])
    present = folder_contents(code, "agui")
    if present == engine:
        return "The agent is installed already: there is nothing to change."
    if source.digest(present) != manifest["folders"]["agui"]:
        raise Refusal(
            f"{code / 'agui'} was changed since the installation: an upgrade would lose that."
        )
    if is_dry_run:
        return f"replace    {code / 'agui'} by this version"
    manifest["folders"]["agui"] = source.digest(engine)
    replace_folder(code, "agui", engine | {MANIFEST: manifest_bytes(manifest)})
    return f"{code / 'agui'} is of this version now: run manage.py migrate."


def take_back(root: Path, code: Path, options: argparse.Namespace) -> str:
    manifest_file = code / MANIFEST
    if not manifest_file.exists():
        raise Refusal(f"The installer has not been in {root}: {manifest_file} is missing.")
    found = project.read_installed(root, options.python, "tables")
    removal = Removal(found, json.loads(manifest_file.read_text()))
    if options.dry_run:
        return removal.describe()
    removal.apply()
    return REMOVED


if __name__ == "__main__":
    main()
