"""Ask the project's own tool whether its requirements and the agent's can be had together.

Nothing is installed. The tool looks for packages where it always does.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from installer import requirement_files, requirement_places, source
from installer.errors import Refusal
from installer.project import Project

SECONDS = 600
# What uv and pip say of requirements that exclude each other.
IN_CONFLICT = ("No solution found", "ResolutionImpossible", "resolution-too-deep")
EXCLUDED = "Your requirements exclude the agent: {reason}. Allow another version there first."
LEFT_OUT = (
    "Your requirements exclude the part {part!r}, which is left out: {reason}. To have it, allow "
    "another version there, and run the command again with all parts that you want."
)
NEEDY = "The part {part!r} is left out, too: it needs {needed!r}."
UNKNOWN = (
    "Your requirements and the agent's could not be tried together, because {which} can't be "
    "resolved: {text}"
)


@dataclass
class Packages:
    """The versions that a tool has found, and who asks for a package."""

    versions: dict[str, str]
    askers: dict[str, list[str]]


class Unresolved(Exception):
    """Why a tool has found no versions."""

    def __init__(self, text: str) -> None:
        lines = [line.strip() for line in text.splitlines() if not line.startswith("WARNING")]
        super().__init__(" ".join(lines)[:400].rstrip("."))
        is_offline = "network was disabled" in text
        self.is_conflict = not is_offline and any(words in text for words in IN_CONFLICT)


def fitting(project: Project, parts: list[str], form: str) -> tuple[list[str], list[str]]:
    """Return the parts that the project's requirements allow, and notes on the others.

    Raises Refusal if they don't even allow the engine.
    """
    path = requirement_places.find(project.directories).path
    if path is None or not path.exists():
        return parts, []
    try:
        _resolve(project, path, source.requirements(parts, form))
        return parts, []
    except Unresolved as error:
        failure = error
    try:
        own = _resolve(project, path, [])
    except Unresolved as error:
        return parts, [UNKNOWN.format(which="yours alone", text=error)]
    if not failure.is_conflict:
        return parts, [UNKNOWN.format(which="both", text=failure)]
    return _without_conflicts(project, path, parts, form, own)


def _without_conflicts(
    project: Project, path: Path, parts: list[str], form: str, own: Packages
) -> tuple[list[str], list[str]]:
    kept = [part for part in parts if part not in source.packages()]
    try:
        _resolve(project, path, source.requirements(kept, form))
    except Unresolved as error:
        reason = _reason(source.packages()[""], own, str(error))
        raise Refusal(EXCLUDED.format(reason=reason)) from None
    notes = []
    for part in sorted(set(parts) - set(kept), key=parts.index):
        try:
            _resolve(project, path, source.requirements([*kept, part], form))
        except Unresolved as error:
            reason = _reason(source.packages()[part], own, str(error))
            notes.append(LEFT_OUT.format(part=part, reason=reason))
        else:
            kept.append(part)
    for part in parts:
        for needed in source.needs(part):
            if part in kept and needed in parts and needed not in kept:
                kept.remove(part)
                notes.append(NEEDY.format(part=part, needed=needed))
    return [part for part in parts if part in kept], notes


def _reason(lines: list[str], own: Packages, text: str) -> str:
    """Say which package of the agent's and which of the project's exclude each other."""
    for line in lines:
        needed = Requirement(line)
        name = canonicalize_name(needed.name)
        version = own.versions.get(name)
        if version is not None and not needed.specifier.contains(version, prereleases=True):
            askers = ", ".join(own.askers.get(name, []))
            through = f" (through {askers})" if askers else ""
            return f"it needs {line!r}, and yours lead to {name} {version}{through}"
    return text


# --- The tools


def _resolve(project: Project, path: Path, lines: list[str]) -> Packages:
    """Find versions for what a file lists and for these lines. Raises Unresolved."""
    with TemporaryDirectory() as directory:
        wheel = Path(directory, source.wheel()[0])
        wheel.parent.mkdir()
        wheel.write_bytes(source.wheel()[1])
        text = "\n".join([*_lines_of(path), f"--find-links {wheel.parent}", *lines])
        requirements = Path(directory, "requirements.in")
        requirements.write_text(text)
        if _is_of_uv(project):
            return _by_uv(project, path, requirements)
        return _by_pip(project, path, requirements)


def _lines_of(path: Path) -> list[str]:
    """Write what a file and those that it reads list, without what is fetched from addresses."""
    lines = []
    for file in [path, *requirement_files.included(path)]:
        text = requirement_files.read(file)
        if file.suffix in requirement_files.LINES:
            lines += requirement_files.INDEXES.findall(text)
            names = requirement_places.CONSTRAINTS.findall(text)
            lines += [f"-c {file.parent / name}" for name in names if "://" not in name]
        packages = requirement_files.listed(file) or {}
        for name, requirement in packages.items():
            if name not in ("python", source.PACKAGE) and not requirement.url:
                lines.append(str(requirement))
    return lines


def _is_of_uv(project: Project) -> bool:
    has_lock = any((directory / "uv.lock").exists() for directory in project.directories)
    return shutil.which("uv") is not None and (has_lock or not project.facts["has_pip"])


def _by_uv(project: Project, path: Path, requirements: Path) -> Packages:
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--annotation-style", "line"]
    said = _run([*command, "--python", str(project.python), str(requirements)], path)
    packages = Packages({}, {})
    for name, version, askers in re.findall(r"(?m)^([\w.-]+)==(\S+)(?: +# via (.*))?$", said):
        packages.versions[name] = version
        names = [asker for asker in askers.split(", ") if asker and " " not in asker]
        packages.askers[name] = names
    return packages


def _by_pip(project: Project, path: Path, requirements: Path) -> Packages:
    report = requirements.with_name("report.json")
    # -P: the project may have a module of the name of one of Python's.
    command = [str(project.python), "-P", "-m", "pip", "install", "--quiet", "--dry-run"]
    command += ["--ignore-installed", "--report", str(report)]
    _run([*command, "--requirement", str(requirements)], path)
    packages = Packages({}, {})
    for item in json.loads(report.read_text())["install"]:
        metadata = item["metadata"]
        packages.versions[canonicalize_name(metadata["name"])] = metadata["version"]
        for line in metadata.get("requires_dist", []):
            needed = Requirement(line)
            extras = ["", *item.get("requested_extras", [])]
            if needed.marker is None or any(needed.marker.evaluate({"extra": e}) for e in extras):
                askers = packages.askers.setdefault(canonicalize_name(needed.name), [])
                askers.append(metadata["name"])
    return packages


def _run(command: list[str], path: Path) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=path.parent,
            env=os.environ | {"NO_COLOR": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unresolved(str(error)) from None
    if done.returncode:
        raise Unresolved(done.stderr)
    return done.stdout
