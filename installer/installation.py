"""The commands by which a project installs the packages that were added, or is rid of them."""

import os
import shlex
from pathlib import Path

from installer import requirement_places
from installer.project import Project
from installer.requirement_places import Place

# Files beside pyproject.toml, and what brings them and the environment up to date; then the same
# for a package of which they have this version with other contents.
LOCKS = {
    "uv.lock": ("uv sync", "uv sync --reinstall-package agui-django"),
    "pdm.lock": ("pdm install", "pdm update agui-django"),
    "poetry.lock": ("poetry lock && poetry install", "poetry update agui-django"),
}


def commands(
    project: Project,
    place: Place,
    lines: list[str],
    wheels: Path | None = None,
    replaced: Path | None = None,
) -> list[str]:
    """The commands, one a line, to be run where manage.py is. `wheels` is a folder of packages.

    `replaced` is the package if the project had this version with other contents. Tools take such
    a package for installed.
    """
    pip = _pip(project, "install")
    again = []
    if replaced is not None:
        again = [f"{pip} --force-reinstall --no-deps {shlex.quote(str(replaced))}"]
    tool = _tool(project, place, is_again=replaced is not None)
    if tool is not None:
        # uv keeps a copy of the former contents, which only its own command renews.
        return [tool] if "uv sync" in tool else [*again, tool]
    if place.path is not None and place.path.suffix == ".txt":
        return [*again, f"{pip} -r {place.path}"]
    if wheels is not None:
        pip += f" --find-links {shlex.quote(str(wheels))}"
    made = _made_from(project, place)
    if made:
        path = made[0][2]
    elif place.path is not None and place.path.suffix == ".in":
        path = place.path.with_suffix(".txt")
    else:
        return [*again, " ".join([pip, *(f"'{line}'" for line in lines)])]
    return [*again, *_compiling(project, place, wheels), f"{pip} -r {path}"]


def commands_after_removal(project: Project, place: Place, has_package: bool) -> list[str]:
    """What takes the packages out of the locks, and the engine's out of the environment."""
    tool = _tool(project, place)
    lines = _compiling(project, place) if tool is None else [tool]
    if has_package and not (tool and "uv sync" in tool):
        lines.append(f"{_pip(project, 'uninstall')} agui-django")
    return lines


def _pip(project: Project, command: str) -> str:
    if project.facts["has_pip"]:
        return f"{project.python} -m pip {command}"
    return f"uv pip {command} --python {project.python}"


def _tool(project: Project, place: Place, is_again: bool = False) -> str | None:
    """The command of the project's own tool; None if it is pip."""
    if place.path is None:
        return None
    if place.path.name == "Pipfile":
        return _in(project, place.path.parent, "pipenv install")
    if place.path.name == "pyproject.toml":
        for directory in dict.fromkeys([place.path.parent, project.root]):
            for lock, tools in LOCKS.items():
                if (directory / lock).exists():
                    return _in(project, directory, tools[is_again])
    return None


def _compiling(project: Project, place: Place, wheels: Path | None = None) -> list[str]:
    """The commands that make files of requirements from the one that was edited."""
    lines = []
    is_table = place.path is not None and place.path.suffix == ".toml"
    for directory, command, _ in _made_from(project, place):
        # pip-compile does not read [tool.uv] of pyproject.toml.
        if wheels is not None and is_table and "pip-compile" in command:
            folder = shlex.quote(Path(os.path.relpath(wheels, directory)).as_posix())
            if f"--find-links={folder}" not in command.split():
                command = command.replace("pip-compile", f"pip-compile --find-links={folder}", 1)
        lines.append(_in(project, directory, command))
    if not lines and place.path is not None and place.path.suffix == ".in":
        lines = [_in(project, place.path.parent, f"pip-compile {place.path.name}")]
    return lines


def _made_from(project: Project, place: Place) -> list[tuple[Path, str, Path]]:
    """The files that a command makes from this one, as they say: directory, command, file."""
    source = place.path
    if source is None:
        return []
    made = []
    for path in requirement_places.texts(project.directories):
        command = requirement_places.made_by(path)
        if command is None:
            continue
        for directory in dict.fromkeys([*project.directories, source.parent]):
            name = source.relative_to(directory) if source.is_relative_to(directory) else source
            if name.as_posix() in command.split():
                made.append((directory, command, path))
                break
        else:
            # A command of the project's own, such as `make requirements`.
            if path == source.with_suffix(".txt"):
                made.append((project.root, command, path))
    return made


def _in(project: Project, directory: Path, command: str) -> str:
    return command if directory == project.code else f"(cd {directory} && {command})"
