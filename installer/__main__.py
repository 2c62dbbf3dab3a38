"""The command: python -m installer PATH, which brings the agent, renews it, or takes it back."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from installer import installation, project, requirement_places, resolution, source
from installer.changes import MANIFEST, ignored_by_git
from installer.errors import Refusal, Unfinished
from installer.journal import all_or_none, roll_back, wait_for_others
from installer.plan import plan
from installer.removal import Removal
from installer.renewal import Renewal

DONE = """
The agent is in the project. What comes next, in {code}:

{install}    {python} manage.py migrate
    {python} manage.py runserver

Then sign in and open /assistant/. AGENT_MODEL in the environment names a model; until then the
offline demo answers.
"""

CHANGED = """
The agent is of version {version} now. What comes next, in {code}:

{install}    {python} manage.py migrate
"""

REMOVED = """
The agent is removed from the project. What comes next, in {code}:

{install}
Drop its tables from the project's other databases, such as that of production, before this change
arrives there: run `manage.py migrate assistant zero` in the code with the agent. As long as a table
is there without the code, no user with a row in it can be deleted.
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
    parser.add_argument(
        "--engine",
        choices=source.FORMS,
        help="how the engine comes: a package in vendor/ (this is usual), or its source in agui/",
    )
    parser.add_argument("--python", type=Path, help="the project's own Python")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done")
    parser.add_argument("--remove", action="store_true", help="remove the agent again")
    options = parser.parse_args()
    try:
        print(run(options))
    except Refusal as refusal:
        sys.exit(f"Nothing was changed. {refusal}")
    except Unfinished as unfinished:
        sys.exit(str(unfinished))


def run(options: argparse.Namespace) -> str:
    """Do what the options say; what to print. Raises Refusal or Unfinished."""
    root = options.path.resolve()
    if not root.is_dir():
        raise Refusal(f"There is no directory {root}.")
    code = project.find_manage(root).parent
    wait_for_others(code)
    if roll_back(code):
        print("An earlier run was interrupted: its changes are taken back.")
    manifest_file = code / MANIFEST
    manifest = None
    if manifest_file.exists():
        manifest = json.loads(manifest_file.read_text())
        root = (code / manifest["root"]).resolve()  # As it was named at first
    project.check_links(root, code)
    if manifest is None:
        if options.remove:
            raise Refusal(f"The installer has not been in {root}: {manifest_file} is missing.")
        return install(root, options)
    return (take_back if options.remove else renew)(root, options, manifest)


def install(root: Path, options: argparse.Namespace) -> str:
    found = project.read(root, options.python)
    parts = options.parts or source.PARTS["minimal"]
    form = options.engine or "package"
    changes = plan(found, parts, form)
    fitting, notes = resolution.fitting(found, parts, form)
    if fitting != parts:
        parts = fitting
        changes = plan(found, parts, form)
    changes.notes += notes
    if options.dry_run:
        return changes.describe()
    print(changes.describe())
    changes.new[found.code / MANIFEST] = changes.manifest(found.code, parts, form)
    with all_or_none(found.code, changes.files()):
        verify(found, parts)
    install = install_lines(found, parts, form)
    done = DONE.format(code=found.code, python=found.python, install=install)
    return done + ignored(found.root, list(changes.new))


def renew(root: Path, options: argparse.Namespace, manifest: dict[str, Any]) -> str:
    if options.engine not in (None, manifest["engine"]):
        raise Refusal("Remove the agent, and install it again, to change how its engine comes.")
    parts = options.parts or manifest["parts"]
    has_fewer = not set(manifest["parts"]) <= set(parts)
    found = project.read_installed(root, options.python, "tables" if has_fewer else "settings")
    change = Renewal(found, manifest, parts)
    if not change.is_needed:
        return "The agent is installed already: there is nothing to change."
    fitting, notes = resolution.fitting(found, parts, change.form)
    if fitting != parts:
        if not set(manifest["parts"]) & set(parts) <= set(fitting):
            raise Refusal(" ".join(notes))
        change = Renewal(found, manifest, fitting)
    change.edits.notes += notes
    if options.dry_run:
        return change.describe()
    print(change.describe())
    with all_or_none(found.code, change.files()):
        verify(found, change.parts, change.removed)
    install = install_lines(found, change.parts, change.form, change.same_version)
    done = CHANGED.format(
        version=source.version(), code=found.code, python=found.python, install=install
    )
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


def install_lines(
    found: project.Project, parts: list[str], form: str, replaced: Path | None = None
) -> str:
    """How the project installs what was added."""
    place = requirement_places.find(found.directories)
    wheels = found.code / source.WHEELS if form == "package" else None
    needed = source.requirements(parts, form)
    return indented(installation.commands(found, place, needed, wheels, replaced))


def indented(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for line in lines)


def take_back(root: Path, options: argparse.Namespace, manifest: dict[str, Any]) -> str:
    found = project.read_installed(root, options.python, "tables")
    removal = Removal(found, manifest)
    if options.dry_run:
        return removal.describe()
    with all_or_none(found.code, removal.files()):
        pass
    place = requirement_places.find(found.directories)
    has_package = manifest["engine"] == "package"
    lines = installation.commands_after_removal(found, place, has_package)
    return REMOVED.format(code=found.code, install=indented(lines))


if __name__ == "__main__":
    main()
