"""Print what to install, for pip and uv: python requirements.py [--group GROUP] [EXTRA ...]

It is all in pyproject.toml, where pip can't read it. If the engine's source is in this project
(agui/), its own requirements stand in its place; else its wheel may be in vendor/.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
VENDOR = HERE / "vendor"
ENGINE = HERE / "agui/pyproject.toml"


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def pick(kind: str, names: list[str], known: dict[str, list[str]]) -> list[str]:
    """List the requirements under these names."""
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"There is no {kind} {', '.join(unknown)}, only {', '.join(known)}.")
    return [line for name in names for line in known[name]]


def with_extras(project: dict[str, Any], extras: list[str]) -> list[str]:
    known = project.get("optional-dependencies", {})
    return project["dependencies"] + pick("extra", extras, known)


def from_source(line: str, engine: dict[str, Any]) -> list[str]:
    """Replace the engine by what it needs itself. Any other requirement stays."""
    found = re.fullmatch(rf"{engine['name']}(?:\[(.*)\])? *(==.*)?", line)
    if found is None:
        return [line]
    return with_extras(engine, re.findall(r"[\w-]+", found[1] or ""))


def main() -> None:
    parser = argparse.ArgumentParser(description="Print what to install, for pip and uv.")
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="several with spaces or commas")
    groups = parser.add_mutually_exclusive_group()
    groups.add_argument("--group", action="append", default=[], help="with this group")
    groups.add_argument("--only-group", action="append", default=[], help="this group alone")
    arguments = parser.parse_args()
    data = read(HERE / "pyproject.toml")
    lines = pick("group", arguments.group + arguments.only_group, data["dependency-groups"])
    if not arguments.only_group:
        extras = re.findall(r"[\w-]+", " ".join(arguments.extras))
        lines = with_extras(data["project"], extras) + lines
    if ENGINE.exists():
        engine = read(ENGINE)["project"]
        lines = [needed for line in lines for needed in from_source(line, engine)]
    elif VENDOR.exists():
        print("--find-links", VENDOR.as_uri())  # pip splits a path at its spaces
    print(*dict.fromkeys(lines), sep="\n")


if __name__ == "__main__":
    main()
