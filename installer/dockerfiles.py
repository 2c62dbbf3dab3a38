"""Find the Dockerfiles that install requirements before they copy the project."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"(?:.+\.)?(?:Dockerfile|Containerfile)(?:[.-].+)?")
DEEPEST = 4
OTHER_FOLDERS = {".git", ".tox", ".venv", "env", "node_modules", "site-packages", "venv"}
INSTALLS = re.compile(
    r"\b(?:pip\d?|piptools|pip-sync|poetry|pdm|pipenv|uv)\s+(?:[^\n;&|]*\s)?(?:install|sync|wheel)\b"
)
COPIES_ALL = re.compile(r"(?mi)^\s*(?:COPY|ADD)\s+(?:--(?!from)\S+\s+)*(?:\.|\./)\s+\S+\s*$")
STAGE = re.compile(r"(?mi)^(?=FROM\b)")
COMMENT = re.compile(r"(?m)^\s*#.*\n?")


def installing(root: Path) -> list[Path]:
    """The Dockerfiles that have to copy a package first."""
    found = []
    for path in _dockerfiles(root):
        text = COMMENT.sub("", path.read_text(errors="replace")).replace("\\\n", " ")
        if any(_installs_first(stage) for stage in STAGE.split(text)):
            found.append(path)
    return found


def _installs_first(stage: str) -> bool:
    first = INSTALLS.search(stage)
    return first is not None and not COPIES_ALL.search(stage[: first.start()])


def _dockerfiles(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        folders[:] = sorted(set(folders) - OTHER_FOLDERS) if depth < DEEPEST else []
        for name in sorted(files):
            if NAME.fullmatch(name):
                yield Path(folder, name)
