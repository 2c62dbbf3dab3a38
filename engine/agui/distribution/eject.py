"""Puts the engine's source into a project: `python -m agui.distribution.eject`, in its directory.

From then on the project imports its own agui/, and requirements.py asks for what that needs.
"""

import shutil
import sys
from pathlib import Path

import agui

WHEELS = "agui_django-*.whl"
SOURCES = "[tool.uv.sources]\n"


def eject(project: Path) -> None:
    """Copy the package that is installed, and remove its wheel.

    Raises:
        SystemExit: the project has the source already
    """
    target = project / "agui"
    if target.exists():
        sys.exit("The engine's source is here already, in agui/.")
    source = Path(agui.__file__).parent
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    remove_wheels(project / "vendor")
    tell_uv(project / "pyproject.toml")


def tell_uv(path: Path) -> None:
    """Let `uv sync` and `uv add` find the engine where it is now."""
    text = path.read_text("utf-8")
    text = text.replace('find-links = ["vendor"] # the engine\n', "")
    if SOURCES not in text:
        text = f"{text.rstrip()}\n\n{SOURCES}"
    path.write_text(
        text.replace(SOURCES, f'{SOURCES}agui-django = {{ path = "agui" }} # the engine\n'),
        "utf-8",
        newline="\n",
    )


def remove_wheels(vendor: Path, but: str = "") -> None:
    for wheel in vendor.glob(WHEELS):
        if wheel.name != but:
            wheel.unlink()
    if vendor.is_dir() and not any(vendor.iterdir()):
        vendor.rmdir()


if __name__ == "__main__":
    eject(Path.cwd())
    print("The engine's source is in agui/. It is yours from now on.")
