"""Files that are written again, and keep what the user has changed in them meanwhile.

`.agentify/` has each file as it was written the last time. A new version is merged with the file by
what has changed since: commit that folder with the files.
"""

import json
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.apps import apps

FOLDER = ".agentify"


def project_folder() -> Path:
    """Find the folder of assistant/: BASE_DIR is another one in many projects, or is not set."""
    return Path(apps.get_app_config("assistant").path).resolve().parent


@dataclass(frozen=True)
class Written:
    """The outcome of writing a file."""

    path: Path
    outcome: str
    """"written", "merged", "unchanged", "conflict" or "foreign"."""


class Workbench:
    """The files of a project, and their last versions."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root / FOLDER

    def write(self, path: Path, text: str) -> Written:
        """Write a file, or merge a new version into it."""
        last = self._last(path)
        if path.exists() and not last.exists():
            # Somebody else wrote this file.
            return Written(path, "foreign")
        outcome = "written"
        merged: str | None = text
        if path.exists():
            current = path.read_text()
            merged = merge(current, last, text, self.folder)
            if merged is None:
                _new_version(path).write_text(text)
                return Written(path, "conflict")
            outcome = "unchanged" if merged == current else "merged"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(merged or "")
        _new_version(path).unlink(missing_ok=True)
        last.parent.mkdir(parents=True, exist_ok=True)
        last.write_text(text)
        return Written(path, outcome)

    def _last(self, path: Path) -> Path:
        relative = path.relative_to(self.root)
        return self.folder / relative.with_name(f"{relative.name}.last")

    # --- What the user has answered

    def answers(self) -> dict[str, dict[str, Any]]:
        """Read the answers for all models, by their labels."""
        path = self.folder / "answers.json"
        if not path.exists():
            return {}
        answers: dict[str, dict[str, Any]] = json.loads(path.read_text())
        return answers

    def remember(self, label: str, answer: dict[str, Any]) -> None:
        """Keep the answers for a model."""
        answers = {**self.answers(), label: answer}
        self.folder.mkdir(exist_ok=True)
        text = json.dumps(answers, indent=2, sort_keys=True)
        (self.folder / "answers.json").write_text(f"{text}\n")


def _new_version(path: Path) -> Path:
    return path.with_name(f"{path.name}.new")


def merge(current: str, last: Path, text: str, folder: Path) -> str | None:
    """Apply to a file what differs between its last version and the new one; None if it can't be.

    Without git, a file is merged only if one side has not changed.
    """
    before = last.read_text()
    if current in (before, text):
        return text
    if text == before:
        return current
    git = shutil.which("git")
    if git is None:
        return None
    ours, theirs = folder / "ours.tmp", folder / "theirs.tmp"
    try:
        ours.write_text(current)
        theirs.write_text(text)
        command = [git, "merge-file", "-p", str(ours), str(last), str(theirs)]
        done = subprocess.run(command, capture_output=True, text=True)  # noqa: S603
    finally:
        ours.unlink(missing_ok=True)
        theirs.unlink(missing_ok=True)
    return done.stdout if done.returncode == 0 else None
