"""Where uv, Poetry and PDM look for a package that [project] requires and that lies in a folder."""

import os
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Array, InlineTable

from installer import toml_files


def uv_file(path: Path) -> Path:
    """The file in which uv looks for its settings: uv.toml goes before pyproject.toml.

    For a member of a workspace these are beside the root's pyproject.toml, and nowhere else.
    """
    root = path
    for directory in path.parent.parents:
        above = directory / "pyproject.toml"
        if above.is_file() and path.parent in _members(above):
            root = above
            break
    beside = root.with_name("uv.toml")
    return beside if beside.is_file() else root


def _members(root: Path) -> set[Path]:
    """The folders of a workspace of uv."""
    document = toml_files.parse(root, toml_files.read(root))
    workspace = document.get("tool", {}).get("uv", {}).get("workspace", {})
    found: dict[str, set[Path]] = {}
    for key in ("members", "exclude"):
        patterns = workspace.get(key, [])
        found[key] = {folder for pattern in patterns for folder in root.parent.glob(pattern)}
    return found["members"] - found["exclude"]


def for_uv(path: Path, text: str, wheel: Path) -> tuple[Path, str] | None:
    """The other file of a project with uv that says where a package is, and its text; or None."""
    if path.name != "pyproject.toml" or uv_file(path) == path:
        return None
    document = toml_files.parse(path, text)
    if "dependencies" not in document.get("project", {}) or _tool_of(path, document) != "uv":
        return None
    other = uv_file(path)
    settings = toml_files.parse(other, toml_files.read(other))
    uv = settings
    if other.name == "pyproject.toml":
        uv = settings.setdefault("tool", tomlkit.table(is_super_table=True))
        uv = uv.setdefault("uv", tomlkit.table())
    _add_folder(uv, Path(os.path.relpath(wheel.parent, other.parent)).as_posix())
    after = tomlkit.dumps(settings)
    toml_files.check(other, after)
    return other, after


def _add_folder(uv: Any, folder: str) -> None:
    folders = uv.setdefault("find-links", tomlkit.array())
    if folder not in folders:
        folders.append(folder)


def _tool_of(path: Path, document: Any) -> str:
    """The tool that installs the packages of [project]."""
    tools = document.get("tool", {})
    backend = str(document.get("build-system", {}).get("build-backend", ""))
    for name in ("poetry", "pdm"):
        lock = path.with_name(f"{name}.lock")
        if name in tools or backend.startswith(f"{name}.") or lock.is_file():
            return name
    return "uv"


def tell_tool(path: Path, document: Any, package: str, wheel: str) -> None:
    """Say where a package is that [project] requires: each tool has a place of its own for that."""
    tool = _tool_of(path, document)
    if tool == "uv" and uv_file(path) != path:
        return  # for_uv
    tools = document.setdefault("tool", tomlkit.table(is_super_table=True))
    folder = os.path.dirname(wheel)
    if tool == "poetry":
        tools.setdefault("poetry", tomlkit.table())
        dependencies = tools["poetry"].setdefault("dependencies", tomlkit.table())
        dependencies[package] = tomlkit.inline_table().append("path", wheel)
    elif tool == "pdm":
        pdm = tools.setdefault("pdm", tomlkit.table())
        is_inline = isinstance(pdm, InlineTable) or isinstance(pdm.get("source"), Array)
        source = tomlkit.inline_table() if is_inline else tomlkit.table()
        source.update(
            {"type": "find_links", "name": package, "url": f"file:///${{PROJECT_ROOT}}/{folder}"}
        )
        pdm.setdefault("source", tomlkit.array() if is_inline else tomlkit.aot()).append(source)
    else:
        _add_folder(tools.setdefault("uv", tomlkit.table()), folder)
