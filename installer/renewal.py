"""Give an installation this version of the engine, and other parts. The user's own edits stay."""

from pathlib import Path
from typing import Any

from installer import name_lists, python_files, requirement_files, requirement_places, source
from installer.changes import MANIFEST, Changes, folder_contents, hunks, manifest_bytes, undo
from installer.errors import Refusal
from installer.plan import parse, plan_newer_package, plan_requirements, settings_file
from installer.project import Project
from installer.removal import check_tables, modules

PARTS_LIST = "AGENT_PARTS"


class Renewal:
    """The way from an installation to this engine and these parts. Raises Refusal."""

    def __init__(self, project: Project, manifest: dict[str, Any], parts: list[str]) -> None:
        self.project = project
        self.manifest = manifest
        self.parts = parts
        self.form: str = manifest["engine"]
        self.former: list[str] = manifest["parts"]
        self.added = [part for part in parts if part not in self.former]
        self.removed = [part for part in self.former if part not in parts]
        self.newer = source.engine(self.form)
        self.present = self._read_engine()
        if self.removed:
            check_tables(project, self.removed)
        _check_imports(project, self.removed)
        self.edits = Changes(project.root)
        if self.added or self.removed:
            self._plan_list()
            self._plan_settings()
        self._plan_requirements()

    @property
    def is_needed(self) -> bool:
        return self.present != self.newer or bool(self.edits.edits or self.edits.new)

    @property
    def same_version(self) -> Path | None:
        """The engine's package if it only has other contents than the one of this version."""
        if self.form == "source" or self.present.keys() != self.newer.keys():
            return None
        [name] = self.newer
        return None if self.present == self.newer else self.project.code / name

    def describe(self) -> str:
        """The plan for people."""
        lines = [f"add part    {part}: {source.summary(part)}" for part in self.added]
        lines += [f"remove part {part}: {source.summary(part)}" for part in self.removed]
        if self.present != self.newer:
            lines.append(f"replace     the engine by version {source.version()}")
        return "\n".join([*lines, self.edits.describe()])

    def new_files(self) -> list[Path]:
        """The files that were not there before."""
        engine = [self.project.code / name for name in self.newer if name not in self.present]
        return [*engine, *self.edits.new]

    def _read_engine(self) -> dict[str, bytes]:
        """The files of the engine as they are now. Raises Refusal if the source was changed."""
        code = self.project.code
        if self.form == "package":
            paths = [code / name for name in self.manifest["wheels"]]
            return {
                path.relative_to(code).as_posix(): path.read_bytes()
                for path in paths
                if path.exists()
            }
        present = folder_contents(code, "agui")
        if present != self.newer and source.digest(present) != self.manifest["folders"]["agui"]:
            raise Refusal(
                f"{code / 'agui'} was changed since the installation: an upgrade would lose that."
            )
        return present

    # --- The edits

    def _plan_list(self) -> None:
        path = self.project.code / source.PARTS_FILE
        former = source.parts_module(self.former)
        text = requirement_files.read(path) if path.exists() else former
        if text == former:
            self.edits.write(path, source.parts_module(self.parts))
            return
        module = name_lists.remove(parse(path, text), PARTS_LIST, source.listed(self.removed))
        items = [f'"{name}"' for name in source.listed(self.added)]
        self.edits.write(path, name_lists.extend(module, PARTS_LIST, [], items).code)

    def _plan_settings(self) -> None:
        path = settings_file(self.project)
        module = parse(path, requirement_files.read(path))
        admin_chat = f"agui.contrib.{source.PART_BEFORE_ADMIN}"
        first = [f'"{admin_chat}"'] if source.PART_BEFORE_ADMIN in self.added else []
        last = []
        if source.PART_BEFORE_ADMIN in self.removed:
            module = name_lists.remove(module, "INSTALLED_APPS", [admin_chat])
        if "assistant.parts" not in python_files.sources(module, PARTS_LIST):
            module = python_files.add_import(module, "assistant.parts", PARTS_LIST)
            last = [f"*{PARTS_LIST}"]
        self.edits.write(path, name_lists.extend(module, "INSTALLED_APPS", first, last).code)

    def _plan_requirements(self) -> None:
        """Plan the package's line in its place, or what the source needs as at the first time."""
        if self.form == "package":
            [line] = source.requirements(self.parts, self.form)
            plan_newer_package(self.edits, self.project, line)
            return
        path = requirement_places.find(self.project.directories).path
        original = None
        if path is not None and path.exists():
            text = requirement_files.read(path)
            name = path.relative_to(self.project.root).as_posix()
            original = ""
            if self.manifest["new"].get(name) != text:
                original = undo(text, self.manifest["edits"].get(name, []))
        plan_requirements(self.edits, self.project, self.parts, self.form, original)

    def files(self) -> dict[Path, bytes | None]:
        """What is to be written; None for the files that go."""
        names = [*self.newer, *self.present]
        files = {self.project.code / name: self.newer.get(name) for name in names}
        manifest = manifest_bytes(self._new_manifest())
        return files | self.edits.files() | {self.project.code / MANIFEST: manifest}

    def _new_manifest(self) -> dict[str, Any]:
        folders = dict(self.manifest["folders"])
        if self.form == "source":
            folders["agui"] = source.digest(self.newer)
        new, edits = dict(self.manifest["new"]), dict(self.manifest["edits"])
        assistant = folder_contents(self.project.code, "assistant")
        listing = self.project.code / source.PARTS_FILE
        if source.digest(assistant) == folders["assistant"]:
            assistant[source.PARTS_FILE] = self.edits.files().get(listing) or listing.read_bytes()
            folders["assistant"] = source.digest(assistant)
        for path, contents in self.edits.new.items():
            if path != listing:
                new[path.relative_to(self.project.root).as_posix()] = contents.decode()
        for path, (before, after) in self.edits.edits.items():
            name = path.relative_to(self.project.root).as_posix()
            if new.get(name) == before:
                new[name] = after
            elif path != listing:
                edits[name] = _merged(edits.get(name, []), before, after)
        wheels = list(self.newer) if self.form == "package" else []
        changed = {"parts": self.parts, "folders": folders, "wheels": wheels}
        return self.manifest | changed | {"new": new, "edits": edits}


def _merged(pairs: list[list[str]], before: str, after: str) -> list[list[str]]:
    """All that the installer has edited in a file: now, and earlier."""
    original = undo(before, pairs)
    if original is None:
        return [*hunks(before, after), *pairs]
    return hunks(original, after)


def _check_imports(project: Project, removed: list[str]) -> None:
    edited = {project.code / source.PARTS_FILE, settings_file(project)}
    for path in modules(project.code):
        text = "" if path in edited else path.read_text(errors="replace")
        for part in removed:
            if f"agui.contrib.{part}" in text:
                raise Refusal(
                    f"{path} uses the part {part!r}: change this file first, or name the part to "
                    "keep it."
                )
