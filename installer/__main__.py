"""The command: python -m installer PATH [--parts standard] [--python PATH] [--dry-run] [--remove]."""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from installer import project, source
from installer.changes import MANIFEST, Changes, folder_contents, manifest_bytes, remove, replace_folder
from installer.errors import Refusal
from installer.plan import plan

DONE = """
The agent is in the project. What comes next, in {code}:

    {install}
    {python} manage.py migrate
    {python} manage.py runserver

Then sign in and open /assistant/. AGENT_MODEL in the environment names a model; until then the offline demo answers.
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="installer", description="Bring an AI agent into a Django project.")
    parser.add_argument("path", type=Path, help="the project's directory")
    parser.add_argument("--parts", choices=source.PARTS, default="minimal", help="how much of the engine")
    parser.add_argument("--python", type=Path, help="the project's own Python")
    parser.add_argument("--dry-run", action="store_true", help="print what would be done")
    parser.add_argument("--remove", action="store_true", help="take the installation back")
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
        return take_back(root, code, options.dry_run)
    if manifest_file.exists():
        return upgrade(code, json.loads(manifest_file.read_text()), options.dry_run)
    return install(root, options)


def install(root: Path, options: argparse.Namespace) -> str:
    found = project.read(root, options.python)
    parts = source.PARTS[options.parts]
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
    return DONE.format(code=found.code, python=found.python, install=install_command(found, changes, parts))


def verify(found: project.Project, parts: list[str]) -> None:
    """Read the settings again. Raises Refusal if they lack what was written."""
    facts = project.probe(found.manage, found.python, "settings")
    names = facts["installed_apps"]
    for name in ("agui", "assistant", *(f"agui.contrib.{part}" for part in parts)):
        if name not in names:
            raise Refusal(f"The settings take {name!r} out of INSTALLED_APPS again.")
    if not facts["asgi_application"]:
        raise Refusal("The settings take ASGI_APPLICATION away again.")


def install_command(found: project.Project, changes: Changes, parts: list[str]) -> str:
    """How the project installs what was added."""
    if (found.root / "uv.lock").exists():
        return "uv sync"
    if (found.root / "poetry.lock").exists():
        return "poetry lock && poetry install"
    for path in [*changes.edits, *changes.new]:
        if path.suffix == ".txt" and "requirements" in path.as_posix():
            return f"{found.python} -m pip install -r {path}"
    lines = " ".join(f"'{line}'" for line in source.requirements(parts))
    return f"{found.python} -m pip install {lines}"


def upgrade(code: Path, manifest: dict[str, Any], is_dry_run: bool) -> str:
    """Bring the engine of an installation to this version. Its assistant/ and edits stay as they are."""
    files = source.files(manifest["parts"])
    engine = {name: data for name, data in files.items() if name.startswith("agui/")}
    present = folder_contents(code, "agui")
    if present == engine:
        return "The agent is installed already: there is nothing to change."
    if source.digest(present) != manifest["folders"]["agui"]:
        raise Refusal(f"{code / 'agui'} was changed since the installation: an upgrade would lose that.")
    if is_dry_run:
        return f"replace    {code / 'agui'} by this version"
    manifest["folders"]["agui"] = source.digest(engine)
    replace_folder(code, "agui", engine | {MANIFEST: manifest_bytes(manifest)})
    return f"{code / 'agui'} is of this version now: run manage.py migrate."


def take_back(root: Path, code: Path, is_dry_run: bool) -> str:
    manifest_file = code / MANIFEST
    if not manifest_file.exists():
        raise Refusal(f"The installer has not been in {root}: {manifest_file} is missing.")
    manifest = json.loads(manifest_file.read_text())
    if is_dry_run:
        paths = [
            *manifest["edits"],
            *manifest["new"],
            *(f"{name}/" for name in manifest["folders"]),
        ]
        return "\n".join(f"take back  {path}" for path in paths)
    remove(root, code, manifest)
    return "The agent is out of the project. Its tables, if there are some, are still in the database."


if __name__ == "__main__":
    main()
