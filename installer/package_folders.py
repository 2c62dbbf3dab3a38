"""Where uv, Poetry and PDM look for a package that [project] requires and that lies in a folder."""

import os
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
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
        if above.is_file() and _has_member(above, path.parent):
            root = above
            break
    beside = root.with_name("uv.toml")
    return beside if beside.is_file() else root


def _has_member(root: Path, folder: Path) -> bool:
    """Whether a file is the root of a workspace of uv that has this folder.

    The file may be anybody's: its patterns are compared with one path and search no folders.
    """
    try:
        workspace = tomllib.loads(root.read_text(encoding="utf-8"))["tool"]["uv"]["workspace"]
        members, excluded = workspace["members"], workspace.get("exclude", [])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    names = folder.relative_to(root.parent).parts
    is_excluded = any(_matches(names, pattern) for pattern in _strings(excluded))
    return not is_excluded and any(_matches(names, pattern) for pattern in _strings(members))


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _matches(names: tuple[str, ...], pattern: str) -> bool:
    """Whether a pattern such as apps/* or **/shop is for the folder of these names."""
    counts = {0}  # How many of the names the pattern can have used up so far
    for piece in PurePosixPath(pattern).parts:
        if piece == "**":
            counts = {later for count in counts for later in range(count, len(names) + 1)}
        else:
            counts = {
                count + 1
                for count in counts
                if count < len(names) and fnmatchcase(names[count], piece)
            }
    return len(names) in counts


def other_uv_file(path: Path, text: str) -> Path | None:
    """The other file of a project with uv that has to say where a package is; None if none."""
    if path.name != "pyproject.toml" or uv_file(path) == path:
        return None
    document = toml_files.parse(path, text)
    if "dependencies" not in document.get("project", {}) or _tool_of(path, document) != "uv":
        return None
    return uv_file(path)


def add_for_uv(path: Path, wheel: Path) -> str:
    """The text of a file with settings of uv that says where a package is."""
    settings = toml_files.parse(path, toml_files.read(path))
    uv = settings
    if path.name == "pyproject.toml":
        uv = settings.setdefault("tool", tomlkit.table(is_super_table=True))
        uv = uv.setdefault("uv", tomlkit.table())
    _add_folder(uv, Path(os.path.relpath(wheel.parent, path.parent)).as_posix())
    after = tomlkit.dumps(settings)
    toml_files.check(path, after)
    return after


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
        return  # add_for_uv
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
