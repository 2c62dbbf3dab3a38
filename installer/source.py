"""What is brought: the engine, the parts that were chosen, and a small assistant."""

import ast
import hashlib
import io
import re
import runpy
import tomllib
import zipfile
from argparse import ArgumentTypeError
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from packaging.requirements import Requirement

HERE = Path(__file__).parent
# Its template has to be found before the admin's.
PART_BEFORE_ADMIN = "admin_chat"

PARTS_FILE = "assistant/parts.py"
PARTS_MODULE = '''"""The parts of the engine that INSTALLED_APPS has."""

AGENT_PARTS = [
{lines}]
'''
# The engine's folder: in a wheel beside this file, in a clone beside the installer.
ENGINE = HERE / "engine"
if not ENGINE.exists():
    ENGINE = HERE.parent / "engine"

PARTS = {
    "minimal": ["admin", "charts", "demo", "pacing"],
    "standard": [
        "admin",
        "attachments",
        "bundle",
        "charts",
        "dashboard",
        "demo",
        "documents",
        "evals",
        "export",
        "feedback",
        "formulas",
        "pacing",
        "queue",
        "redis",
        "spending",
        "titles",
    ],
    "everything": [
        "admin",
        "admin_chat",
        "agentify",
        "attachments",
        "bundle",
        "charts",
        "client",
        "dashboard",
        "demo",
        "documents",
        "drf_mcp",
        "durable",
        "evals",
        "export",
        "fast",
        "feedback",
        "formulas",
        "mcp",
        "mentions",
        "notifications",
        "oauth",
        "observe",
        "office",
        "pacing",
        "queue",
        "redis",
        "session_store",
        "sources",
        "spending",
        "suggestions",
        "terminal",
        "titles",
        "views",
        "voice",
    ],
}
# How the engine comes, as the template's question has it, and where its package is.
FORMS = ["package", "source"]
PACKAGE = "agui-django"
WHEELS = "vendor"
# What a project rarely has by itself. The rest of what the engine needs comes with these.
CORE_PACKAGES = [
    "daphne",
    "pydantic-ai-slim",
    "ag-ui-protocol",
    "httpx2",
    "jsonpatch",
    "jsonschema",
]


def named(names: str) -> list[str]:
    """The parts that are named, with commas: keys of PARTS, and parts. Raises ArgumentTypeError.

    Those that they need come with them, and the demo model: it answers until AGENT_MODEL names
    another one.
    """
    chosen = {"demo"}
    for name in names.split(","):
        if name not in PARTS and name not in PARTS["everything"]:
            known = ", ".join([*PARTS, *PARTS["everything"]])
            raise ArgumentTypeError(f"{name!r} is not one of {known}.")
        chosen.update(PARTS.get(name, [name]))
    for part in [*chosen]:
        chosen.update(needs(part))
    return sorted(chosen)


def needs(part: str) -> list[str]:
    """Other parts without which a part doesn't start."""
    apps = ENGINE / f"agui/contrib/{part}/apps.py"
    listed = re.search(r"\n    needs = \((.*?)\)", apps.read_text()) if apps.exists() else None
    return re.findall(r"agui\.contrib\.(\w+)", listed[1]) if listed else []


def files(parts: list[str], form: str) -> dict[str, bytes]:
    """All new files, by their path beside manage.py."""
    found = engine(form) | _folder(HERE / "assistant")
    if parts:
        found[PARTS_FILE] = parts_module(parts).encode()
    return found


def engine(form: str) -> dict[str, bytes]:
    """The files of vendor/ or agui/."""
    name, contents = wheel()
    if form == "package":
        return {name: contents}
    with zipfile.ZipFile(io.BytesIO(contents)) as archive:
        return {name: archive.read(name) for name in archive.namelist() if name.startswith("agui/")}


def _folder(folder: Path) -> dict[str, bytes]:
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            found[path.relative_to(folder.parent).as_posix()] = path.read_bytes()
    return found


def _pack() -> dict[str, Any]:
    """What agui/distribution/pack.py defines."""
    return runpy.run_path(str(ENGINE / "agui/distribution/pack.py"))


@cache
def version() -> str:
    """The engine's version."""
    found: str = _pack()["read_version"]()
    return found


@cache
def wheel() -> tuple[str, bytes]:
    """The engine's package: its path beside manage.py, and its contents."""
    with TemporaryDirectory() as directory:
        name = _pack()["build_wheel"](directory)
        return f"{WHEELS}/{name}", Path(directory, name).read_bytes()


def listed(parts: list[str]) -> list[str]:
    """What assistant/parts.py lists: the settings themselves name what comes before the admin."""
    return [f"agui.contrib.{part}" for part in parts if part != PART_BEFORE_ADMIN]


def parts_module(parts: list[str]) -> str:
    """The text of assistant/parts.py."""
    return PARTS_MODULE.format(lines="".join(f'    "{name}",\n' for name in listed(parts)))


def summary(part: str) -> str:
    """What a part is for, in the words of its package."""
    text = (ENGINE / f"agui/contrib/{part}/__init__.py").read_text()
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def digest(contents: dict[str, bytes]) -> str:
    """A fingerprint of files, by which a later run sees whether they were changed."""
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(f"{name}\0{len(contents[name])}\0".encode())
        digest.update(contents[name])
    return digest.hexdigest()


@cache
def packages() -> dict[str, list[str]]:
    """What each part needs, if it needs packages of its own; what the engine needs under ""."""
    project = tomllib.loads((ENGINE / "pyproject.toml").read_text())["project"]
    return {"": project["dependencies"], **project["optional-dependencies"]}


def requirements(parts: list[str], form: str) -> list[str]:
    """What the project has to install: the engine's package, or what its source needs."""
    if form == "package":
        extras = [part.replace("_", "-") for part in parts if part in packages()]
        return [f"{PACKAGE}[{','.join(sorted(extras))}]=={version()}".replace("[]", "")]
    lines = [line for line in packages()[""] if Requirement(line).name in CORE_PACKAGES]
    for part in parts:
        lines += packages().get(part, [])
    return _merged(lines)


def _merged(lines: list[str]) -> list[str]:
    """Each package once, with the extras of all its lines."""
    extras: dict[tuple[str, str], set[str]] = {}
    for line in lines:
        requirement = Requirement(line)
        version = line[line.index(">") :]
        extras.setdefault((requirement.name, version), set()).update(requirement.extras)
    merged = []
    for (name, version), names in extras.items():
        listed = f"[{','.join(sorted(names))}]" if names else ""
        merged.append(f"{name}{listed}{version}")
    return merged
