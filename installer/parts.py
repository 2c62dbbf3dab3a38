"""Give an installation other parts: add some, remove some. The user's own edits stay."""

from pathlib import Path
from typing import Any

from installer import name_lists, python_files, requirement_files, requirement_places, source
from installer.changes import (
    MANIFEST,
    Changes,
    folder_contents,
    hunks,
    manifest_bytes,
    replace_folder,
    undo,
)
from installer.errors import Refusal
from installer.plan import parse, plan_requirements, settings_file
from installer.project import Project
from installer.removal import check_tables, modules

PARTS_LIST = "AGENT_PARTS"


class PartsChange:
    """The way from an installation's parts to those that it is to have. Raises Refusal."""

    def __init__(self, project: Project, manifest: dict[str, Any], parts: list[str]) -> None:
        self.project = project
        self.manifest = manifest
        self.parts = parts
        self.former: list[str] = manifest["parts"]
        self.added = [part for part in parts if part not in self.former]
        self.removed = [part for part in self.former if part not in parts]
        self.engine = folder_contents(project.code, "agui")
        if self.engine != source.engine(self.former):
            raise Refusal(
                f"{project.code / 'agui'} is not of this version: run the installer without parts "
                "first."
            )
        if self.removed:
            check_tables(project, self.removed)
        _check_imports(project, self.removed)
        self.edits = Changes(project.root)
        self._plan_list()
        self._plan_settings()
        if self.needs_packages:
            self._plan_requirements()

    @property
    def needs_packages(self) -> bool:
        return source.requirements(self.parts) != source.requirements(self.former)

    def describe(self) -> str:
        """The plan for people."""
        lines = [f"add part    {part}: {source.summary(part)}" for part in self.added]
        lines += [f"remove part {part}: {source.summary(part)}" for part in self.removed]
        return "\n".join([*lines, self.edits.describe()])

    def new_files(self) -> list[Path]:
        """The files that come with the parts."""
        engine = [
            self.project.code / name
            for name in source.engine(self.parts)
            if name not in self.engine
        ]
        return [*engine, *self.edits.new]

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
        """Write the file as an installation with these parts would have written it."""
        place = requirement_places.find(self.project.directories)
        original = None
        if place.path is not None and place.path.exists():
            text = requirement_files.read(place.path)
            name = place.path.relative_to(self.project.root).as_posix()
            original = ""
            if self.manifest["new"].get(name) != text:
                original = undo(text, self.manifest["edits"].get(name, []))
        plan_requirements(self.edits, place, self.parts, original)

    # --- All or nothing

    def apply(self) -> None:
        """Write everything. If anything fails, the project is as before."""
        engine = source.engine(self.parts)
        manifest = manifest_bytes(self._new_manifest(engine))
        replace_folder(self.project.code, "agui", engine | {MANIFEST: manifest})
        try:
            self.edits.apply()
        except BaseException:
            self.restore()
            raise

    def restore(self) -> None:
        """Take back what apply() has written."""
        self.edits.restore()
        manifest = manifest_bytes(self.manifest)
        replace_folder(self.project.code, "agui", self.engine | {MANIFEST: manifest})

    def _new_manifest(self, engine: dict[str, bytes]) -> dict[str, Any]:
        folders = self.manifest["folders"] | {"agui": source.digest(engine)}
        new, edits = dict(self.manifest["new"]), dict(self.manifest["edits"])
        assistant = folder_contents(self.project.code, "assistant")
        listing = self.project.code / source.PARTS_FILE
        if source.digest(assistant) == folders["assistant"]:
            assistant[source.PARTS_FILE] = self.edits.contents(listing)
            folders["assistant"] = source.digest(assistant)
        for path, (before, after) in self.edits.edits.items():
            name = path.relative_to(self.project.root).as_posix()
            if new.get(name) == before:
                new[name] = after
            elif path != listing:
                edits[name] = _merged(edits.get(name, []), before, after)
        return {"parts": self.parts, "folders": folders, "new": new, "edits": edits}


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
