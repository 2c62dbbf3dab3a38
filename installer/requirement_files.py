"""Read and edit the files that list packages: TOML (PEP 621, Poetry, Pipenv), and lines for pip."""

import os
import re
import shlex
from pathlib import Path
from typing import Any

import tomlkit
from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

from installer import package_folders, toml_files
from installer.toml_files import read

# Where tables of packages by name are, by tool.
NAMED_TABLES = [("tool", "poetry", "dependencies"), ("packages",)]
# A row without a version that can be compared, such as a path.
UNKNOWN = "file:///elsewhere"
LINES = (".txt", ".in")
INDEXES = re.compile(r"(?m)^\s*(?:-i|--index-url|--extra-index-url)[ =].*$")
INCLUDED = re.compile(r"(?m)^\s*(?:-r|--requirement)[ =]?\s*(\S+)")


def listed(path: Path) -> dict[str, Requirement] | None:
    """The packages of a file by their names; None if it is no list of packages."""
    return _packages_of(path, read(path))


def add(path: Path, text: str, lines: list[str], wheel: Path | None = None) -> str:
    """The file's text with these requirements, unless it has the packages already.

    If their package is a wheel in the project, the file says where that is.
    """
    present = _present(path, text)
    missing = [line for line in lines if canonicalize_name(Requirement(line).name) not in present]
    if not missing:
        return text
    file = None if wheel is None else Path(os.path.relpath(wheel, path.parent)).as_posix()
    if path.suffix in LINES:
        return _with_lines(text, [*_options(file), *missing])
    document = toml_files.parse(path, text)
    array, table = _array(document), _named_table(document)
    for line in missing:
        requirement = Requirement(line)
        if array is None:
            table[requirement.name] = _value(requirement, file)
            continue
        array.append(line)
        if file is not None:
            package_folders.tell_tool(path, document, requirement.name, file)
    after = tomlkit.dumps(document)
    toml_files.check(path, after)
    if "\r\n" in text:
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    return after


def renew(path: Path, text: str, line: str, wheel: Path) -> str | None:
    """The file's text with this version of the package `line`; None if it does not name it."""
    requirement = Requirement(line)
    name = re.escape(requirement.name)
    if canonicalize_name(requirement.name) not in (_packages_of(path, text) or {}):
        return None
    text = re.sub(rf"(?<![\w-]){name}(\[[^\]]*\])? *===? *[\w.+!]+", line, text)
    stem = re.escape(requirement.name.replace("-", "_"))
    text = re.sub(rf"(?<![\w-]){stem}-[\w.+!]+-py3-none-any\.whl", wheel.name, text)
    if path.suffix in LINES:
        return text
    document = toml_files.parse(path, text)
    table = _named_table(document)
    if _array(document) is None and table is not None:
        table[requirement.name]["extras"] = sorted(requirement.extras)
        return tomlkit.dumps(document)
    return text


def _with_lines(text: str, lines: list[str]) -> str:
    end = "\r\n" if "\r\n" in text else "\n"
    if text and not text.endswith("\n"):
        text += end
    return text + "".join(line + end for line in lines)


def _options(wheel: str | None) -> list[str]:
    """Where pip looks for a package; it takes a path from the file that names it."""
    return [] if wheel is None else [f"--find-links {shlex.quote(os.path.dirname(wheel))}"]


def too_old(path: Path, text: str, lines: list[str]) -> list[str]:
    """What to change in a file that has some of these packages, but allows other versions."""
    present = _present(path, text)
    notes = []
    for line in lines:
        needed = Requirement(line)
        kept = present.get(canonicalize_name(needed.name))
        if kept is not None and not kept.url and not _suffices(kept, needed):
            notes.append(f"{path} has {str(kept)!r}, and the agent needs {line!r}: change it.")
    return notes


def _overlaps(kept: Requirement, needed: Requirement) -> bool:
    """Whether a project allows a version that is right."""
    versions = _versions_around(kept.specifier) | _versions_around(needed.specifier)
    both = kept.specifier & needed.specifier
    return any(both.contains(one, prereleases=True) for one in versions)


def _suffices(kept: Requirement, needed: Requirement) -> bool:
    """Whether each version that a project allows is new enough, and one of them is right."""
    versions = _versions_around(kept.specifier) | _versions_around(needed.specifier)
    allowed = [one for one in versions if kept.specifier.contains(one, prereleases=True)]
    oldest = SpecifierSet(",".join(str(one) for one in needed.specifier if ">" in one.operator))
    return (
        needed.extras <= kept.extras
        and all(oldest.contains(one, prereleases=True) for one in allowed)
        and _overlaps(kept, needed)
    )


def _versions_around(specifiers: SpecifierSet) -> set[Version]:
    """Each version that is named, a later one beside it, and the first of all."""
    versions = {Version("0")}
    for specifier in specifiers:
        if specifier.operator == "===":
            continue
        version = Version(specifier.version.removesuffix(".*"))
        later = ".".join(map(str, (*version.release, 1)))
        versions |= {version, Version(later)}
    return versions


# --- What a file lists


def _packages_of(path: Path, text: str) -> dict[str, Requirement] | None:
    if path.suffix in LINES:
        return _by_name(_lines(text))
    document = toml_files.parse(path, text)
    array, table = _array(document), _named_table(document)
    if array is not None:
        return _by_name([str(item) for item in array])
    return None if table is None else _by_name([_line(name, table[name]) for name in table])


def _present(path: Path, text: str) -> dict[str, Requirement]:
    """The packages of a file that has this text, and those of the files that it reads."""
    present = dict(_packages_of(path, text) or {})
    for other in included(path):
        present |= listed(other) or {}
    return present


def included(path: Path) -> set[Path]:
    """The files that a file of lines reads, directly or not."""
    paths: set[Path] = set()
    waiting = [path] if path.suffix in LINES and path.exists() else []
    while waiting:
        reader = waiting.pop()
        for name in INCLUDED.findall(read(reader)):
            other = (reader.parent / name).resolve()
            if other.is_file() and other not in paths:
                paths.add(other)
                waiting.append(other)
    return paths


def _lines(text: str) -> list[str]:
    """The lines that name packages, without comments, options and hashes."""
    text = text.removeprefix("\ufeff").replace("\\\r\n", " ").replace("\\\n", " ")
    lines = [line.partition(" #")[0].partition(" --")[0].strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(("#", "-"))]


# --- TOML


def _array(document: Any) -> Any:
    return document.get("project", {}).get("dependencies")


def _named_table(document: Any) -> Any:
    """The table of Poetry or Pipenv; None if there is none."""
    for keys in NAMED_TABLES:
        table = document
        for key in keys:
            table = table.get(key, {})
        if table:
            return table
    return None


def _line(name: str, value: Any) -> str:
    """A row of such a table as a line for pip; without a version if it is no plain one."""
    options = value if isinstance(value, dict) else {"version": value}
    extras = ",".join(options.get("extras", []))
    version = options.get("version")
    if not isinstance(version, str) or "|" in version:
        return f"{name} @ {UNKNOWN}"
    return f"{name}[{extras}]{_specifiers(version)}"


def _specifiers(version: str) -> str:
    """Poetry's way to write versions in Python's."""
    specifiers = []
    for text in version.replace(" ", "").split(","):
        if text[:1] == "^" or (text[:1] == "~" and text[:2] != "~="):
            numbers = list(Version(text[1:]).release)
            # The first number that is not zero stays with "^", the second with "~".
            last = next((i for i, number in enumerate(numbers) if number), 0)
            if text[0] == "~":
                last = min(1, len(numbers) - 1)
            upper = [*numbers[:last], numbers[last] + 1]
            specifiers.append(f">={text[1:]},<{'.'.join(map(str, upper))}")
        elif text[:1].isdigit():
            specifiers.append(f"=={text}")
        elif text != "*":
            specifiers.append(text)
    return ",".join(specifiers)


def _value(requirement: Requirement, wheel: str | None) -> Any:
    """A requirement as a row of such a table."""
    if not requirement.extras and not requirement.marker and wheel is None:
        return str(requirement.specifier)
    row = tomlkit.inline_table()
    if wheel is None:
        row["version"] = str(requirement.specifier)
    else:
        row["path"] = wheel
    if requirement.extras:
        row["extras"] = sorted(requirement.extras)
    if requirement.marker:
        row["markers"] = str(requirement.marker)
    return row


# --- Packages by name


def _by_name(lines: list[str]) -> dict[str, Requirement]:
    """The requirements that hold here, by their names, without what is none, such as a path."""
    packages = {}
    for line in lines:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if requirement.marker is None or requirement.marker.evaluate():
            packages[canonicalize_name(requirement.name)] = requirement
    return packages
