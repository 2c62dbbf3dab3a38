"""Changes of files, and .agui.json, which says how to take them back."""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from difflib import SequenceMatcher, unified_diff
from pathlib import Path
from typing import Any

from installer import source

MANIFEST = ".agui.json"


@dataclass
class Changes:
    """What will be written, by path."""

    root: Path
    new: dict[Path, bytes] = field(default_factory=dict)
    edits: dict[Path, tuple[str, str]] = field(default_factory=dict)
    """The text before and after."""
    notes: list[str] = field(default_factory=list)
    """What a person has to do."""

    def write(self, path: Path, text: str) -> None:
        """Plan the text of a file, which may exist."""
        if not path.exists():
            self.new[path] = text.encode()
            return
        before = path.read_bytes().decode()
        if text != before:
            self.edits[path] = (before, text)

    def describe(self) -> str:
        """The plan for people: new files, and each edit as a diff."""
        lines = []
        folders: dict[str, int] = {}
        for path in self.new:
            relative = path.relative_to(self.root)
            top = next((name for name in ("agui", "assistant") if name in relative.parts), None)
            if top is None:
                lines.append(f"new file   {relative}")
            else:
                folder = Path(*relative.parts[: relative.parts.index(top) + 1]).as_posix()
                folders[folder] = folders.get(folder, 0) + 1
        lines += [f"new folder {folder}/ ({count} files)" for folder, count in folders.items()]
        for path, (before, after) in self.edits.items():
            lines.append(f"edit       {path.relative_to(self.root)}")
            diff = unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
            lines += [f"    {line}" for line in list(diff)[2:] if not line.startswith("@@")]
        return "\n".join([*lines, *(f"note       {note}" for note in self.notes)])

    def files(self) -> dict[Path, bytes]:
        """What all these files will hold."""
        return self.new | {path: after.encode() for path, (_, after) in self.edits.items()}

    def manifest(self, code: Path, parts: list[str], form: str) -> bytes:
        """What a later run has to know, as JSON. agui/ and assistant/ are a fingerprint each."""
        digests = {}
        others = dict(self.new)
        for name in ("agui", "assistant"):
            contents = {
                path.relative_to(code).as_posix(): others.pop(path)
                for path in self.new
                if path.is_relative_to(code / name)
            }
            if contents:
                digests[name] = source.digest(contents)
        wheels = [path for path in others if path.suffix == ".whl"]
        edits = {}
        for path, (before, after) in self.edits.items():
            edits[path.relative_to(self.root).as_posix()] = hunks(before, after)
        data = {
            "engine": form,
            "root": os.path.relpath(self.root, code),
            "parts": parts,
            "folders": digests,
            "wheels": [path.relative_to(code).as_posix() for path in wheels],
            "new": {
                path.relative_to(self.root).as_posix(): data.decode()
                for path, data in others.items()
                if path not in wheels
            },
            "edits": edits,
        }
        return manifest_bytes(data)


def manifest_bytes(data: dict[str, Any]) -> bytes:
    return (json.dumps(data, indent=1) + "\n").encode()


def ignored_by_git(root: Path, paths: list[Path]) -> list[str]:
    """The files that the project's own .gitignore leaves out of its commits."""
    git = shutil.which("git")
    if git is None:
        return []
    names = "".join(f"{path.relative_to(root)}\0" for path in paths)
    command = [git, "check-ignore", "-z", "--stdin"]
    done = subprocess.run(command, cwd=root, input=names, capture_output=True, text=True)
    return done.stdout.split("\0")[:-1]


def hunks(before: str, after: str) -> list[list[str]]:
    """The places that differ, as [old text, new text], each with the lines around it."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    found = []
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(1):
        _, old_start, _, new_start, _ = group[0]
        _, _, old_end, _, new_end = group[-1]
        found.append(["".join(old[old_start:old_end]), "".join(new[new_start:new_end])])
    return found


def undo(text: str, pairs: list[list[str]]) -> str | None:
    """A file's text without these edits; None if it was changed at the same places."""
    for before, after in pairs:
        # Edits are whole lines.
        places = [found.span() for found in re.finditer(rf"(?m)^{re.escape(after)}", text)]
        if len(places) != 1:
            return None
        start, end = places[0]
        if text[end:] and before and not before.endswith("\n"):
            # The edit was at the end of a file without a last line end, and now lines follow it.
            before += "\r\n" if after.endswith("\r\n") else "\n"
        text = text[:start] + before + text[end:]
    return text


def folder_contents(code: Path, name: str) -> dict[str, bytes]:
    """The files of agui/ or assistant/ as they are now, without compiled ones."""
    contents = {}
    for path in sorted((code / name).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            contents[path.relative_to(code).as_posix()] = path.read_bytes()
    return contents
