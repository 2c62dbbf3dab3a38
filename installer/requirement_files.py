"""Add requirements to the file in which a project lists its own."""

from pathlib import Path
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

REQUIREMENT_FILES = [
    "requirements/base.in",
    "requirements/base.txt",
    "requirements.in",
    "requirements.txt",
]


def find(directories: list[Path]) -> Path:
    """Find the file. A project without one gets a requirements.txt."""
    for directory in directories:
        pyproject = directory / "pyproject.toml"
        if pyproject.exists():
            document = tomlkit.parse(read(pyproject))
            if "dependencies" in document.get("project", {}):
                return pyproject
            if "dependencies" in document.get("tool", {}).get("poetry", {}):
                return pyproject
        for name in REQUIREMENT_FILES:
            if (directory / name).exists():
                return directory / name
    return directories[0] / "requirements.txt"


def add(path: Path, text: str, lines: list[str]) -> str:
    """The file's text with these requirements."""
    if path.suffix != ".toml":
        return _add_lines(text, lines)
    document = tomlkit.parse(text)
    if "dependencies" in document.get("project", {}):
        return _add_to_project(document, lines)
    return _add_to_poetry(document, lines)


def read(path: Path) -> str:
    """A file's text with its own line ends."""
    return path.read_bytes().decode()


def _missing(lines: list[str], listed: list[str]) -> list[str]:
    names = {canonicalize_name(name) for name in listed}
    missing = []
    for line in lines:
        if canonicalize_name(Requirement(line).name) not in names:
            missing.append(line)
    return missing


def _names(lines: list[str]) -> list[str]:
    """The packages of requirements, without what is none, such as an option of pip."""
    names = []
    for line in lines:
        try:
            names.append(
                Requirement(line.partition(" #")[0].rstrip("\\ ").partition(" --")[0]).name
            )
        except InvalidRequirement:
            continue
    return names


def _add_to_project(document: Any, lines: list[str]) -> str:
    dependencies = document["project"]["dependencies"]
    for line in _missing(lines, _names([str(item) for item in dependencies])):
        dependencies.append(line)
    return tomlkit.dumps(document)


def _add_to_poetry(document: Any, lines: list[str]) -> str:
    dependencies = document["tool"]["poetry"]["dependencies"]
    for line in _missing(lines, list(dependencies)):
        requirement = Requirement(line)
        version: Any = str(requirement.specifier)
        if requirement.extras:
            table = tomlkit.inline_table()
            table["version"] = version
            table["extras"] = sorted(requirement.extras)
            version = table
        dependencies[requirement.name] = version
    return tomlkit.dumps(document)


def _add_lines(text: str, lines: list[str]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += end
    return text + "".join(line + end for line in _missing(lines, _names(text.splitlines())))
