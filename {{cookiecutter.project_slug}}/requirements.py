"""Print what to install, for pip and uv: python requirements.py [NAME ...]

Names are those of extras and groups in pyproject.toml, with spaces or commas. pip can't read them
there. If the engine's source is in this project (agui/), its own requirements stand in its place;
else its wheel may be in vendor/.
"""

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


def pick(names: str, known: dict[str, list[str]]) -> list[str]:
    """List the requirements under these names."""
    lines = []
    for name in re.findall(r"[\w-]+", names):
        if name not in known:
            sys.exit(f"There is no extra or group {name}, only {', '.join(known)}.")
        lines += known[name]
    return lines


def from_source(line: str, engine: dict[str, Any]) -> list[str]:
    """Replace the engine by what it needs itself. Any other requirement stays."""
    found = re.fullmatch(rf"{engine['name']}(?:\[(.*)\])? *(==.*)?", line)
    if found is None:
        return [line]
    return engine["dependencies"] + pick(found[1] or "", engine["optional-dependencies"])


def main(names: str) -> None:
    data = read(HERE / "pyproject.toml")
    project, groups = data["project"], data["dependency-groups"]
    lines = project["dependencies"] + pick(names, project.get("optional-dependencies", {}) | groups)
    if ENGINE.exists():
        engine = read(ENGINE)["project"]
        lines = [needed for line in lines for needed in from_source(line, engine)]
    elif VENDOR.exists():
        print("--find-links", VENDOR.as_uri())  # pip splits a path at its spaces
    print(*dict.fromkeys(lines), sep="\n")


if __name__ == "__main__":
    main(" ".join(sys.argv[1:]))
