"""What the installer knows about a project: its files, and what its own manage.py says."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installer import source
from installer.errors import Refusal

PROBE = Path(__file__).with_name("probe.py")
PROBE_SECONDS = 120
CHECKS = source.ENGINE / "agui/project_checks.py"
NEEDED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
]
DATABASES = ["postgresql", "sqlite"]
VIRTUAL_ENVIRONMENTS = [".venv", "venv", "env"]


@dataclass(frozen=True)
class Project:
    """A project that the installer understands."""

    root: Path
    """The directory that the user named."""
    manage: Path
    python: Path
    facts: dict[str, Any]
    """What probe.py has read."""

    @property
    def code(self) -> Path:
        """The directory of manage.py, from which the project imports its packages."""
        return self.manage.parent

    @property
    def directories(self) -> list[Path]:
        """Where the project may list its requirements."""
        return list(dict.fromkeys([self.root, self.code]))

    def own(self, path: str | None) -> Path | None:
        """A file's path, if the file belongs to the project."""
        if path is None:
            return None
        file = Path(path)
        is_own = file.is_relative_to(self.root) and "site-packages" not in file.parts
        return file if is_own else None


def find(root: Path, python: Path | None) -> tuple[Path, Path]:
    """Find manage.py and the project's Python. Raises Refusal."""
    manage = find_manage(root)
    found = python or _find_python(root, manage.parent)
    if found is None:
        raise Refusal("The project's Python was not found: name it with --python PATH.")
    if not os.access(found, os.X_OK):
        raise Refusal(f"There is no Python at {found}.")
    # Not resolved: the link is what tells Python about its virtual environment.
    return manage, found.absolute()


def find_manage(root: Path) -> Path:
    for directory in (root, root / "src"):
        if (directory / "manage.py").is_file():
            return directory / "manage.py"
    found = sorted(root.glob("*/manage.py"))
    if len(found) != 1:
        raise Refusal(f"{root} has no manage.py, nor has exactly one directory in it.")
    return found[0]


def check_links(root: Path, code: Path) -> None:
    """Raise Refusal if what the installer writes would leave the project."""
    for name in ("agui", "assistant", source.WHEELS):
        folder = code / name
        target = folder.resolve()
        if folder.is_symlink() and not target.is_relative_to(root):
            raise Refusal(f"{name}/ is a link to {target}, which is not in the project.")


def _find_python(root: Path, code: Path) -> Path | None:
    for directory in (code, root):
        for name in VIRTUAL_ENVIRONMENTS:
            python = directory / name / "bin/python"
            if python.exists():
                return python
    if (root / "poetry.lock").exists() and shutil.which("poetry"):
        done = subprocess.run(
            ["poetry", "env", "info", "--executable"], cwd=root, capture_output=True, text=True
        )
        if done.returncode == 0:
            return Path(done.stdout.strip())
    active = os.environ.get("VIRTUAL_ENV")
    return Path(active, "bin/python") if active else None


def probe(manage: Path, python: Path, level: str = "all") -> dict[str, Any]:
    """Run probe.py under the project's manage.py. Raises Refusal if the project can't be read."""
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "facts.json")
        command = [python, "-c", PROBE.read_text(), manage, output, level, CHECKS]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
        environment.pop("PYTHONPATH", None)
        try:
            done = subprocess.run(
                command,
                cwd=manage.parent,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
            )
        except subprocess.TimeoutExpired:
            raise Refusal(f"{manage.name} took longer than {PROBE_SECONDS} seconds.") from None
        if not output.exists():
            raise Refusal(f"{manage.name} can't be run with {python}: {_last_line(done.stderr)}")
        facts: dict[str, Any] = json.loads(output.read_text())
    _check_versions(facts)
    if "error" in facts:
        raise Refusal(
            f"{manage.name} stopped ({_first_line(facts['error'])}): make "
            f"`{python} {manage.name} check` work first."
        )
    if "settings_module" not in facts:
        raise Refusal(f"{manage.name} runs no Django command, so the project can't be read.")
    return facts


def _check_versions(facts: dict[str, Any]) -> None:
    if facts["python"] < [3, 11]:
        version = ".".join(map(str, facts["python"]))
        raise Refusal(f"The project runs on Python {version}, and the agent needs 3.11 or newer.")
    if "django" in facts and not [5, 2] <= facts["django"] < [7, 0]:
        version = ".".join(map(str, facts["django"]))
        raise Refusal(f"The project runs on Django {version}, and the agent needs 5.2 or 6.")


def read(root: Path, python: Path | None = None) -> Project:
    """Read a project that has no agent yet. Raises Refusal."""
    manage, found = find(root, python)
    for directory in (manage.parent / "agui", manage.parent / "assistant"):
        if directory.exists():
            raise Refusal(f"{directory} exists already, and the agent needs this name.")
    project = Project(root, manage, found, probe(manage, found))
    _check(project)
    return project


def read_installed(root: Path, python: Path | None, level: str) -> Project:
    """Read a project that has the agent, up to a level of probe.py. Raises Refusal."""
    manage, found = find(root, python)
    return Project(root, manage, found, probe(manage, found, level))


def _check(project: Project) -> None:
    facts = project.facts
    if facts["settings_class"]:
        raise Refusal(
            f"The settings are the class {facts['settings_class']!r} (django-configurations), and "
            "the installer edits only settings at the top of a module."
        )
    for name in ("agui", "assistant"):
        if name in facts["labels"] or name in facts["outside"]:
            raise Refusal(f"The project has a package or an application {name!r} of its own.")
    for name in NEEDED_APPS:
        if name not in facts["names"]:
            raise Refusal(f"The agent needs {name!r} in INSTALLED_APPS, and the project has not.")
    if facts["database"] not in DATABASES:
        raise Refusal(
            f"The agent keeps conversations in PostgreSQL or SQLite, and the project's default "
            f"database is {facts['database']}."
        )
    if facts["errors"]:
        raise Refusal(" ".join(facts["errors"]))
    if not facts["django_engines"]:
        raise Refusal(
            "No engine of DjangoTemplates in TEMPLATES finds the templates of applications "
            "(APP_DIRS)."
        )
    if facts["page_is_taken"]:
        raise Refusal("The project has a page at /assistant/ already.")
    if project.own(facts["urlconf_file"]) is None:
        raise Refusal(f"ROOT_URLCONF ({facts['root_urlconf']}) is no file of the project.")


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0][:200]


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:200]
