"""What is brought: the engine, the parts that were chosen, and a small assistant."""

import ast
import hashlib
import tomllib
from argparse import ArgumentTypeError
from pathlib import Path

from packaging.requirements import Requirement

HERE = Path(__file__).parent
# Its template has to be found before the admin's.
PART_BEFORE_ADMIN = "admin_chat"

PARTS_FILE = "assistant/parts.py"
PARTS_MODULE = '''"""The parts of the engine that INSTALLED_APPS has."""

AGENT_PARTS = [
{lines}]
'''
# In a wheel the engine is beside this file, in a clone it is in the template.
TEMPLATE = HERE / "template"
if not TEMPLATE.exists():
    TEMPLATE = HERE.parent / "{{cookiecutter.project_slug}}"

PARTS = {
    "minimal": ["admin", "demo"],
    "standard": [
        "admin",
        "attachments",
        "dashboard",
        "demo",
        "evals",
        "export",
        "fast",
        "feedback",
        "redis",
        "spending",
    ],
    "everything": [
        "admin",
        "admin_chat",
        "agentify",
        "attachments",
        "client",
        "dashboard",
        "demo",
        "drf_mcp",
        "durable",
        "evals",
        "export",
        "fast",
        "feedback",
        "mcp",
        "mentions",
        "observe",
        "redis",
        "session_store",
        "sources",
        "spending",
        "suggestions",
        "terminal",
        "voice",
    ],
}
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
    """The parts that are named, with commas: keys of PARTS, and parts. Raises ArgumentTypeError."""
    chosen: set[str] = set()
    for name in names.split(","):
        if name not in PARTS and name not in PARTS["everything"]:
            known = ", ".join([*PARTS, *PARTS["everything"]])
            raise ArgumentTypeError(f"{name!r} is not one of {known}.")
        chosen.update(PARTS.get(name, [name]))
    return sorted(chosen)


def files(parts: list[str]) -> dict[str, bytes]:
    """All new files, by their path beside manage.py."""
    found: dict[str, bytes] = {}
    for source, name in ((TEMPLATE / "agui", "agui"), (HERE / "assistant", "assistant")):
        for path in sorted(source.rglob("*")):
            relative = path.relative_to(source)
            if path.is_dir() or "__pycache__" in relative.parts:
                continue
            is_of_part = (
                name == "agui" and relative.parts[0] == "contrib" and len(relative.parts) > 2
            )
            if is_of_part and relative.parts[1] not in parts:
                continue
            found[f"{name}/{relative.as_posix()}"] = path.read_bytes()
    if parts:
        found[PARTS_FILE] = parts_module(parts).encode()
    return found


def engine(parts: list[str]) -> dict[str, bytes]:
    """The files of agui/."""
    return {name: contents for name, contents in files(parts).items() if name.startswith("agui/")}


def listed(parts: list[str]) -> list[str]:
    """What assistant/parts.py lists: the settings themselves name what comes before the admin."""
    return [f"agui.contrib.{part}" for part in parts if part != PART_BEFORE_ADMIN]


def parts_module(parts: list[str]) -> str:
    """The text of assistant/parts.py."""
    return PARTS_MODULE.format(lines="".join(f'    "{name}",\n' for name in listed(parts)))


def summary(part: str) -> str:
    """What a part is for, in the words of its package."""
    text = (TEMPLATE / f"agui/contrib/{part}/__init__.py").read_text()
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


def digest(contents: dict[str, bytes]) -> str:
    """A fingerprint of files, by which a later run sees whether they were changed."""
    digest = hashlib.sha256()
    for name in sorted(contents):
        digest.update(f"{name}\0{len(contents[name])}\0".encode())
        digest.update(contents[name])
    return digest.hexdigest()


def requirements(parts: list[str]) -> list[str]:
    """What the engine and these parts need, as its pyproject.toml has it."""
    project = tomllib.loads((TEMPLATE / "agui/pyproject.toml").read_text())["project"]
    lines = [line for line in project["dependencies"] if Requirement(line).name in CORE_PACKAGES]
    for part in parts:
        lines += project["optional-dependencies"].get(part, [])
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
