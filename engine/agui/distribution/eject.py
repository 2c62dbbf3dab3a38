"""Puts the engine's source into a project: `python -m agui.distribution.eject`, in its directory.

From then on the project imports its own agui/, and requirements.py asks for what that needs.
"""

import shutil
import sys
from pathlib import Path

import agui
from agui.distribution.upgrade import WHEELS, remove_wheels, write_whole

SOURCES = "[tool.uv.sources]\n"


def eject(project: Path) -> None:
    """Copy the package that is installed, and remove its wheel; finish what was interrupted.

    Raises:
        SystemExit: the project has the source already
    """
    target, unfinished = project / "agui", project / ".agui.new"
    if target.exists() and not any((project / "vendor").glob(WHEELS)):
        sys.exit("The engine's source is here already, in agui/.")
    tell_uv(project / "pyproject.toml")
    if not target.exists():
        shutil.rmtree(unfinished, ignore_errors=True)
        source = Path(agui.__file__).parent
        shutil.copytree(source, unfinished, ignore=shutil.ignore_patterns("__pycache__"))
        unfinished.rename(target)
    remove_wheels(project / "vendor")


def tell_uv(path: Path) -> None:
    """Let `uv sync` and `uv add` find the engine where it is now."""
    text = path.read_bytes().decode()
    line = 'agui-django = { path = "agui" } # the engine\n'
    if line in text:
        return
    text = text.replace('find-links = ["vendor"] # the engine\n', "")
    if SOURCES not in text:
        text = f"{text.rstrip()}\n\n{SOURCES}"
    write_whole(path, text.replace(SOURCES, SOURCES + line).encode())


if __name__ == "__main__":
    eject(Path.cwd())
    print("The engine's source is in agui/. It is yours from now on.")
