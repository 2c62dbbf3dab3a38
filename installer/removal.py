"""Take an installation back, unless the project would break without the agent."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from installer import source
from installer.changes import MANIFEST, folder_contents, undo
from installer.errors import Refusal
from installer.project import Project
from installer.requirement_files import read
from installer.requirement_places import TABLES, made_by, texts

REQUIRED = re.compile(r"(?m)^[^#\n]*\bagui[-_]django\b")
OTHER_FOLDERS = {"agui", "node_modules", "site-packages"}
# Python that needs the engine or the assistant: imports, names of modules, and of migrations.
USE = re.compile(
    r"""(?mx) ^[ \t]* (?:from|import) [ \t]+ (?:agui|assistant)\b
    | ["'](?:agui|assistant)\.[\w.]+["']
    | \( \s* ["'](?:agui(?:_\w+)?|assistant)["'] , \s* ["']\d"""
)


class Removal:
    """What takes an installation back. Raises Refusal if something still needs the agent."""

    def __init__(self, project: Project, manifest: dict[str, Any]) -> None:
        self.root, self.code = project.root, project.code
        self.manifest = manifest
        check_tables(project)
        self._check_folders()
        self.texts = dict(self._former_texts())
        self.gone = {self.root / name for name in manifest["new"]}
        self._check_new()
        self._check_uses()
        self._check_requirements(project.directories)

    def describe(self) -> str:
        """The plan for people."""
        folders = [f"{name}/" for name in self.manifest["folders"]]
        paths = [*self.manifest["edits"], *self.manifest["new"], *self.manifest["wheels"], *folders]
        return "\n".join(f"take back  {path}" for path in paths)

    def files(self) -> dict[Path, bytes | None]:
        """What the edited files will hold; None for the files that go."""
        files: dict[Path, bytes | None] = {}
        for path, text in self.texts.items():
            files[path] = text.encode()
        gone = [*self.manifest["wheels"], MANIFEST]
        for name in self.manifest["folders"]:
            gone += folder_contents(self.code, name)
        return files | dict.fromkeys([*self.gone, *(self.code / name for name in gone)])

    # --- What would be lost, or break

    def _check_folders(self) -> None:
        for name, digest in self.manifest["folders"].items():
            contents = folder_contents(self.code, name)
            if contents and source.digest(contents) != digest:
                raise Refusal(
                    f"{self.code / name} was changed since the installation: delete it or move it "
                    "elsewhere, and then remove the rest."
                )

    def _former_texts(self) -> Iterator[tuple[Path, str]]:
        """The edited files as they were, with what the user has changed elsewhere in them."""
        for name, pairs in self.manifest["edits"].items():
            path = self.root / name
            text = read(path) if path.exists() else ""
            former = undo(text, pairs)
            if former is not None:
                yield path, former
            elif "agui" in text or "assistant" in text:
                raise Refusal(
                    f"{path} was changed where the installer has edited it: take these lines out "
                    "yourself."
                )

    def _check_new(self) -> None:
        for name, contents in self.manifest["new"].items():
            path = self.root / name
            if path.exists() and path.read_bytes().decode() != contents:
                raise Refusal(
                    f"{path} was changed since the installation: delete it, and then remove the "
                    "rest."
                )

    def _check_uses(self) -> None:
        """The user's own code, which nobody takes back, must not need what will be gone."""
        for path in modules(self.code):
            if path in self.gone or path.is_relative_to(self.code / "assistant"):
                continue
            text = self.texts.get(path)
            found = USE.search(path.read_text(errors="replace") if text is None else text)
            if found is not None:
                raise Refusal(
                    f"{path} needs the agent ({found[0].strip()!r}): change this file first."
                )

    def _check_requirements(self, directories: list[Path]) -> None:
        """Nothing may require the package that will be gone. What tools make, they make anew."""
        files = [path for path in texts(directories) if made_by(path) is None]
        files += [directory / name for directory in directories for name in TABLES]
        for path in files:
            if path.is_file() and path not in self.gone:
                text = self.texts.get(path)
                if REQUIRED.search(read(path) if text is None else text):
                    raise Refusal(f"{path} requires agui-django: take that out first.")


def check_tables(project: Project, parts: list[str] | None = None) -> None:
    """Refuse to remove code whose tables are there: users could not be deleted any more.

    Only these parts are looked for, or everything.
    """
    commands = []
    for alias, labels in project.facts["tables"].items():
        option = "" if alias == "default" else f" --database {alias}"
        for label in labels:
            if parts is None or label.removeprefix("agui_") in parts:
                commands.append(f"`manage.py migrate {label} zero{option}`")
    if not commands:
        return
    what = "the agent" if parts is None else "these parts"
    otherwise = "" if parts is None else ", or name the parts to keep them"
    raise Refusal(
        f"The database has tables of {what}: run {' and '.join(commands)} first{otherwise}."
    )


def modules(code: Path) -> Iterator[Path]:
    """The project's own Python files."""
    for path in sorted(code.rglob("*.py")):
        folders = path.relative_to(code).parts[:-1]
        if not any(name.startswith(".") or name in OTHER_FOLDERS for name in folders):
            yield path
