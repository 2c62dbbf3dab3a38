"""The commands by which a project installs the packages that were added."""

import shlex
from pathlib import Path

from installer import requirement_places
from installer.project import Project
from installer.requirement_places import Place

# Files beside pyproject.toml, and what brings them and the environment up to date.
LOCKS = {
    "uv.lock": "uv sync",
    "pdm.lock": "pdm install",
    "poetry.lock": "poetry lock && poetry install",
}


def commands(
    project: Project, place: Place, lines: list[str], wheels: Path | None = None
) -> list[str]:
    """The commands, one a line, to be run where manage.py is. `wheels` is a folder of packages."""
    if place.path is not None and place.path.name == "Pipfile":
        return [_in(project, place.path.parent, "pipenv install")]
    if place.path is not None and place.path.name == "pyproject.toml":
        for directory in dict.fromkeys([place.path.parent, project.root]):
            for lock, command in LOCKS.items():
                if (directory / lock).exists():
                    return [_in(project, directory, command)]
    pip = f"{project.python} -m pip install"
    if not project.facts["has_pip"]:
        pip = f"uv pip install --python {project.python}"
    quoted = " ".join(f"'{line}'" for line in lines)
    if place.path is not None and place.path.suffix == ".txt":
        return [f"{pip} -r {place.path}"]
    if wheels is not None:
        pip += f" --find-links {shlex.quote(str(wheels))}"
    if place.path is None:
        return [f"{pip} {quoted}"]
    made = _made_from(project, place.path)
    compiling = [_in(project, directory, command) for directory, command, _ in made]
    if made:
        return [*compiling, f"{pip} -r {made[0][2]}"]
    if place.path.suffix == ".in":
        compiling = [_in(project, place.path.parent, f"pip-compile {place.path.name}")]
        return [*compiling, f"{pip} -r {place.path.with_suffix('.txt')}"]
    return [f"{pip} {quoted}"]


def _made_from(project: Project, source: Path) -> list[tuple[Path, str, Path]]:
    """The files that a command makes from this one, as they say: directory, command, file."""
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
